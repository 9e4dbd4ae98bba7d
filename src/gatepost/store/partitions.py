"""Partitions of the big tables: created ahead of time, analyzed when they begin to fill, dropped when they are too old.

messages            by id          kept `messages_days`
events              by id          ┐
deliveries          by event id    ├ kept `events_days`
delivery_attempts   by event id    ┘
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from gatepost.model import ids
from gatepost.model.errors import Conflict, Unavailable
from gatepost.model.message import LONGEST_WAIT
from gatepost.store.pool import Connection, Database

_LOCK = 7_305_201  # any number, the same on every node
DROP_LOCK = 7_305_202  # shared by backups: a partition that is dropped waits for them, and everybody else for it
# To create or drop a partition, nobody else may use its table. All others wait behind us for as long as we wait for
# somebody who reads it, such as a dump of the database, which takes hours.
_WAIT_SHORTLY = "SET LOCAL lock_timeout = '500ms'"
_AHEAD = 2
_MOST_AT_ONCE = 60  # partitions that are created for a time in which no gateway ran: each takes a lock
# Statements find rows by their keys, whatever the statistics say. A young table is analyzed by `analyze_young_tables`.
_SELDOM = "autovacuum_analyze_scale_factor = 0.5"
# Space on each page for the updates of a row, so that they need not change an index.
_STORAGE = {
    "messages": f"fillfactor = 45, autovacuum_vacuum_scale_factor = 0.05, {_SELDOM}",
    "events": _SELDOM,
    "deliveries": f"fillfactor = 55, autovacuum_vacuum_scale_factor = 0.05, {_SELDOM}",
    "delivery_attempts": _SELDOM,
}
TABLES = tuple(_STORAGE)
Span = tuple[datetime, datetime]  # from when to when a partition reaches
_WHOLE = ("contacts", "conversations", "idempotency_keys", "delivery_retries", "scheduled_messages", "parked_statuses")


async def make_partitions(db: Database, now: datetime, days: int) -> list[str]:
    """Create the missing partitions of now and of the near future. Return their names."""
    async with _unless_locked(), db.transaction() as conn:
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        spans = {table: await _read_spans(conn, table) for table in TABLES}
        if all(_has(found, now) for found in spans.values()):  # there is time; otherwise nothing can be stored
            await conn.execute(_WAIT_SHORTLY)
        made: list[str] = []
        for table in TABLES:
            start = _first_needed(spans[table], now, days)
            until = now + timedelta(days=days * _AHEAD, microseconds=1)
            made += await _fill(conn, table, spans[table], start, until, days)
        return made
    return []


@asynccontextmanager
async def _unless_locked() -> AsyncIterator[None]:
    """Leave it for the next time if somebody has read a table for so long that `_WAIT_SHORTLY` was not enough."""
    try:
        yield
    except Unavailable as error:
        if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
            raise


def _has(spans: Sequence[Span], now: datetime) -> bool:
    return any(start <= now < end for start, end in spans)


def _first_needed(spans: Sequence[Span], now: datetime, days: int) -> datetime:
    """Return the end of the newest partition that began before now.

    Without one, or if that was long ago, because a clock was wrong: one partition back, for messages reported late.
    """
    newest = max((end for start, end in spans if start <= now), default=None)
    if newest is not None and newest > now - timedelta(days=days * _MOST_AT_ONCE):
        return newest
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days + 7)


async def _fill(
    conn: "Connection[Any]", table: str, spans: Sequence[Span], start: datetime, until: datetime, days: int
) -> list[str]:
    """Create the partitions that are missing from a time until another one, whole ones if there is room."""
    made, at = [], start
    while at < until:
        end = max((end for begin, end in spans if begin <= at < end), default=None)
        if end is None:
            end = min([at + timedelta(days=days), *(begin for begin, _ in spans if begin > at)])
            made.append(await _make(conn, table, at, end))
        at = end
    return made


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


async def read_spans(conn: Any) -> dict[str, Span]:
    """Return from when to when the partitions of each table reach."""
    found = {}
    for table in TABLES:
        if spans := await _read_spans(conn, table):
            found[table] = (min(start for start, _ in spans), max(end for _, end in spans))
    return found


async def cover_spans(conn: Any, wanted: Mapping[str, Span], days: int) -> None:
    """Create the partitions that are missing within these times. Raise Conflict if a table is being read for long."""
    try:
        async with conn.transaction():
            await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            await conn.execute(_WAIT_SHORTLY)
            for table, (start, end) in wanted.items():
                await _fill(conn, table, await _read_spans(conn, table), start, end, days)
    except asyncpg.LockNotAvailableError:
        raise Conflict(
            "The tables of the new cell are being read for long, such as by a dump. Try again later."
        ) from None


async def drop_old_partitions(db: Database, now: datetime, messages_days: int, events_days: int) -> list[str]:
    """Drop partitions that are entirely too old, unless a backup reads them. Return their names.

    One with messages that still wait to be sent is kept until they are sent or expired.
    """
    async with _unless_locked(), db.transaction() as conn:
        if not await conn.fetchval("SELECT pg_try_advisory_xact_lock($1)", DROP_LOCK):
            return []
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        old = await _too_old(conn, now, messages_days, events_days)
        await conn.execute(_WAIT_SHORTLY)
        if old:
            await conn.execute(f"DROP TABLE {', '.join(old)}")
        return old
    return []


async def _too_old(conn: "Connection[Any]", now: datetime, messages_days: int, events_days: int) -> list[str]:
    found = []
    for table in TABLES:
        oldest = now - timedelta(days=messages_days if table == "messages" else events_days)
        for name in await _names(conn, table):
            end = _span(name)[1]
            waits = table == "messages" and now - LONGEST_WAIT < end <= oldest and await _has_waiting(conn, name)
            if end <= oldest and not waits:
                found.append(name)
    return found


async def _has_waiting(conn: "Connection[Any]", name: str) -> bool:
    """Whether a partition has messages to be sent. Those of deleted channels are not sent any more.

    The channels of an account that moves here from another cell come after its messages.
    """
    waiting: bool = await conn.fetchval(
        f"""SELECT EXISTS (SELECT 1 FROM {name} m WHERE NOT m.incoming AND m.state IN (0, 1)
                AND (EXISTS (SELECT 1 FROM channels c WHERE c.id = m.channel_id)
                     OR EXISTS (SELECT 1 FROM account_moves a WHERE m.channel_id = ANY (a.channels))))"""
    )
    return waiting


async def first_kept_event(db: Database) -> UUID:
    """Return the start of the oldest partition of events."""
    async with db.connection() as conn:
        starts = [start for start, _ in await _read_spans(conn, "events")]
    return ids.floor_id(min(starts)) if starts else ids.ZERO


async def read_ends(db: Database) -> dict[str, tuple[datetime, datetime]]:
    """Return the ends of the oldest and the newest partition of each table; of none before the first start."""
    found = {}
    async with db.connection() as conn:
        for table in TABLES:
            if ends := [end for _, end in await _read_spans(conn, table)]:
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


async def _read_spans(conn: "Connection[Any]", table: str) -> list[Span]:
    return [_span(name) for name in await _names(conn, table)]


def _span(name: str) -> Span:
    _, start, end = name.rsplit("_", 2)
    return (
        datetime.strptime(start, "%Y%m%d").replace(tzinfo=UTC),
        datetime.strptime(end, "%Y%m%d").replace(tzinfo=UTC),
    )
