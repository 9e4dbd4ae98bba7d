"""The log of calls: written with what a call did, read in pages, kept for some days."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model.dates import IdRange
from gatepost.model.mcp_call import CallOutcome, CallResult, McpCall, Transport
from gatepost.store.channel_head import no_head
from gatepost.store.mcp.facts import same_keys
from gatepost.store.notifications import ACCOUNT_CHANGES, AccountChange
from gatepost.store.pool import Connection, Database, delete_in_chunks
from gatepost.store.statement import json_text, statement

REPEAT = timedelta(minutes=10)  # how long the same call returns the first answer


class CallRecord(msgspec.Struct, frozen=True):
    """A call to record: its result, the conversations that its answer reveals, and the answer for repetitions."""

    call: McpCall
    result: CallResult
    revealed: frozenset[UUID] = frozenset()
    answer: str | None = None
    at: datetime | None = None  # None: the time of the call


class CallRow(msgspec.Struct, frozen=True):
    """A recorded call."""

    id: UUID
    key_id: UUID
    at: datetime
    client: str
    transport: Transport
    tool: str
    arguments: str
    outcome: CallOutcome
    rule: str | None
    code: str | None
    contact_id: UUID | None
    ids: tuple[str, ...]


class CallFilter(msgspec.Struct, frozen=True):
    """Which calls of a log; all filters have to fit."""

    span: IdRange = IdRange()
    key_id: UUID | None = None
    tool: str | None = None
    outcome: str | None = None
    contact_id: UUID | None = None


ALL_CALLS = CallFilter()
_COLUMNS = ", ".join(CallRow.__struct_fields__)


class _NewRow(CallRow, frozen=True):
    """A row of `mcp_calls`, with the contacts of its rows of `mcp_reads`."""

    fingerprint: bytes | None
    answer: str | None
    revealed: list[UUID]

    @classmethod
    def of(cls, record: CallRecord) -> "_NewRow":
        call, result = record.call, record.result
        return cls(
            call.id,
            call.key_id,
            record.at or call.at,
            call.client,
            call.transport,
            call.tool,
            call.arguments,
            result.outcome,
            result.rule,
            result.code,
            result.contact_id,
            result.ids,
            call.fingerprint,
            record.answer,
            sorted(record.revealed),
        )


async def insert_calls(
    conn: "Connection[Any]", channel_id: UUID, records: Sequence[CallRecord], *, notify: bool = True
) -> None:
    """Record calls and what they revealed, in the transaction that they describe. With `notify`, tell open pages.

    Raise if the channel is not here any more: neither are the policies of its keys, so that the call was not judged.
    """
    here = await conn.fetchval(
        *statement(
            _INSERT,
            channel_id=channel_id,
            calls=json_text([_NewRow.of(record) for record in records]),
            notification=ACCOUNT_CHANGES,
            notice=_notice(channel_id) if notify else None,
        )
    )
    if not here:
        raise await no_head(conn, channel_id)


# One text is cheaper for the driver than an array for each column.
_INSERT = """WITH here AS MATERIALIZED (
        SELECT 1 FROM channels WHERE id = :channel_id FOR KEY SHARE
    ), given AS (
        SELECT c.* FROM here, json_to_recordset(:calls::json)
          AS c (id uuid, key_id uuid, at timestamptz, client text, transport text, tool text, arguments text,
                outcome text, rule text, code text, contact_id uuid, ids text[], fingerprint text, answer text,
                revealed uuid[])
    ), reads AS (
        INSERT INTO mcp_reads (channel_id, call_id, contact_id, key_id, read_at)
        SELECT :channel_id, id, person, key_id, at FROM given CROSS JOIN LATERAL unnest(revealed) AS person
    ), calls AS (
        INSERT INTO mcp_calls (channel_id, id, key_id, at, client, transport, tool, arguments, outcome, rule, code,
                               contact_id, ids, fingerprint, answer)
        SELECT :channel_id, id, key_id, at, client, transport, tool, arguments, outcome, rule, code, contact_id, ids,
               decode(fingerprint, 'base64'), answer
        FROM given
    )
    SELECT EXISTS (SELECT FROM here),
           CASE WHEN :notice::text IS NOT NULL THEN pg_notify(:notification, :notice)::text END"""


async def notify_calls(db: Database, channels: Sequence[UUID]) -> None:
    """Tell open pages that there are new calls of these channels."""
    notices = [_notice(channel_id) for channel_id in channels]
    await db.execute("SELECT pg_notify($1, notice) FROM unnest($2::text[]) AS notice", ACCOUNT_CHANGES, notices)


def _notice(channel_id: UUID) -> str:
    return json_text(AccountChange("mcp_calls", channel_id=channel_id))


async def find_answers_again(
    conn: "Connection[Any]", calls: Sequence[McpCall], now: datetime
) -> dict[tuple[UUID, bytes], str]:
    """Return the answers of equal calls of a key, over all its rotations, within the last minutes. The newest wins."""
    known = [(call.key_id, call.fingerprint) for call in calls if call.fingerprint is not None]
    if not known:
        return {}
    rows = await conn.fetch(
        f"""SELECT given.key_id, given.fingerprint, same.answer
           FROM unnest($1::uuid[], $2::bytea[]) AS given (key_id, fingerprint)
           CROSS JOIN LATERAL (
               SELECT answer FROM mcp_calls
               WHERE key_id = ANY({same_keys("given.key_id")}) AND fingerprint = given.fingerprint AND at > $3
                 AND outcome IN ('sent', 'draft') AND fingerprint IS NOT NULL
               ORDER BY at DESC LIMIT 1) same""",
        [key_id for key_id, _ in known],
        [fingerprint for _, fingerprint in known],
        now - REPEAT,
    )
    return {(row["key_id"], row["fingerprint"]): row["answer"] for row in rows}


async def list_calls(
    db: Database, channel_id: UUID, *, before: UUID | None, limit: int, filter_: CallFilter = ALL_CALLS
) -> list[CallRow]:
    """Return the calls of a channel before one, the newest first."""
    given = {
        "contact_id": filter_.contact_id,
        "outcome": filter_.outcome,
        "tool": filter_.tool,
        "key_id": filter_.key_id,
    }
    named = {name: value for name, value in given.items() if value is not None}
    # The first filter that has an index finds the rows, and is compared together with the id, so that no other index
    # fits. The others are checked on these rows.
    first = next((name for name in named if (name, named[name]) != ("outcome", "done")), None)
    ordered = f"{first}, id" if first else "id"
    low, high = (f"(:{first}, :first)", f"(:{first}, :before)") if first else (":first", ":before")
    also = "".join(f" AND {name} = :{name}" for name in named if name != first)
    also += {"outcome": " AND outcome <> 'done'", "contact_id": " AND contact_id IS NOT NULL"}.get(first or "", "")
    order = f"{first} DESC, id DESC" if first else "id DESC"
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM mcp_calls
            WHERE channel_id = :channel_id AND ({ordered}) >= {low} AND ({ordered}) < {high}{also}
            ORDER BY {order} LIMIT :limit""",
        channel_id=channel_id,
        first=filter_.span.start,
        before=min(before or filter_.span.end, filter_.span.end),
        limit=limit,
        **named,
    )
    return [_call(row) for row in rows]


async def forget_calls(db: Database, now: datetime, days: int) -> int:
    """Delete calls that are older than this many days. Return how many."""
    return await delete_in_chunks(
        db,
        """DELETE FROM mcp_calls c USING (
               SELECT channel_id, id FROM mcp_calls WHERE at < $1 ORDER BY at LIMIT $2) old
           WHERE c.channel_id = old.channel_id AND c.id = old.id RETURNING 1""",
        now - timedelta(days=days),
    )


def _call(row: Any) -> CallRow:
    values = dict(row)
    values["ids"] = tuple(values["ids"])
    return CallRow(**values)
