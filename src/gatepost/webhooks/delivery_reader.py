"""Reads the due deliveries of one endpoint into its buffer: new ones after the cursor, and retries by their time."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from gatepost.store.deliveries.queue import (
    DueDelivery,
    PendingPage,
    PendingRead,
    next_retry,
    read_pending_ordered,
    read_retries,
)
from gatepost.store.deliveries.record import OrderedWait, OrphanedRetry, release_ordered_waits
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.delivery_buffer import DeliveryBuffer
from gatepost.webhooks.delivery_context import ChannelDelivery

_RELEASED_AT_ONCE = 1000
_PAUSE = 0.25  # seconds between the pages that a batch is collected from; at most half of the time that it waits


class DeliveryReader:
    """Fills a buffer. `wakeup` is set when there is something new for the deliverer to do."""

    def __init__(
        self, delivery: ChannelDelivery, target: Endpoint, buffer: DeliveryBuffer, wakeup: asyncio.Event
    ) -> None:
        self._delivery = delivery
        self._db, self._clock = delivery.context.db, delivery.context.clock
        self._buffer = buffer
        self._wakeup = wakeup
        self.target = target
        self.pending = True  # whether there may be unread deliveries after the cursor
        self.read_at = 0.0  # when they may be read
        self._pending_since = self._clock.monotonic()
        self.next_retry: datetime | None = None
        self.retries_known = False  # whether `next_retry` is up to date
        self.waits = target.options.ordered  # whether deliveries may wait for earlier ones of their conversation

    @property
    def may_read(self) -> bool:
        """Whether the next page may be read now."""
        return self.pending and self.read_at <= self._clock.monotonic()

    def expect_pending(self) -> None:
        """Note that there may be new deliveries."""
        if not self.pending:
            self.pending, self._pending_since = True, self._clock.monotonic()

    def expect_retry(self, at: datetime | None) -> None:
        """Note that a retry was scheduled."""
        if at is not None and (self.next_retry is None or at < self.next_retry):
            self.next_retry = at
            self._wakeup.set()

    def retries_changed(self) -> None:
        self.retries_known = False
        self._wakeup.set()

    def start_over(self) -> None:
        """Look for deliveries and retries as if nothing had been read."""
        self.expect_pending()
        self.read_at = 0.0
        self.retries_changed()

    async def read_pending(self, limit: int) -> None:
        """Read the next page after the cursor. What is collected for a batch is read after a pause, many at a time.

        The pause is a part of the time that the batch waits.
        """
        self.pending, since = False, max(self._pending_since, self._clock.monotonic() - _PAUSE)
        buffer, options = self._buffer, self.target.options
        after, reach = buffer.read_to, buffer.reach
        buffer.begin_read()
        wanted = PendingRead(self._delivery.channel_id, self.target.id, after, limit)
        if options.ordered:
            page = await read_pending_ordered(self._db, wanted)
        else:
            page = await self._delivery.context.read_pending(wanted) or PendingPage([], limit)
        if after != buffer.read_to or options != self.target.options:  # the buffer was rewound meanwhile
            self.expect_pending()
            self._wakeup.set()
            return
        await self._place(buffer.accept_page(page.due, page.limit), since)
        if reach != buffer.reach:
            self.retries_changed()
        if len(page.due) == page.limit:
            self.expect_pending()
        elif options.batch_wait and options.batch > 1:
            self.read_at = self._after_pause(min(_PAUSE, options.batch_wait / 2))

    def _after_pause(self, pause: float) -> float:
        """Return the end of a pause. Pauses end at multiples of it, so that many deliverers read with one statement."""
        return (self._clock.monotonic() // pause + 1) * pause

    async def read_retries(self, now: datetime, limit: int) -> None:
        """Read retries that are due."""
        self._buffer.begin_read()
        buffer, options = self._buffer, self.target.options
        page = await read_retries(
            self._db,
            self._delivery.channel_id,
            self.target.id,
            now,
            buffer.retried,
            limit,
            ordered=options.ordered,
            busy=buffer.busy,
            reach=buffer.reach,
        )
        if page.orphaned:
            await self._delivery.record([OrphanedRetry(self.target.id, id_) for id_ in page.orphaned])
        if options == self.target.options:
            await self._place(page.due, self._clock.monotonic())
        await self.find_next_retry()

    async def find_next_retry(self) -> None:
        """Read when the next retry is due. An endpoint that is no longer ordered releases the deliveries that wait."""
        self.retries_known = True
        channel_id, endpoint_id, buffer = self._delivery.channel_id, self.target.id, self._buffer
        ahead = await next_retry(self._db, channel_id, endpoint_id, buffer.retried, buffer.busy, buffer.reach)
        self.next_retry, self.waits = ahead.at, ahead.waiting
        if ahead.waiting and not self.target.options.ordered:
            await release_ordered_waits(
                self._db, self._delivery.lease, endpoint_id, self._clock.now(), limit=_RELEASED_AT_ONCE
            )
            self.retries_changed()

    async def _place(self, items: Sequence[DueDelivery], since: float) -> None:
        deferred = self._buffer.place(items, since)
        if deferred:
            await self.defer(deferred)

    async def defer(self, items: Sequence[DueDelivery]) -> None:
        """Write deliveries that have to wait for earlier ones of their conversation."""
        await self._delivery.record([OrderedWait(self.target.id, item.event_id, item.key) for item in items])
        self._buffer.release(items)
        self.waits = True
        self.retries_changed()
