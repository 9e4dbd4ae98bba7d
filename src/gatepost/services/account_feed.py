"""The feed of an account: what happens on all of its channels, for its open streams (`account_streams.py`).

A stream that begins in the past, or that is too slow for its buffer, reads the table itself, up to where the feed is;
meanwhile the feed fills the buffer with what follows. So no event is missed or repeated, and a slow client takes no
memory. Notices (a channel was added or changed) are not stored: a client that reconnects, or is told that notices were
lost, reads again what they are about.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.account_cursor import AccountCursor, write_cursor
from gatepost.services.event_waiters import NewEvents
from gatepost.store.events import ChannelEvent, EventRange, read_ranges
from gatepost.store.pool import Database

PAGE = 100  # events of a channel that are read at once
CHANNELS = 20  # channels that are read at once
_PART = 20  # events after which a cursor is sent
_BUFFER = 1024 * 1024  # bytes of events that wait for one client

Positions = Mapping[UUID, UUID]  # the last event of each channel


class Notice(msgspec.Struct, frozen=True):
    """A change that is not an event: what kind it is, and JSON about it."""

    name: str
    body: str


ALL_CHANGED = Notice("account_changed", '{"resource":"all","channel":null}')  # notices were lost


class StreamBatch(msgspec.Struct):
    """What a stream sends next. All streams of an account share it, so that it is encoded once."""

    events: list[ChannelEvent]
    cursor: str = ""  # behind the events; empty: as before
    notices: tuple[Notice, ...] = ()
    encoded: bytes = b""  # set by the first that sends it

    @property
    def size(self) -> int:
        return sum(len(event.body) for event in self.events) + sum(len(notice.body) for notice in self.notices)


class AccountStream:
    """One open stream of a client."""

    def __init__(self, feed: "AccountFeed", user_id: UUID, cursor: AccountCursor | None) -> None:
        self.feed = feed
        self.user_id = user_id
        self.ended = False
        self._behind = cursor is not None
        self._at: dict[UUID, UUID] = feed.positions_at(cursor)
        self._ahead: dict[UUID, UUID] = {}  # channels of which the client has more than the feed
        self._buffer: deque[StreamBatch] = deque()
        self._size = 0
        self._new_events = NewEvents()

    @property
    def cursor(self) -> str:
        return self.feed.write_cursor(self._at)

    def put(self, batch: StreamBatch) -> None:
        """Send a batch soon. If the client is too slow, forget the buffer; the events are read again later."""
        if not self._behind or not batch.events:
            self._buffer.append(batch)
            self._size += batch.size
        if self._size > _BUFFER:
            self._behind, self._size = True, 0
            self._buffer = deque([StreamBatch([], "", (ALL_CHANGED,))])
        self._new_events.set()

    def end(self) -> None:
        """End the stream."""
        self.ended = True
        self._new_events.set()

    async def batches(self, db: Database, beat: float) -> AsyncIterator[StreamBatch]:
        """Yield batches until the end. If there is nothing for `beat` seconds, yield an empty one."""
        if not self._behind:
            yield _ready(0, beat)
        while not self.ended:
            self._new_events.clear()
            if self._behind:
                async for batch in self._catch_up(db, beat):
                    yield batch
            elif self._buffer:
                yield self._take()
            elif not await self._new_events.wait(beat):
                yield StreamBatch([])

    def _take(self) -> StreamBatch:
        batch = self._buffer.popleft()
        self._size -= batch.size
        if not self._ahead:
            self._at.update((event.channel_id, event.id) for event in batch.events)
            return batch
        fresh = [event for event in batch.events if event.id > self._ahead.get(event.channel_id, ids.ZERO)]
        for event in fresh:
            self._at[event.channel_id] = event.id
            self._ahead.pop(event.channel_id, None)
        return StreamBatch(fresh, self.cursor if fresh else "", batch.notices)

    async def _catch_up(self, db: Database, beat: float) -> AsyncIterator[StreamBatch]:
        """Yield what was missed up to where the feed is now. The feed fills the buffer with what comes after it."""
        self._behind = False
        ends = dict(self.feed.positions)
        at = self._at = {channel_id: self._at.get(channel_id, ids.ZERO) for channel_id in ends}
        self._ahead = {channel_id: at[channel_id] for channel_id, end in ends.items() if at[channel_id] > end}
        missed = [
            EventRange(channel_id, at[channel_id], end) for channel_id, end in ends.items() if at[channel_id] < end
        ]
        total = 0
        while missed and not self.ended:
            events, left = await read_ranges(db, missed[:CHANNELS], PAGE)
            missed = [*left, *missed[CHANNELS:]]
            total += len(events)
            for part in _parts(events):
                at.update((event.channel_id, event.id) for event in part)
                yield StreamBatch(part, self.cursor)
        yield _ready(total, beat)


def _parts(events: list[ChannelEvent]) -> Iterator[list[ChannelEvent]]:
    """Yield the events in small parts. Each has a cursor, so that a bad connection makes progress too."""
    for start in range(0, len(events), _PART):
        yield events[start : start + _PART]


def _ready(missed: int, beat: float) -> StreamBatch:
    """Tell the client that it has everything up to now, and how often it gets a heartbeat."""
    return StreamBatch([], "", (Notice("ready", f'{{"missed":{missed},"heartbeat":{beat}}}'),))


class AccountFeed:
    """The channels of an account, how far their events were read, and the streams that get them."""

    def __init__(self, account_id: UUID, clock: Clock) -> None:
        self.account_id = account_id
        self.positions: dict[UUID, UUID] = {}
        self.streams: set[AccountStream] = set()
        self._clock = clock

    def positions_at(self, cursor: AccountCursor | None) -> dict[UUID, UUID]:
        """Return how far a client with a cursor has read; without one, it begins now."""
        if cursor is None:
            return dict(self.positions)
        return {channel_id: cursor.position(channel_id, end) for channel_id, end in self.positions.items()}

    def write_cursor(self, positions: Positions) -> str:
        return write_cursor(positions, self._clock.now())

    def publish(self, events: list[ChannelEvent], notices: Sequence[Notice] = ()) -> None:
        """Send events to all streams of the account."""
        for part in _parts(events):
            self.positions.update((event.channel_id, event.id) for event in part)
            self._put(StreamBatch(part, self.write_cursor(self.positions)))
        if notices:
            self._put(StreamBatch([], "", tuple(notices)))

    def notify(self, notice: Notice, sender: UUID) -> None:
        """Send a notice to the streams of other users."""
        self._put(StreamBatch([], "", (notice,)), sender)

    def _put(self, batch: StreamBatch, sender: UUID | None = None) -> None:
        for stream in self.streams:
            if stream.user_id != sender:
                stream.put(batch)
