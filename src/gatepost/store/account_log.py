"""The log of accounts: who did what."""

from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.account_log import Actor, LogEntry
from gatepost.model.dates import IdRange
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


class LogFilter(msgspec.Struct, frozen=True):
    """Which entries of a log; all filters have to fit."""

    span: IdRange = IdRange()
    actor: UUID | Literal["operator"] | None = None  # a user, a key or the operator
    action: str | None = None


EVERYTHING = LogFilter()


async def list_entries(
    db: Database, account_id: UUID, *, before: UUID | None, limit: int, filter_: LogFilter = EVERYTHING
) -> list[LogEntry]:
    """Return the entries of an account before one, the newest first."""
    actor = filter_.actor if isinstance(filter_.actor, UUID) else None
    given = {"account_id": account_id, "actor_id": actor, "action": filter_.action}
    named = {name: value for name, value in given.items() if value is not None}
    # Each set of filters has its index. The last filter is compared and ordered together with the id, so that no other
    # index fits: for `action = …` in the order of ids, the planner may read the log of everybody.
    *fixed, last = named
    also = "".join(f" AND {name} = :{name}" for name in fixed)
    also += " AND actor_id IS NULL" if filter_.actor == "operator" else ""  # who has no id
    rows = await db.fetch(
        f"""SELECT id, account_id, at, actor_kind, actor_id, actor, action, target, details FROM account_log
            WHERE ({last}, id) >= (:{last}, :first) AND ({last}, id) < (:{last}, :before){also}
            ORDER BY {last} DESC, id DESC LIMIT :limit""",
        first=filter_.span.start,
        before=min(before or filter_.span.end, filter_.span.end),
        limit=limit,
        **named,
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
