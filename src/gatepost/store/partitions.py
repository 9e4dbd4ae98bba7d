"""Partitions of the big tables: created ahead of time, analyzed when they begin to fill, dropped when they are too old.

messages            by id          kept `messages_days`
events              by id          ┐
deliveries          by event id    ├ kept `events_days`
delivery_attempts   by event id    ┘
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from gatepost.model import ids
from gatepost.store.pool import Connection, Database

_LOCK = 7_305_201  # any number, the same on every node
DROP_LOCK = 7_305_202  # shared by backups: a partition that is dropped waits for them, and everybody else for it
_AHEAD = 2
# Space on each page for the updates of a row, so that they need not change an index.
_STORAGE = {
    "messages": "fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05",
    "events": "autovacuum_analyze_scale_factor = 0.05",
    "deliveries": "fillfactor = 55, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05",
    "delivery_attempts": "autovacuum_analyze_scale_factor = 0.05",
}
TABLES = tuple(_STORAGE)
_WHOLE = ("contacts", "conversations", "idempotency_keys", "delivery_retries", "scheduled_messages", "parked_statuses")


async def make_partitions(db: Database, now: datetime, days: int) -> list[str]:
    """Create the missing partitions of now and of the near future. Return their names."""
    made: list[str] = []
    async with db.transaction() as conn:
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        for table in TABLES:
            start = await _first_gap(conn, table, now, days)
            while start <= now + timedelta(days=days * _AHEAD):
                made.append(await _make(conn, table, start, start + timedelta(days=days)))
                start += timedelta(days=days)
    return made


async def _first_gap(conn: "Connection[Any]", table: str, now: datetime, days: int) -> datetime:
    """Return the end of the newest partition. With none yet: one partition back, for messages reported late."""
    names = await _names(conn, table)
    if names:
        return max(_span(name)[1] for name in names)
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days + 7)


async def _make(conn: "Connection[Any]", table: str, start: datetime, end: datetime) -> str:
    name = f"{table}_{start:%Y%m%d}_{end:%Y%m%d}"
    await make_partition(conn, table, name)
    return name


async def make_partition(conn: Any, table: str, name: str) -> None:
    """Create a partition by its name, which says what it holds."""
    start, end = _span(name)
    storage = f"WITH ({_STORAGE[table]})" if table in _STORAGE else ""
    await conn.execute(
        f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF {table} "
        f"FOR VALUES FROM ('{ids.floor_id(start)}') TO ('{ids.floor_id(end)}') {storage}"
    )


async def read_spans(conn: Any) -> dict[str, tuple[datetime, datetime]]:
    """Return from when to when the partitions of each table reach."""
    found = {}
    for table in TABLES:
        if spans := [_span(name) for name in await _names(conn, table)]:
            found[table] = (min(start for start, _ in spans), max(end for _, end in spans))
    return found


async def cover_spans(conn: Any, spans: Mapping[str, tuple[datetime, datetime]], days: int) -> None:
    """Create the partitions that are missing before the first one and after the last one."""
    async with conn.transaction():
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        own = await read_spans(conn)
        for table, (start, end) in spans.items():
            first, last = own.get(table, (end, end))
            for gap, until in ((start, min(first, end)), (max(last, start), end)):
                at = gap
                while at < until:
                    next_ = min(at + timedelta(days=days), until)
                    await _make(conn, table, at, next_)
                    at = next_


async def drop_old_partitions(db: Database, now: datetime, messages_days: int, events_days: int) -> list[str]:
    """Drop partitions that are entirely too old, unless a backup reads them. Return their names."""
    dropped: list[str] = []
    async with db.transaction() as conn:
        if not await conn.fetchval("SELECT pg_try_advisory_xact_lock($1)", DROP_LOCK):
            return dropped
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        for table in TABLES:
            oldest = now - timedelta(days=messages_days if table == "messages" else events_days)
            for name in await _names(conn, table):
                if _span(name)[1] <= oldest:
                    await conn.execute(f"DROP TABLE {name}")
                    dropped.append(name)
    return dropped


async def first_kept_event(db: Database) -> UUID:
    """Return the start of the oldest partition of events."""
    async with db.connection() as conn:
        starts = [_span(name)[0] for name in await _names(conn, "events")]
    return ids.floor_id(min(starts)) if starts else ids.ZERO


async def read_ends(db: Database) -> dict[str, tuple[datetime, datetime]]:
    """Return the ends of the oldest and the newest partition of each table; of none before the first start."""
    found = {}
    async with db.connection() as conn:
        for table in TABLES:
            if ends := [_span(name)[1] for name in await _names(conn, table)]:
                found[table] = (min(ends), max(ends))
    return found


async def analyze_young_tables(db: Database, analyzed: dict[str, int]) -> None:
    """Analyze hot tables each time they grow tenfold, sooner than autovacuum. `analyzed` holds their last sizes."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT c.relname, COALESCE(s.n_live_tup, 0) AS rows FROM pg_inherits i
               JOIN pg_class c ON c.oid = i.inhrelid
               LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
               WHERE i.inhparent = ANY ($1::text[]::regclass[])
               UNION ALL
               SELECT relname, n_live_tup FROM pg_stat_user_tables WHERE relname = ANY ($2::text[])""",
            list(TABLES),
            list(_WHOLE),
        )
        for row in rows:
            name, count = row["relname"], row["rows"]
            if count >= 100 and count >= 10 * analyzed.get(name, 10):
                await conn.execute(f"ANALYZE {name}")
                analyzed[name] = count


async def _names(conn: "Connection[Any]", table: str) -> list[str]:
    rows = await conn.fetch(
        """SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
           WHERE i.inhparent = $1::text::regclass""",
        table,
    )
    return [row["relname"] for row in rows]


def _span(name: str) -> tuple[datetime, datetime]:
    _, start, end = name.rsplit("_", 2)
    return (
        datetime.strptime(start, "%Y%m%d").replace(tzinfo=UTC),
        datetime.strptime(end, "%Y%m%d").replace(tzinfo=UTC),
    )
