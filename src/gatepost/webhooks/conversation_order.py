"""Order within a conversation: one POST at a time; later events of the conversation wait.

    event ─► its conversation is free ────────────────────► send
             a POST of it is in flight ─► held here ──────► send, when that POST has succeeded
                                            │ it failed, or too many are held
             earlier events are deferred ───┴─────────────► defer: delivery_retries, after them

Only a limited number is held in memory; the deferred ones are in the database.
"""

from collections import deque
from collections.abc import Iterable
from typing import Literal
from uuid import UUID

from gatepost.store.deliveries.queue import DueDelivery

HELD_PER_CONVERSATION = 100
HELD_TOTAL = 2000

Placement = Literal["send", "held", "defer"]


class ConversationOrder:
    """The conversations of one endpoint that have a POST in flight, and the deliveries held behind each."""

    def __init__(self) -> None:
        self._busy: dict[UUID, deque[DueDelivery]] = {}
        self._deferred: set[UUID] = set()  # conversations with deferred events that a page being read may not show
        self._held = 0

    @property
    def busy(self) -> list[UUID]:
        return list(self._busy)

    def begin_read(self) -> None:
        """A page is about to be read, with all conversations that are deferred by now."""
        self._deferred.clear()

    def place(self, due: DueDelivery, *, joining: bool) -> Placement:
        """Return where an event goes, and hold it if needed; `joining`: its conversation is in the batch collected."""
        if due.blocked or due.key in self._deferred:
            return "defer"
        held = self._busy.get(due.key)
        if held is None or (joining and not held):
            self._busy.setdefault(due.key, deque())
            return "send"
        if len(held) >= HELD_PER_CONVERSATION or self._held >= HELD_TOTAL:
            self._deferred.add(due.key)  # the rest of the page goes after it
            return "defer"
        held.append(due)
        self._held += 1
        return "held"

    def drain(self, keys: Iterable[UUID]) -> list[DueDelivery]:
        """Remove and return all that is held behind POSTs that failed: it has to be deferred."""
        out: list[DueDelivery] = []
        for key in keys:
            self._deferred.add(key)
            out += self._busy.get(key, ())
            self._busy[key] = deque()
        self._held -= len(out)
        return out

    def next(self, key: UUID, *, joining: bool = False) -> DueDelivery | None:
        """Return the delivery to send after a POST; with None the conversation is free, unless one was `joining`."""
        held = self._busy.get(key)
        if held:
            self._held -= 1
            return held.popleft()
        if not joining:
            self._busy.pop(key, None)
        return None

    def resume(self, keys: Iterable[UUID]) -> None:
        """Mark conversations as busy that have a POST in flight from before."""
        for key in keys:
            self._busy.setdefault(key, deque())
