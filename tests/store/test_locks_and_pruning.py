"""No statement locks rows and also chooses partitions while it runs: `docs/decisions/query-plans.md` says why."""

import asyncio
import re
from functools import partial

import asyncpg
import pytest

from gatepost.store import pool
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost.store.statement import statement_rows
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.outbound.stage import NOW
from tests.store.query_plans import BIG, locks_and_prunes, note_plan
from tests.store.sql.collect import Statement
from tests.store.test_scoped_statements import source, statements

__all__ = ["source", "statements"]

PARTITIONED = re.compile(rf"\b({'|'.join(BIG)})\b")
LOCKS = re.compile(r"\b(UPDATE|DELETE|INSERT|FOR SHARE)\b")
BAD = """SELECT m.id FROM unnest($1::uuid[]) AS k (id) CROSS JOIN LATERAL (
           SELECT id FROM messages WHERE channel_id = $2 AND id = k.id AND id BETWEEN $3 AND $4 FOR NO KEY UPDATE) m"""
GOOD = BAD.replace("id = k.id", "id = ANY (string_to_array(k.id::text, '')::uuid[])")


@pytest.fixture(scope="module")
def plans(postgres_server: PostgresServer, statements: list[Statement]) -> dict[str, bool]:
    """Say of every statement that may lock rows whether it also chooses partitions while it runs."""
    texts = {statement_rows(text, ())[0] for _, text in statements if text}
    chosen = {text for text in texts if PARTITIONED.search(text) and LOCKS.search(text)}
    return run_apart(look_at(postgres_server, sorted({*chosen, BAD, GOOD})))


async def look_at(server: PostgresServer, texts: list[str]) -> dict[str, bool]:
    async with copied_database(server, "gatepost") as url:
        db = await Database.connect(url, connections=1)
        await make_partitions(db, NOW, 7)
        await db.close()
        conn = await asyncpg.connect(url, server_settings=pool._SESSION)
        try:
            return {text: await looks_bad(conn, text) for text in texts}
        finally:
            await conn.close()


async def looks_bad(conn: asyncpg.Connection, text: str) -> bool:
    printed: list[str] = []
    listener = partial(note_plan, printed)
    conn.add_log_listener(listener)
    await conn.execute(f"SET debug_print_plan = on; SET client_min_messages = log; EXPLAIN (GENERIC_PLAN) {text}")
    await conn.execute("RESET client_min_messages; RESET debug_print_plan")
    await asyncio.sleep(0)  # for the listener
    conn.remove_log_listener(listener)
    assert printed, text
    return any(map(locks_and_prunes, printed))


def test_no_statement_locks_rows_and_chooses_partitions_while_it_runs(plans: dict[str, bool]) -> None:
    assert len(plans) > 20
    assert [text for text, bad in plans.items() if bad and text != BAD] == []


def test_such_a_statement_would_be_noticed(plans: dict[str, bool]) -> None:
    assert plans[BAD]
    assert not plans[GOOD]
