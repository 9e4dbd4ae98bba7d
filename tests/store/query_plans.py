"""A database that records query plans: each statement first runs under EXPLAIN ANALYZE, is rolled back, and runs again.

So tests check the plans that the program gets, with its own session settings, and the SQL stays in the store.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ClassVar
from uuid import UUID, uuid4

import asyncpg
import msgspec

from gatepost.store import pool
from gatepost.store.pool import Database
from tests.conftest import AS_MADE, PostgresServer, administer, copied_database, run_apart

BIG = ("messages", "events", "deliveries", "delivery_attempts")


class Plan(msgspec.Struct, frozen=True):
    """A statement and its plan."""

    query: str
    tree: dict[str, Any]
    milliseconds: float

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Yield the nodes that were executed."""
        todo = [self.tree]
        while todo:
            node = todo.pop()
            todo += node.get("Plans", ())
            if node["Actual Loops"]:
                yield node

    def seq_scans(self) -> list[str]:
        return [n["Relation Name"] for n in self.nodes() if n["Node Type"] == "Seq Scan" and is_partition(n)]

    def touched(self, table: str) -> set[str]:
        """Return the partitions of a table that were read."""
        names = {n["Relation Name"] for n in self.nodes() if "Scan" in n["Node Type"] and is_partition(n)}
        return {name for name in names if name.startswith(table + "_2")}

    @property
    def buffers(self) -> int:
        return int(self.tree["Shared Hit Blocks"] + self.tree["Shared Read Blocks"])

    @property
    def rows_read(self) -> int:
        return int(sum(n["Actual Rows"] * n["Actual Loops"] for n in self.nodes() if is_partition(n)))

    @property
    def rows_scanned(self) -> int:
        """How many rows of tables were read, wanted or not."""
        scans = [node for node in self.nodes() if "Relation Name" in node]
        return int(sum((n["Actual Rows"] + n.get("Rows Removed by Filter", 0)) * n["Actual Loops"] for n in scans))

    @property
    def rows_filtered(self) -> int:
        return sum(n.get("Rows Removed by Filter", 0) * n["Actual Loops"] for n in self.nodes())


Explained = tuple[Database, list[Plan]]  # a database, and the plans of its statements so far


def is_partition(node: dict[str, Any]) -> bool:
    name = node.get("Relation Name", "")
    return any(name.startswith(table + "_2") for table in BIG)


class ExplainingConnection(asyncpg.Connection):
    """A connection that records the plan of every statement."""

    seen: ClassVar[list[Plan]] = []

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        await self._explain(query, args)
        return await super().fetch(query, *args, **options)

    async def fetchrow(self, query: str, *args: Any, **options: Any) -> Any:
        await self._explain(query, args)
        return await super().fetchrow(query, *args, **options)

    async def fetchval(self, query: str, *args: Any, **options: Any) -> Any:
        await self._explain(query, args)
        return await super().fetchval(query, *args, **options)

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        if args:
            await self._explain(query, args)
        return await super().execute(query, *args, **options)

    async def executemany(self, command: str, args: Any, **options: Any) -> None:
        given = list(args)
        if given:
            await self._explain(command, given[0])
        await super().executemany(command, given, **options)

    async def fetchmany(self, query: str, args: Any, **options: Any) -> Any:
        given = list(args)
        if given:
            await self._explain(query, given[0])
        return await super().fetchmany(query, given, **options)

    async def _explain(self, query: str, args: tuple[Any, ...]) -> None:
        """Record the plan of a prepared statement, so that `plan_cache_mode` applies as in the program."""
        printed: list[str] = []
        listener = partial(note_plan, printed)
        await super().execute(f"PREPARE explained AS {query}")
        self.add_log_listener(listener)
        try:
            await super().execute("SET debug_print_plan = on; SET client_min_messages = log")
            with_values = f"EXECUTE explained ({', '.join(map(literal, args))})" if args else "EXECUTE explained"
            await self._explain_with(query, with_values)
        finally:
            await super().execute("RESET client_min_messages; RESET debug_print_plan; DEALLOCATE explained")
            await asyncio.sleep(0)  # for the listener
            self.remove_log_listener(listener)
        assert printed, "the server has not printed the plan"
        assert not any(map(locks_and_prunes, printed)), f"PostgreSQL 18 may crash: {query}"

    async def _explain_with(self, query: str, execute: str) -> None:
        undone = self.transaction()
        await undone.start()
        try:
            text = await super().fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {execute}")
        finally:
            await undone.rollback()
        (plan,) = msgspec.json.decode(text)
        self.seen.append(Plan(query, plan["Plan"], plan["Planning Time"] + plan["Execution Time"]))


def note_plan(printed: list[str], _conn: object, message: asyncpg.PostgresLogMessage) -> None:
    if message.message == "plan:":
        printed.append(message.detail or "")


def locks_and_prunes(plan: str) -> bool:
    """Return whether a statement locks rows and also chooses partitions while it runs (`progress.py` says why not)."""
    waits = re.search(r":markType [012] |{MODIFYTABLE :[^{]*?:operation [245] ", " ".join(plan.split()))
    return waits is not None and ":exec_pruning_steps (" in plan


def literal(value: Any) -> str:
    """Return a value as an SQL literal without a type."""
    return "NULL" if value is None else "'" + _text(value).replace("'", "''") + "'"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "{" + ",".join("NULL" if one is None else _quoted(_text(one)) for one in value) + "}"
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return str(int(value) if isinstance(value, int) else value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@asynccontextmanager
async def explained_database(
    url: str, kind: type[ExplainingConnection] = ExplainingConnection, connections: int = 4
) -> AsyncIterator[Explained]:
    """Yield a database with the program's own settings, and the list of the plans so far."""
    ExplainingConnection.seen = []
    made = await asyncpg.create_pool(
        url,
        min_size=1,
        max_size=connections,
        server_settings=pool._SESSION,
        connection_class=kind,
        reset=pool._leave_as_is,
    )
    db = Database(made)
    try:
        yield db, ExplainingConnection.seen
    finally:
        await db.close()


@contextmanager
def filled_once(
    server: PostgresServer, fill_it: Callable[[str], Coroutine[Any, Any, None]]
) -> Iterator[dict[str, str]]:
    """Yield the names of two templates with rows: one without statistics ("fresh"), one with them ("analyzed")."""
    names = {statistics: f"filled_{uuid4().hex}" for statistics in ("fresh", "analyzed")}
    try:
        run_apart(_copy(server, "gatepost", names["fresh"]))
        run_apart(fill_it(server.url(names["fresh"])))
        run_apart(_copy(server, names["fresh"], names["analyzed"]))
        run_apart(_analyze(server.url(names["analyzed"])))
        yield names
    finally:
        for name in names.values():
            run_apart(administer(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))


async def _copy(server: PostgresServer, template: str, name: str) -> None:
    await administer(server, f"CREATE DATABASE {name} TEMPLATE {template} {AS_MADE}")


async def _analyze(url: str) -> None:
    conn = await asyncpg.connect(url)
    await conn.execute("ANALYZE")
    await conn.close()


@asynccontextmanager
async def explained_copy(server: PostgresServer, filled: str) -> AsyncIterator[Explained]:
    """Yield a copy of a template that records plans."""
    async with copied_database(server, filled) as url, explained_database(url) as found:
        yield found


_ID = """(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5({salt} || i), 1, 3)
          || 'a' || substr(md5({salt} || i), 4, 15))::uuid"""


async def fill(
    url: str, channel_id: UUID, endpoint_id: UUID, *, count: int, start: datetime, end: datetime, salt: str
) -> None:
    """Add settled messages to a channel, each with a delivered event, evenly spread over a time."""
    conn = await asyncpg.connect(url)
    try:
        moments = """(SELECT i, $2::timestamptz + ($3::timestamptz - $2) * (i::float8 / $4) AS at
                      FROM generate_series(0, $4 - 1) i) t"""
        id_ = _ID.format(salt=f"'{salt}'")
        times = (channel_id, start, end, count)
        await conn.execute(
            f"""INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, attempt, phone, type, content,
                                      network_id, created_at, expires_at, event_ids)
                SELECT $1, {id_}, gen_random_uuid(), false, false, 4, 1, '5511' || i, 'text', '{{"body":"Hello"}}',
                       'wamid.{salt}.' || i, at, at + interval '1 day', ARRAY[{id_}] FROM {moments}""",
            *times,
        )
        await conn.execute(
            f"""INSERT INTO events (channel_id, id, seq, type, body)
                SELECT $1, {id_}, i, 'message_notification', '{{"action":"' || repeat('x', 388) || '"}}'
                FROM {moments}""",
            *times,
        )
        await conn.execute(
            f"""INSERT INTO deliveries (channel_id, endpoint_id, event_id, state, attempts, settled_at)
                SELECT $1, $5, {id_}, 1, 1, at FROM {moments}""",
            *times,
            endpoint_id,
        )
        await conn.execute(
            f"""INSERT INTO delivery_attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, status, url,
                                      request_headers)
                SELECT $1, $5, {id_}, 1, at, 5, 200, 'http://127.0.0.1/', '{{}}' FROM {moments}""",
            *times,
            endpoint_id,
        )
    finally:
        await conn.close()
