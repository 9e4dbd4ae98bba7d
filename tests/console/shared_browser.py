"""One driver and one browser for all tests of a test process: their starts take more time than most tests.

Playwright belongs to one event loop, so the tests of a folder that uses a browser share a loop. Its conftest imports
both fixtures. Each test has its own context: cookies, storage, cache, permissions.
"""

from asyncio import Runner
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Playwright, async_playwright

from tests.console.browser import FLAGS, find_browser
from tests.shared_loop import left_as_new


class SharedBrowser:
    """The driver, and the browser that a test uses unless it needs its own flags."""

    def __init__(self, playwright: Playwright) -> None:
        self._playwright = playwright
        self._browser: Browser | None = None

    @asynccontextmanager
    async def use(self, flags: Sequence[str]) -> AsyncIterator[Browser]:
        """Yield the browser; with flags, a process that ends afterwards."""
        if flags:
            browser = await self._launch(flags)
            try:
                yield browser
            finally:
                await browser.close()
            return
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._launch(())
        yield self._browser

    async def _launch(self, flags: Sequence[str]) -> Browser:
        return await self._playwright.chromium.launch(executable_path=find_browser(), args=[*FLAGS, *flags])

    async def close(self) -> None:
        """End both."""
        if self._browser is not None:
            await self._browser.close()
        await self._playwright.stop()


_started: list[SharedBrowser] = []


def shared_browser() -> SharedBrowser:
    """Return the browser of this test process."""
    assert _started, "the conftest of a folder that uses a browser imports the fixtures of tests/console/shared_browser"
    return _started[0]


@pytest.fixture(scope="session")
def browser_of_the_process(_session_scoped_runner: Runner) -> Iterator[None]:
    """Start the driver before the first test that may need it; end it after the last test."""
    if _started:  # by the conftest of another folder
        yield
        return
    _started.append(SharedBrowser(_session_scoped_runner.run(async_playwright().start())))
    yield
    _session_scoped_runner.run(_started.pop().close())


@pytest.fixture
def _function_scoped_runner(_session_scoped_runner: Runner, browser_of_the_process: None) -> Iterator[Runner]:
    """Run the test and its fixtures in the loop of the session. It replaces the fixture of pytest-asyncio."""
    with left_as_new(_session_scoped_runner):
        yield _session_scoped_runner
