"""Reading the queue from the database after a cursor, chat and bulk separately, so that no campaign delays a reply."""

from datetime import datetime
from uuid import UUID

from gatepost.model.ids import ZERO
from gatepost.model.message import State
from gatepost.outbound.attachments import link_failed_at
from gatepost.outbound.queue import weight
from gatepost.outbound.sender_state import SenderState
from gatepost.store.channel_head import StaleOwner
from gatepost.store.messages.queue import PAGE, QueueMarks, QueueRead, read_marks, read_queued_states
from gatepost.store.messages.send import QueuedMessage, is_cut, read_queue, read_scheduled, read_start

_PAGE = 500
_TAKE_OVER = 5.0  # seconds that a new owner waits at least: the one before may have an answer that is not saved yet


def grace_left(attempted_at: datetime | None, now: datetime, grace: float) -> float:
    """Seconds that a send with an unknown outcome still has to wait for a status, however many owners it has had."""
    if attempted_at is None:
        return grace
    return min(grace, max(_TAKE_OVER, grace - (now - attempted_at).total_seconds()))


class QueueReader:
    """Fills a sender's queue, and knows up to where all messages are settled."""

    def __init__(self, state: SenderState) -> None:
        self._db = state.context.db
        self._read_new_messages = state.read_new_messages
        self._clock = state.context.clock
        self._channel_id = state.context.lease.channel_id
        self._queue = state.queue
        self._rules = state.rules
        self._opened = state.opened
        self._cursors: dict[bool, UUID] = {}
        self._compared = (0, 0)  # what the head counted when the queue was last compared with its rows
        self.more = True
        self._behind: set[bool] = set()  # of chat and bulk, what has more than the queue has room for
        self.next_scheduled: datetime | None = None

    @property
    def may_read(self) -> bool:
        """Whether there may be new messages, and room for them."""
        return self.more or any(2 * self._waiting(bulk) <= self._rules.read_ahead for bulk in self._behind)

    async def read(self) -> None:
        """Reads new messages and those that have come due, as far as there is room."""
        if not self._cursors:
            start = await read_start(self._db, self._channel_id, self._clock.now())
            self._opened.extend(start.opened)
            self._cursors = {False: start.floor, True: start.floor}
        if self.may_read:
            await self._read_new()
        now = self._clock.now()
        if self.next_scheduled is not None and self.next_scheduled <= now:
            await self._read_scheduled(now)

    def floor(self) -> UUID:
        """Every unscheduled message up to this id is settled."""
        behind = [message.id for message in self._queue.messages() if message.send_at is None]
        lowest = min(self._cursors.values(), default=ZERO)
        return min(lowest, UUID(int=min(behind).int - 1)) if behind else lowest

    async def _read_new(self) -> None:
        self.more, self._behind = False, set()
        try:
            if not await self._read_all():
                await self._read_apart()
        except Exception:  # the wake-up is used up: none comes for the same messages again
            self.more = True
            raise

    async def _read_all(self) -> bool:
        """Reads chat and bulk in one statement. Returns False if there is no room, or more to read."""
        cursor = self._cursors[False]
        if self._cursors[True] != cursor or not all(map(self._has_room, (False, True))):
            return False
        new = await self._read_new_messages(QueueRead(self._channel_id, cursor, tuple(self._loaded())))
        if new is None:  # the channel is deleted
            raise StaleOwner
        marks, found = new.marks, new.messages
        self.next_scheduled = marks.next_scheduled
        await self._follow_changes((marks.joined, marks.queue_version))
        for message in found:
            self._add(message)
        if is_cut(found, PAGE):
            self._cursors = {False: found[-1].id, True: found[-1].id}
            return False
        end = max(marks.last_message_id, found[-1].id) if found else max(marks.last_message_id, cursor)
        self._cursors = {False: end, True: end}
        return True

    async def _read_apart(self) -> None:
        marks = await self._look()
        await self._follow_changes((marks.joined, marks.queue_version))
        for bulk in (False, True):
            if marks.last_message_id > self._cursors[bulk]:
                await self._read_on(bulk, marks.last_message_id)

    async def _follow_changes(self, counted: tuple[int, int]) -> None:
        """Applies changes that others made to queued messages: canceled ones, and those with another contact."""
        waiting = [message.id for message in self._queue.messages()]
        if waiting and counted != self._compared:
            for state in await read_queued_states(self._db, self._channel_id, waiting):
                self._queue.apply_change(state, self._clock.monotonic())
        self._compared = counted

    async def _read_on(self, bulk: bool, end: UUID) -> None:
        while self._has_room(bulk):
            rows = await read_queue(self._db, self._channel_id, bulk=bulk, after=self._cursors[bulk], limit=_PAGE)
            for message in rows:
                self._add(message)
            if not is_cut(rows, _PAGE):
                self._cursors[bulk] = max(end, rows[-1].id) if rows else end
                return
            self._cursors[bulk] = rows[-1].id
        self._behind.add(bulk)

    def _has_room(self, bulk: bool) -> bool:
        return self._waiting(bulk) < self._rules.read_ahead

    def _waiting(self, bulk: bool) -> int:
        return self._queue.weights[bulk]

    async def _read_scheduled(self, now: datetime) -> None:
        """Reads due scheduled messages. Their rows stay until they are settled, so that a crash loses none."""
        loaded = self._loaded()
        room = self._rules.read_ahead - sum(weight(m) for m in self._queue.messages() if m.send_at is not None)
        if room <= 0:  # looked at again when something has left
            self.next_scheduled, self.more = None, True
            return
        for message in await read_scheduled(self._db, self._channel_id, now, loaded, room):
            self._add(message)
        await self._look()

    async def _look(self) -> QueueMarks:
        marks = await read_marks(self._db, self._channel_id, self._loaded())
        self.next_scheduled = marks.next_scheduled
        return marks

    def _loaded(self) -> list[UUID]:
        """The scheduled messages that are in the queue by now."""
        return [message.id for message in self._queue.messages() if message.send_at is not None]

    def _add(self, message: QueuedMessage) -> None:
        """Queues a message. One that an earlier owner was sending has an unknown outcome, and waits for a status."""
        if message.id in self._queue:
            return
        now, wall = self._clock.monotonic(), self._clock.now()
        if message.state is State.SENDING:
            message.not_before = now + grace_left(message.sending_at, wall, self._rules.unknown_grace)
        elif message.next_at is not None:
            failed_at = link_failed_at(message.history)
            if failed_at is not None:
                message.limited_since = now - (wall - failed_at).total_seconds()
            message.not_before = now + (message.next_at - wall).total_seconds()
        self._queue.add(message, now)
