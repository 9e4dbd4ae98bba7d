"""Canceling messages that are not sent yet: one, or a selection, page by page.

selection ─► read some rows after the cursor ─► those that match and wait ─► canceled, in a commit of their own
                     ▲                                                              │
                     └──────────────── the cursor after them ◄──────────────────────┘

A page reads a bounded number of rows, whatever it finds. Canceled messages no longer match, so that a selection can be
started again from the beginning at any time.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, IdRange
from gatepost.model.event import ChannelRef
from gatepost.model.message import State, may_follow
from gatepost.store.channel_head import channel_transaction
from gatepost.store.messages.send import unschedule
from gatepost.store.messages.status import StatusChange, write_changes
from gatepost.store.pool import Connection, Database, keys_and_range
from gatepost.store.statement import statement

PAGE_ROWS = 500  # rows that one page reads, and at most cancels in one commit
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Micros = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_000_000)]


class CancelSelection(msgspec.Struct, frozen=True):
    """Which waiting messages; all conditions must match."""

    created: IdRange = IdRange()
    send_from: datetime | None = None
    send_to: datetime | None = None
    ranges: tuple[tuple[UUID, UUID], ...] | None = None  # of a batch
    client_ref: str | None = None  # a prefix
    contact_id: UUID | None = None
    phones: tuple[str, ...] = ()  # or to one of these: the contact may have been deleted
    label_id: UUID | None = None

    @property
    def scheduled_only(self) -> bool:
        return self.send_from is not None or self.send_to is not None


class CancelCursor(msgspec.Struct, frozen=True):
    """How far a selection has come: by id, or (`at`) by time among scheduled messages."""

    id: UUID
    at: _Micros | None = None


class CancelPage(msgspec.Struct, frozen=True):
    """The waiting messages of one page, how many are too late, and the next cursor; None at the end."""

    waiting: list[UUID]
    too_late: int
    place: CancelCursor | None


async def cancel_message(
    db: Database, channel: ChannelRef, channel_id: UUID, message_id: UUID, now: datetime
) -> tuple[State | None, State | None]:
    """Cancel a message that is not sent yet. Return its state before and after, None if there is no such message."""
    before = (await cancel_messages(db, channel, channel_id, [message_id], now)).get(message_id)
    if before is None or not may_follow(before, State.CANCELED):
        return before, before
    return before, State.CANCELED


async def cancel_messages(
    db: Database, channel: ChannelRef, channel_id: UUID, message_ids: Sequence[UUID], now: datetime
) -> dict[UUID, State]:
    """Cancel those that are not sent yet, in one commit. Return the state of each before."""
    async with channel_transaction(db, channel, channel_id, now) as transaction:
        rows = await transaction.conn.fetch(
            """SELECT id, contact_id, state, attempt, phone, client_ref, network_id, target_id, send_at FROM messages
               WHERE channel_id = $1 AND id = ANY ($2::uuid[]) AND id BETWEEN $3 AND $4 AND NOT incoming
               ORDER BY id FOR NO KEY UPDATE""",  # their owner may be sending them
            channel_id,
            *keys_and_range(message_ids),
        )
        waiting = [row for row in rows if may_follow(State(row["state"]), State.CANCELED)]
        await write_changes(transaction, [_canceled(row, now) for row in waiting])
        await unschedule(
            transaction.conn, channel_id, [(row["send_at"], row["id"]) for row in waiting if row["send_at"]]
        )
    return {row["id"]: State(row["state"]) for row in rows}


def _canceled(row: Any, now: datetime) -> StatusChange:
    change = StatusChange.of(row)
    change.scheduled = row["send_at"] is not None and row["send_at"] > now
    change.step(State.CANCELED, None)
    return change


async def find_waiting(
    db: Database,
    channel_id: UUID,
    selection: CancelSelection,
    after: CancelCursor | None,
    *,
    page_rows: int = PAGE_ROWS,
) -> CancelPage:
    """Return the next messages of a selection: first queued ones by id, then scheduled ones by time."""
    async with db.connection() as conn:
        if selection.ranges is not None:
            return await _find_in_batch(conn, channel_id, selection, after, page_rows)
        if after is not None and after.at is not None:
            return await _find_scheduled(conn, channel_id, selection, after, page_rows)
        if selection.scheduled_only:
            return await _find_scheduled(conn, channel_id, selection, None, page_rows)
        found = await _find_queued(conn, channel_id, selection, after, page_rows)
        return found if found.place else msgspec.structs.replace(found, place=CancelCursor(ids.ZERO, 0))


_FITS = """id BETWEEN :first AND :last AND NOT incoming
           AND (:client_ref::text IS NULL OR COALESCE(starts_with(client_ref, :client_ref), false))
           AND ((:contact_id::uuid IS NULL AND cardinality(:phones::text[]) = 0)
                OR (contact_id = :contact_id) IS TRUE OR phone = ANY (:phones))
           AND (:label_id::uuid IS NULL OR EXISTS (
                    SELECT 1 FROM label_uses u WHERE u.channel_id = :channel_id AND u.label_id = :label_id
                      AND u.contact_id = m.contact_id))
           AND (:send_from::timestamptz IS NULL OR COALESCE(send_at >= :send_from, false))
           AND (:send_to::timestamptz IS NULL OR COALESCE(send_at < :send_to, false))"""


def _parameters(channel_id: UUID, selection: CancelSelection) -> dict[str, Any]:
    """Return the parameters of `_FITS`."""
    created = selection.created
    return {
        "channel_id": channel_id,
        "first": created.start,
        "last": LAST_ID if created.end == LAST_ID else UUID(int=max(0, created.end.int - 1)),
        "client_ref": selection.client_ref,
        "contact_id": selection.contact_id,
        "phones": list(selection.phones),
        "label_id": selection.label_id,
        "send_from": selection.send_from,
        "send_to": selection.send_to,
    }


async def _find_queued(
    conn: "Connection[Any]", channel_id: UUID, selection: CancelSelection, after: CancelCursor | None, page_rows: int
) -> CancelPage:
    """Return unscheduled messages: everything up to the floor is settled."""
    rows = await conn.fetch(
        *statement(
            f"""SELECT id, state, send_at IS NULL AND {_FITS} AS fits FROM (
                    SELECT id, state, send_at, incoming, client_ref, contact_id, phone FROM messages
                    WHERE channel_id = :channel_id AND id BETWEEN :first AND :last AND id > :after
                      AND id > (SELECT send_floor FROM channel_heads WHERE channel_id = :channel_id)
                    ORDER BY id LIMIT :limit) m ORDER BY id""",
            **_parameters(channel_id, selection),
            after=after.id if after else ids.ZERO,
            limit=page_rows,
        )
    )
    return _found(rows, CancelCursor(rows[-1]["id"]) if len(rows) == page_rows else None)


async def _find_in_batch(
    conn: "Connection[Any]", channel_id: UUID, selection: CancelSelection, after: CancelCursor | None, page_rows: int
) -> CancelPage:
    """Return all messages of a batch, in any state."""
    behind = after.id if after else ids.ZERO
    for first, last in selection.ranges or ():
        if last <= behind:
            continue
        rows = await conn.fetch(
            *statement(
                f"""SELECT id, state, {_FITS} AS fits FROM (
                        SELECT id, state, send_at, incoming, client_ref, contact_id, phone FROM messages
                        WHERE channel_id = :channel_id AND id BETWEEN :page_first AND :page_last
                        ORDER BY id LIMIT :limit) m ORDER BY id""",
                **_parameters(channel_id, selection),
                page_first=max(first, UUID(int=behind.int + 1)),
                page_last=last,
                limit=page_rows,
            )
        )
        return _found(rows, CancelCursor(rows[-1]["id"] if len(rows) == page_rows else last), whole=True)
    return CancelPage([], 0, None)


async def _find_scheduled(
    conn: "Connection[Any]", channel_id: UUID, selection: CancelSelection, after: CancelCursor | None, page_rows: int
) -> CancelPage:
    """Return scheduled messages, by the time when they are due."""
    at = _EPOCH + timedelta(microseconds=after.at) if after and after.at else _EPOCH
    due = await conn.fetch(
        """SELECT send_at, message_id FROM scheduled_messages
           WHERE channel_id = $1 AND (send_at, message_id) > ($2, $3) AND ($4::timestamptz IS NULL OR send_at >= $4)
             AND ($5::timestamptz IS NULL OR send_at < $5)
           ORDER BY send_at, message_id LIMIT $6""",
        channel_id,
        at,
        after.id if after else ids.ZERO,
        selection.send_from,
        selection.send_to,
        page_rows,
    )
    if not due:
        return CancelPage([], 0, None)
    found, page_first, page_last = keys_and_range([row["message_id"] for row in due])
    rows = await conn.fetch(
        *statement(
            f"""SELECT id, state, {_FITS} AS fits FROM messages m
                WHERE channel_id = :channel_id AND id = ANY (:found::uuid[]) AND id BETWEEN :page_first AND :page_last
                ORDER BY id""",
            **_parameters(channel_id, selection),
            found=found,
            page_first=page_first,
            page_last=page_last,
        )
    )
    last = CancelCursor(due[-1]["message_id"], (due[-1]["send_at"] - _EPOCH) // timedelta(microseconds=1))
    return _found(rows, last if len(due) == page_rows else None)


def _found(rows: Sequence[Any], place: CancelCursor | None, *, whole: bool = False) -> CancelPage:
    """Return a page. Messages being sent are too late; of a `whole` batch, also those that are sent or ended."""
    fitting = [row for row in rows if row["fits"]]
    late = [row for row in fitting if row["state"] == State.SENDING or (whole and row["state"] != State.QUEUED)]
    return CancelPage([row["id"] for row in fitting if row["state"] == State.QUEUED], len(late), place)
