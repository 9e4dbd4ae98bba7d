"""Programs that follow the sandbox's clock: they wait for a change, and a change waits for them to apply it.

follower: wait(seen) ────────── change ──► answer ─► sets its clock ─► wait(seen: the new one)
caller that moves it:     changed() ──────────────────────────────────────► returns
"""

import asyncio
import time
from uuid import uuid4

PATIENCE = 5.0  # real seconds that a change waits for followers
_GONE_AFTER = 60.0


class ClockFollowers:
    """The followers of the clock of one sandbox."""

    def __init__(self) -> None:
        self.version = _new_version()
        self._changed = asyncio.Event()
        self._seen: dict[str, tuple[str | None, float]] = {}  # follower: the version it has, and when it said so
        self._news = asyncio.Event()
        self._closed = False

    async def wait(self, follower: str, seen: str | None, seconds: float) -> None:
        """Wait until the clock differs from what this follower saw, or until the timeout."""
        self._seen[follower] = (seen, time.monotonic())
        self._news.set()
        if seen == self.version and not self._closed:
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def changed(self) -> None:
        """Report a change of the clock, and wait until every follower has applied it or timed out."""
        self.version = _new_version()
        self._changed.set()
        self._changed = asyncio.Event()
        try:
            async with asyncio.timeout(PATIENCE):
                while self._behind():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            for follower in self._behind():
                del self._seen[follower]

    def close(self) -> None:
        """Release all waiting followers, and refuse new ones."""
        self._closed = True
        self._changed.set()
        self._seen.clear()
        self._news.set()

    def _behind(self) -> list[str]:
        horizon = time.monotonic() - _GONE_AFTER
        return [name for name, (seen, at) in self._seen.items() if seen != self.version and at > horizon]


def _new_version() -> str:
    return uuid4().hex[:12]
