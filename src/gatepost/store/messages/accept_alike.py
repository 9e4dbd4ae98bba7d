"""Accepting messages of one channel that are alike: the shortest statement for a batch.

Plain messages (`accept_plain.py`) are alike if they differ only in id, recipient, content, client_ref and key. Most
batches are: so what they share is passed once, and their ids are chosen before the statement runs. It writes the whole
batch, or nothing if anything is in the way:

    a recipient who is no contact, or refuses marketing; a closed customer-service window; a used Idempotency-Key
    a head that was changed since the statement began, or has later ids already
    a quota slice that is too small

Then `accept_plain.py` accepts the batch. What is remembered here, the last ids and the failures, only saves attempts.

The statement waits for the lock of the head. If the head was changed meanwhile, it has another `xmin` than in the
snapshot, from which contacts, endpoints and keys are read.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any
from uuid import UUID

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.event import MESSAGE
from gatepost.model.window import WINDOW
from gatepost.store.messages.accept import AcceptResult, quota_of
from gatepost.store.messages.accept_plain import event_form
from gatepost.store.messages.accept_plain_sql import contact_sql
from gatepost.store.messages.submission import Submission
from gatepost.store.pool import Database
from gatepost.store.statement import SEPARATOR, statement

_CHANNELS = 10_000  # after which all are forgotten
_MOST_SKIPPED = 63  # batches


class _Channel(msgspec.Struct):
    """What is remembered of a channel."""

    last_message: int = 0
    last_event: int = 0
    failures: int = 0
    skip: int = 0  # batches until the next attempt


class AlikeAcceptor:
    """Accepts batches of messages that are alike."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._channels: dict[UUID, _Channel] = {}

    async def accept(self, channel_id: UUID, batch: Sequence[Submission]) -> list[AcceptResult] | None:
        """Accept a batch in one commit. Return None if nothing was written."""
        if not are_alike(batch):
            return None
        channel = self._remembered(channel_id)
        if channel.skip:
            channel.skip -= 1
            return None
        accepted = await self._write(channel_id, channel, batch)
        if accepted is None:
            channel.skip = channel.failures  # none after the first: usually, a quota slice is used up
            channel.failures = min(channel.failures * 2 + 1, _MOST_SKIPPED)
            return None
        channel.failures = 0
        self._db.notify(channel_id, tasks=False)
        return accepted

    def _remembered(self, channel_id: UUID) -> _Channel:
        channel = self._channels.get(channel_id)
        if channel is None:
            if len(self._channels) >= _CHANNELS:
                self._channels.clear()
            channel = self._channels[channel_id] = _Channel()
        return channel

    async def _write(
        self, channel_id: UUID, channel: _Channel, batch: Sequence[Submission]
    ) -> list[AcceptResult] | None:
        async with self._db.head_turns.take(channel_id):
            now = self._clock.now()
            new_ids = _ids_after(channel.last_message, now, len(batch))
            event_ids = _ids_after(channel.last_event, now, len(batch))
            accepted = [_accepted(s, id_, now) for s, id_ in zip(batch, new_ids, strict=True)]
            if not await write_alike(self._db, channel_id, batch, new_ids, event_ids, accepted, now):
                return None
            channel.last_message, channel.last_event = new_ids[-1], event_ids[-1]
            return accepted


def are_alike(batch: Sequence[Submission]) -> bool:
    """Whether messages have so much in common that they can be accepted here."""
    sender, keyed = batch[0].sender, batch[0].key is not None
    kinds = {(m.type, m.ttl, m.bulk, m.fail_unknown, s.window) for s in batch if (m := s.message)}
    if len(kinds) > 1 or any(s.sender is not sender or (s.key is not None) is not keyed for s in batch):
        return False
    return not keyed or len({(s.key.route, s.key.key) for s in batch if s.key}) == len(batch)


def _ids_after(last: int, now: datetime, count: int) -> range:
    first = max(ids.new_id(now).int, last + 1)
    return range(first, first + count)


def _accepted(submission: Submission, id_: int, now: datetime) -> AcceptResult:
    """Return the answer, which is rendered while the next batch is written, or now if it is stored under a key."""
    return AcceptResult(
        partial(_answer, submission, id_, now) if submission.key is None else _answer(submission, id_, now)
    )


def _answer(submission: Submission, id_: int, now: datetime) -> bytes:
    return submission.sender.answer(submission.message, UUID(int=id_), now)


async def write_alike(
    db: Database,
    channel_id: UUID,
    batch: Sequence[Submission],
    new_ids: range,
    event_ids: range,
    accepted: Sequence[AcceptResult],
    now: datetime,
) -> bool:
    """Run the statement. Return whether the batch was written.

    A column of messages is one text: arrays cost more to encode.
    """
    first, messages = batch[0], [s.message for s in batch]
    quota, keys = quota_of(batch, now), [s.key for s in batch if s.key]
    values: dict[str, Any] = {
        "channel_id": channel_id,
        "now": now,
        "count": len(batch),
        "month": quota.month,
        "limit": quota.limit,
        "first_id": UUID(int=new_ids[0]),
        "last_id": UUID(int=new_ids[-1]),
        "first_event_id": UUID(int=event_ids[0]),
        "last_event_id": UUID(int=event_ids[-1]),
        "form": event_form(first.sender.channel, first.sender.sent_by, now),
        "sent_by": first.sender.sent_by,
        "type": first.message.type,
        "fail_unknown": first.message.fail_unknown,
        "expires_at": now + timedelta(seconds=first.message.ttl),
        "ids": ",".join([f"{id_:032x}" for id_ in new_ids]),
        "event_ids": ",".join([f"{id_:032x}" for id_ in event_ids]),
        "phones": ",".join([message.phone for message in messages]),
        "contents": SEPARATOR.join([message.content for message in messages]),
    }
    keyed, bulk, window = bool(keys), first.message.bulk, first.window
    named = any(message.client_ref for message in messages)
    if named:
        values["client_refs"] = SEPARATOR.join([message.client_ref or "" for message in messages])
    if window:
        values["opened_after"] = now - WINDOW
    if keyed:
        values["route"] = keys[0].route
        values["keys"] = SEPARATOR.join([key.key for key in keys])
        values["hashes"] = ",".join([key.body_hash.hex() for key in keys])
        values["answers"] = SEPARATOR.join([one.answer.decode() for one in accepted])
    async with db.connection() as conn:
        prepared = statement(accept_alike_sql(keyed, named, window, bulk), **values)
        return await conn.fetchval(*prepared) is not None


_KEYED = """, string_to_array(:keys, E'\\x1e'), string_to_array(:hashes, ','), string_to_array(:answers, E'\\x1e')"""
_NAMED = ", string_to_array(:client_refs, E'\\x1e', '')"
_KEY_IS_NEW = """(SELECT i.key FROM idempotency_keys i
                  WHERE i.channel_id = :channel_id AND i.route = :route AND i.key = g.key) IS NULL"""
_WINDOW_IS_OPEN = """(SELECT v.last_in_at > :opened_after FROM conversations v
                      WHERE v.channel_id = :channel_id AND v.contact_id = c.id)"""
_WANTS_MARKETING = "c.opted_out IS NULL"
_KEY_ROWS = """, keyed AS (
       INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
       SELECT channel_id, :route, key, decode(body_hash, 'hex'), convert_to(answer, 'UTF8'), :now::timestamptz
       FROM fresh
   )"""


@cache
def accept_alike_sql(keyed: bool, named: bool, window: bool, bulk: bool) -> str:
    """Return the statement: a row if the batch was written.

    `fresh` has the channel's id as a column: with the constant, the planner would read all conversations of a channel.
    """
    asked = {_KEY_IS_NEW: keyed, _WINDOW_IS_OPEN: window, _WANTS_MARKETING: bulk}
    conditions = " AND ".join(condition for condition, is_asked in asked.items() if is_asked)
    return f"""WITH known AS MATERIALIZED (
       SELECT g.*, c.id AS contact_id, COALESCE(c.given_name, c.name) AS name
       FROM unnest(string_to_array(:ids, ','), string_to_array(:event_ids, ','), string_to_array(:phones, ','),
                   string_to_array(:contents, E'\\x1e'){_NAMED if named else ""}{_KEYED if keyed else ""})
            WITH ORDINALITY AS g (id, event_id, phone, content{", client_ref" if named else ""}
                                  {", key, body_hash, answer" if keyed else ""}, nth)
       {contact_sql(":channel_id::uuid")}
       {f"WHERE {conditions}" if conditions else ""}
   ), head AS (
       UPDATE channel_heads
       SET seq = seq + :count::bigint, last_event_id = :last_event_id::uuid, last_message_id = :last_id::uuid,
           work_at = :now::timestamptz, slice_left = slice_left - :count::bigint
       WHERE channel_id = :channel_id AND last_event_id < :first_event_id::uuid AND last_message_id < :first_id::uuid
         AND slice_month = :month AND slice_limit = :limit::bigint AND slice_left >= :count::bigint
         AND xmin = (SELECT b.xmin FROM channel_heads b WHERE b.channel_id = :channel_id)
         AND (SELECT count(*) FROM known) = :count::bigint
       RETURNING seq - :count::bigint AS seq_before
   ), fresh AS MATERIALIZED (
       SELECT :channel_id::uuid AS channel_id, k.*, h.seq_before + k.nth AS seq FROM known k CROSS JOIN head h
   ), message AS (
       INSERT INTO messages (incoming, state, created_at, channel_id, id, contact_id, phone, type, content, bulk,
                             fail_unknown, client_ref, expires_at, sent_by, event_ids)
       SELECT false, 0, :now::timestamptz, channel_id, id::uuid, contact_id, phone, :type::text, content,
              {"true" if bulk else "false"}, :fail_unknown::boolean, {"client_ref" if named else "NULL"},
              :expires_at::timestamptz, :sent_by::text, ARRAY[event_id::uuid]
       FROM fresh
   ){_KEY_ROWS if keyed else ""}, newest AS (
       UPDATE conversations v SET last_message_id = GREATEST(v.last_message_id, t.id::uuid)
       FROM (SELECT DISTINCT ON (contact_id) channel_id, contact_id, id FROM fresh ORDER BY contact_id, nth DESC) t
       WHERE v.channel_id = t.channel_id AND v.contact_id = t.contact_id
   ), event AS (
       INSERT INTO events (channel_id, id, seq, type, body, conversation_id, message_id)
       SELECT channel_id, event_id::uuid, seq, '{MESSAGE}',
              format(:form::text, event_id, seq, phone, upper(id), :type::text, content,
                     replace(contact_id::text, '-', ''), COALESCE(to_json(name)::text, 'null'),
                     {"COALESCE(to_json(client_ref)::text, 'null')" if named else "'null'"}),
              contact_id, id::uuid
       FROM fresh
   ), delivery AS (
       INSERT INTO deliveries (channel_id, endpoint_id, event_id)
       SELECT f.channel_id, e.id, f.event_id::uuid
       FROM (SELECT id FROM endpoints
             WHERE channel_id = :channel_id AND state <> 'disabled' AND '{MESSAGE}' = ANY (events)) e CROSS JOIN fresh f
   )
   SELECT seq_before FROM head"""
