"""What a round has in memory: read, and not yet recorded.

    read ─► place ─┬─► gathering ─► ready ─► POST under way ─► let go
                   ├─► held behind another of its conversation
                   └─► in line (the caller writes that down)

All of it can be forgotten at any time: it is behind the cursor, or it stands in delivery_retries.
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
    """The deliveries to one endpoint that are in memory, and how far they were read."""

    def __init__(self, cursor: UUID, options: DeliveryOptions) -> None:
        self.read_to = cursor
        self.ready: deque[tuple[DueDelivery, ...]] = deque()
        self._options = options
        self._gather = BatchCollector()
        self._order = ConversationOrder() if options.ordered else None
        self._events: dict[UUID, bool] = {}  # all of them, and whether they stand in delivery_retries
        self._first: set[UUID] = set()  # those that were read behind the cursor
        self._settled: set[UUID] = set()  # those that were let go while a page was being read
        self._whole = False  # whether all that waited behind the cursor was read

    @property
    def cursor(self) -> UUID:
        """Every delivery up to here has had its first attempt recorded, or stands in line."""
        return min(self.read_to, UUID(int=min(self._first).int - 1)) if self._first else self.read_to

    @property
    def reach(self) -> UUID | None:
        """Up to which event an ordered endpoint may go on with those in line; None: with all of them.

        Of those further on, earlier ones of their conversation may be unread: a former owner had them in memory only.
        """
        return self.read_to if self._order and not self._whole else None

    @property
    def gathering(self) -> int:
        return len(self._gather)

    @property
    def ripe_at(self) -> float | None:
        """When a batch that gathers goes out at the latest."""
        return self._gather.ripe_at(self._options)

    @property
    def retried(self) -> list[UUID]:
        """Those in memory that stand in delivery_retries."""
        return [id_ for id_, retried in self._events.items() if retried]

    @property
    def busy(self) -> list[UUID]:
        """Conversations of an ordered endpoint that have a POST under way."""
        return self._order.busy if self._order else []

    # -- coming in ----------------------------------------------------------------------------------------------------

    def begin_read(self) -> None:
        """A page is about to be read: what changes until it is placed is remembered."""
        self._settled.clear()
        if self._order:
            self._order.begin_read()

    def turn_page(self, page: list[DueDelivery], most: int) -> list[DueDelivery]:
        """What is new of deliveries read behind the cursor; from now on the cursor waits for them."""
        self._whole = self._whole or len(page) < most
        if page:
            self.read_to = page[-1].event_id
        fresh = [due for due in page if due.event_id not in self._events and due.event_id not in self._settled]
        self._first.update(due.event_id for due in fresh)
        return fresh

    def place(self, items: Iterable[DueDelivery], now: float) -> list[DueDelivery]:
        """Each to where it belongs; returns those that have to stand in line."""
        lined = []
        for due in items:
            if due.event_id in self._events or due.event_id in self._settled:
                continue
            place = self._order.place(due, joining=self._gather.holds(due.key)) if self._order else "go"
            if place == "line":
                lined.append(due)
                continue
            self._events[due.event_id] = due.retried
            if place == "go":
                self._enqueue(due, now)
        return lined

    def _enqueue(self, due: DueDelivery, now: float) -> None:
        if self._options.batch == 1:
            self.ready.append((due,))
            return
        self._gather.add(due, now)
        if len(self._gather) >= self._options.batch:
            self.cut(now)

    def cut(self, now: float, *, all_now: bool = False) -> None:
        """A batch that is full or has waited enough is ready."""
        group = self._gather.take(self._options, now, all_now=all_now)
        if group:
            self.ready.append(group)

    # -- going out ----------------------------------------------------------------------------------------------------

    def let_go(self, items: Iterable[DueDelivery]) -> None:
        """They are recorded, or stand in line: nothing of them is lost with us any more."""
        for due in items:
            self._first.discard(due.event_id)
            self._settled.add(due.event_id)

    def forget(self, items: Iterable[DueDelivery]) -> None:
        """They are not under way any more."""
        for due in items:
            self._events.pop(due.event_id, None)

    def drain(self, keys: Iterable[UUID]) -> list[DueDelivery]:
        """What is held behind conversations that failed: it has to stand in line."""
        held = self._order.drain(keys) if self._order else []
        self.forget(held)
        return held

    def go_on(self, keys: Iterable[UUID], now: float) -> None:
        """A POST is done with: what is held behind it goes on, in a batch as far as it fits into one."""
        if self._order is None:
            return
        for key in keys:
            due = self._order.follow(key)
            while due is not None:
                self._enqueue(due, now)
                due = self._order.follow(key, joining=True) if self._gather.holds(key) else None

    def rewind(self, options: DeliveryOptions, flying: Iterable[DeliveryUnit]) -> None:
        """Forgets all but what is under way; it is read again, in the manner that holds now."""
        units = list(flying)
        self.ready.clear()
        self._gather.clear()
        self.read_to, self._options, self._whole = self.cursor, options, False
        self._order = ConversationOrder() if options.ordered else None
        if self._order:
            self._order.take_up(key for unit in units for key in unit.keys)
        self._events = {due.event_id: due.retried for unit in units for due in unit.items}
        self._first &= self._events.keys()
