"""The commit that accepts messages: idempotency, the plan's count, contacts, rows, events, all or nothing."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import ids, times
from gatepost.model.errors import LimitReached, LimitState, overloaded
from gatepost.model.event import ChannelRef
from gatepost.model.message import Draft
from gatepost.model.quota import NO_LIMIT
from gatepost.store.answers import Key, in_progress, reused
from gatepost.store.checking import Asked, read_grounds, refusal
from gatepost.store.contacts import FIND, Contact, add_missing
from gatepost.store.heads import Clause, Head, Scribe, append_events, no_such_channel
from gatepost.store.pool import Connection, Database
from gatepost.store.quota import Quota, Short, Slice, provide, spend
from gatepost.store.talks import NOTE_NEWEST, newest_of, tell_made

_TRIES = 100  # each of them lost what it was given to others, who accepted messages with it


class Submission(msgspec.Struct, frozen=True):
    """One send on its way into the database."""

    draft: Draft
    channel: ChannelRef
    account_id: UUID
    monthly_limit: int | None
    key: Key | None
    answer: Callable[[UUID, datetime], bytes]
    window: bool = False  # whether free text needs an open customer-service window

    @property
    def asks(self) -> bool:
        """Whether the database has a say in it besides the plan."""
        draft = self.draft
        return bool(self.window or draft.bulk or draft.reply_to or draft.target or draft.media_ids or draft.template)


class Accepted(msgspec.Struct, frozen=True):
    """What the caller is told: the answer's bytes, fresh or replayed."""

    answer: bytes
    replayed: bool = False


Outcome = Accepted | Exception


async def accept_messages(
    db: Database, channel_id: UUID, submissions: Sequence[Submission], now: datetime
) -> list[Outcome]:
    """Accepts a batch of one channel in one commit, each item with its own result."""
    last = submissions[-1]
    limit = NO_LIMIT if last.monthly_limit is None else last.monthly_limit
    quota = Quota(last.account_id, times.month_of(now), limit)
    for _ in range(_TRIES):
        try:
            async with db.transaction() as conn:
                return await _accept(conn, channel_id, submissions, quota, now)
        except Short as short:
            lacks = short
        await provide(db, channel_id, quota, lacks)
    raise overloaded()


async def _accept(
    conn: "Connection[Any]", channel_id: UUID, submissions: Sequence[Submission], quota: Quota, now: datetime
) -> list[Outcome]:
    head, held, people, last_in = await _open(conn, channel_id, submissions)
    outcomes = await _settle_keys(conn, channel_id, submissions)
    await _refuse_unfit(conn, channel_id, submissions, outcomes, last_in, now)
    fresh = [i for i, outcome in enumerate(outcomes) if outcome is None]
    if fresh:
        room, left = await spend(conn, quota, held, len(fresh))
        for i in fresh[room:]:
            outcomes[i] = quota_exceeded(quota.limit, now)
        fresh = fresh[:room]
    if fresh:
        new_ids = ids.next_ids(head.last_message_id, now, len(fresh))
        chosen, scribe = [submissions[i] for i in fresh], Scribe(head, now)
        made = await add_missing(conn, channel_id, people, [s.draft.phone for s in chosen], now, {})
        tell_made(made, scribe, now)
        contact_ids = [people[s.draft.phone].id for s in chosen]
        event_ids = [
            _tell_created(scribe, id_, s.draft, people[s.draft.phone], now)
            for id_, s in zip(new_ids, chosen, strict=True)
        ]
        insert = _insert_messages(chosen, new_ids, contact_ids, event_ids, left, now)
        channel = chosen[-1].channel
        await append_events(conn, head, channel, scribe.told, now, with_change=insert, last_message_id=new_ids[-1])
        await _schedule(conn, channel_id, chosen, new_ids)
        answers = [s.answer(id_, now) for s, id_ in zip(chosen, new_ids, strict=True)]
        await _keep_keys(conn, channel_id, chosen, answers, now)
        for i, answer in zip(fresh, answers, strict=True):
            outcomes[i] = Accepted(answer)
    return [outcome for outcome in outcomes if outcome is not None]


async def _open(
    conn: "Connection[Any]", channel_id: UUID, submissions: Sequence[Submission]
) -> tuple[Head, Slice, dict[str, Contact], dict[str, datetime | None]]:
    """Locks the head and finds the batch's contacts: one round trip.

    Contacts are read as of before the lock: one that was made meanwhile is found when it cannot be made again, and when
    some were joined meanwhile all are looked up once more.
    """
    heard = any(s.window for s in submissions)
    phones = list({s.draft.phone for s in submissions})
    row = await conn.fetchrow(
        f"""WITH head AS (
               SELECT epoch, seq, last_event_id, last_message_id, joined, slice_month, slice_limit, slice_left
               FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE
           ), people AS ({FIND.format(phones="$2")})
           SELECT head.*, {_PEOPLE} {_LAST_IN if heard else ""},
                  (SELECT joined FROM channel_heads WHERE channel_id = $1) AS joined_before
           FROM head""",
        channel_id,
        phones,
    )
    if row is None:
        raise no_such_channel()
    head = Head(channel_id, row["epoch"], row["seq"], row["last_event_id"], row["last_message_id"])
    people = row if row["joined"] == row["joined_before"] else await _look_again(conn, channel_id, phones)
    found = zip(people["ids"], people["phones"], people["names"], strict=True)
    last_in = dict(zip(people["phones"], people["last_in"], strict=True)) if heard else {}
    held = Slice(row["slice_month"], row["slice_limit"], row["slice_left"])
    return head, held, {phone: Contact(id_, phone, name) for id_, phone, name in found}, last_in


async def _look_again(conn: "Connection[Any]", channel_id: UUID, phones: Sequence[str]) -> Any:
    """The contacts as they are under the lock."""
    return await conn.fetchrow(
        f"WITH people AS ({FIND.format(phones='$2')}) SELECT {_PEOPLE} {_LAST_IN}", channel_id, phones
    )


_PEOPLE = """ARRAY(SELECT id FROM people) AS ids, ARRAY(SELECT asked FROM people) AS phones,
             ARRAY(SELECT COALESCE(given_name, name) FROM people) AS names"""
# When each of them last wrote, in the same order.
_LAST_IN = """, ARRAY(SELECT (SELECT last_in_at FROM conversations WHERE channel_id = $1 AND contact_id = people.id)
                      FROM people) AS last_in"""


async def _settle_keys(
    conn: "Connection[Any]", channel_id: UUID, submissions: Sequence[Submission]
) -> list[Outcome | None]:
    """Answers every item whose key was used before. The channel's lock keeps two batches from racing here."""
    outcomes: list[Outcome | None] = [None] * len(submissions)
    keyed = [(i, s.key) for i, s in enumerate(submissions) if s.key]
    if not keyed:
        return outcomes
    rows = await conn.fetch(
        """SELECT k.* FROM unnest($2::text[], $3::text[]) AS asked (route, key) CROSS JOIN LATERAL (
               SELECT route, key, body_hash, answer FROM idempotency_keys
               WHERE channel_id = $1 AND route = asked.route AND key = asked.key LIMIT 1) k""",
        channel_id,
        [key.route for _, key in keyed],
        [key.key for _, key in keyed],
    )
    known = {(row["route"], row["key"]): row for row in rows}
    under_way = set()
    for i, key in keyed:
        row = known.get((key.route, key.key))
        if row is not None:
            outcomes[i] = Accepted(row["answer"], replayed=True) if row["body_hash"] == key.body_hash else reused()
        elif (key.route, key.key) in under_way:
            outcomes[i] = in_progress()
        under_way.add((key.route, key.key))
    return outcomes


async def _refuse_unfit(
    conn: "Connection[Any]",
    channel_id: UUID,
    submissions: Sequence[Submission],
    outcomes: list[Outcome | None],
    last_in: dict[str, datetime | None],
    now: datetime,
) -> None:
    """Refuses what the database speaks against: unknown replies, files that do not fit, a closed window, an opt-out."""
    asked = {
        i: Asked(s.draft, s.channel.kind, s.window) for i, s in enumerate(submissions) if s.asks and outcomes[i] is None
    }
    if asked:
        grounds = await read_grounds(conn, channel_id, list(asked.values()), last_in)
        for i, item in asked.items():
            outcomes[i] = refusal(item, grounds, now)


def quota_exceeded(limit: int, now: datetime) -> LimitReached:
    left = int((times.month_end(now) - now).total_seconds()) + 1
    return LimitReached(
        f"The plan's {limit:,} messages for this month are used up. Choose a larger plan, or wait for the next month.",
        "plan_quota_exceeded",
        retry_after=left,
        retryable=False,
        limit=LimitState("plan-month", limit, times.month_seconds(now), 0, left),
    )


def _insert_messages(
    chosen: Sequence[Submission],
    new_ids: Sequence[UUID],
    contact_ids: Sequence[UUID],
    event_ids: Sequence[UUID],
    slice_left: int,
    now: datetime,
) -> Clause:
    drafts = [s.draft for s in chosen]
    return Clause(
        """INSERT INTO messages (channel_id, incoming, state, created_at, id, contact_id, phone, type, content, bulk,
                                 fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, event_ids)
           SELECT $1, false, 0, $9, id, contact_id, phone, type, content, bulk,
                  fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, ARRAY[event_id]
           FROM unnest($11::uuid[], $12::uuid[], $13::text[], $14::text[], $15::text[], $16::boolean[],
                       $17::boolean[], $18::text[], $19::uuid[], $20::timestamptz[], $21::timestamptz[],
                       $22::uuid[], $23::uuid[])
             AS m (id, contact_id, phone, type, content, bulk,
                   fail_unknown, client_ref, reply_to, send_at, expires_at, target_id, event_id)""",
        (
            new_ids,
            contact_ids,
            [d.phone for d in drafts],
            [d.type for d in drafts],
            [d.content for d in drafts],
            [d.bulk for d in drafts],
            [d.fail_unknown for d in drafts],
            [d.client_ref for d in drafts],
            [d.reply_to for d in drafts],
            [d.send_at for d in drafts],
            [d.expires_at(now) for d in drafts],
            [d.target for d in drafts],
            event_ids,
            *newest_of(contact_ids, new_ids),
            slice_left,
        ),
        NOTE_NEWEST,
        head=", slice_left = $26",
    )


async def _schedule(
    conn: "Connection[Any]", channel_id: UUID, chosen: Sequence[Submission], new_ids: Sequence[UUID]
) -> None:
    later = [(channel_id, s.draft.send_at, id_) for s, id_ in zip(chosen, new_ids, strict=True) if s.draft.send_at]
    if later:
        await conn.executemany("INSERT INTO scheduled (channel_id, send_at, message_id) VALUES ($1, $2, $3)", later)


def _tell_created(scribe: Scribe, id_: UUID, draft: Draft, contact: Contact, now: datetime) -> UUID:
    data = events.message_data(
        id_=id_,
        phone=draft.phone,
        contact_id=contact.id,
        name=contact.called,
        incoming=False,
        type_=draft.type,
        content=draft.content,
        timestamp=now,
        reply_to=draft.reply_to,
        client_ref=draft.client_ref,
        scheduled=draft.send_at is not None,
    )
    return scribe.tell(events.MESSAGE, "created", data, contact.id)


async def _keep_keys(
    conn: "Connection[Any]", channel_id: UUID, chosen: Sequence[Submission], answers: Sequence[bytes], now: datetime
) -> None:
    keyed = [(s.key, answer) for s, answer in zip(chosen, answers, strict=True) if s.key]
    if keyed:
        await conn.execute(
            """INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
               SELECT $1, *, $6 FROM unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[])""",
            channel_id,
            [key.route for key, _ in keyed],
            [key.key for key, _ in keyed],
            [key.body_hash for key, _ in keyed],
            [answer for _, answer in keyed],
            now,
        )
