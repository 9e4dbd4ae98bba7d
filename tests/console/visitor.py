"""A person at the dashboard: a page of the browser that records everything that must not happen."""

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.async_api import ConsoleMessage, Dialog, Page, Request, async_playwright, expect

from gatepost.admin.users import create_user
from gatepost.model.totp import STEP, totp_code
from tests.console.browser import FLAGS, find_browser
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

ROOT = Path(__file__).parents[2]
AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
EMAIL, PASSWORD = "ana@example.com", "correct horse battery"
# The browser reports an answer such as 401 as an error of the console; the page handles it.
_HANDLED = "Failed to load resource"

# Two frames after a change of the window the page is drawn again; text that is being faded in has too little contrast.
UNTIL_STILL = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
    Promise.allSettled(
        document.getAnimations()
            .filter((one) => one.effect.getTiming().iterations !== Infinity)
            .map((one) => one.finished)
    )
)"""
# Without `preload` axe-core does not load the style sheets again, which only a rule about turned screens would need.
_AXE = "(rules) => axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"
COLORS = ("light", "dark")
# The elements are the same in light and dark, so in the second only the rules that look at colors can find more.
_COLOR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}
SMALL = 360  # pixels

# What the content policy blocks is an error of the console, also where the browser would be silent.
_REPORT = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`blocked by the content policy: ${event.violatedDirective} ${event.blockedURI}`))"""

expect.set_options(timeout=PATIENCE * 1000)


class Visitor:
    """A page of the browser, and what went wrong on it."""

    def __init__(self, page: Page, gateway: Gateway) -> None:
        self.page = page
        self.gateway = gateway
        self.problems: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        page.on("request", self._on_request)
        page.on("dialog", self._on_dialog)
        page.on("popup", lambda popup: self.problems.append(f"a window was opened: {popup.url}"))
        page.set_default_timeout(PATIENCE * 1000)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_HANDLED):
            self.problems.append(f"console: {message.text}")

    async def _on_dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"{dialog.type} dialog: {dialog.message}")
        await dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.gateway.url, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    async def open(self, path: str = "/") -> None:
        """Open a page of the dashboard."""
        await self.page.goto(self.gateway.url + path)

    async def fill_sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        """Send the form with e-mail address and password."""
        await self.page.get_by_label("E-mail address").fill(email)
        await self.page.get_by_role("textbox", name="Password").fill(password)
        await self.page.get_by_role("button", name="Sign in").click()

    async def sign_in(self, path: str = "/", email: str = EMAIL) -> None:
        """Open a page as a person who has signed in. The form, which takes a second, has tests of its own."""
        answer = await self.page.request.post(
            f"{self.gateway.url}/api/v1/session",
            data={"email": email, "password": PASSWORD},
            headers={"origin": self.gateway.url},
        )
        assert answer.status == 201, await answer.text()
        await self.open(path)
        await expect(self.page.get_by_role("button", name="Your menu")).to_be_visible()

    async def see(self, text: str) -> None:
        """Wait until a text is visible."""
        await expect(self.page.get_by_text(text).first).to_be_visible()

    async def choose(self, menu: str, item: str) -> None:
        """Open a menu and choose an item."""
        await self.page.get_by_role("button", name=menu).click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def accessibility_problems(
        self, view: str = "", *, colors: Sequence[Any] = COLORS, thorough: bool = False
    ) -> list[str]:
        """Return what is wrong with the page in these color schemes, and on a small screen.

        In the second scheme only the rules about colors are checked, unless `thorough`.
        """
        page, size = self.page, self.page.viewport_size
        await page.evaluate(AXE.read_text())
        found = []
        for scheme in colors:
            rules: Any = {} if thorough or scheme == colors[0] else _COLOR_RULES
            await page.emulate_media(color_scheme=scheme)
            await page.evaluate(UNTIL_STILL)
            assert await page.evaluate("document.documentElement.dataset.mantineColorScheme") == scheme
            violations: list[dict[str, Any]] = (await page.evaluate(_AXE, rules))["violations"]
            found += [
                f"{view}, {scheme}: {one['id']}: {node['target']}: {node.get('failureSummary')}"
                for one in violations
                for node in one["nodes"]
            ]
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size({"width": SMALL, "height": 740})
        await page.evaluate(UNTIL_STILL)
        width = await page.evaluate("document.documentElement.scrollWidth")
        if width > SMALL:
            found.append(f"{view}: it is {width} pixels wide on a screen of {SMALL}")
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        return found


@asynccontextmanager
async def visiting(gateway: Gateway, *, width: int = 1280, colors: Any = "light") -> AsyncIterator[Visitor]:
    """Yield a visitor of a gateway; afterwards, nothing may have gone wrong on the page."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            page = await browser.new_page(
                viewport={"width": width, "height": 800}, color_scheme=colors, reduced_motion="reduce", locale="en-GB"
            )
            await page.add_init_script(_REPORT)
            visitor = Visitor(page, gateway)
            yield visitor
            assert visitor.problems == [], visitor.problems
        finally:
            await browser.close()


async def add_person(gateway: Gateway, role: str = "owner", email: str = EMAIL) -> None:
    """Create a user of the gateway's account."""
    await create_user(gateway.db, gateway.account_id, email, role=role, password=PASSWORD, now=gateway.clock.now())


def code_of(key: str, now: datetime) -> str:
    """Return the code that an authenticator app shows."""
    return totp_code(base64.b32decode(key), int(now.timestamp()) // STEP)
