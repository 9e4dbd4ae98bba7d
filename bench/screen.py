"""From a message of a person to its text on the screen of an open page in Chromium: alone, and beside other pages.

sandbox: a person writes ─► callback ─► gateway ─► stream ─► the next frame of the page that has the text
       └── the measured time, with the clock of one machine ──────────────────────┘
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.async_api import Page, async_playwright
from pyreqwest.client import Client

from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, new_client, running_gateway
from bench.life import register_number
from bench.load import FIRST, quantile
from bench.pages import page_arguments
from bench.processes import BenchFailed, running
from bench.tenant import NUMBER, Tenant, add_sessions, list_conversations, make_tenant
from tests.console.browser import FLAGS, find_browser

OTHERS = 99
SCREEN_AIM = 0.5  # seconds, p99
_PEOPLE = 100  # who have written before: each other page shows the conversation of one of them
_MESSAGES = 60  # of each measurement
_PAUSE = 0.1, 0.4  # seconds between two messages
_PATIENCE = 20.0

# Keeps the time of the frame in which each text of the open conversation is drawn first.
_WATCH = """() => {
    globalThis.drawn = {};
    new MutationObserver(() => {
        const text = document.querySelector("[aria-label=Messages]")?.textContent ?? "";
        const found = (text.match(/bench-[0-9]+-/g) ?? []).filter((one) => !(one in drawn));
        for (const one of found) drawn[one] = 0;
        if (found.length) requestAnimationFrame(() => { for (const one of found) drawn[one] = Date.now(); });
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


class ScreenFindings(msgspec.Struct, frozen=True):
    """Seconds from a message to the screen, sorted."""

    others: int
    alone: list[float]
    beside: list[float]


async def measure_screen(folder: Path, progress: ShowProgress) -> ScreenFindings:
    """Measure a page that shows a conversation, first alone, then beside others that are open."""
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        url = (await sandbox.receive_text()).split()[-1]
        config = write_config(folder, url)
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        tenant = await make_tenant(gateway, config)
        await register_number(url, gateway, tenant)
        people = People(url, await stack.enter_async_context(new_client()))
        progress("screen: opening a page in Chromium")
        page = await stack.enter_async_context(_page(gateway, tenant, people))
        progress(f"screen: {_MESSAGES} messages, one page")
        alone = await _measure(page, people)
        progress(f"screen: {_MESSAGES} messages, beside {OTHERS} pages")
        others = [*await page_arguments(gateway, tenant, OTHERS), "--seconds", "600"]
        driver = await stack.enter_async_context(running("bench.open_pages", *others))
        await driver.receive()
        return ScreenFindings(OTHERS, alone, await _measure(page, people))


class People:
    """People at the simulated network, who write to the number."""

    def __init__(self, sandbox_url: str, client: Client) -> None:
        self._url = f"{sandbox_url}/control/numbers/{NUMBER['phone_number_id']}/incoming"
        self._client = client
        self.written = 0

    async def write(self, person: int) -> tuple[str, float]:
        """Write a message; return a part of it that no other has, and the time."""
        self.written += 1
        text, at = f"bench-{self.written}-", time.time()
        body: dict[str, Any] = {"from": str(FIRST + person), "type": "text", "text": f"{text} Where is my order?"}
        request = self._client.post(self._url).headers({"content-type": "application/json"})
        answer = await request.body_bytes(msgspec.json.encode(body)).build().send()
        if answer.status != 200:
            raise BenchFailed(f"The sandbox refuses a message: {await answer.text()}")
        return text, at


@asynccontextmanager
async def _page(gateway: Gateway, tenant: Tenant, people: People) -> AsyncIterator[Page]:
    """Open the conversation of the person who has written last."""
    for person in range(_PEOPLE):
        await people.write(person)
    while len(await list_conversations(gateway, tenant, _PEOPLE)) < _PEOPLE:
        await asyncio.sleep(0.1)
    (token,) = await add_sessions(gateway, tenant.account_id, 1)
    address = f"http://127.0.0.1:{gateway.port}"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies([{"name": "gatepost_session", "value": token, "url": address}])
        page = await context.new_page()
        page.set_default_timeout(60_000)
        await page.goto(f"{address}/inbox")
        await people.write(0)  # it is the first of the list now
        first = page.get_by_role("region", name="Conversations").get_by_role("listitem").first
        await first.get_by_text(f"bench-{people.written}-").wait_for()
        await first.get_by_role("button").click()
        await page.locator("[aria-label=Messages] article").first.wait_for()
        await page.evaluate(_WATCH)
        yield page
        await browser.close()


async def _measure(page: Page, people: People) -> list[float]:
    """Return how long each of some messages took, sorted."""
    sent = {}
    for _ in range(_MESSAGES):
        text, at = await people.write(0)
        sent[text] = at
        await asyncio.sleep(random.uniform(*_PAUSE))
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        drawn: dict[str, float] = await page.evaluate("drawn")
        if all(drawn.get(text) for text in sent):
            return sorted(drawn[text] / 1000 - at for text, at in sent.items())
        await asyncio.sleep(0.1)
    raise BenchFailed("A message was never drawn.")


def p50(found: list[float]) -> float:
    return quantile(found, 0.5)


def p99(found: list[float]) -> float:
    return quantile(found, 0.99)
