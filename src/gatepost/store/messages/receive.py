"""The commit that receives what the network reports: statuses, messages and updates, with their events."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.store.channel_head import HeadLocked, channel_transaction, renew_reads
from gatepost.store.contacts.identify import ContactResolver
from gatepost.store.contacts.large_merge import LargeMerge, merge_in_parts
from gatepost.store.conversations.changes import ConversationActivity, emit_reopened, record_activity
from gatepost.store.messages.amend import CHANGES, find_targets
from gatepost.store.messages.incoming import IncomingMessage, IncomingWriter
from gatepost.store.messages.progress import ChannelProgress, is_progress, write_progress
from gatepost.store.messages.status import StatusChange, park, take_parked, write_changes
from gatepost.store.network_updates import NetworkReports, write_reports
from gatepost.store.pool import Connection, Database, keys_and_range

_NETWORK_MEMORY = timedelta(days=30)
_LATE = timedelta(minutes=5)
_REPEATED_WITHIN = timedelta(minutes=10)
_NO_TALK = ("system", "call")  # what a person did not write does not open the customer-service window


class StatusReport(msgspec.Struct, frozen=True):
    """A status report of the network."""

    network_id: str
    state: State
    message_id: UUID | None
    error: dict[str, Any] | None
    attempt: int | None = None  # of ours, if the network reports it
    details: dict[str, Any] | None = None  # pricing and conversation, if the network reports them


class ReportBatch(msgspec.Struct, frozen=True):
    """Everything that one batch reports."""

    statuses: Sequence[StatusReport] = ()
    messages: Sequence[IncomingMessage] = ()
    network: NetworkReports = NetworkReports()

    @property
    def plain(self) -> bool:
        """Whether these are statuses only, of messages that move forward."""
        return bool(self.statuses) and not self.messages and not self.network and all(map(is_progress, self.statuses))


async def receive_updates(
    db: Database, channel: ChannelRef, channel_id: UUID, reports: ReportBatch, now: datetime
) -> None:
    """Receive a batch of one channel. A repeated report changes nothing and emits no event."""
    if reports.plain:
        batch = {channel_id: ChannelProgress(channel, reports.statuses)}
        if await write_progress(db, batch, now, wait=True):
            return
    await merge_in_parts(db, channel_id, partial(receive_any_updates, db, channel, channel_id, reports, now))


async def receive_together(
    db: Database, batches: Mapping[UUID, tuple[ChannelRef, ReportBatch]], now: datetime
) -> set[UUID]:
    """Receive batches of several channels in one commit, without waiting for a lock. Return the channels received.

    Those that are not plain are received only alone, and a large merge only by `receive_updates`.
    """
    plain = {id_: (channel, reports) for id_, (channel, reports) in batches.items() if reports.plain}
    progress = {id_: ChannelProgress(channel, reports.statuses) for id_, (channel, reports) in plain.items()}
    written = set(await write_progress(db, progress, now, wait=False)) if progress else set()
    if written or len(batches) > 1:
        return written
    ((channel_id, (channel, reports)),) = batches.items()
    with suppress(HeadLocked, LargeMerge):
        await receive_any_updates(db, channel, channel_id, reports, now, wait=False)
        written.add(channel_id)
    return written


async def receive_any_updates(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    reports: ReportBatch,
    now: datetime,
    *,
    wait: bool = True,
    whole: bool = False,
) -> None:
    """Receive a batch of all kinds of reports; without `wait`, raise HeadLocked if another transaction has the channel.

    Unless `whole`, raise LargeMerge if it merges contacts with very many messages.
    Messages are changed before conversations, in the order of `mark_sending`, which does not lock the channel.
    """
    async with channel_transaction(db, channel, channel_id, now, sending=False, wait=wait) as transaction:
        conn, people = transaction.conn, ContactResolver(transaction, whole=whole)
        fresh = await _unknown_messages(conn, channel_id, reports.messages, now)
        if fresh or reports.network:
            await people.resolve([(m.at, m.person) for m in fresh] + reports.network.people())
            people.emit_changes()
            await IncomingWriter(transaction, people, _floor(now)).write(fresh)
            await write_reports(transaction, reports.network, people)
        activities = _activities(fresh, people)
        await emit_reopened(transaction, activities)
        statuses = [*await _awaited(conn, channel_id, fresh), *reports.statuses]
        changes = await _apply(conn, channel_id, statuses, now)
        await write_changes(transaction, changes)
        await record_activity(conn, channel_id, activities)


async def _awaited(conn: "Connection[Any]", channel_id: UUID, fresh: Sequence[IncomingMessage]) -> list[StatusReport]:
    """Return parked statuses of messages that the business wrote on its own phone."""
    echoes = [message.network_id for message in fresh if message.from_me]
    parked = await take_parked(conn, channel_id, echoes) if echoes else {}
    return [
        StatusReport(name, p.state, None, p.error, None, p.details) for name, found in parked.items() for p in found
    ]


def _floor(now: datetime) -> UUID:
    """Return the first id that a network may still report on."""
    return ids.floor_id(now - _NETWORK_MEMORY)


async def _apply(
    conn: "Connection[Any]", channel_id: UUID, reports: Sequence[StatusReport], now: datetime
) -> list[StatusChange]:
    """Find each report's message, by our id or else by the network's, and apply the report to it."""
    if not reports:
        return []
    changes = await _changes_by_id(conn, channel_id, [r.message_id for r in reports if r.message_id])
    strays = [r for r in reports if r.message_id not in changes]
    by_network = await _changes_by_network_id(conn, channel_id, {r.network_id for r in strays}, now) if strays else {}
    parked = []
    for report in reports:
        change = changes.get(report.message_id) if report.message_id else None
        change = change or by_network.get(report.network_id)
        if change is None:
            parked.append(report)
            continue
        change = changes.setdefault(change.id, change)
        if report.state is State.FAILED and (report.attempt or change.attempt) < change.attempt:
            continue  # an earlier attempt, whose answer was lost; the message is being sent again
        change.learn(report.network_id)
        change.step(report.state, report.error, report.details)
    await _park(conn, channel_id, parked, now)
    return [change for change in changes.values() if change.changed]


async def _changes_by_id(
    conn: "Connection[Any]", channel_id: UUID, message_ids: Sequence[UUID]
) -> dict[UUID, StatusChange]:
    if not message_ids:
        return {}
    rows = await conn.fetch(
        """SELECT id, contact_id, state, attempt, phone, client_ref, network_id, target_id FROM messages
           WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4 AND NOT incoming""",
        channel_id,
        *keys_and_range(message_ids),
    )
    return {row["id"]: StatusChange.of(row) for row in rows}


async def _changes_by_network_id(
    conn: "Connection[Any]", channel_id: UUID, network_ids: set[str], now: datetime
) -> dict[str, StatusChange]:
    rows = await _find_by_network_id(conn, channel_id, network_ids, now)
    return {row["network_id"]: StatusChange.of(row) for row in rows if not row["incoming"]}


async def _find_by_network_id(
    conn: "Connection[Any]", channel_id: UUID, network_ids: set[str], now: datetime
) -> list[Any]:
    """Return messages by the network's ids."""
    rows: list[Any] = await conn.fetch(
        """SELECT m.* FROM unnest($2::text[]) AS wanted (network_id) CROSS JOIN LATERAL (
               SELECT id, contact_id, state, attempt, phone, client_ref, network_id, target_id, incoming FROM messages
               WHERE channel_id = $1 AND network_id = wanted.network_id AND id > $3 LIMIT 1) m""",
        channel_id,
        sorted(network_ids),
        _floor(now),
    )
    return rows


async def _park(conn: "Connection[Any]", channel_id: UUID, reports: Sequence[StatusReport], now: datetime) -> None:
    if reports:
        await conn.execute(
            """INSERT INTO parked_statuses (channel_id, network_id, id, status)
               SELECT $1, * FROM unnest($2::text[], $3::uuid[], $4::text[]) ON CONFLICT DO NOTHING""",
            channel_id,
            [r.network_id for r in reports],
            [ids.new_id(now) for _ in reports],
            [park(r.state, r.error, r.details) for r in reports],
        )
        await renew_reads(conn, channel_id)


async def _unknown_messages(
    conn: "Connection[Any]", channel_id: UUID, messages: Sequence[IncomingMessage], now: datetime
) -> list[IncomingMessage]:
    """Leave out messages that were received before, duplicates, and echoes of our own messages."""
    unique: dict[str, IncomingMessage] = {}
    for message in messages:
        unique.setdefault(message.network_id, message)
    known = await _known_at_their_time(conn, channel_id, [m for m in unique.values() if not _by_network(m, now)])
    known |= await _own_echoes(conn, channel_id, [m.network_id for m in unique.values() if m.from_me], now)
    named = {message.network_id for message in unique.values() if _by_network(message, now)}
    known |= (await find_targets(conn, channel_id, named, _floor(now))).keys()
    return [message for name, message in unique.items() if name not in known]


async def _known_at_their_time(
    conn: "Connection[Any]", channel_id: UUID, messages: Sequence[IncomingMessage]
) -> set[str]:
    """Return those known already. A repeated report names a time near the first: a range of one or two partitions.

    A callback that is repeated names the same second. A linked phone that requests a message again gets a new time.
    """
    if not messages:
        return set()
    times = [message.at for message in messages]
    rows = await conn.fetch(
        """SELECT w.network_id FROM unnest($2::text[]) AS w (network_id)
           CROSS JOIN LATERAL (
               SELECT 1 FROM messages WHERE channel_id = $1 AND network_id = w.network_id
                 AND id >= $3 AND id < $4 LIMIT 1) m""",
        channel_id,
        [message.network_id for message in messages],
        ids.floor_id(min(times) - _REPEATED_WITHIN),
        ids.floor_id(max(times) + _REPEATED_WITHIN),
    )
    return {row["network_id"] for row in rows}


async def _own_echoes(conn: "Connection[Any]", channel_id: UUID, network_ids: Sequence[str], now: datetime) -> set[str]:
    """Return messages that were reported back under an id of ours."""
    ours = {id_: name for name in network_ids if (id_ := _own_id(name, now))}
    if not ours:
        return set()
    rows = await conn.fetch(
        "SELECT id FROM messages WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4",
        channel_id,
        *keys_and_range([*ours]),
    )
    return {ours[row["id"]] for row in rows}


def _by_network(message: IncomingMessage, now: datetime) -> bool:
    """Whether only the network's id shows that a message is known: its own id may differ each time."""
    return message.moved or message.from_me or now - message.at > _LATE


def _own_id(network_id: str, now: datetime) -> UUID | None:
    """Return our id if the network uses it: an echo may arrive before the commit that saves the network's id."""
    id_ = ids.parse_id("", network_id)
    return id_ if id_ and _floor(now) < id_ < ids.floor_id(now + timedelta(days=1)) else None


def _activities(fresh: Sequence[IncomingMessage], people: ContactResolver) -> list[ConversationActivity]:
    """Return the activity in each conversation. A reaction, an edit or a revoke does not count as unread."""
    found: dict[UUID, ConversationActivity] = {}
    for message in fresh:
        contact = people.of(message.person)
        activities = found.setdefault(contact.id, ConversationActivity(contact, message.id))
        activities.last_message_id = max(activities.last_message_id, message.id)
        if not message.from_me and message.type not in _NO_TALK:
            activities.last_in_at = max(message.at, activities.last_in_at or message.at)
            activities.unread += message.type not in CHANGES
    return list(found.values())
