"""The order in which many channels begin or are handed over: a few at a time.

Those that begin: first the senders of all of them. Those that are handed over: each is without an owner only briefly.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

_SENDERS = 16  # channels that read their queues at the same time
_OTHERS = 4  # channels whose other tasks begin at the same time: senders must not wait behind them
_SETTLE, _SETTLE_MAX = 1.0, 5.0  # seconds that tasks other than sending wait after the last of many, and in all
_AT_ONCE = 16  # channels that are handed over at the same time
_TURN = 0.25  # seconds after which a channel with sends in flight leaves its turn to the next one


class ChannelTurns:
    """A few turns for channels that end. While a channel waits for its turn, it sends on."""

    longest_wait = 2.0  # seconds after which a channel ends without a turn

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def run(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run the step of a channel when it is its turn."""
        mine = await self._take()
        ending = asyncio.create_task(step())
        try:
            await asyncio.wait([ending], timeout=_TURN)
        except asyncio.CancelledError:
            ending.cancel()
            raise
        finally:
            if mine:
                self._turns.release()
        await ending

    async def _take(self) -> bool:
        """Wait for a turn. Return False if it took too long."""
        try:
            await asyncio.wait_for(self._turns.acquire(), self.longest_wait)
        except TimeoutError:
            return False
        return True


class ChannelStarts:
    """A few places for channels that begin."""

    def __init__(self) -> None:
        self._senders = asyncio.Semaphore(_SENDERS)
        self._others = asyncio.Semaphore(_OTHERS)
        self._crowded_until = 0.0
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait for a place among the senders. Yield what exchanges it for one among the other tasks."""
        held: asyncio.Semaphore | None = self._senders
        await self._senders.acquire()

        async def settle() -> None:
            nonlocal held
            crowded, held = self._senders.locked(), None
            self._senders.release()
            await self._until_settled(crowded=crowded)
            await self._others.acquire()
            held = self._others

        try:
            yield settle
        finally:
            if held is not None:
                held.release()

    def end(self) -> None:
        """Let nobody wait for senders any more."""
        self._ended.set()

    async def _until_settled(self, *, crowded: bool) -> None:
        """Wait while many senders begin."""
        loop = asyncio.get_running_loop()
        if crowded:
            self._crowded_until = loop.time() + _SETTLE
        give_up = loop.time() + _SETTLE_MAX
        while (left := min(give_up, self._crowded_until) - loop.time()) > 0 and not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), left)
