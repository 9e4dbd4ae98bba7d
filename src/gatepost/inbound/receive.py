"""Receives the updates of networks: they are stored as rows and events, once, before the network gets its answer."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.inbound.network_updates import translate_update
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.networks.base import Incoming, NetworkError, NumberUpdate, RemoteMedia, StatusUpdate, Update
from gatepost.store.batch import Batch, NoteCommit, note_nothing
from gatepost.store.messages.incoming import IncomingFileRow, IncomingMessage
from gatepost.store.messages.receive import ReportBatch, StatusReport, receive_together, receive_updates
from gatepost.store.pool import UNFIT, Database
from gatepost.tracing import SERVER, Tracer

log = structlog.get_logger("gatepost.receive")
BATCH = 256  # updates of one commit
_CHANNELS = 100  # most of one commit
_LONG = 8 * 1024  # characters of a message that count as one update more
_STATES = {
    "sent": State.SENT,
    "delivered": State.DELIVERED,
    "read": State.READ,
    "played": State.PLAYED,
    "failed": State.FAILED,
}
_OLDEST = timedelta(days=7)  # for which a network repeats its reports
_MARGIN = timedelta(hours=1)  # after the time from which on messages are kept


class _UpdateBatch(msgspec.Struct, frozen=True):
    channel: ChannelRef
    updates: Sequence[Update]


class BegunReport(msgspec.Struct, frozen=True):
    """Updates that wait for their commit."""

    channel: ChannelRef
    updates: Sequence[Update]
    began: datetime
    stored: "asyncio.Future[None]"


class UpdateReceiver:
    """Receives the updates of all networks."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        queue: int,
        linger: float,
        count: Callable[[str, int], None] = lambda _, __: None,
        note_commit: NoteCommit = note_nothing,
        tracer: Tracer | None = None,
        kept_days: int = 365,
    ) -> None:
        self._db = db
        self._clock = clock
        self._oldest = min(_OLDEST, timedelta(days=kept_days) - _MARGIN)
        self._count = count
        self._tracer = tracer
        self._batch: Batch[UUID, _UpdateBatch, None] = Batch(
            self._write,
            size=BATCH,
            limit=queue,
            linger=linger,
            weigh=_weigh_batch,
            together=self._write_together,
            keys=_CHANNELS,
            alone=lambda batch: not all(map(_is_progress, batch.updates)),
            stage="receive",
            note=note_commit,
        )

    @property
    def waiting(self) -> int:
        """How many reports wait for their commit."""
        return self._batch.waiting

    async def receive(self, channel_id: UUID, channel: ChannelRef, updates: Sequence[Update]) -> None:
        """Receive the updates of one report; returns once they are durable.

        An update that cannot be stored is skipped and logged; the others are stored.
        """
        for part in split_updates(updates):
            await self._receive(channel_id, channel, part)

    @staticmethod
    def fits(updates: Sequence[Update]) -> bool:
        """Return whether updates are stored in one batch, so that `begin` takes them."""
        return 0 < sum(map(_weigh, updates)) <= BATCH

    def begin(self, channel_id: UUID, channel: ChannelRef, updates: Sequence[Update]) -> "BegunReport":
        """Begin to receive updates without awaiting anything; then call `finish`.

        If the future ends with an error of `UNFIT`, `receive` has to find the update that cannot be stored.
        """
        began = self._clock.now()
        return BegunReport(channel, updates, began, self._batch.enqueue(channel_id, _UpdateBatch(channel, updates)))

    def finish(self, report: "BegunReport") -> None:
        """Note the updates of a report after their commit."""
        if self._tracer is not None:
            _trace_statuses(self._tracer, report.channel, report.updates, report.began, self._clock.now())
        self._count_stored(report.channel, report.updates)

    async def _receive(self, channel_id: UUID, channel: ChannelRef, updates: Sequence[Update]) -> None:
        try:
            report = self.begin(channel_id, channel, updates)
            await report.stored
            self.finish(report)
        except UNFIT as error:
            if len(updates) == 1:
                why = f"{type(error).__name__}: {ascii(str(error))[:200]}"
                log.error("update not stored", channel=channel.id, kind=type(updates[0]).__name__, reason=why)
                return
            half = len(updates) // 2
            await self._receive(channel_id, channel, updates[:half])
            await self._receive(channel_id, channel, updates[half:])

    def _count_stored(self, channel: ChannelRef, updates: Sequence[Update]) -> None:
        found = [update for update in updates if isinstance(update, StatusUpdate)]
        for status in found:
            _log_status(channel, status)
        for update in updates:
            if isinstance(update, NumberUpdate) and update.event != "user_preferences":
                log.warning("the network reports about the number", channel=channel.id, report=update.event)
        statuses = len(found)
        messages = sum(isinstance(update, Incoming) for update in updates)
        for kind, count in (("status", statuses), ("message", messages), ("other", len(updates) - statuses - messages)):
            self._count(kind, count)

    async def drain(self) -> None:
        await self._batch.drain()

    async def _write(self, channel_id: UUID, batches: Sequence[_UpdateBatch]) -> list[Exception | None]:
        now = self._clock.now()
        await receive_updates(self._db, batches[-1].channel, channel_id, _reports(batches, now, self._oldest), now)
        return [None] * len(batches)

    async def _write_together(
        self, several: Mapping[UUID, Sequence[_UpdateBatch]]
    ) -> dict[UUID, list[Exception | None]]:
        now = self._clock.now()
        reports = {id_: (batches[-1].channel, _reports(batches, now, self._oldest)) for id_, batches in several.items()}
        written = await receive_together(self._db, reports, now)
        return {channel_id: [None] * len(several[channel_id]) for channel_id in written}


def _log_status(channel: ChannelRef, status: StatusUpdate) -> None:
    """Log the outcome of a message. The network may report it again, and then it is logged again."""
    message = ids.message_id(status.message_id) if status.message_id else None
    if status.error is not None:
        log.info("message failed", channel=channel.id, message=message, code=status.error.code)
    elif status.status in _STATES:
        log.debug("message " + status.status, channel=channel.id, message=message)


def _trace_statuses(
    tracer: Tracer, channel: ChannelRef, updates: Sequence[Update], began: datetime, now: datetime
) -> None:
    """Record that statuses were stored, of messages that the network names by our id."""
    for status in updates:
        if not isinstance(status, StatusUpdate) or status.message_id is None or status.status not in _STATES:
            continue
        shown: dict[str, str | int | None] = {
            "gatepost.channel.id": channel.id,
            "gatepost.message.status": _STATES[status.status].name,
            "gatepost.error.code": status.error.code if status.error else None,
        }
        stage, failed = f"status/{status.status}", status.error is not None
        tracer.record(status.message_id, stage, "message status", began, now, shown, kind=SERVER, failed=failed)


def _reports(batches: Sequence[_UpdateBatch], now: datetime, oldest: timedelta) -> ReportBatch:
    updates = [update for batch in batches for update in batch.updates]
    found = [u for u in updates if isinstance(u, StatusUpdate)]
    statuses = [_report(status) for status in found if status.status in _STATES]
    if len(found) == len(updates) and all(status.reaction is None for status in found):
        return ReportBatch(statuses)  # most are like this
    return ReportBatch(
        statuses=statuses,
        messages=[_message(u, now, oldest, place) for place, u in enumerate(updates) if isinstance(u, Incoming)],
        network=translate_update(updates, now),
    )


def split_updates(updates: Sequence[Update]) -> Iterator[Sequence[Update]]:
    """Split the updates of one report into parts that fit into one batch each; one update always fits."""
    start, weight = 0, 0
    for place, update in enumerate(updates):
        weight += _weigh(update)
        if weight > BATCH and place > start:
            yield updates[start:place]
            start, weight = place, _weigh(update)
    if updates:
        yield updates[start:]


def _weigh(update: Update) -> int:
    """Return the weight of an update. A long message counts as many, because the size of a commit is limited."""
    return 1 + len(update.content) // _LONG if isinstance(update, Incoming) else 1


def _is_progress(update: Update) -> bool:
    """Return whether an update is the status of a message that has made progress."""
    return isinstance(update, StatusUpdate) and update.error is None and update.message_id is not None


def _weigh_batch(batch: _UpdateBatch) -> int:
    return sum(_weigh(update) for update in batch.updates)


def _report(status: StatusUpdate) -> StatusReport:
    return StatusReport(
        status.network_id,
        _STATES[status.status],
        status.message_id,
        error_shown(status.error),
        status.attempt,
        _details(status),
    )


def _details(status: StatusUpdate) -> dict[str, Any] | None:
    if status.pricing is None and status.conversation is None:
        return None
    details = {"pricing": status.pricing, "conversation": status.conversation}
    return {name: value for name, value in details.items() if value is not None}


def _limit_time(at: datetime, now: datetime) -> datetime:
    """Limit a time to what a network may report."""
    return min(max(at, now - _OLDEST), now + timedelta(hours=1))


def _message(incoming: Incoming, now: datetime, oldest: timedelta, place: int) -> IncomingMessage:
    """Return a message. Its id has a time whose partition exists: older ones may be dropped."""
    at = _limit_time(incoming.at, now)
    placed = max(at, now - oldest)
    return IncomingMessage(
        id=ids.arrival_id(placed, now, place),
        network_id=incoming.network_id,
        person=incoming.person,
        type=incoming.type,
        content=incoming.content,
        at=at,
        reply_to=incoming.reply_to,
        target=incoming.target,
        context=incoming.context,
        file=_file(incoming.media) if incoming.media else None,
        from_me=incoming.from_me,
        moved=placed != incoming.at,
    )


def _file(media: RemoteMedia) -> IncomingFileRow:
    source = msgspec.json.encode(media).decode()
    return IncomingFileRow(media.mime_type, source, media.size, media.sha256, media.filename)


def error_shown(error: NetworkError | None) -> dict[str, Any] | None:
    """Return a network's error as events and the trace show it."""
    if error is None:
        return None
    shown = {"code": error.code, "title": error.title, "details": error.details}
    return {**shown, "advice": error.advice} if error.advice else shown
