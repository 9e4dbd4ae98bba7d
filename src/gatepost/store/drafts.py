"""Drafts. Every change of one holds the channel's head: of two people who decide at once, one gets a conflict.

A draft to a number without a contact belongs to the contact that gets this number later.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.dates import LAST_ID
from gatepost.model.draft import (
    WAITING_MAX,
    DraftApproval,
    DraftState,
    check_revision,
    check_waiting,
    conversation_changed,
    number_changed,
    state_at,
)
from gatepost.model.errors import GatepostError, NotFound
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.messages.accept import AcceptResult, ChannelGroup
from gatepost.store.pool import Connection, Database, Queryable, delete_in_chunks
from gatepost.store.statement import columns_of, statement

_LATE = timedelta(days=1)  # how late a network reports a message
_DELETED = "The contact was deleted."
_PAGE_SIZE = 4 << 20  # bytes of messages after which a page ends


class NewDraft(msgspec.Struct, frozen=True):
    """A draft to insert."""

    id: UUID
    contact_id: UUID | None
    phone: str
    body: str
    created_by: str
    key_id: UUID | None
    rule: str | None
    reason: str | None
    created_at: datetime
    expires_at: datetime
    seen_event_id: UUID


class DraftRow(msgspec.Struct, frozen=True):
    """A draft. Its state is that of the time at which it was read."""

    id: UUID
    contact_id: UUID | None
    phone: str
    body: str
    state: DraftState
    created_by: str
    key_id: UUID | None
    rule: str | None
    reason: str | None
    revision: int
    created_at: datetime
    edited_at: datetime | None
    edited_by: str | None
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    comment: str | None
    message_id: UUID | None
    seen_event_id: UUID
    contact: KnownContact | None = None  # None: there is none, or it was deleted
    written_since: bool = False  # whether the person has written since it was made or edited


class DraftFilter(msgspec.Struct, frozen=True):
    """Which drafts of a channel."""

    state: DraftState | None = None
    contact_id: UUID | None = None


ALL_DRAFTS = DraftFilter()
_NEW = tuple(name for name in NewDraft.__struct_fields__)
_FIELDS = tuple(name for name in DraftRow.__struct_fields__ if name not in ("contact", "written_since"))
_COLUMNS = ", ".join(_FIELDS)
_PERSON = "id AS person_id, phone AS person_phone, name, username, given_name"
# The contact of a draft d: its own, or the one that has the number now.
_WITH_PERSON = f"""LEFT JOIN LATERAL (
        SELECT {_PERSON} FROM contacts WHERE channel_id = :channel_id AND id = d.contact_id
        UNION ALL
        SELECT {_PERSON} FROM contacts WHERE channel_id = :channel_id AND phone = d.phone AND d.contact_id IS NULL
        UNION ALL
        SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
            SELECT {_PERSON} FROM contacts WHERE channel_id = :channel_id AND id = a.contact_id LIMIT 1) p
        WHERE a.channel_id = :channel_id AND a.alias = d.phone AND d.contact_id IS NULL
        LIMIT 1) person ON true"""


# -- reading -----------------------------------------------------------------------------------------------------------


async def get_draft(db: Queryable, channel_id: UUID, draft_id: UUID, now: datetime) -> DraftRow | None:
    """Return a draft of a channel."""
    return (await get_drafts(db, channel_id, [draft_id], now)).get(draft_id)


async def get_drafts(db: Queryable, channel_id: UUID, draft_ids: Sequence[UUID], now: datetime) -> dict[UUID, DraftRow]:
    """Return those of these drafts that the channel has."""
    rows = await db.fetch(
        *statement(
            f"""SELECT d.*, person.* FROM unnest(:ids::uuid[]) AS given (id) CROSS JOIN LATERAL (
                    SELECT {_COLUMNS} FROM drafts WHERE channel_id = :channel_id AND id = given.id LIMIT 1) d
                {_WITH_PERSON}""",
            channel_id=channel_id,
            ids=list(draft_ids),
        )
    )
    return {draft.id: draft for draft in await _complete(db, channel_id, rows, now)}


async def list_drafts(
    db: Queryable,
    channel_id: UUID,
    *,
    before: UUID | None,
    limit: int,
    now: datetime,
    filter_: DraftFilter = ALL_DRAFTS,
) -> list[DraftRow]:
    """Return the drafts of a channel before one, the newest first; fewer if they are long (`is_full`)."""
    rows = await db.fetch(
        *statement(
            f"""SELECT d.*, person.* FROM (
                    SELECT p.*, sum(octet_length(body)) OVER (ORDER BY id DESC) - octet_length(body) AS bytes_before
                    FROM ({_list_sql(filter_)} ORDER BY id DESC LIMIT :limit) p) d
                {_WITH_PERSON} WHERE d.bytes_before < {_PAGE_SIZE} ORDER BY d.id DESC""",
            channel_id=channel_id,
            before=before or LAST_ID,
            first=ids.ZERO,
            limit=limit,
            **({} if filter_.contact_id is None else {"contact_id": filter_.contact_id}),
            **({"now": now} if filter_.state in _BY_TIME else {}),
        )
    )
    return await _complete(db, channel_id, rows, now)


def is_full(page: Sequence[DraftRow], limit: int) -> bool:
    """Return whether there may be drafts after those of a page."""
    return len(page) == limit or sum(len(draft.body.encode()) for draft in page) >= _PAGE_SIZE


# Where drafts of a state are: the state that is written, and what else has to be true.
_STATES: dict[str, dict[str, str]] = {
    "waiting": {"waiting": "expires_at > :now"},
    "sent": {"sent": "true"},
    "refused": {"refused": "true"},
    "expired": {"expired": "true", "waiting": "expires_at <= :now"},
}
_BY_TIME = ("waiting", "expired")
_OF_ONE = "SELECT {columns} FROM drafts WHERE channel_id = :channel_id AND {also} {page} LIMIT :limit"
_PAGE = "AND ({name}, id) >= ({value}, :first) AND ({name}, id) < ({value}, :before) ORDER BY {name} DESC, id DESC"


def _list_sql(filter_: DraftFilter) -> str:
    """Return the statement of a page. The filter that has an index is compared together with the id (`calls.py`)."""
    states = _STATES[filter_.state] if filter_.state else {}
    if filter_.contact_id is not None:
        also = " OR ".join(f"(state || '' = '{state}' AND {rest})" for state, rest in states.items()) or "true"
        own = _part("contact_id", ":contact_id", f"contact_id IS NOT NULL AND ({also})")
        page = "AND phone = address AND id >= :first AND id < :before ORDER BY phone DESC, id DESC"
        by_number = _OF_ONE.format(columns=_COLUMNS, also=f"contact_id IS NULL AND ({also})", page=page)
        return f"""SELECT * FROM (
            ({own}) UNION ALL
            SELECT n.* FROM (
                SELECT phone AS address FROM contacts WHERE channel_id = :channel_id AND id = :contact_id
                UNION SELECT alias FROM contact_aliases WHERE channel_id = :channel_id AND contact_id = :contact_id
            ) a CROSS JOIN LATERAL ({by_number}) n) found"""
    if not states:
        page = "AND id >= :first AND id < :before ORDER BY id DESC"
        return f"SELECT * FROM ({_OF_ONE.format(columns=_COLUMNS, also='true', page=page)}) found"
    parts = [f"({_part('state', repr(state), rest)})" for state, rest in states.items()]
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) found"


def _part(name: str, value: str, also: str) -> str:
    return _OF_ONE.format(columns=_COLUMNS, also=also, page=_PAGE.format(name=name, value=value))


async def _complete(db: Queryable, channel_id: UUID, rows: Sequence[Any], now: datetime) -> list[DraftRow]:
    drafts = [_draft(row, now) for row in rows]
    written = await _find_written(db, channel_id, [one for one in drafts if one.state == "waiting" and one.contact])
    return [msgspec.structs.replace(one, written_since=True) if one.id in written else one for one in drafts]


async def _find_written(db: Queryable, channel_id: UUID, drafts: Sequence[DraftRow]) -> set[UUID]:
    """Return the drafts to people who have written since, in the order of the channel's commits, not of clocks."""
    if not drafts:
        return set()
    rows = await db.fetch(
        """SELECT d.id FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS d (id, contact_id, seen) CROSS JOIN LATERAL (
               SELECT 1 FROM messages WHERE channel_id = $1 AND contact_id = d.contact_id AND id > $5
                 AND incoming AND event_ids[1] > d.seen LIMIT 1) m""",
        channel_id,
        [draft.id for draft in drafts],
        [draft.contact.id for draft in drafts if draft.contact],
        [draft.seen_event_id for draft in drafts],
        ids.floor_id(min(draft.created_at for draft in drafts) - _LATE),
    )
    return {row["id"] for row in rows}


def _draft(row: Any, now: datetime) -> DraftRow:
    values = {name: row[name] for name in _FIELDS}
    values["state"] = state_at(row["state"], row["expires_at"], now)
    person = None
    if row["person_id"] is not None:
        person = KnownContact(row["person_id"], row["person_phone"], row["name"], row["username"], row["given_name"])
    return DraftRow(**values, contact=person)


async def count_waiting(db: Queryable, channel_id: UUID, now: datetime) -> int:
    """Return how many drafts of a channel wait for a decision: at most `WAITING_MAX`."""
    count: int = await db.fetchval(
        "SELECT count(*) FROM drafts WHERE channel_id = $1 AND state = 'waiting' AND expires_at > $2", channel_id, now
    )
    return count


# -- changing, under the channel's head --------------------------------------------------------------------------------


async def insert_drafts(conn: "Connection[Any]", channel_id: UUID, drafts: Sequence[NewDraft]) -> None:
    """Insert drafts that wait."""
    await conn.execute(
        *statement(
            f"""INSERT INTO drafts (channel_id, state, revision, {", ".join(_NEW)})
                SELECT :channel_id, 'waiting', 1, * FROM unnest(
                    :id::uuid[], :contact_id::uuid[], :phone::text[], :body::text[], :created_by::text[],
                    :key_id::uuid[], :rule::text[], :reason::text[], :created_at::timestamptz[],
                    :expires_at::timestamptz[], :seen_event_id::uuid[])""",
            channel_id=channel_id,
            **columns_of(drafts, *_NEW),
        )
    )


class DraftEdit(msgspec.Struct, frozen=True):
    """A new text of a draft. Its author has seen the conversation up to `seen_event_id`."""

    body: str
    by: str
    at: datetime
    seen_event_id: UUID


async def edit_draft(conn: "Connection[Any]", channel_id: UUID, draft_id: UUID, edit: DraftEdit) -> None:
    """Replace the message of a draft that waits."""
    await conn.execute(
        """UPDATE drafts SET body = $3, edited_by = $4, edited_at = $5, seen_event_id = $6, revision = revision + 1
           WHERE channel_id = $1 AND id = $2""",
        channel_id,
        draft_id,
        edit.body,
        edit.by,
        edit.at,
        edit.seen_event_id,
    )


class DraftDecision(msgspec.Struct, frozen=True):
    """The end of a draft: the message that it became, or a comment."""

    draft_id: UUID
    state: DraftState
    by: str | None
    message_id: UUID | None = None
    comment: str | None = None


async def decide_drafts(
    conn: "Connection[Any]", channel_id: UUID, decisions: Sequence[DraftDecision], now: datetime
) -> None:
    """Write the decisions about drafts that wait."""
    await conn.execute(
        *statement(
            """UPDATE drafts d SET state = t.state, decided_at = :now, decided_by = t.decided_by, comment = t.comment,
                      message_id = t.message_id
               FROM unnest(:draft_id::uuid[], :state::text[], :by::text[], :message_id::uuid[], :comment::text[])
                 AS t (id, state, decided_by, message_id, comment)
               WHERE d.channel_id = :channel_id AND d.id = t.id""",
            channel_id=channel_id,
            now=now,
            **columns_of(decisions, *DraftDecision.__struct_fields__),
        )
    )


async def refuse_drafts_of(conn: "Connection[Any]", channel_id: UUID, contact_id: UUID, now: datetime) -> None:
    """Refuse the drafts to a contact that is deleted."""
    filter_ = DraftFilter("waiting", contact_id)
    while drafts := await list_drafts(conn, channel_id, before=None, limit=WAITING_MAX, now=now, filter_=filter_):
        decisions = [DraftDecision(draft.id, "refused", None, comment=_DELETED) for draft in drafts]
        await decide_drafts(conn, channel_id, decisions, now)


# -- housekeeping ------------------------------------------------------------------------------------------------------


async def expire_drafts(db: Database, now: datetime) -> int:
    """Write the state of drafts whose time is over. Return how many. A draft that is being changed is left out.

    So are those of channels without a head: they are in another cell, where a draft may have been approved in time.
    """
    return await delete_in_chunks(
        db,
        """UPDATE drafts d SET state = 'expired', decided_at = d.expires_at FROM (
               SELECT channel_id, id FROM drafts WHERE state = 'waiting' AND expires_at < $1
                 AND (SELECT 1 FROM channel_heads h WHERE h.channel_id = drafts.channel_id) IS NOT NULL
               ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED) old
           WHERE d.channel_id = old.channel_id AND d.id = old.id AND d.state = 'waiting' RETURNING 1""",
        now,
    )


async def forget_drafts(db: Database, now: datetime, days: int) -> int:
    """Delete drafts that are older than this many days. Return how many."""
    return await delete_in_chunks(
        db,
        """DELETE FROM drafts d USING (
               SELECT channel_id, id FROM drafts WHERE created_at < $1 ORDER BY created_at LIMIT $2) old
           WHERE d.channel_id = old.channel_id AND d.id = old.id RETURNING 1""",
        now - timedelta(days=days),
    )


class ApprovedDraft:
    """The approval of one draft, in the commit that accepts its message: of two people who approve it, one sends it.

    Nothing is written if the message is not accepted: the draft still waits.
    """

    def __init__(self, approval: DraftApproval, by: str) -> None:
        self._approval = approval
        self._by = by

    async def decide(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        draft = await get_draft(conn, group.channel_id, self._approval.draft_id, now)
        try:
            _check_approval(draft, self._approval, group)
        except GatepostError as error:
            group.outcomes, group.fresh = [error], []

    async def record(self, conn: "Connection[Any]", group: ChannelGroup, now: datetime) -> None:
        (outcome,) = group.outcomes
        if isinstance(outcome, AcceptResult):
            answer = msgspec.json.decode(outcome.answer)
            message_id = ids.parse_id("", answer["data"]["key"]["id"])
            decision = DraftDecision(self._approval.draft_id, "sent", self._by, message_id)
            await decide_drafts(conn, group.channel_id, [decision], now)


def _check_approval(draft: DraftRow | None, approval: DraftApproval, group: ChannelGroup) -> None:
    if draft is None:
        raise NotFound("There is no such draft on this channel.")
    check_waiting(draft.state)
    check_revision(draft.revision, approval.revision)
    recipient = group.opened.people.get(group.submissions[0].message.phone)
    if draft.contact is not None and (recipient is None or recipient.id != draft.contact.id):
        raise number_changed(draft.phone)
    if draft.written_since and not approval.anyway:
        raise conversation_changed()
