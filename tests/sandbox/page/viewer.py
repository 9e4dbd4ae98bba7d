"""A person at the page of the sandbox."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.console.watched_page import WatchedPage, watching


class Viewer(WatchedPage):
    """A page of the browser at the page of a sandbox."""

    async def open(self, hash_: str) -> None:
        """Open a view of the page by the hash of its address."""
        await self.page.goto(f"{self.base}/{hash_}")


@asynccontextmanager
async def viewing(
    base: str, *, width: int = 1280, colors: Any = "light", touch: bool = False, flags: Sequence[str] = ()
) -> AsyncIterator[Viewer]:
    """Yield a viewer of a sandbox's page; afterwards, nothing may have gone wrong on it."""
    make = watching(lambda page: Viewer(page, base), width=width, colors=colors, touch=touch, flags=flags)
    async with make as viewer:
        yield viewer
