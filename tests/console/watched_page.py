"""A page of the browser that records everything that must not happen: the base of the tests' visitors."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import ConsoleMessage, Dialog, Locator, Page, Request, expect

from tests.console.shared_browser import shared_browser
from tests.patience import PATIENCE
from tests.thorough import DAY, choose, is_due

AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
SMALL, SMALLEST = 360, 320  # pixels
# The browser reports an answer such as 401 as an error of the console; the page handles it.
_HANDLED = "Failed to load resource"
# Two frames after a change of the window the page is drawn again; text that is being faded in has too little contrast.
_UNTIL_STILL = """new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
    Promise.allSettled(
        document.getAnimations()
            .filter((one) => one.effect.getTiming().iterations !== Infinity)
            .map((one) => one.finished)
    )
)"""
# Without `preload` axe-core does not load the style sheets again, which only a rule about turned screens would need.
_AXE = "(rules) => axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false, ...rules})"
COLORS = ("light", "dark")
DAYS = 3  # until all views are checked: an odd number, so that both color schemes have their turn
SAMPLED_COLORS = choose(COLORS, (COLORS[DAY % 2],))
# The elements are the same in light and dark, so in the second only the rules that look at colors can find more.
_COLOR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}
_WIDTH = "Math.max(document.documentElement.scrollWidth, document.querySelector('main')?.scrollWidth ?? 0)"
# What the content policy blocks is an error of the console, also where the browser would be silent.
_REPORT = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`blocked by the content policy: ${event.violatedDirective} ${event.blockedURI}`))"""

expect.set_options(timeout=PATIENCE * 1000)
P = TypeVar("P", bound="WatchedPage")


class WatchedPage:
    """A page of the browser, and what went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.problems: list[str] = []
        self.asked = 0  # whether to leave what is not saved; a test that leaves means it
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
        if dialog.type == "beforeunload":
            self.asked += 1
            await dialog.accept()
            return
        self.problems.append(f"{dialog.type} dialog: {dialog.message}")
        await dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    async def see(self, text: str) -> None:
        """Wait until a text is visible.

        Playwright's `to_be_visible` describes the whole page each time that it is not there yet, for an error message.
        """
        await self.page.get_by_text(text).first.wait_for()

    def button(self, name: str) -> Locator:
        """Return a button."""
        return self.page.get_by_role("button", name=name, exact=True)

    async def check_colors(self, colors: str) -> None:
        """Check that the page has the colors that the browser asks for."""

    async def accessibility_problems(
        self, view: str, *, colors: Sequence[Any] = SAMPLED_COLORS, thorough: bool = False, days: int = DAYS
    ) -> list[str]:
        """Return what is wrong with the page: on a small screen, and, if the view is due, in these color schemes.

        In the second scheme only the rules about colors are checked, unless `thorough`.
        """
        found = await self._violations(view, colors, thorough) if is_due(view, days) else []
        page, size = self.page, self.page.viewport_size
        await page.set_viewport_size({"width": SMALL, "height": 740})
        await page.evaluate(_UNTIL_STILL)
        width = await page.evaluate(_WIDTH)
        if width > SMALL:
            found.append(f"{view}: it is {width} pixels wide on a screen of {SMALL}")
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        return found

    async def _violations(self, view: str, colors: Sequence[Any], thorough: bool) -> list[str]:
        """Return what axe-core finds."""
        page = self.page
        if await page.evaluate("typeof axe === 'undefined'"):
            await page.evaluate(AXE.read_text())
        found = []
        for scheme in colors:
            rules: Any = {} if thorough or scheme == colors[0] else _COLOR_RULES
            await page.emulate_media(color_scheme=scheme)
            await page.evaluate(_UNTIL_STILL)
            await self.check_colors(scheme)
            violations: list[dict[str, Any]] = (await page.evaluate(_AXE, rules))["violations"]
            found += [
                f"{view}, {scheme}: {one['id']}: {node['target']}: {node.get('failureSummary')}"
                for one in violations
                for node in one["nodes"]
            ]
        await page.emulate_media(color_scheme="light")
        return found


@asynccontextmanager
async def watching(
    make: Callable[[Page], P],
    *,
    width: int = 1280,
    colors: Any = "light",
    touch: bool = False,
    flags: Sequence[str] = (),
) -> AsyncIterator[P]:
    """Yield a new page, made by `make`; afterwards, nothing may have gone wrong on it."""
    async with shared_browser().use(flags) as browser:
        context = await browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=colors,
            has_touch=touch,
            reduced_motion="reduce",
            locale="en-GB",
        )
        try:
            page = await context.new_page()
            await page.add_init_script(_REPORT)
            watched = make(page)
            yield watched
            assert watched.problems == [], watched.problems
        finally:
            await context.close()
