"""The commit before a send: that the messages are about to be sent. One statement for several channels."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

import msgspec

from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.pool import Database
from gatepost.store.statement import json_text

_DAY = timedelta(hours=24)


class Intent(msgspec.Struct, frozen=True, gc=False):
    """A message about to be sent; committed before the network is called."""

    message_id: UUID
    attempt: int
    opens: bool
    waits: str | None = None  # its delays: JSON


class IntentResult(msgspec.Struct, frozen=True, gc=False):
    """Whether the message may be sent, and whether it opened a conversation."""

    go: bool
    opened: bool


async def mark_sending(db: Database, lease: Lease, intents: Sequence[Intent], now: datetime) -> list[IntentResult]:
    """Save the attempts of one channel; raise StaleOwner if it has another owner."""
    written = await _write_intents(db, {lease: intents}, now, wait=True)
    if lease not in written:
        raise StaleOwner
    return written[lease]


async def mark_sending_together(
    db: Database, batches: Mapping[Lease, Sequence[Intent]], now: datetime
) -> dict[Lease, list[IntentResult]]:
    """Save the attempts of several channels. One that has another owner, or is about to get one, is left out."""
    return await _write_intents(db, batches, now, wait=False)


async def _write_intents(
    db: Database, batches: Mapping[Lease, Sequence[Intent]], now: datetime, *, wait: bool
) -> dict[Lease, list[IntentResult]]:
    """Save the attempts. A message that was settled meanwhile (canceled, or by a status) must not be sent.

    This is one statement and one commit. It blocks a change of owner only: an intent has no place in the order.
    The message's row says whose conversation opens, since contacts may have been merged. Messages and then
    conversations are locked in key order. A conversation is locked first and then found by its key: it may have
    changed while we waited for the lock.
    An owner repeats an intent when it did not learn of the commit and has not sent: it may send.
    """
    leases = sorted(batches, key=lambda lease: lease.channel_id)
    intents = {intent.message_id: intent for lease in leases for intent in batches[lease]}
    ids = sorted(intents)
    row = await db.fetchrow(
        _sql(wait),
        channel_ids=[lease.channel_id for lease in leases],
        epochs=[lease.epoch for lease in leases],
        ids=ids,
        values=json_text({str(id_): (i.attempt, i.opens, i.waits) for id_, i in intents.items()}),
        first=ids[0],
        last=ids[-1],
        now=now,
        day_ago=now - _DAY,
    )
    held, going, opened = set(row["held"]), set(row["going"]), set(row["opened"])
    return {
        lease: [IntentResult(i.message_id in going, i.message_id in opened) for i in batches[lease]]
        for place, lease in enumerate(leases, 1)
        if place in held
    }


@cache
def _sql(wait: bool) -> str:
    """Return the statement.

    The values of a message are looked up in an object, by its id. A join with a list of intents would choose the
    partition of each message by a value of another row, and PostgreSQL (18 crashes) does not handle that if the
    message changed while the statement waited for it.
    """
    return f"""WITH held AS MATERIALIZED (
           SELECT k.*
           FROM unnest(:channel_ids::uuid[], :epochs::bigint[]) WITH ORDINALITY AS k (channel_id, epoch, place)
           CROSS JOIN LATERAL (
               SELECT 1 FROM channel_heads WHERE channel_id = k.channel_id AND epoch = k.epoch
               FOR KEY SHARE {"" if wait else "SKIP LOCKED"}) h
       ), going AS (
           UPDATE messages m
           SET state = 1, attempt = ({_value(0)})::int, epoch = held.epoch, sending_at = :now, next_at = NULL,
               waits = CASE WHEN {_value(2)} IS NULL THEN m.waits
                            ELSE m.waits[cardinality(m.waits) - 18 :] || ({_value(2)}) END
           FROM held
           WHERE m.channel_id = held.channel_id AND m.id = ANY (:ids::uuid[]) AND m.id BETWEEN :first AND :last
             AND m.state IN (0, 1)
             AND (m.attempt = ({_value(0)})::int - 1
                  OR (m.state = 1 AND m.attempt = ({_value(0)})::int AND m.epoch = held.epoch))
           RETURNING m.id, m.channel_id, m.contact_id, ({_value(1)})::boolean AS opens
       ), closed AS (
           SELECT wanted.id, c.* FROM (
               SELECT DISTINCT ON (channel_id, contact_id) channel_id, contact_id, id FROM going WHERE opens
               ORDER BY channel_id, contact_id, id) wanted
           CROSS JOIN LATERAL (
               SELECT channel_id, contact_id FROM conversations
               WHERE channel_id = wanted.channel_id AND contact_id = wanted.contact_id
                 AND (last_in_at IS NULL OR last_in_at <= :day_ago) AND (opened_at IS NULL OR opened_at <= :day_ago)
               LIMIT 1 FOR NO KEY UPDATE) c
       ), opened AS (
           UPDATE conversations v SET opened_at = :now FROM closed c
           WHERE v.channel_id = c.channel_id AND v.contact_id = c.contact_id
           RETURNING c.id
       )
       SELECT ARRAY(SELECT place FROM held) AS held, ARRAY(SELECT id FROM going) AS going,
              ARRAY(SELECT id FROM opened) AS opened"""


def _value(place: int) -> str:
    """Return the SQL of a value of the message's intent: its attempt, whether it opens a conversation, its delays."""
    return f":values::jsonb -> m.id::text ->> {place}"
