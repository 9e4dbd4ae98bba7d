"""A person at the page of the sandbox: a page of the browser that records everything that must not happen."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import ConsoleMessage, Locator, Page, Request, async_playwright, expect

from tests.console.browser import FLAGS, find_browser
from tests.console.visitor import AXE, SMALL, UNTIL_STILL
from tests.patience import PATIENCE

# The browser reports an answer such as 400 as an error of the console; the page shows it.
_HANDLED = "Failed to load resource"
_AXE = "() => axe.run(document, {resultTypes: ['violations'], preload: false, iframes: false})"
# What the content policy blocks is an error of the console, also where the browser would be silent.
_REPORT = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`blocked by the content policy: ${event.violatedDirective} ${event.blockedURI}`))"""

expect.set_options(timeout=PATIENCE * 1000)


class Viewer:
    """A page of the browser, and what went wrong on it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page = page
        self.base = base
        self.problems: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        page.on("request", self._on_request)
        page.set_default_timeout(PATIENCE * 1000)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_HANDLED):
            self.problems.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.problems.append(f"request to another host: {request.url}")

    async def open(self, hash_: str) -> None:
        """Open a view of the page by the hash of its address."""
        await self.page.goto(f"{self.base}/{hash_}")

    def button(self, name: str) -> Locator:
        """Return a button."""
        return self.page.get_by_role("button", name=name, exact=True)

    async def see(self, text: str) -> None:
        """Wait until a text is visible."""
        await expect(self.page.get_by_text(text).first).to_be_visible()

    async def accessibility_problems(self) -> list[str]:
        """Return what is wrong with the page: in light, in dark, and on a small screen."""
        page, size, found = self.page, self.page.viewport_size, []
        await page.evaluate(AXE.read_text())
        schemes: list[Any] = ["light", "dark"]
        for colors in schemes:
            await page.emulate_media(color_scheme=colors)
            await page.evaluate(UNTIL_STILL)
            violations: list[dict[str, Any]] = (await page.evaluate(_AXE))["violations"]
            found += [
                f"{colors}: {one['id']}: {node['target']}: {node.get('failureSummary')}"
                for one in violations
                for node in one["nodes"]
            ]
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size({"width": SMALL, "height": 740})
        width = await page.evaluate("document.documentElement.scrollWidth")
        inside = await page.evaluate("document.querySelector('main').scrollWidth")
        if max(width, inside) > SMALL:
            found.append(f"it is {max(width, inside)} pixels wide on a screen of {SMALL}")
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        return found


@asynccontextmanager
async def viewing(
    base: str, *, width: int = 1280, colors: Any = "light", flags: Sequence[str] = ()
) -> AsyncIterator[Viewer]:
    """Yield a viewer of a sandbox's page; afterwards, nothing may have gone wrong on it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=[*FLAGS, *flags])
        try:
            page = await browser.new_page(
                viewport={"width": width, "height": 800}, color_scheme=colors, reduced_motion="reduce", locale="en-GB"
            )
            await page.add_init_script(_REPORT)
            viewer = Viewer(page, base)
            yield viewer
            assert viewer.problems == [], viewer.problems
        finally:
            await browser.close()
