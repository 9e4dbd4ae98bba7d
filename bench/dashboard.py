"""The dashboard in Chromium: the size of its first page, opening a thread in a large inbox, and scrolling the list."""

import re
from pathlib import Path

import msgspec
from playwright.async_api import Page, async_playwright

from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, running_gateway
from bench.history_data import fill_past
from bench.processes import BenchFailed
from bench.tenant import Tenant, make_tenant
from gatepost.admin.users import create_user
from gatepost.clock import SystemClock
from gatepost.console.dashboard import load_files
from gatepost.store.pool import Database
from tests.console.browser import FLAGS, find_browser

CONVERSATIONS = 10_000
FIRST_PAGE_AIM, OPEN_AIM, TASK_AIM = 350, 300, 100  # KiB gzipped, and milliseconds
_TO_EACH = 50  # messages per conversation, as `fill_past` writes them
_OPENED = 12  # threads
_SCROLLS = 80
_EMAIL, _PASSWORD = "bench@example.com", "correct horse battery"

# Opens a conversation of the list; returns the milliseconds until its messages are on the screen.
_OPEN = """async (index) => {
    const row = document.querySelectorAll("[aria-label=Conversations] [role=listitem] button")[index];
    const frame = () => new Promise(requestAnimationFrame);
    const began = performance.now();
    row.click();
    while (row.getAttribute("aria-current") !== "true" || !document.querySelector("[aria-label=Messages] article"))
        await frame();
    await frame();
    return performance.now() - began;
}"""
_WATCH = """() => {
    globalThis.longest = 0;
    new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
    }).observe({ type: "longtask" });
}"""


class DashboardFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The results. `longest_task` is 0 if none took 50 ms, the shortest that a browser reports."""

    first_page: float  # KiB, gzipped
    conversations: int
    opened: list[float]  # milliseconds, sorted
    scrolled: int  # conversations
    longest_task: float  # milliseconds

    @property
    def p50(self) -> float:
        return self.opened[len(self.opened) // 2]


def first_page_size() -> int:
    """Return the bytes of the files that the first page loads, gzipped."""
    built = load_files()
    if built is None:
        raise BenchFailed("The dashboard is not built: run `make dashboard`.")
    first = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', built.page))
    contents = [built.files[path].contents for path in first]
    return sum(len(content.get("gzip", content[""])) for content in contents)


async def measure_dashboard(folder: Path, progress: ShowProgress) -> DashboardFindings:
    """Measure the dashboard of a gateway whose channel has many conversations."""
    size, config = first_page_size(), write_config(folder)
    async with running_gateway(folder, config) as gateway:
        progress(f"dashboard: filling an inbox of {CONVERSATIONS:,} conversations")
        tenant = await make_tenant(gateway, config)
        await fill_past(gateway.dsn, tenant.channel_id, CONVERSATIONS * _TO_EACH)
        await _add_person(gateway, tenant)
        progress("dashboard: opening threads and scrolling in Chromium")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            page = await browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(60_000)
            await _sign_in(page, gateway.port)
            opened = [await page.evaluate(_OPEN, index) for index in range(_OPENED)][1:]  # the first loads the code
            scrolled, longest = await _scroll(page)
            await browser.close()
    return DashboardFindings(
        first_page=size / 1024,
        conversations=CONVERSATIONS,
        opened=sorted(opened),
        scrolled=scrolled,
        longest_task=longest,
    )


async def _add_person(gateway: Gateway, tenant: Tenant) -> None:
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        now = SystemClock().now()
        await create_user(db, tenant.account_id, _EMAIL, role="owner", password=_PASSWORD, now=now)
    finally:
        await db.close()


async def _sign_in(page: Page, port: int) -> None:
    await page.goto(f"http://127.0.0.1:{port}/inbox")
    await page.get_by_label("E-mail address").fill(_EMAIL)
    await page.get_by_role("textbox", name="Password").fill(_PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    rows = page.get_by_role("region", name="Conversations").get_by_role("listitem")
    await rows.nth(_OPENED - 1).wait_for()  # the list draws some rows more than the screen shows


async def _scroll(page: Page) -> tuple[int, float]:
    """Scroll down the list; return how many conversations were passed, and the longest task in milliseconds."""
    await page.evaluate(_WATCH)
    await page.get_by_role("region", name="Conversations").get_by_role("listitem").first.hover()
    for _ in range(_SCROLLS):
        await page.mouse.wheel(0, 1500)
        await page.evaluate("new Promise(requestAnimationFrame)")
    last = page.get_by_role("region", name="Conversations").get_by_role("listitem").last
    return int(await last.get_attribute("aria-posinset") or 0), await page.evaluate("longest")
