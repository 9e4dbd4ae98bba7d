"""How many database connections each use may have at once. No use can take what is reserved for another.

one pool of N connections
    reserved   a few slots per use, which no other use can take
    shared     the rest, first come, first served

api       requests of customers, except sends         accept   key checks and sends
receive   updates of the networks                     own      leases, sweep, reading queues
work      sending, delivering, files, housekeeping

A slot is granted if the use is below its own reserve, or if the pool still holds the reserves of all others. So any
number of reads and exports cannot keep the gateway from accepting, receiving or renewing its leases.
"""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Mapping
from typing import Literal, get_args

Use = Literal["api", "accept", "receive", "own", "work"]
USES: tuple[Use, ...] = get_args(Use)
_Turn = tuple[int, asyncio.Future[bool]]  # its number, and whether a slot was granted: not if it took too long
_SMALL: Mapping[Use, int] = {"own": 1, "accept": 1, "receive": 1}
_USUAL: Mapping[Use, int] = {"own": 2, "accept": 2, "receive": 1, "work": 2, "api": 1}


def reserves(connections: int) -> Mapping[Use, int]:
    """Return how many of the slots are reserved for each use; none if there are too few to divide."""
    if connections < 4:
        return {}
    return _SMALL if connections < 12 else _USUAL


class ConnectionSlots:
    """Grants slots, first come, first served among the uses that may have one."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.timeouts: dict[str, int] = dict.fromkeys(USES, 0)
        self._reserved = reserves(total)
        self._used: dict[Use, int] = {}
        self._bound = sum(self._reserved.values())  # slots that are in use or reserved for others
        self._waiting: dict[Use, deque[_Turn]] = {}
        self._numbers = itertools.count()

    def take(self, use: Use) -> bool:
        """Take a slot, to be released, if one is free and nobody waits for it."""
        return not self._waiting.get(use) and self._grant(use)

    async def acquire(self, use: Use, seconds: float) -> None:
        """Take a slot, to be released. Raise TimeoutError if none is free in time."""
        if self.take(use):
            return
        queue = self._waiting.setdefault(use, deque())
        loop = asyncio.get_running_loop()
        turn = next(self._numbers), loop.create_future()
        queue.append(turn)
        # Not asyncio.timeout: before Python 3.11.3 it raises CancelledError in a task that is being cancelled, and
        # some of those still write to the database, in a `finally` block.
        timer = loop.call_later(seconds, _settle, turn[1], False)
        try:
            granted = await turn[1]
        except asyncio.CancelledError:
            if turn[1].cancelled() or not turn[1].result():
                self._leave(queue, turn)
            else:  # granted in the moment in which the caller was cancelled
                self.release(use)
            raise
        finally:
            timer.cancel()
        if not granted:
            self._leave(queue, turn)
            self.timeouts[use] += 1
            raise TimeoutError

    def release(self, use: Use) -> None:
        """Return a slot; it goes to the longest waiting use that may have it."""
        self._used[use] -= 1
        if self._used[use] >= self._reserved.get(use, 0):
            self._bound -= 1
        if not any(self._waiting.values()):
            return
        for queue in self._waiting.values():
            while queue and queue[0][1].done():
                queue.popleft()
        waiting = sorted((queue[0][0], one) for one, queue in self._waiting.items() if queue)
        for _, one in waiting:
            if self._grant(one):
                self._waiting[one].popleft()[1].set_result(True)
                return  # one was given back: no more than one can be granted

    def used(self) -> dict[str, int]:
        """Return how many slots each use has."""
        return {use: self._used.get(use, 0) for use in USES}

    def waiting(self) -> dict[str, int]:
        """Return how many wait for a slot, by use."""
        return {use: sum(not turn[1].done() for turn in self._waiting.get(use, ())) for use in USES}

    def _leave(self, queue: "deque[_Turn]", turn: "_Turn") -> None:
        with contextlib.suppress(ValueError):  # `release` may have removed it
            queue.remove(turn)

    def _grant(self, use: Use) -> bool:
        used = self._used.get(use, 0)
        if used >= self._reserved.get(use, 0):
            if self._bound >= self.total:
                return False
            self._bound += 1
        self._used[use] = used + 1
        return True


def _settle(turn: "asyncio.Future[bool]", granted: bool) -> None:
    if not turn.done():
        turn.set_result(granted)
