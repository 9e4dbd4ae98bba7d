"""Turns of this process's batches at the head of a channel.

A batch that meets another one at a lock of PostgreSQL costs a statement that writes nothing, and then a transaction of
four round trips. Batches of the same process can wait for each other without that. The lock is still what protects the
channel: a turn that does not come in time is not waited for any longer.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

_PATIENCE = 0.5  # seconds


class HeadTurns:
    """Gives turns, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._queues: dict[UUID, deque[asyncio.Future[bool]]] = {}  # of channels whose turn is taken

    @asynccontextmanager
    async def take(self, channel_id: UUID) -> AsyncIterator[None]:
        """Wait for a turn, and hold it if it came in time."""
        taken = await self._wait(channel_id)
        try:
            yield
        finally:
            if taken:
                self._pass_on(channel_id)

    async def _wait(self, channel_id: UUID) -> bool:
        queue = self._queues.get(channel_id)
        if queue is None:
            self._queues[channel_id] = deque()
            return True
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        queue.append(turn)
        timer = loop.call_later(_PATIENCE, _give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.result():  # it came in the moment of the cancellation
                self._pass_on(channel_id)
            raise
        finally:
            timer.cancel()

    def _pass_on(self, channel_id: UUID) -> None:
        queue = self._queues[channel_id]
        while queue:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        del self._queues[channel_id]


def _give_up(turn: "asyncio.Future[bool]") -> None:
    if not turn.done():
        turn.set_result(False)
