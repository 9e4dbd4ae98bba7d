"""Order within a conversation: one POST at a time, and whoever comes meanwhile waits.

    event ─► its conversation is free ─────────────────► go
             a POST of it is under way ─► held here ────► go, when that POST arrived
                                            │ it failed, or too many are held
             others of it stand in line ────┴───────────► delivery_retries, behind them

Only a bounded number is held in memory; the line itself is in the database and outlives us.
"""

from collections import deque
from collections.abc import Iterable
from typing import Literal
from uuid import UUID

from gatepost.store.deliveries.queue import DueDelivery

HELD_PER_LINE = 100
HELD_IN_ALL = 2000

Place = Literal["go", "held", "line"]


class ConversationOrder:
    """The conversations of one endpoint that have a POST under way, and what is held behind each."""

    def __init__(self) -> None:
        self._busy: dict[UUID, deque[DueDelivery]] = {}
        self._turned: set[UUID] = set()
        self._held = 0

    @property
    def busy(self) -> list[UUID]:
        return list(self._busy)

    def begin_read(self) -> None:
        """From here on until what is read now was placed, a line that comes up may be missing in it."""
        self._turned.clear()

    def place(self, due: DueDelivery, *, joining: bool) -> Place:
        """Says where an event goes, and keeps it if it is to be held. One of its own may be `joining` it in a batch."""
        if due.blocked or due.key in self._turned:
            return "line"
        held = self._busy.get(due.key)
        if held is None or (joining and not held):
            self._busy.setdefault(due.key, deque())
            return "go"
        if len(held) >= HELD_PER_LINE or self._held >= HELD_IN_ALL:
            self._turned.add(due.key)  # the rest of what was read goes behind it
            return "line"
        held.append(due)
        self._held += 1
        return "held"

    def drain(self, keys: Iterable[UUID]) -> list[DueDelivery]:
        """All that is held behind a POST that failed: it has to stand in line now, in the database."""
        out: list[DueDelivery] = []
        for key in keys:
            self._turned.add(key)
            out += self._busy.get(key, ())
            self._busy[key] = deque()
        self._held -= len(out)
        return out

    def follow(self, key: UUID, *, joining: bool = False) -> DueDelivery | None:
        """Who goes next once a POST is done with. None: nobody; the conversation is free, unless one was `joining`."""
        held = self._busy.get(key)
        if held:
            self._held -= 1
            return held.popleft()
        if not joining:
            self._busy.pop(key, None)
        return None

    def take_up(self, keys: Iterable[UUID]) -> None:
        """Conversations that have a POST under way from before: what comes is held behind it, as ever."""
        for key in keys:
            self._busy.setdefault(key, deque())
