"""History: a channel's messages, the newest first, a bounded piece at a time.

    all of a channel      primary key (channel_id, id), backwards
    of one contact        messages_person (contact_id, channel_id, id), backwards
    what else is asked    looked at row by row, but only for so many rows: whoever asked goes on from there

So a filter that hardly anything fits costs many short answers and never one that reads the whole channel.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.dates import IdRange
from gatepost.model.message import State
from gatepost.store.contacts.rows import find_contacts
from gatepost.store.messages.read import StoredMessage
from gatepost.store.pool import Database, keys_and_span

PAGE_SIZE = 4 * 1024 * 1024  # bytes of contents after which a page ends
SCHEDULED = -100  # asked for like a state; in the rows it is one that is queued for later
_COLUMNS = ", ".join(StoredMessage.__struct_fields__)
_WIDTH = len(StoredMessage.__struct_fields__)
_STATE = StoredMessage.__struct_fields__.index("state")
_STATES = {state.value: state for state in State}
_FITS = f"""($5::boolean IS NULL OR incoming = $5) AND ($6::text[] IS NULL OR type = ANY ($6))
            AND ($7::int[] IS NULL
                 OR CASE WHEN state = 0 AND send_at > $8 THEN {SCHEDULED} ELSE state END = ANY ($7))"""
# The newest of some messages, as many as make up PAGE_SIZE bytes, at least one; `found` is how many there are.
_LIGHT = f"""SELECT {_COLUMNS}, found FROM (
    SELECT {_COLUMNS}, count(*) OVER () AS found,
           sum(octet_length(content)) OVER (ORDER BY id DESC) - octet_length(content) AS before"""
_ALL = "channel_id = $1 AND id >= $2 AND id < $3"
_CONTACT = _ALL + " AND contact_id = {contact}"


class HistoryFilter(msgspec.Struct, frozen=True):
    """Which messages of a channel; None is all."""

    span: IdRange = IdRange()
    contact_id: UUID | None = None
    incoming: bool | None = None
    types: tuple[str, ...] | None = None
    states: tuple[int, ...] | None = None

    @property
    def narrow(self) -> bool:
        """Whether rows have to be looked at, beyond their place."""
        return (self.incoming, self.types, self.states) != (None, None, None)


class HistoryPage(msgspec.Struct, frozen=True):
    """What was found, and up to which id everything was looked at; None: to the end."""

    messages: list[StoredMessage]
    reached: UUID | None


async def read_history_page(
    db: Database, channel_id: UUID, wanted: HistoryFilter, now: datetime, *, scan: int, most: int
) -> HistoryPage:
    """The newest messages that fit, `most` of them at most, among the newest `scan` of the span; long ones fewer."""
    where, place = _place(channel_id, wanted)
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""{_LIGHT} FROM (SELECT {_COLUMNS} FROM (
                    SELECT {_COLUMNS} FROM messages WHERE {where.format(contact="$11")} ORDER BY id DESC LIMIT $4) m
                WHERE {_FITS} ORDER BY id DESC LIMIT $9) f) s WHERE before < $10 ORDER BY id DESC""",
            *place[:3],
            scan,
            *_filters(wanted, now),
            most,
            PAGE_SIZE,
            *place[3:],
        )
        found, all_ = _light(rows)
        if len(found) == most or not all_:
            return HistoryPage(found, found[-1].id)
        if not wanted.narrow and len(found) < scan:
            return HistoryPage(found, None)
        end = await conn.fetchval(
            f"SELECT id FROM messages WHERE {where.format(contact='$5')} ORDER BY id DESC OFFSET $4 LIMIT 1",
            *place[:3],
            scan - 1,
            *place[3:],
        )
    # A latecomer between the two statements moves the end by one: what was found is never read again.
    return HistoryPage(found, end if end is None or not found else min(end, found[-1].id))


class HistoryTexts(msgspec.Struct, frozen=True):
    """What messages say, the newest first; and whether there are older ones in their span."""

    messages: list[tuple[UUID, str]]
    more: bool

    @property
    def size(self) -> int:
        """How many characters they have together."""
        return sum(len(content) for _, content in self.messages)


async def read_texts(db: Database, channel_id: UUID, wanted: HistoryFilter, *, most: int, size: int) -> HistoryTexts:
    """The newest messages of a place, whatever else is asked of them: so many, of about so many bytes, at least one."""
    where, place = _place(channel_id, wanted)
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""SELECT id, content, found FROM (
                    SELECT id, content, count(*) OVER () AS found,
                           sum(octet_length(content)) OVER (ORDER BY id DESC) - octet_length(content) AS before
                    FROM (SELECT id, content FROM messages WHERE {where.format(contact="$6")}
                          ORDER BY id DESC LIMIT $4) newest) m
                WHERE before < $5 ORDER BY id DESC""",
            *place[:3],
            most,
            size,
            *place[3:],
        )
    more = bool(rows) and (len(rows) < rows[0]["found"] or len(rows) == most)
    return HistoryTexts([(row["id"], row["content"]) for row in rows], more)


async def read_contents(db: Database, channel_id: UUID, chosen: Sequence[UUID]) -> list[tuple[UUID, str]]:
    """What the given messages say."""
    if not chosen:
        return []
    keys, first, last = keys_and_span(chosen)
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT m.id, m.content FROM unnest($4::uuid[]) AS chosen (id) CROSS JOIN LATERAL (
                   SELECT id, content FROM messages
                   WHERE channel_id = $1 AND id = chosen.id AND id BETWEEN $2 AND $3 LIMIT 1) m""",
            channel_id,
            first,
            last,
            list(keys),
        )
    return [(row["id"], row["content"]) for row in rows]


async def read_chosen(
    db: Database, channel_id: UUID, chosen: Sequence[UUID], wanted: HistoryFilter, now: datetime
) -> HistoryPage:
    """Those of the given messages that fit, the newest first; of long ones only the first, and where to go on."""
    if not chosen:
        return HistoryPage([], None)
    keys, first, last = keys_and_span(chosen)
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""{_LIGHT} FROM (SELECT m.* FROM unnest($4::uuid[]) AS chosen (id) CROSS JOIN LATERAL (
                    SELECT {_COLUMNS} FROM messages
                    WHERE channel_id = $1 AND id = chosen.id AND id BETWEEN $2 AND $3 LIMIT 1) m
                WHERE {_FITS}) f) s WHERE before < $9 ORDER BY id DESC""",
            channel_id,
            first,
            last,
            list(keys),
            *_filters(wanted, now),
            PAGE_SIZE,
        )
    found, all_ = _light(rows)
    return HistoryPage(found, None if all_ else found[-1].id)


async def find_contact(db: Database, channel_id: UUID, phone: str) -> UUID | None:
    """The contact that goes by a number, its own or another one of theirs."""
    async with db.connection() as conn:
        found = await find_contacts(conn, channel_id, {phone})
    return found[phone].id if phone in found else None


async def has_conversation(db: Database, channel_id: UUID, contact_id: UUID) -> bool:
    """Whether the channel has this conversation."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            "SELECT 1 FROM conversations WHERE channel_id = $1 AND contact_id = $2", channel_id, contact_id
        )
    return row is not None


def _light(rows: Sequence[Any]) -> tuple[list[StoredMessage], bool]:
    """The messages that were small enough together, and whether those are all."""
    return [stored(row) for row in rows], not rows or rows[0]["found"] == len(rows)


def stored(row: Any) -> StoredMessage:
    """A row that begins with exactly a message's columns as a message: by their order, for a page has many."""
    values = list(row)[:_WIDTH]
    values[_STATE] = _STATES[values[_STATE]]
    return StoredMessage(*values)


def _place(channel_id: UUID, wanted: HistoryFilter) -> tuple[str, list[Any]]:
    place: list[Any] = [channel_id, wanted.span.start, wanted.span.end]
    return (_ALL, place) if wanted.contact_id is None else (_CONTACT, [*place, wanted.contact_id])


def _filters(wanted: HistoryFilter, now: datetime) -> tuple[Any, ...]:
    return wanted.incoming, _list(wanted.types), _list(wanted.states), now


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)
