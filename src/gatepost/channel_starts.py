"""The order in which many channels begin at once: a few at a time, and first the senders of all of them."""

import asyncio
import contextlib

_AT_ONCE = 16  # channels that read their queues at the same time
_SETTLE, _SETTLE_MAX = 1.0, 5.0  # seconds that tasks other than sending wait after the last of many, and in all


class ChannelStarts:
    """A few places for channels that begin."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._crowded_until = 0.0
        self._ended = asyncio.Event()

    async def __aenter__(self) -> None:
        await self._places.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._places.release()

    def end(self) -> None:
        """Let nobody wait in `settle` any more."""
        self._ended.set()

    async def settle(self) -> None:
        """Leave the place to others while many wait for one."""
        loop = asyncio.get_running_loop()
        if self._places.locked():
            self._crowded_until = loop.time() + _SETTLE
        give_up = loop.time() + _SETTLE_MAX
        self._places.release()
        try:
            while (left := min(give_up, self._crowded_until) - loop.time()) > 0 and not self._ended.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ended.wait(), left)
        finally:
            await self._places.acquire()
