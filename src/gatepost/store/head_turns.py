"""Turns of this process's batches at the head of a channel.

A batch that meets another one at a lock of PostgreSQL costs a statement that writes nothing, and then a transaction of
four round trips. Batches of the same process can wait for each other without that. The lock is still what protects the
channel: a turn that does not come in time is not waited for any longer.
"""

import asyncio
from collections import deque
from uuid import UUID

_PATIENCE = 0.5  # seconds


class HeadTurns:
    """Gives turns, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._queues: dict[UUID, deque[asyncio.Future[bool]]] = {}  # of channels whose turn is taken

    def take(self, channel_id: UUID) -> "_Turn":
        """Wait for a turn, and hold it if it came in time."""
        return _Turn(self, channel_id)

    def begin(self, channel_id: UUID) -> bool:
        """Take a turn if nobody has it."""
        if channel_id in self._queues:
            return False
        self._queues[channel_id] = deque()
        return True

    async def wait(self, channel_id: UUID) -> bool:
        """Wait for a turn that somebody has. Return whether it came in time."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        self._queues[channel_id].append(turn)
        timer = loop.call_later(_PATIENCE, _give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.result():  # it came in the moment of the cancellation
                self.pass_on(channel_id)
            raise
        finally:
            timer.cancel()

    def pass_on(self, channel_id: UUID) -> None:
        """End a turn."""
        queue = self._queues[channel_id]
        while queue:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        del self._queues[channel_id]


class _Turn:
    __slots__ = ("_channel_id", "_taken", "_turns")

    def __init__(self, turns: HeadTurns, channel_id: UUID) -> None:
        self._turns = turns
        self._channel_id = channel_id

    async def __aenter__(self) -> None:
        self._taken = self._turns.begin(self._channel_id) or await self._turns.wait(self._channel_id)

    async def __aexit__(self, *_: object) -> None:
        if self._taken:
            self._turns.pass_on(self._channel_id)


def _give_up(turn: "asyncio.Future[bool]") -> None:
    if not turn.done():
        turn.set_result(False)
