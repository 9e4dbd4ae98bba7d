"""Accepting plain messages: one statement and one commit for the batches of one channel or several.

A message is plain if no row can rule it out except those that the statement reads anyway: no template, file, reply,
reaction or schedule. The statement does what `accept.py` does for it:

    given     the messages of the batches, in columns of text
    known     those whose recipient is a contact (in bulk: who wants marketing), whose customer-service window is open
              if they need one, and whose Idempotency-Key is new
    head      the channels' heads, locked without waiting
    chosen    the heads whose quota slice is large enough for their known messages
    fresh     the known messages of these channels, with the next ids and sequence numbers
    and then  the rows of messages, keys, conversations, events, deliveries and heads

What it leaves out is not written: `accept.py` accepts it, with contacts and slices that it makes, or refuses it. So
this module has no errors of its own, and remembers nothing that could be out of date.

The statement leaves out a head that is locked or was changed since the statement began. So it reads contacts and
endpoints as they are under the lock, and does not update an old version of a row that it has locked in a newer one:
PostgreSQL would wait there for everyone who waits for this row, and call it a deadlock. With `wait`, a channel that was
left out is locked by a statement of its own first.

The JSON of an event is the one of `model/event`: it is rendered once per channel and sender with placeholders in the
place of the values, and PostgreSQL fills them in. The answer that is stored under a key is rendered with a placeholder
in the place of the message's id.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.compute import in_parts
from gatepost.model import ids, times
from gatepost.model.event import MESSAGE, ChannelRef, NewEvent, render
from gatepost.model.event.messages import MessageCreated
from gatepost.model.window import WINDOW
from gatepost.store.channel_head import lock_head
from gatepost.store.messages.accept import AcceptResult, quota_of
from gatepost.store.messages.submission import Submission
from gatepost.store.pool import Database
from gatepost.store.quota import Quota, QuotaSlice, covers, refill
from gatepost.store.statement import SEPARATOR, next_id, statement


class NotPlain(Exception):
    """The message was not written: `accept.py` accepts or refuses it."""


PlainOutcome = AcceptResult | NotPlain
Batches = Mapping[UUID, Sequence[Submission]]


def is_plain(submission: Submission) -> bool:
    """Whether a message can be accepted here, as far as it is known without the database."""
    message = submission.message
    return not (
        message.reply_to
        or message.target
        or message.media_ids
        or message.template
        or message.send_at
        or message.contact
        or (message.client_ref and SEPARATOR in message.client_ref)
    )


class _LockedHead(msgspec.Struct, frozen=True):
    """A channel after the statement."""

    before: UUID | None  # the id before those of the written messages; None: nothing is written
    known: int  # messages that are written if the quota slice is large enough
    left_out: Sequence[int]  # the others, by their places in the batch
    held: QuotaSlice


async def accept_plain(
    db: Database, batches: Batches, now: datetime, *, wait: bool = False
) -> dict[UUID, list[PlainOutcome]]:
    """Accept plain messages in one commit.

    A channel is missing in the result if its head is locked, or if its quota slice is too small. If nothing can be
    written because of that, slices are refilled first. There is at most one commit, so that an error applies to all.
    With a single channel it can `wait` for the lock; then none is missing.
    """
    heads = await write_plain(db, batches, now, wait=wait)
    short = [id_ for id_, head in heads.items() if not covers(quota_of(batches[id_], now), head.held, head.known)]
    if short and not any(head.before for head in heads.values()):
        refilled = [id_ for id_ in short if await _refill(db, id_, quota_of(batches[id_], now), heads[id_])]
        if refilled:
            heads |= await write_plain(db, {id_: batches[id_] for id_ in refilled}, now, wait=wait)
        short = []
    outcomes: dict[UUID, list[PlainOutcome]] = {}
    for channel_id, batch in batches.items():
        head = heads.get(channel_id)
        if head is not None and head.before is not None:
            outcomes[channel_id] = await _outcomes(batch, head, head.before.int, now)
        elif wait or (head is not None and channel_id not in short):
            outcomes[channel_id] = [NotPlain() for _ in batch]
    return outcomes


async def _refill(db: Database, channel_id: UUID, quota: Quota, head: _LockedHead) -> bool:
    return await refill(db, channel_id, quota, head.held, head.known)


async def write_plain(db: Database, batches: Batches, now: datetime, *, wait: bool) -> dict[UUID, _LockedHead]:
    """Run the statement, and wake the owners of the channels. Return the heads that it has locked."""
    submissions = list(chain.from_iterable(batches.values()))
    keyed = any(s.key for s in submissions)
    keys = _keys(submissions, await in_parts(partial(_answer_form, now), submissions)) if keyed else {}
    prepared = statement(_accept_sql(keyed), **_values(batches, now), **keys)
    async with db.connection() as conn:
        rows = await conn.fetch(*prepared)
    if not rows and wait:  # another transaction had the lock
        async with db.transaction() as conn:
            await lock_head(conn, next(iter(batches)))
            rows = await conn.fetch(*prepared)
    heads = {}
    for channel_id, before, known, left_out, *held in rows:
        heads[channel_id] = _LockedHead(before, known, left_out or (), QuotaSlice(*held))
        if before is not None:
            db.notify(channel_id, tasks=False)
    return heads


async def _outcomes(batch: Sequence[Submission], head: _LockedHead, before: int, now: datetime) -> list[PlainOutcome]:
    """Return the answers of the written messages. Their ids follow each other, in the order of the batch."""
    written = [s for place, s in enumerate(batch, 1) if place not in head.left_out] if head.left_out else batch
    new_ids = range(before + 1, before + 1 + len(written))
    answers = iter(await in_parts(lambda s, id_: s.answer(s.message, UUID(int=id_), now), written, new_ids))
    return [NotPlain() if place in head.left_out else AcceptResult(next(answers)) for place, _ in enumerate(batch, 1)]


def _values(batches: Batches, now: datetime) -> dict[str, Any]:
    """Return the parameters of the statement. A column of messages is one text: arrays cost more to encode."""
    submissions = list(chain.from_iterable(batches.values()))
    messages = [submission.message for submission in submissions]
    forms: dict[tuple[ChannelRef, str | None], int] = {}
    for s in submissions:
        forms.setdefault((s.channel, s.sent_by), len(forms) + 1)
    return {
        "now": now,
        "month": times.month_of(now),
        "opened_after": now - WINDOW,
        "channel_ids": list(batches),
        "sizes": [len(batch) for batch in batches.values()],
        "limits": [quota_of(batch, now).limit for batch in batches.values()],
        # One less than the first new id, if the channel has no later one
        "new_ids": [UUID(int=ids.new_id(now).int - 1) for _ in batches],
        "new_event_ids": [UUID(int=ids.new_id(now).int - 1) for _ in batches],
        "forms": [
            _event_form(channel, sender).replace(times.format_time(_NOW), times.format_time(now))
            for channel, sender in forms
        ],
        "senders": [sender for _, sender in forms],
        "numbers": ",".join([str(number) for number, batch in enumerate(batches.values(), 1) for _ in batch]),
        "places": ",".join([str(place) for batch in batches.values() for place in range(1, len(batch) + 1)]),
        "phones": ",".join([message.phone for message in messages]),
        "types": ",".join([message.type for message in messages]),
        "contents": SEPARATOR.join([message.content for message in messages]),
        "client_refs": SEPARATOR.join([message.client_ref or "" for message in messages]),
        "lives": ",".join([str(message.ttl) for message in messages]),
        "fails_unknown": ",".join(["t" if message.fail_unknown else "f" for message in messages]),
        "bulk": ",".join(["t" if message.bulk else "f" for message in messages]),
        "windows": ",".join(["t" if s.window else "f" for s in submissions]),
        "form_numbers": ",".join([str(forms[s.channel, s.sent_by]) for s in submissions]),
    }


def _keys(submissions: Sequence[Submission], answers: Sequence[str]) -> dict[str, Any]:
    """Return the parameters for Idempotency-Keys. Of messages with the same key, only the first can be new."""
    seen: set[tuple[ChannelRef, str, str]] = set()
    repeated = []
    for s in submissions:
        place = (s.channel, s.key.route, s.key.key) if s.key else None
        repeated.append("t" if place in seen else "f")
        if place:
            seen.add(place)
    return {
        "routes": SEPARATOR.join([s.key.route if s.key else "" for s in submissions]),
        "keys": SEPARATOR.join([s.key.key if s.key else "" for s in submissions]),
        "hashes": ",".join([s.key.body_hash.hex() if s.key else "" for s in submissions]),
        "repeated": ",".join(repeated),
        "answers": SEPARATOR.join(answers),
        "answer_id": _ANSWER_ID,
    }


def _answer_form(now: datetime, submission: Submission) -> str:
    """Return the answer to store under the key of a message. In the place of its id it has `_ANSWER_ID`."""
    return submission.answer(submission.message, _MESSAGE_ID, now).decode() if submission.key else ""


# -- the statement -----------------------------------------------------------------------------------------------------


def _next_id(before: str, nth: str) -> str:
    return next_id(f"replace({before}::text, '-', '')", nth)


# What the statement has in addition if there are Idempotency-Keys; without them, it takes a tenth less time to start.
_KEY_VALUES = """,
                   string_to_array(:routes, E'\\x1e', ''), string_to_array(:keys, E'\\x1e', ''),
                   string_to_array(:hashes, ',', ''), string_to_array(:repeated, ',')::boolean[],
                   string_to_array(:answers, E'\\x1e', '')"""
_KEY_NAMES = ", route, key, body_hash, repeated, answer"
_KEY_IS_NEW = """AND (g.key IS NULL OR (NOT g.repeated AND (
             SELECT i.key FROM idempotency_keys i
             WHERE i.channel_id = g.channel_id AND i.route = g.route AND i.key = g.key) IS NULL))"""
_KEY_ROWS = """, keyed AS (
       INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
       SELECT channel_id, route, key, decode(body_hash, 'hex'),
              convert_to(replace(answer, :answer_id, upper(id)), 'UTF8'), :now::timestamptz
       FROM fresh WHERE key IS NOT NULL
   )"""


@cache
def _accept_sql(keyed: bool) -> str:
    """Return the statement: a row for each head that it has locked."""
    return f"""WITH given AS MATERIALIZED (
       SELECT (:channel_ids::uuid[])[number] AS channel_id, *
       FROM unnest(string_to_array(:numbers, ',')::int[], string_to_array(:places, ',')::int[],
                   string_to_array(:phones, ','), string_to_array(:types, ','),
                   string_to_array(:contents, E'\\x1e'), string_to_array(:client_refs, E'\\x1e', ''),
                   string_to_array(:lives, ',')::int[], string_to_array(:fails_unknown, ',')::boolean[],
                   string_to_array(:bulk, ',')::boolean[], string_to_array(:windows, ',')::boolean[],
                   string_to_array(:form_numbers, ',')::int[]{_KEY_VALUES if keyed else ""})
         AS g (number, place, phone, type, content, client_ref, life, fail_unknown, bulk, window_needed, form
               {_KEY_NAMES if keyed else ""})
   ), known AS MATERIALIZED (
       SELECT g.*, c.id AS contact_id, COALESCE(c.given_name, c.name) AS name,
              row_number() OVER (PARTITION BY g.number ORDER BY g.place) AS nth
       FROM given g CROSS JOIN LATERAL (
           SELECT id, name, given_name, opted_out FROM contacts WHERE channel_id = g.channel_id AND phone = g.phone
           UNION ALL
           SELECT p.* FROM contact_aliases a CROSS JOIN LATERAL (
               SELECT id, name, given_name, opted_out FROM contacts
               WHERE channel_id = g.channel_id AND id = a.contact_id LIMIT 1) p
           WHERE a.channel_id = g.channel_id AND a.alias = g.phone
           LIMIT 1) c
       WHERE (NOT g.bulk OR c.opted_out IS NULL)
         AND (NOT g.window_needed OR (SELECT v.last_in_at > :opened_after FROM conversations v
                                      WHERE v.channel_id = g.channel_id AND v.contact_id = c.id))
         {_KEY_IS_NEW if keyed else ""}
   ), counted AS MATERIALIZED (
       SELECT number, channel_id, count(*) FROM known GROUP BY number, channel_id
   ), head AS MATERIALIZED (
       SELECT * FROM (
           SELECT channel_id, seq, last_event_id, last_message_id, slice_month, slice_limit, slice_left, ctid AS version
           FROM channel_heads WHERE channel_id = ANY (:channel_ids::uuid[]) FOR NO KEY UPDATE SKIP LOCKED) h
       WHERE h.version = (SELECT b.ctid FROM channel_heads b WHERE b.channel_id = h.channel_id)
   ), chosen AS MATERIALIZED (
       SELECT h.channel_id, h.seq, k.count,
              GREATEST(h.last_message_id, (:new_ids::uuid[])[k.number]) AS message_before,
              GREATEST(h.last_event_id, (:new_event_ids::uuid[])[k.number]) AS event_before
       FROM head h JOIN counted k ON k.channel_id = h.channel_id
       WHERE h.slice_month = :month AND h.slice_limit = (:limits::bigint[])[k.number] AND h.slice_left >= k.count
   ), fresh AS MATERIALIZED (
       SELECT k.*, c.seq + k.nth AS seq, {_next_id("c.message_before", "k.nth")} AS id,
              {_next_id("c.event_before", "k.nth")} AS event_id
       FROM known k JOIN chosen c ON c.channel_id = k.channel_id
   ), message AS (
       INSERT INTO messages (incoming, state, created_at, channel_id, id, contact_id, phone, type, content, bulk,
                             fail_unknown, client_ref, expires_at, sent_by, event_ids)
       SELECT false, 0, :now::timestamptz, channel_id, id::uuid, contact_id, phone, type, content, bulk,
              fail_unknown, client_ref, :now::timestamptz + make_interval(secs => life), (:senders::text[])[form],
              ARRAY[event_id::uuid]
       FROM fresh
   ){_KEY_ROWS if keyed else ""}, newest AS (
       UPDATE conversations v SET last_message_id = GREATEST(v.last_message_id, t.id::uuid)
       FROM (SELECT DISTINCT ON (channel_id, contact_id) channel_id, contact_id, id FROM fresh
             ORDER BY channel_id, contact_id, nth DESC) t
       WHERE v.channel_id = t.channel_id AND v.contact_id = t.contact_id
   ), event AS (
       INSERT INTO events (channel_id, id, seq, type, body, conversation_id, message_id)
       SELECT channel_id, event_id::uuid, seq, '{MESSAGE}',
              format((:forms::text[])[form], event_id, seq, phone, upper(id), type, content,
                     replace(contact_id::text, '-', ''), COALESCE(to_json(name)::text, 'null'),
                     COALESCE(to_json(client_ref)::text, 'null')),
              contact_id, id::uuid
       FROM fresh
   ), endpoint AS MATERIALIZED (
       SELECT channel_id, id FROM endpoints
       WHERE channel_id = ANY (:channel_ids::uuid[]) AND state <> 'disabled' AND '{MESSAGE}' = ANY (events)
   ), delivery AS (
       INSERT INTO deliveries (channel_id, endpoint_id, event_id)
       SELECT f.channel_id, e.id, f.event_id::uuid FROM fresh f JOIN endpoint e ON e.channel_id = f.channel_id
   ), changed AS (
       UPDATE channel_heads h
       SET seq = c.seq + c.count, work_at = :now::timestamptz, slice_left = h.slice_left - c.count,
           last_event_id = {_next_id("c.event_before", "c.count")}::uuid,
           last_message_id = {_next_id("c.message_before", "c.count")}::uuid
       FROM chosen c WHERE h.channel_id = c.channel_id
   )
   SELECT h.channel_id, c.message_before, COALESCE(k.count, 0),
          CASE WHEN k.count = (:sizes::int[])[k.number] THEN NULL ELSE ARRAY(
              SELECT g.place FROM given g WHERE g.channel_id = h.channel_id
              EXCEPT SELECT k.place FROM known k WHERE k.channel_id = h.channel_id) END,
          h.slice_month, h.slice_limit, h.slice_left
   FROM head h LEFT JOIN counted k ON k.channel_id = h.channel_id LEFT JOIN chosen c ON c.channel_id = h.channel_id"""


# -- the JSON of an event ----------------------------------------------------------------------------------------------

# Nobody outside of the process knows these values, so that no name or label contains one.
_MESSAGE_ID, _EVENT_ID, _CONTACT_ID = (uuid4() for _ in range(3))
_ANSWER_ID = ids.message_id(_MESSAGE_ID)
_PHONE, _TYPE, _CONTENT, _NAME, _CLIENT_REF = (uuid4().hex for _ in range(5))
_SEQUENCE = secrets.randbits(62) | 1 << 62
_NOW = datetime.fromtimestamp(secrets.randbelow(10**11), UTC)


@lru_cache(1024)
def _event_form(channel: ChannelRef, sent_by: str | None) -> str:
    """Return the event of a plain message as a template of PostgreSQL's `format`. Its time is still `_NOW`."""
    data = MessageCreated.of(
        id_=_MESSAGE_ID,
        phone=_PHONE,
        contact_id=_CONTACT_ID,
        name=_NAME,
        incoming=False,
        type_=_TYPE,
        content=f'"{_CONTENT}"',
        timestamp=_NOW,
        reply_to=None,
        client_ref=_CLIENT_REF,
        sent_by=sent_by,
    )
    text = render(NewEvent(_EVENT_ID, data), _SEQUENCE, channel, _NOW).replace("%", "%%")
    for place, mark in enumerate(_PLACES, 1):
        text = text.replace(mark, f"%{place}$s")
    return text


_PLACES = (  # in the order of the arguments of `format`
    _EVENT_ID.hex,
    str(_SEQUENCE),
    _PHONE,
    _ANSWER_ID,
    _TYPE,
    f'"{_CONTENT}"',
    _CONTACT_ID.hex,
    f'"{_NAME}"',
    f'"{_CLIENT_REF}"',
)
