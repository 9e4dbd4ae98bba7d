"""The log of accounts: who did what."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.account_log import Actor, LogEntry
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import statement

_CHUNK = 5_000


async def insert_entry(conn: "Connection[Any]", entry: LogEntry) -> None:
    """Insert an entry in the transaction of the action that it reports."""
    await conn.execute(
        *statement(
            """INSERT INTO account_log (id, account_id, at, actor_kind, actor_id, actor, action, target, details)
               VALUES (:id, :account_id, :at, :actor_kind, :actor_id, :actor, :action, :target, :details)""",
            id=entry.id,
            account_id=entry.account_id,
            at=entry.at,
            actor_kind=entry.actor.kind,
            actor_id=entry.actor.id,
            actor=entry.actor.label,
            action=entry.action,
            target=entry.target,
            details=msgspec.json.encode(entry.details).decode(),
        )
    )


async def add_entry(db: Database, entry: LogEntry) -> None:
    """Insert an entry about something that writes nothing else."""
    async with db.connection() as conn:
        await insert_entry(conn, entry)


async def list_entries(db: Database, account_id: UUID, *, before: UUID | None, limit: int) -> list[LogEntry]:
    """Return the entries of an account before one, the newest first."""
    rows = await db.fetch(
        """SELECT id, account_id, at, actor_kind, actor_id, actor, action, target, details FROM account_log
           WHERE account_id = :account_id AND id < :before ORDER BY id DESC LIMIT :limit""",
        account_id=account_id,
        before=before or UUID(int=(1 << 128) - 1),
        limit=limit,
    )
    return [_entry(row) for row in rows]


async def forget_entries(db: Database, now: datetime, days: int) -> None:
    """Delete entries that are older than this many days."""
    before, deleted = ids.floor_id(now - timedelta(days=days)), _CHUNK
    while deleted == _CHUNK:
        rows = await db.fetch(
            """DELETE FROM account_log WHERE id = ANY (ARRAY(
                   SELECT id FROM account_log WHERE id < $1 ORDER BY id LIMIT $2)) RETURNING 1""",
            before,
            _CHUNK,
        )
        deleted = len(rows)


def _entry(row: Any) -> LogEntry:
    actor = Actor(row["actor_kind"], row["actor_id"], row["actor"])
    details = msgspec.json.decode(row["details"])
    return LogEntry(row["id"], row["account_id"], row["at"], actor, row["action"], row["target"], details)
