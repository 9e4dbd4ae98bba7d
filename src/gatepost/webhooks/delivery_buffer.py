"""The deliveries to one endpoint that are in memory: read, and not recorded yet.

    read ─► place ─┬─► batch ─► ready ─► POST in flight ─► release
                   ├─► held behind another delivery of its conversation
                   └─► deferred (the caller writes that)

All of it can be dropped at any time: it is after the cursor, or in delivery_retries.
"""

from collections import deque
from collections.abc import Iterable
from uuid import UUID

from gatepost.model.endpoint import DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.webhooks.conversation_order import ConversationOrder
from gatepost.webhooks.delivery_request import DeliveryUnit
from gatepost.webhooks.event_batch import BatchCollector


class DeliveryBuffer:
    """Deliveries in memory, and the position up to which they were read."""

    def __init__(self, cursor: UUID, options: DeliveryOptions) -> None:
        self.read_to = cursor
        self.ready: deque[tuple[DueDelivery, ...]] = deque()
        self._options = options
        self._batch = BatchCollector()
        self._order = ConversationOrder() if options.ordered else None
        self._events: dict[UUID, bool] = {}  # all of them, and whether they are in delivery_retries
        self._unrecorded: set[UUID] = set()  # those that were read after the cursor: it waits for them
        self._released: set[UUID] = set()  # those that were released while a page was being read
        self._caught_up = False  # whether all deliveries after the cursor have been read

    @property
    def cursor(self) -> UUID:
        """The first attempt of every delivery up to here is recorded, or the delivery is in delivery_retries."""
        return min(self.read_to, UUID(int=min(self._unrecorded).int - 1)) if self._unrecorded else self.read_to

    @property
    def reach(self) -> UUID | None:
        """Up to which event an ordered endpoint may continue with deferred deliveries; None: with all of them.

        Beyond it earlier events of their conversation may be unread: a former owner had them only in memory.
        """
        return self.read_to if self._order and not self._caught_up else None

    @property
    def collecting(self) -> int:
        """How many deliveries are in the batch that is being collected."""
        return len(self._batch)

    @property
    def batch_due_at(self) -> float | None:
        """When the batch that is being collected is sent at the latest."""
        return self._batch.due_at(self._options)

    @property
    def retried(self) -> list[UUID]:
        """Those in memory that are in delivery_retries."""
        return [id_ for id_, retried in self._events.items() if retried]

    @property
    def busy(self) -> list[UUID]:
        """Conversations of an ordered endpoint that have a POST in flight."""
        return self._order.busy if self._order else []

    # -- in -----------------------------------------------------------------------------------------------------------

    def begin_read(self) -> None:
        """Start to remember what changes until the page that is read now is placed."""
        self._released.clear()
        if self._order:
            self._order.begin_read()

    def accept_page(self, page: list[DueDelivery], limit: int) -> list[DueDelivery]:
        """Return the new deliveries of a page read after the cursor, which from now on waits for them."""
        self._caught_up = self._caught_up or len(page) < limit
        if page:
            self.read_to = page[-1].event_id
        fresh = [due for due in page if self._is_new(due)]
        self._unrecorded.update(due.event_id for due in fresh)
        return fresh

    def place(self, items: Iterable[DueDelivery], now: float) -> list[DueDelivery]:
        """Put each delivery where it belongs; return those that have to be deferred."""
        deferred = []
        for due in items:
            if not self._is_new(due):
                continue
            place = self._order.place(due, joining=self._batch.contains(due.key)) if self._order else "send"
            if place == "defer":
                deferred.append(due)
                continue
            self._events[due.event_id] = due.retried
            if place == "send":
                self._enqueue(due, now)
        return deferred

    def _is_new(self, due: DueDelivery) -> bool:
        return due.event_id not in self._events and due.event_id not in self._released

    def _enqueue(self, due: DueDelivery, now: float) -> None:
        if self._options.batch == 1:
            self.ready.append((due,))
            return
        self._batch.add(due, now)
        if len(self._batch) >= self._options.batch:
            self.close_batch(now)

    def close_batch(self, now: float, *, at_once: bool = False) -> None:
        """Make a batch ready that is full or has waited long enough."""
        group = self._batch.take(self._options, now, at_once=at_once)
        if group:
            self.ready.append(group)

    # -- out ----------------------------------------------------------------------------------------------------------

    def release(self, items: Iterable[DueDelivery]) -> None:
        """The deliveries are recorded or deferred: the cursor may pass them."""
        for due in items:
            self._unrecorded.discard(due.event_id)
            self._released.add(due.event_id)

    def forget(self, items: Iterable[DueDelivery]) -> None:
        """The deliveries are not in flight any more."""
        for due in items:
            self._events.pop(due.event_id, None)

    def drain(self, keys: Iterable[UUID]) -> list[DueDelivery]:
        """Remove and return what is held behind conversations whose POST failed: it has to be deferred."""
        held = self._order.drain(keys) if self._order else []
        self.forget(held)
        return held

    def continue_with(self, keys: Iterable[UUID], now: float) -> None:
        """A POST of these conversations is done: enqueue what is held behind it, as much as fits into a batch."""
        if self._order is None:
            return
        for key in keys:
            due = self._order.next(key)
            while due is not None:
                self._enqueue(due, now)
                due = self._order.next(key, joining=True) if self._batch.contains(key) else None

    def rewind(self, options: DeliveryOptions, in_flight: Iterable[DeliveryUnit]) -> None:
        """Drop all but what is in flight; it is read again with the new options."""
        units = list(in_flight)
        self.ready.clear()
        self._batch.clear()
        self.read_to, self._options, self._caught_up = self.cursor, options, False
        self._order = ConversationOrder() if options.ordered else None
        if self._order:
            self._order.resume(key for unit in units for key in unit.keys)
        self._events = {due.event_id: due.retried for unit in units for due in unit.items}
        self._unrecorded &= self._events.keys()
