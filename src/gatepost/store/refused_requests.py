"""The refused requests of API keys, of the last day. Equal ones of a minute are one row."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.pool import Database
from gatepost.store.statement import columns_of

KEPT = timedelta(days=1)
ROWS_PER_KEY = 200
_LAST = UUID(int=2**128 - 1)
_CHUNK = 5_000
_SAME = "key_id, minute, method, path, status, code, field"


class RefusedGroup(msgspec.Struct, frozen=True):
    """Equal requests of one key within a minute. The key is known by its hash."""

    key_hash: bytes
    id: UUID
    minute: datetime
    method: str
    path: str
    status: int
    code: str
    field: str
    at: datetime
    message: str
    request_id: str
    count: int


class RefusedRow(msgspec.Struct, frozen=True):
    """Equal requests of one key within a minute; time, message and request id are those of the last."""

    id: UUID
    key_id: UUID
    at: datetime
    method: str
    path: str
    status: int
    code: str
    field: str
    message: str
    request_id: str
    count: int


_COLUMNS = ", ".join(RefusedRow.__struct_fields__)


async def save_refused(db: Database, groups: Sequence[RefusedGroup]) -> None:
    """Save groups, or add to them, in key order. Groups of unknown keys are left out, and old rows of a key deleted."""
    rows = await db.fetch(
        f"""INSERT INTO refused_requests AS r
                (id, channel_id, {_SAME}, at, message, request_id, count)
            SELECT g.id, k.channel_id, k.id, g.minute, g.method, g.path, g.status, g.code, g.field,
                   g.at, g.message, g.request_id, g.count
            FROM unnest(:key_hash::bytea[], :id::uuid[], :minute::timestamptz[], :method::text[], :path::text[],
                        :status::smallint[], :code::text[], :field::text[], :at::timestamptz[], :message::text[],
                        :request_id::text[], :count::int[])
                 AS g (hash, id, minute, method, path, status, code, field, at, message, request_id, count)
            JOIN api_keys k ON k.hash = g.hash
            ORDER BY k.id, g.minute, g.method, g.path, g.status, g.code, g.field
            ON CONFLICT ({_SAME}) DO UPDATE SET at = greatest(r.at, excluded.at), message = excluded.message,
                request_id = excluded.request_id, count = r.count + excluded.count
            RETURNING key_id""",
        **columns_of(groups, *RefusedGroup.__struct_fields__),
    )
    if rows:
        await _trim(db, sorted({row["key_id"] for row in rows}))


async def _trim(db: Database, key_ids: Sequence[UUID]) -> None:
    """Delete what these keys have beyond their newest rows."""
    await db.execute(
        f"""DELETE FROM refused_requests r USING (
                SELECT old.channel_id, old.id FROM unnest($1::uuid[]) AS k (id) CROSS JOIN LATERAL (
                    SELECT o.channel_id, o.id FROM refused_requests o WHERE o.key_id = k.id
                    ORDER BY o.minute DESC, o.method, o.path, o.status, o.code, o.field OFFSET {ROWS_PER_KEY}) old) x
            WHERE r.channel_id = x.channel_id AND r.id = x.id""",
        key_ids,
    )


async def list_refused(
    db: Database, channel_id: UUID, *, key_id: UUID | None, now: datetime, before: UUID | None, limit: int
) -> list[RefusedRow]:
    """Return the refused requests of a channel's keys, or of one of them, the newest first."""
    # A key has few rows: they are read first, by its own index.
    of_key = "(SELECT * FROM refused_requests WHERE key_id = :key_id OFFSET 0) of_key"
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM {"refused_requests" if key_id is None else of_key}
            WHERE channel_id = :channel_id AND id >= :first AND id < :before ORDER BY id DESC LIMIT :limit""",
        channel_id=channel_id,
        first=ids.floor_id(now - KEPT),
        before=before or _LAST,
        limit=limit,
        **({} if key_id is None else {"key_id": key_id}),
    )
    return [RefusedRow(**row) for row in rows]


async def forget_refused(db: Database, now: datetime) -> None:
    """Delete rows that are older than a day."""
    before, deleted = now - KEPT - timedelta(minutes=1), _CHUNK
    while deleted == _CHUNK:
        rows = await db.fetch(
            """DELETE FROM refused_requests r USING (
                   SELECT channel_id, id FROM refused_requests WHERE minute < $1 ORDER BY minute LIMIT $2) old
               WHERE r.channel_id = old.channel_id AND r.id = old.id RETURNING 1""",
            before,
            _CHUNK,
        )
        deleted = len(rows)
