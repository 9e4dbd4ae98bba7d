"""The statements of accepting, for one channel or several at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any
from uuid import UUID

import msgspec

from gatepost.compute import in_parts
from gatepost.model.event import ChannelRef, NewEvent, render
from gatepost.model.message import CheckedMessage
from gatepost.store.channel_head import ChannelHead
from gatepost.store.contacts.rows import FIND, KnownContact
from gatepost.store.conversations.changes import newest_by_contact
from gatepost.store.pool import Connection, Database
from gatepost.store.quota import QuotaSlice
from gatepost.store.statement import columns_of, statement


class LockedChannel(msgspec.Struct, frozen=True):
    """A channel under its lock: its head, its quota slice, and the recipients of a batch."""

    head: ChannelHead
    held: QuotaSlice
    people: dict[str, KnownContact]
    last_in: dict[str, datetime | None]


class AcceptedRows(msgspec.Struct, frozen=True):
    """Everything that is written for the accepted messages of one channel."""

    head: ChannelHead
    channel: ChannelRef
    slice_left: int
    messages: Sequence[CheckedMessage]
    senders: Sequence[str | None]
    new_ids: Sequence[UUID]
    contact_ids: Sequence[UUID]
    event_ids: Sequence[UUID]
    events: Sequence[NewEvent]


async def open_channels(
    conn: "Connection[Any]", phones: Mapping[UUID, Sequence[str]], *, with_last_in: bool, wait: bool
) -> dict[UUID, LockedChannel]:
    """Lock heads and find contacts in one round trip; without `wait`, locked heads are left out.

    Only a transaction with a single channel may wait: none waits for a head while it holds another. The channels are
    in key order: their conversations are written in this order, and sending locks those without the heads. Contacts are
    read as of before the lock. One that was created meanwhile is found when its insert conflicts; when some were merged
    meanwhile, all are read again.
    """
    rows = await conn.fetch(
        *statement(
            _open_sql(with_last_in, wait),
            heads=list(phones),
            channel_ids=[channel_id for channel_id, some in phones.items() for _ in some],
            phones=[phone for some in phones.values() for phone in some],
        )
    )
    found = _people(rows[0], with_last_in) if rows else {}
    opened = {}
    for row in sorted(rows, key=itemgetter("channel_id")):
        channel_id = row["channel_id"]
        people = found.get(channel_id, {})
        if row["joined"] != row["joined_before"]:
            people = await _read_people_again(conn, channel_id, phones[channel_id], with_last_in)
        opened[channel_id] = LockedChannel(
            ChannelHead(channel_id, row["epoch"], row["seq"], row["last_event_id"], row["last_message_id"]),
            QuotaSlice(row["slice_month"], row["slice_limit"], row["slice_left"]),
            {phone: contact for phone, (contact, _) in people.items()},
            {phone: last_in for phone, (_, last_in) in people.items()} if with_last_in else {},
        )
    return opened


_Found = dict[UUID, dict[str, tuple[KnownContact, datetime | None]]]
_FIND = FIND.format(wanted="unnest(:channel_ids::uuid[], :phones::text[]) AS wanted (channel_id, phone)")
_PEOPLE = {
    "channels": "ARRAY(SELECT channel_id FROM people)",
    "ids": "ARRAY(SELECT id FROM people)",
    "phones": "ARRAY(SELECT asked FROM people)",
    "names": "ARRAY(SELECT COALESCE(given_name, name) FROM people)",
}
# When each of them last wrote, in the same order
_LAST_IN = {
    "last_in": """ARRAY(SELECT (SELECT last_in_at FROM conversations v
                                WHERE v.channel_id = people.channel_id AND v.contact_id = people.id) FROM people)"""
}


@cache
def _open_sql(with_last_in: bool, wait: bool) -> str:
    """Return the statement: a row for each head, with the contacts of all channels in the first row."""
    arrays = _PEOPLE | _LAST_IN if with_last_in else _PEOPLE
    first = "CASE WHEN channel_id = (SELECT channel_id FROM head LIMIT 1) THEN {} END AS {}"
    return f"""WITH head AS MATERIALIZED (
           SELECT channel_id, epoch, seq, last_event_id, last_message_id, slice_month, slice_limit, slice_left, joined
           FROM channel_heads WHERE channel_id = ANY (:heads::uuid[]) FOR NO KEY UPDATE {"" if wait else "SKIP LOCKED"}
       ), people AS MATERIALIZED ({_FIND})
       SELECT head.*, (SELECT h.joined FROM channel_heads h WHERE h.channel_id = head.channel_id) AS joined_before,
              {", ".join(first.format(sql, name) for name, sql in arrays.items())}
       FROM head"""


async def _read_people_again(
    conn: "Connection[Any]", channel_id: UUID, phones: Sequence[str], with_last_in: bool
) -> dict[str, tuple[KnownContact, datetime | None]]:
    """Return the contacts of a channel as they are under the lock."""
    row = await conn.fetchrow(
        *statement(
            f"""WITH people AS MATERIALIZED ({_FIND})
                SELECT {", ".join(f"{sql} AS {name}" for name, sql in (_PEOPLE | _LAST_IN).items())}""",
            channel_ids=[channel_id] * len(phones),
            phones=list(phones),
        )
    )
    return _people(row, with_last_in).get(channel_id, {})


def _people(row: Any, with_last_in: bool) -> _Found:
    found: _Found = {}
    last_in = row["last_in"] if with_last_in else [None] * len(row["ids"])
    for channel_id, id_, phone, name, at in zip(
        row["channels"], row["ids"], row["phones"], row["names"], last_in, strict=True
    ):
        found.setdefault(channel_id, {})[phone] = (KnownContact(id_, phone, name), at)
    return found


async def write_accepted(conn: "Connection[Any]", written: Sequence[AcceptedRows], now: datetime) -> None:
    """Write messages with their events, a delivery for each endpoint that wants one, and the heads' new ends."""
    messages = [message for one in written for message in one.messages]
    numbered = [(one, event, one.head.seq + n) for one in written for n, event in enumerate(one.events, 1)]
    newest = [
        (one.head.channel_id, contact_id, message_id)
        for one in written
        for contact_id, message_id in zip(*newest_by_contact(one.contact_ids, one.new_ids), strict=True)
    ]
    bodies = await in_parts(lambda one, event, seq: render(event, seq, one.channel, now), *zip(*numbered, strict=True))
    await conn.execute(
        *statement(
            _WRITE,
            now=now,
            channel_ids=[one.head.channel_id for one in written for _ in one.messages],
            ids=[id_ for one in written for id_ in one.new_ids],
            contact_ids=[id_ for one in written for id_ in one.contact_ids],
            **columns_of(messages, *_MESSAGE_COLUMNS),
            expires_ats=[d.expires_at(now) for d in messages],
            senders=[sender for one in written for sender in one.senders],
            created_event_ids=[id_ for one in written for id_ in one.event_ids],
            newest_channel_ids=[channel_id for channel_id, _, _ in newest],
            newest_contact_ids=[contact_id for _, contact_id, _ in newest],
            newest_ids=[message_id for _, _, message_id in newest],
            event_channel_ids=[one.head.channel_id for one, _, _ in numbered],
            event_ids=[event.id for _, event, _ in numbered],
            event_seqs=[seq for _, _, seq in numbered],
            event_types=[event.data.TYPE for _, event, _ in numbered],
            event_bodies=bodies,
            event_conversation_ids=[event.conversation_id for _, event, _ in numbered],
            event_message_ids=[event.message_id for _, event, _ in numbered],
            head_channel_ids=[one.head.channel_id for one in written],
            last_seqs=[one.head.seq + len(one.events) for one in written],
            last_event_ids=[one.events[-1].id for one in written],
            last_message_ids=[one.new_ids[-1] for one in written],
            slices_left=[one.slice_left for one in written],
        )
    )


_MESSAGE_COLUMNS = ("phone", "type", "content", "bulk", "fail_unknown", "client_ref", "reply_to", "send_at", "target")
_WRITE = """WITH changed AS (
       INSERT INTO messages (incoming, state, created_at, channel_id, id, contact_id, phone, type, content, bulk,
                             fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, sent_by, event_ids)
       SELECT false, 0, :now, channel_id, id, contact_id, phone, type, content, bulk,
              fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, sent_by, ARRAY[event_id]
       FROM unnest(:channel_ids::uuid[], :ids::uuid[], :contact_ids::uuid[], :phone::text[], :type::text[],
                   :content::text[], :bulk::boolean[], :fail_unknown::boolean[], :client_ref::text[],
                   :reply_to::uuid[], :send_at::timestamptz[], :expires_ats::timestamptz[], :target::uuid[],
                   :senders::text[], :created_event_ids::uuid[])
         AS m (channel_id, id, contact_id, phone, type, content, bulk,
               fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, sent_by, event_id)
   ), newest AS (
       UPDATE conversations v SET last_message_id = GREATEST(v.last_message_id, t.id)
       FROM unnest(:newest_channel_ids::uuid[], :newest_contact_ids::uuid[], :newest_ids::uuid[])
         AS t (channel_id, contact_id, id)
       WHERE v.channel_id = t.channel_id AND v.contact_id = t.contact_id
   ), new AS (
       INSERT INTO events (channel_id, id, seq, type, body, conversation_id, message_id)
       SELECT * FROM unnest(:event_channel_ids::uuid[], :event_ids::uuid[], :event_seqs::bigint[], :event_types::text[],
                            :event_bodies::text[], :event_conversation_ids::uuid[], :event_message_ids::uuid[])
       RETURNING channel_id, id, type
   ), head AS (
       UPDATE channel_heads h SET seq = e.seq, last_event_id = e.event_id, last_message_id = e.message_id,
                                  work_at = :now, slice_left = e.slice_left
       FROM unnest(:head_channel_ids::uuid[], :last_seqs::bigint[], :last_event_ids::uuid[],
                   :last_message_ids::uuid[], :slices_left::bigint[])
         AS e (channel_id, seq, event_id, message_id, slice_left)
       WHERE h.channel_id = e.channel_id
   )
   INSERT INTO deliveries (channel_id, endpoint_id, event_id)
   SELECT n.channel_id, p.id, n.id FROM new n, endpoints p
   WHERE p.channel_id = n.channel_id AND p.state <> 'disabled' AND n.type = ANY (p.events)"""


async def add_batch(
    conn: "Connection[Any]", channel_id: UUID, batch_id: UUID, message_ids: Sequence[UUID], now: datetime
) -> None:
    """Record the messages of one commit: their ids are consecutive among outgoing messages."""
    await conn.execute(
        "INSERT INTO batches (channel_id, id, first_id, last_id, created_at) VALUES ($1, $2, $3, $4, $5)",
        channel_id,
        batch_id,
        message_ids[0],
        message_ids[-1],
        now,
    )


async def read_batch(db: Database, channel_id: UUID, batch_id: UUID) -> list[tuple[UUID, UUID]]:
    """Return the first and last id of each commit of a batch, in order; none if there is no such batch."""
    rows = await db.fetch(
        "SELECT first_id, last_id FROM batches WHERE channel_id = $1 AND id = $2 ORDER BY first_id",
        channel_id,
        batch_id,
    )
    return [(row["first_id"], row["last_id"]) for row in rows]


async def forget_batches(db: Database, now: datetime, days: int) -> None:
    """Delete batches that are older than the messages that are kept."""
    await db.execute("DELETE FROM batches WHERE created_at < $1", now - timedelta(days=days))
