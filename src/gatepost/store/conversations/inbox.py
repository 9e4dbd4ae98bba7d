"""Lists and counts of conversations, the newest activity first, with filters that combine.

phone ──────────► at most one conversation
contacts found by a search, a rare label ───► all their conversations, sorted
other filters ──► a scan of the best index, the newest first, past rows that the other filters exclude;
                  it ends after a number of rows, and the next page continues there
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID, first_id
from gatepost.store.contacts.rows import find_contacts
from gatepost.store.conversations.changes import (
    CLOSED,
    COLUMNS,
    PERSON,
    ROW_COLUMNS,
    ConversationDetails,
    ConversationRow,
    read_conversation,
    with_details,
)
from gatepost.store.labels import CONVERSATION
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement

STEPS = 2_000  # conversations that one page goes on
# That it reads beyond: before the end of the steps is looked up, some may move up, and others take their place.
SPARE = 100
RARE = 500  # up to so many assignments, the list is read from the label's side
_GATHERED = 25  # up to so many assignments per row of a page, they are read at once and not one by one


class WrittenBetween(msgspec.Struct, frozen=True):
    """The person's newest message is later than `after`, and not later than `until`."""

    after: datetime
    until: datetime


class InboxFilter(msgspec.Struct, frozen=True):
    """The filters of a list; None matches all."""

    status: str | None = None
    archived: bool | None = None
    unread: bool | None = None
    label_id: UUID | None = None
    phone: str | None = None
    since: datetime | None = None  # the newest message is not older
    assignee: str | None = None
    unassigned: bool = False
    contact_ids: tuple[UUID, ...] | None = None  # found by a search
    last_in: WrittenBetween | None = None


class InboxPage(msgspec.Struct, frozen=True):
    """A page, and where the next one continues; None: it is the last."""

    conversations: Sequence[ConversationDetails]
    following: UUID | None


async def list_conversations(
    db: Database, channel_id: UUID, filters: InboxFilter, before: UUID | None, limit: int
) -> InboxPage:
    """Return conversations by their newest message, older than the cursor, without those that have no message."""
    async with db.connection() as conn:
        if filters.phone is not None:
            return await _of_phone(conn, channel_id, filters, filters.phone, before)
        drive, check = await _choose_query(conn, channel_id, filters, limit)
        found = await _pick(conn, channel_id, drive, check, filters, before, limit)
        following = found[-1]["last_message_id"] if len(found) == limit else None
        if len(found) < limit and drive not in (_LABELLED, _FOUND):
            following = await _last_step(conn, channel_id, drive, filters, before)
            found = [row for row in found if row["last_message_id"] >= (following or ids.ZERO)]
        page = await with_details(
            conn, channel_id, [ConversationRow(*row) for row in found if row["phone"] is not None]
        )
    return InboxPage(page, following)


_WALK = f"""SELECT {ROW_COLUMNS} FROM conversations
    WHERE channel_id = :channel_id AND last_message_id < :end AND last_message_id >= :start {{also}}
    ORDER BY last_message_id DESC LIMIT {STEPS + SPARE}"""
_RECENT = _WALK.format(also="")
_UNREAD = _WALK.format(also="AND unread > 0")
_CLOSED = _WALK.format(also="AND status = 'closed'")
_ARCHIVED = _WALK.format(also="AND archived")
_ASSIGNED = _WALK.format(also="AND assignee = :assignee")
_FOUND = f"""SELECT v.* FROM unnest(:contact_ids::uuid[]) AS found (contact_id) CROSS JOIN LATERAL (
        SELECT {ROW_COLUMNS} FROM conversations
        WHERE channel_id = :channel_id AND contact_id = found.contact_id LIMIT 1) v
    WHERE v.last_message_id < :end AND v.last_message_id >= :start"""
_LABELLED = f"""SELECT v.* FROM (
        SELECT contact_id FROM label_uses
        WHERE channel_id = :channel_id AND label_id = :label_id AND target = 'conversation' OFFSET 0) u
    CROSS JOIN LATERAL (
        SELECT {ROW_COLUMNS} FROM conversations
        WHERE channel_id = :channel_id AND contact_id = u.contact_id LIMIT 1) v
    WHERE v.last_message_id < :end AND v.last_message_id >= :start"""

# Not EXISTS: the planner might then read all assignments of the label at once.
_HAS_LABEL = f"""AND (:label_id::uuid IS NULL OR (
    SELECT true FROM label_uses l WHERE l.channel_id = :channel_id AND l.label_id = :label_id
      AND l.target = '{CONVERSATION}' AND l.contact_id = w.contact_id LIMIT 1))"""
# The limit, which is never reached, tells the planner that they fit into a hash table.
_AMONG_LABELLED = f"""AND (:label_id::uuid IS NULL OR w.contact_id IN (
    SELECT contact_id FROM label_uses
    WHERE channel_id = :channel_id AND label_id = :label_id AND target = '{CONVERSATION}' LIMIT 10000))"""


async def _choose_query(conn: "Connection[Any]", channel_id: UUID, filters: InboxFilter, limit: int) -> tuple[str, str]:
    """Return the narrowest indexed query for the list, and the condition for the label."""
    if filters.contact_ids is not None:
        return _FOUND, _HAS_LABEL
    check, gathered = _HAS_LABEL, max(RARE, _GATHERED * limit)
    if filters.label_id is not None:
        uses = await _count_uses(conn, channel_id, filters.label_id, gathered + 1)
        if uses <= RARE:
            return _LABELLED, ""
        check = _AMONG_LABELLED if uses <= gathered else _HAS_LABEL
    return _index(filters), check


def _index(filters: InboxFilter) -> str:
    if filters.assignee is not None:
        return _ASSIGNED
    if filters.unread:
        return _UNREAD
    if filters.archived:
        return _ARCHIVED
    return _CLOSED if filters.status == CLOSED else _RECENT


async def _count_uses(conn: "Connection[Any]", channel_id: UUID, label_id: UUID, limit: int) -> int:
    uses: int = await conn.fetchval(
        f"""SELECT count(*) FROM (SELECT 1 FROM label_uses WHERE channel_id = $1 AND label_id = $2
                AND target = '{CONVERSATION}' LIMIT $3) u""",
        channel_id,
        label_id,
        limit,
    )
    return uses


async def _pick(
    conn: "Connection[Any]",
    channel_id: UUID,
    drive: str,
    check: str,
    filters: InboxFilter,
    before: UUID | None,
    limit: int,
) -> list[Any]:
    end, start = _span(filters, before)
    found = {} if filters.contact_ids is None else {"contact_ids": filters.contact_ids}
    return await conn.fetch(
        *statement(
            f"""SELECT {COLUMNS} FROM (
                    SELECT * FROM ({drive}) w
                    WHERE (:status::text IS NULL OR w.status = :status)
                      AND (:archived::boolean IS NULL OR w.archived = :archived)
                      AND (:unread::boolean IS NULL OR (w.unread > 0) = :unread)
                      AND (:assignee::text IS NULL OR w.assignee = :assignee)
                      AND (NOT :unassigned::boolean OR w.assignee IS NULL)
                      AND (:in_after::timestamptz IS NULL
                           OR (w.last_in_at > :in_after AND w.last_in_at <= :in_until::timestamptz))
                      {check}
                    ORDER BY w.last_message_id DESC LIMIT :limit) v
                LEFT JOIN LATERAL {PERSON} ON true ORDER BY last_message_id DESC""",
            channel_id=channel_id,
            end=end,
            start=start,
            status=filters.status,
            archived=filters.archived,
            unread=filters.unread,
            label_id=filters.label_id,
            assignee=filters.assignee,
            unassigned=filters.unassigned,
            in_after=filters.last_in.after if filters.last_in else None,
            in_until=filters.last_in.until if filters.last_in else None,
            limit=limit,
            **found,
        )
    )


async def _last_step(
    conn: "Connection[Any]", channel_id: UUID, drive: str, filters: InboxFilter, before: UUID | None
) -> UUID | None:
    """Return where a page stopped reading; None at the end."""
    end, start = _span(filters, before)
    assignee = {"assignee": filters.assignee} if drive is _ASSIGNED else {}
    place: UUID | None = await conn.fetchval(
        *statement(
            f"SELECT w.last_message_id FROM ({drive}) w OFFSET {STEPS - 1} LIMIT 1",
            channel_id=channel_id,
            end=end,
            start=start,
            **assignee,
        )
    )
    return place


def _span(filters: InboxFilter, before: UUID | None) -> tuple[UUID, UUID]:
    start = first_id(filters.since) if filters.since else ids.ZERO
    if filters.last_in is not None:  # the newest message is not older than the person's
        start = max(start, oldest_activity(filters.last_in))
    return before or LAST_ID, start


def oldest_activity(last_in: WrittenBetween) -> UUID:
    """Return the first id that the newest message of such a conversation may have."""
    return ids.second_of(last_in.after)[0]


async def _of_phone(
    conn: "Connection[Any]", channel_id: UUID, filters: InboxFilter, phone: str, before: UUID | None
) -> InboxPage:
    contact = (await find_contacts(conn, channel_id, {phone})).get(phone)
    one = await read_conversation(conn, channel_id, contact.id) if contact else None
    return InboxPage([one] if one and _fits(one, filters, before) else [], None)


def _fits(one: ConversationDetails, filters: InboxFilter, before: UUID | None) -> bool:
    """Apply the same conditions to one conversation."""
    conversation, (end, start) = one.conversation, _span(filters, before)
    return (
        conversation.last_message_id is not None
        and start <= conversation.last_message_id < end
        and filters.status in (None, conversation.status)
        and filters.archived in (None, conversation.archived)
        and filters.unread in (None, conversation.unread > 0)
        and (filters.label_id is None or filters.label_id in {label.id for label in one.labels})
        and filters.assignee in (None, conversation.assignee)
        and not (filters.unassigned and conversation.assignee is not None)
        and (filters.contact_ids is None or conversation.contact_id in filters.contact_ids)
        and (filters.last_in is None or _within(filters.last_in, conversation.last_in_at))
    )


def _within(last_in: WrittenBetween, at: datetime | None) -> bool:
    return at is not None and last_in.after < at <= last_in.until


EXAMINED = 5_000  # conversations that are examined at most


class InboxCounts(msgspec.Struct, frozen=True):
    """How many conversations need work; the archived and those without messages are not counted."""

    open: int
    unassigned: int  # of the open ones
    closing: int
    unread: int
    mine: int  # open ones of one assignee
    complete: bool  # False: there are more than were examined


async def count_conversations(
    db: Database, channel_id: UUID, assignee: str | None, closing: WrittenBetween
) -> InboxCounts:
    """Return the counts of a channel. Each reads at most `EXAMINED` rows of an index, the newest first."""
    row = await db.fetchrow(
        f"""SELECT recent.*, active.closing, unread.unread, mine.mine FROM (
                SELECT count(*) FILTER (WHERE open) AS open,
                       count(*) FILTER (WHERE open AND assignee IS NULL) AS unassigned, count(*) AS examined
                FROM (SELECT status = 'open' AND NOT archived AS open, assignee FROM conversations
                      WHERE channel_id = :channel_id AND last_message_id IS NOT NULL
                      ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest) recent
            CROSS JOIN (
                SELECT count(*) FILTER (WHERE NOT archived AND last_in_at > :after AND last_in_at <= :until) AS closing,
                       count(*) AS active
                FROM (SELECT archived, last_in_at FROM conversations
                      WHERE channel_id = :channel_id AND last_message_id >= :since
                      ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest) active
            CROSS JOIN (
                SELECT count(*) AS unread FROM (
                    SELECT archived FROM conversations WHERE channel_id = :channel_id AND unread > 0
                    ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest WHERE NOT archived) unread
            CROSS JOIN (
                SELECT count(*) AS mine FROM (
                    SELECT status, archived FROM conversations WHERE channel_id = :channel_id AND assignee = :assignee
                    ORDER BY last_message_id DESC LIMIT {EXAMINED}) newest
                WHERE status = 'open' AND NOT archived) mine""",
        channel_id=channel_id,
        assignee=assignee,
        after=closing.after,
        until=closing.until,
        since=oldest_activity(closing),
    )
    return InboxCounts(
        open=row["open"],
        unassigned=row["unassigned"],
        closing=row["closing"],
        unread=row["unread"],
        mine=row["mine"],
        complete=row["examined"] < EXAMINED,
    )
