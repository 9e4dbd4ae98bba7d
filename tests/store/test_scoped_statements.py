"""Every statement names its channels or its account: it needs one cell, and no rows of other accounts.

The texts are read from the source (`sql/collect.py`) and parsed by PostgreSQL's own parser (`sql/scope.py`, which has
the rules). Statements for all accounts of a database are listed in `sql/all_accounts.py`.
"""

import ast
import re
from pathlib import Path

import pytest

from gatepost.store.moves import tables as moved
from gatepost.store.statement import statement_rows
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.for_each import for_each
from tests.store.sql.all_accounts import ALL_ACCOUNTS, WHOLE_DATABASE
from tests.store.sql.collect import Module, Source, Statement, read_modules
from tests.store.sql.examples import EXAMPLES
from tests.store.sql.schema import read_tables
from tests.store.sql.scope import Table, unscoped_tables
from tests.test_architecture import OWN_STORES, ROOT

SRC = ROOT / "src"
Tables = dict[str, Table]
SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE\s+\w+(\s+\w+)?\s+SET|DELETE FROM|MERGE INTO|TRUNCATE|LOCK TABLE)\b")
REMEDY = "name the channel or the account, or list the statement with the reason in tests/store/sql/all_accounts.py"


@pytest.fixture(scope="module")
def tables(postgres_server: PostgresServer) -> Tables:
    """Give the tables of a migrated database."""
    return run_apart(_read_tables(postgres_server))


async def _read_tables(server: PostgresServer) -> Tables:
    async with copied_database(server, "gatepost") as url:
        return await read_tables(url)


@pytest.fixture(scope="module")
def source() -> Source:
    """Give all modules that have SQL."""
    own = [SRC / (module.replace(".", "/") + ".py") for module in sorted(OWN_STORES)]
    paths = [*sorted((SRC / "gatepost/store").rglob("*.py")), *own]
    return Source(read_modules(SRC, paths, "gatepost.store."), EXAMPLES)


@pytest.fixture(scope="module")
def statements(source: Source) -> list[Statement]:
    """Give all statements of the source."""
    return list(source.statements())


def find_unscoped(statements: list[Statement], tables: Tables) -> set[str]:
    """Return where which tables are used for all accounts; `*` if a statement cannot be read."""
    found = set()
    for place, text in statements:
        names = {"*"} if text is None else unscoped_tables(statement_rows(text, ())[0], tables)
        found |= {f"{place}: {name}" for name in names}
    return found


def module_of(place: str) -> str:
    """Return the entry of `WHOLE_DATABASE` that a place is in."""
    return next((prefix for prefix in WHOLE_DATABASE if place.startswith(prefix)), "")


# -- the source as it is ----------------------------------------------------------------------------------------------


def test_every_statement_names_its_channels_or_its_account(statements: list[Statement], tables: Tables) -> None:
    found = find_unscoped(statements, tables)
    assert {one for one in found if not module_of(one)} - set(ALL_ACCOUNTS) == set(), REMEDY
    assert set(ALL_ACCOUNTS) - found == set(), "remove them from the list"
    assert set(WHOLE_DATABASE) - set(map(module_of, found)) == set(), "remove them from the list"


def test_no_statement_is_overlooked(source: Source, statements: list[Statement]) -> None:
    texts = {text for _, text in statements if text is not None}
    everything = "\n".join(texts)
    assert len(texts) > 400
    assert [one for module in source.modules for one in overlooked(module, everything)] == []
    assert source.unused_examples == set()


def test_the_owned_tables_are_those_that_move_with_an_account(tables: Tables) -> None:
    by_columns = {name for name, table in tables.items() if table.owned}
    here_only = {"account_moves", "baileys_keys"}
    assert by_columns == {*moved.STREAMED, *moved.DECISIVE, *moved.DERIVED, "channel_heads"} | here_only


def overlooked(module: Module, everything: str) -> list[str]:
    """Return the literals of a module that look like SQL and are part of no statement that was read."""
    if module_of(module.short + "."):
        return []
    prose = {id(node.value) for node in ast.walk(module.tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            pieces = re.split(r"\{+\w*\}+", node.value)  # between the places of `format`
            if SQL.search(node.value) and not all(piece in everything for piece in pieces):
                found.append(f"{module.short}:{node.lineno}")
    return found


# -- and the rules bite -----------------------------------------------------------------------------------------------


@for_each(
    ("sql", "unscoped"),
    [
        (
            """MERGE INTO contacts c USING labels l ON c.channel_id = l.channel_id AND c.channel_id = $1
               WHEN MATCHED THEN DELETE""",
            {"contacts", "labels"},
        ),
        ("SELECT 1 FROM messages WHERE id = $1", {"messages"}),
        ("SELECT 1 FROM messages WHERE channel_id > $1", {"messages"}),
        ("SELECT 1 FROM messages WHERE channel_id <> $1", {"messages"}),
        ("SELECT 1 FROM messages WHERE NOT channel_id = $1", {"messages"}),
        ("SELECT 1 FROM messages m WHERE m.channel_id = channel_id", {"messages"}),
        ("SELECT 1 FROM messages WHERE channel_id = $1 OR id = $2", {"messages"}),
        ("SELECT 1 FROM messages WHERE ($1::uuid IS NULL OR channel_id = $1)", {"messages"}),
        ("SELECT 1 FROM messages WHERE (channel_id, id) >= ($1, $2)", {"messages"}),
        ("SELECT 1 FROM messages WHERE (channel_id, id) >= ($1, $2) AND (channel_id, id) < ($3, $2)", {"messages"}),
        ("SELECT 1 FROM messages WHERE channel_id IN (SELECT id FROM channels)", {"channels"}),
        ("SELECT 1 FROM messages m JOIN channels c ON c.id = m.channel_id", {"channels", "messages"}),
        ("SELECT 1 FROM deliveries d JOIN events e ON e.id = d.event_id WHERE d.channel_id = $1", {"events"}),
        ("SELECT 1 FROM contacts c LEFT JOIN labels l ON c.channel_id = $1 AND l.channel_id = $1", {"contacts"}),
        ("SELECT 1 FROM contacts c FULL JOIN labels l ON l.channel_id = $1", {"contacts", "labels"}),
        ("SELECT (SELECT count(*) FROM events) FROM channels WHERE id = $1", {"events"}),
        ("SELECT 1 FROM events WHERE channel_id = $1 UNION ALL SELECT 1 FROM messages", {"messages"}),
        (
            "WITH a AS (SELECT channel_id FROM drafts) SELECT 1 FROM a JOIN events USING (channel_id)",
            {"drafts", "events"},
        ),
        ("SELECT 1 FROM channels c WHERE EXISTS (SELECT FROM events WHERE channel_id = c.id)", {"channels", "events"}),
        ("SELECT 1 FROM media m, LATERAL (SELECT m.channel_id AS id) c WHERE m.channel_id = c.id", {"media"}),
        ("SELECT 1 FROM channel_owners o JOIN channel_heads h ON h.owner = o.id", {"channel_heads"}),
        ("SELECT 1 FROM users WHERE email = $1", {"users"}),
        ("SELECT 1 FROM deliveries WHERE endpoint_id = $1 AND event_id = $2", {"deliveries"}),
        ("SELECT 1 FROM qr_devices.baileys_keys WHERE kind = $1", {"baileys_keys"}),
        ("UPDATE messages SET state = 1 WHERE id = $1", {"messages"}),
        ("UPDATE messages m SET state = 1 FROM channels c WHERE c.id = $1", {"messages"}),
        ("DELETE FROM sessions WHERE expires_at < $1", {"sessions"}),
        ("DELETE FROM media WHERE ctid = ANY (ARRAY(SELECT ctid FROM media LIMIT 1))", {"media"}),
        ("INSERT INTO events (channel_id, id) SELECT channel_id, id FROM messages", {"messages"}),
        ("INSERT INTO events SELECT * FROM unnest($1::uuid[])", {"events"}),
        ("INSERT INTO cell (id) VALUES ((SELECT count(*) FROM users))", {"users"}),
        ("TRUNCATE messages", {"messages"}),
        ("LOCK TABLE accounts", {"accounts"}),
        ("COPY (SELECT 1 FROM labels) TO STDOUT", {"labels"}),
        ("COPY labels TO STDOUT", {"labels"}),
        ("SELECT 1; DELETE FROM labels", {"labels"}),
    ],
)
def test_an_unscoped_statement_is_found(tables: Tables, sql: str, unscoped: set[str]) -> None:
    assert unscoped_tables(sql, tables) == unscoped


@for_each(
    "sql",
    [
        "SELECT 1 FROM messages WHERE channel_id = $1",
        "SELECT 1 FROM messages WHERE channel_id = ANY ($1::uuid[]) AND id > $2",
        "SELECT 1 FROM messages WHERE (channel_id = $1) IS TRUE",
        "SELECT 1 FROM messages WHERE (channel_id, id) IN (($1, $2))",
        "SELECT 1 FROM messages WHERE channel_id = $1 AND id = $2 OR channel_id = $3",
        "SELECT 1 FROM messages WHERE (channel_id, id) >= ($1, $2) AND (channel_id, id) < ($1, $3)",
        "SELECT 1 FROM messages WHERE channel_id IN (SELECT id FROM channels WHERE account_id = $1)",
        "SELECT 1 FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.hash = $1",
        "SELECT 1 FROM users WHERE lower(email) = lower($1)",
        "SELECT 1 FROM unnest($1::uuid[]) AS k (id) LEFT JOIN channels c ON c.id = k.id",
        "SELECT 1 FROM unnest($1::uuid[]) AS k (id), LATERAL (SELECT 1 FROM events WHERE channel_id = k.id) e",
        "WITH a AS (SELECT id FROM channels WHERE id = $1) SELECT 1 FROM a JOIN events e ON e.channel_id = a.id",
        "UPDATE messages m SET state = 1 FROM channels c WHERE c.id = $1 AND m.channel_id = c.id",
        "DELETE FROM media WHERE ctid = ANY (ARRAY(SELECT ctid FROM media WHERE channel_id = $1))",
        "INSERT INTO events (channel_id, id) SELECT $1, id FROM unnest($2::uuid[]) AS k (id)",
        "INSERT INTO accounts (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        "SELECT count(*) FROM pg_stat_activity",
    ],
)
def test_a_scoped_statement_passes(tables: Tables, sql: str) -> None:
    assert unscoped_tables(sql, tables) == set()


_UNSCOPED = """
async def read(db: Database, wide: bool, table: str) -> None:
    condition = "" if wide else "WHERE channel_id = $1"
    await db.fetch(f"SELECT 1 FROM messages {condition}")
    await _count(db, "events")
    await db.execute(*statement(f"DELETE FROM {table}"))

async def _count(db: Database, name: str) -> int:
    return await db.fetchval(f"SELECT count(*) FROM {name}")

TEXT = "UPDATE contacts c SET name = NULL"
"""


def test_statements_are_found_in_the_source(tmp_path: Path, tables: Tables) -> None:
    path = tmp_path / "novelty.py"
    path.write_text(_UNSCOPED)
    (module,) = read_modules(tmp_path, [path], "", values={})
    found = list(Source([module]).statements())
    assert find_unscoped(found, tables) == {"novelty.read: messages", "novelty._count: events", "novelty.read: *"}
    assert overlooked(module, "\n".join(text for _, text in found if text)) == ["novelty:11", "novelty:6"]
