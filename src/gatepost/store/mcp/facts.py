"""What a policy has to know of a key and a person, read under the channel's head."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.mcp_policy import UNANSWERED_MAX
from gatepost.model.mcp_verdict import HOUR, SendFacts
from gatepost.store.mcp.policies import KeyPolicies
from gatepost.store.pool import Connection, Queryable
from gatepost.store.statement import statement


class KeyAndPerson(msgspec.Struct, frozen=True):
    """A key, and the contact that it writes to; None if the number has none."""

    key_id: UUID
    contact_id: UUID | None
    phone: str
    other: str  # the other form of the number, or the same


class SendCounts:
    """The facts of a batch. Each message that is sent or becomes a draft counts for those after it.

    It counts for all keys of a lineage: a key, and those that replaced it.
    """

    def __init__(
        self,
        sent: dict[UUID, list[datetime]],
        facts: Mapping[KeyAndPerson, SendFacts],
        lineages: Mapping[UUID, UUID],
    ) -> None:
        self._sent = sent
        self._facts = dict(facts)
        self._lineages = lineages
        self._keys: dict[UUID, list[UUID]] = {}
        self._pairs: dict[tuple[UUID, UUID | str], list[KeyAndPerson]] = {}
        for key_id in sent:
            self._keys.setdefault(lineages[key_id], []).append(key_id)
        for pair in facts:
            self._pairs.setdefault(self._place(pair), []).append(pair)

    def of(self, pair: KeyAndPerson) -> SendFacts:
        """Return the facts of the next message."""
        return msgspec.structs.replace(self._facts[pair], sent=self._sent[pair.key_id])

    def add(self, pair: KeyAndPerson, at: datetime) -> None:
        """Count a message."""
        for key_id in self._keys[self._lineages[pair.key_id]]:
            self._sent[key_id] = [at, *self._sent[key_id]]
        for same in self._pairs[self._place(pair)]:
            facts = self._facts[same]
            self._facts[same] = msgspec.structs.replace(
                facts, sent_to_person=[at, *facts.sent_to_person], unanswered=facts.unanswered + 1
            )

    def _place(self, pair: KeyAndPerson) -> tuple[UUID, UUID | str]:
        return self._lineages[pair.key_id], pair.contact_id or pair.phone


async def read_counts(
    conn: "Connection[Any]",
    channel_id: UUID,
    pairs: Sequence[KeyAndPerson],
    found: KeyPolicies,
    now: datetime,
) -> SendCounts:
    """Return the facts of these pairs."""
    sent = {
        key_id: await list_sent(conn, key_id, now, policy.sends_per_hour)
        for key_id, policy in found.policies.items()
        if any(pair.key_id == key_id for pair in pairs)
    }
    rows = await conn.fetch(
        *statement(
            _FACTS,
            channel_id=channel_id,
            now=now,
            hour_ago=now - HOUR,
            most=UNANSWERED_MAX,
            key_ids=[pair.key_id for pair in pairs],
            contact_ids=[pair.contact_id for pair in pairs],
            phones=[pair.phone for pair in pairs],
            others=[pair.other for pair in pairs],
            limits=[found.policies[pair.key_id].sends_per_conversation for pair in pairs],
        )
    )
    facts = {
        pairs[row["n"] - 1]: SendFacts(
            now,
            found.stopped,
            row["last_in_at"],
            frozenset(ids.format_id("lb", label_id) for label_id in row["labels"]),
            sent_to_person=sorted([*row["sent_to_person"], *row["drafted"]], reverse=True),
            unanswered=row["sent_since"] + row["drafts_since"],
            read_others=row["read_others"],
            handed_over=row["handed_over"],
        )
        for row in rows
    }
    return SendCounts(sent, facts, found.lineages)


def same_keys(key: str) -> str:
    """Return an SQL expression: a key, those that it replaced, and those that replaced it."""
    return f"""(ARRAY(SELECT same.id FROM api_keys own JOIN api_keys same ON same.channel_id = own.channel_id
                        AND COALESCE(same.lineage, same.id) = COALESCE(own.lineage, own.id)
                      WHERE own.id = {key}) || {key})"""


async def list_sent(db: Queryable, key_id: UUID, now: datetime, limit: int) -> list[datetime]:
    """Return when a key sent its last messages and drafts of the last hour, the newest first."""
    rows = await db.fetch(
        f"""SELECT at FROM mcp_calls WHERE key_id = ANY({same_keys("$1::uuid")}) AND at > $2
              AND outcome IN ('sent', 'draft')
            ORDER BY at DESC LIMIT $3""",
        key_id,
        now - HOUR,
        limit,
    )
    return [row["at"] for row in rows]


# A draft counts until it is refused or expires. Drafts to a number without a contact are found by the number.
_COUNTED = "(state = 'sent' OR (state = 'waiting' AND expires_at > :now))"
_BY_NUMBER = """channel_id = :channel_id AND contact_id IS NULL AND phone IN (given.phone, given.other)
                AND key_id = ANY(keys.ids)"""
_FACTS = f"""SELECT given.n, person.last_in_at,
       ARRAY(SELECT label_id FROM label_uses
             WHERE channel_id = :channel_id AND contact_id = given.contact_id) AS labels,
       ARRAY(SELECT at FROM mcp_calls
             WHERE key_id = ANY(keys.ids) AND contact_id = given.contact_id AND at > :hour_ago
               AND outcome IN ('sent', 'draft') ORDER BY at DESC LIMIT given.most) AS sent_to_person,
       ARRAY(SELECT created_at FROM drafts WHERE {_BY_NUMBER} AND created_at > :hour_ago
             ORDER BY created_at DESC LIMIT given.most) AS drafted,
       (SELECT count(*) FROM (
           SELECT 1 FROM mcp_calls WHERE key_id = ANY(keys.ids) AND contact_id = given.contact_id
              AND at > COALESCE(person.last_in_at, '-infinity') AND outcome = 'sent' LIMIT :most) x) AS sent_since,
       (SELECT count(*) FROM (
           SELECT 1 FROM drafts WHERE channel_id = :channel_id AND contact_id = given.contact_id
              AND key_id = ANY(keys.ids) AND created_at > COALESCE(person.last_in_at, '-infinity') AND {_COUNTED}
           UNION ALL
           SELECT 1 FROM drafts WHERE {_BY_NUMBER}
              AND created_at > COALESCE(person.last_in_at, '-infinity') AND {_COUNTED}
           LIMIT :most) x) AS drafts_since,
       EXISTS (SELECT FROM mcp_reads WHERE channel_id = :channel_id AND key_id = ANY(keys.ids)
                 AND read_at > :hour_ago AND contact_id IS DISTINCT FROM given.contact_id) AS read_others,
       EXISTS (SELECT FROM mcp_handovers WHERE channel_id = :channel_id AND contact_id = given.contact_id
                 AND key_id = ANY(keys.ids)) AS handed_over
FROM unnest(:key_ids::uuid[], :contact_ids::uuid[], :phones::text[], :others::text[], :limits::int[])
       WITH ORDINALITY AS given (key_id, contact_id, phone, other, most, n)
CROSS JOIN LATERAL (SELECT {same_keys("given.key_id")} AS ids) keys
LEFT JOIN LATERAL (SELECT last_in_at FROM conversations
                   WHERE channel_id = :channel_id AND contact_id = given.contact_id LIMIT 1) person ON true"""
