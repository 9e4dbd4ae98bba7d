"""The order in which many channels are handed over: a few at a time, so that each is without an owner only briefly."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

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
