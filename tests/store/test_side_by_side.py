"""Old and new nodes side by side: a migration only adds, so that the statements of the level before still work.

One that does not only add says so in the database, and programs of the level before are not started on it.
`make upgrade-check` runs the program of the level before.
"""

from typing import Any

import asyncpg
import msgspec
import pytest

from gatepost.store.migrate import (
    CREATE_TABLE,
    Migration,
    apply,
    migrate,
    oldest_program,
    read_migrations,
    shipped,
)

BASE = 32  # the levels up to this one were released together

_COLUMNS = """
SELECT c.table_name || '.' || c.column_name AS name, c.udt_name AS type,
       c.is_nullable = 'YES' OR c.column_default IS NOT NULL OR c.is_identity = 'YES' AS optional,
       c.is_nullable = 'YES' AS nullable
FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name <> 'schema_migrations'"""
_RULES = """
SELECT conrelid::regclass::text || ': ' || pg_get_constraintdef(oid) AS name FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND conrelid <> 0 AND contype IN ('c', 'f', 'u', 'p', 'x')
UNION
SELECT indrelid::regclass::text || ': unique ' || pg_get_indexdef(indexrelid)
FROM pg_index JOIN pg_class c ON c.oid = indrelid
WHERE indisunique AND c.relnamespace = current_schema()::regnamespace"""


class Column(msgspec.Struct, frozen=True):
    name: str
    type: str
    optional: bool  # an INSERT may leave it out
    nullable: bool


class Schema(msgspec.Struct, frozen=True):
    """What statements depend on."""

    columns: dict[str, Column]
    rules: frozenset[str]

    @property
    def tables(self) -> set[str]:
        return {name.split(".")[0] for name in self.columns}


async def read_schema(conn: Any) -> Schema:
    columns = {row["name"]: Column(**row) for row in await conn.fetch(_COLUMNS)}
    return Schema(columns, frozenset(row["name"] for row in await conn.fetch(_RULES)))


def find_breaks(before: Schema, after: Schema) -> list[str]:
    """Return the changes that statements of the level before may not expect."""
    found = []
    for name, column in before.columns.items():
        now = after.columns.get(name)
        if now is None:
            found.append(f"{name} is gone")
        elif now.type != column.type:
            found.append(f"{name} has another type")
        elif (column.nullable and not now.nullable) or (column.optional and not now.optional):
            found.append(f"{name} has to be given")
    added = [after.columns[name] for name in after.columns.keys() - before.columns.keys()]
    found += [f"{one.name} has to be given" for one in added if _is_old(one.name, before) and not one.optional]
    found += [f"a new rule, {rule}" for rule in after.rules - before.rules if _is_old(rule.replace(":", "."), before)]
    return sorted(found)


def _is_old(name: str, before: Schema) -> bool:
    return name.split(".")[0] in before.tables


async def test_migrations_only_add_to_what_the_level_before_uses_or_say_so(empty_database_url: str) -> None:
    conn = await asyncpg.connect(empty_database_url)
    try:
        await conn.execute(CREATE_TABLE)
        migrations = read_migrations(shipped())
        for migration in migrations:
            before = await read_schema(conn) if migration.version > BASE else None
            await apply(conn, migration)
            if before is not None and await oldest_program(conn) != migration.version:
                assert find_breaks(before, await read_schema(conn)) == [], migration.name
        assert await oldest_program(conn) == BASE  # as long as no migration breaks anything
    finally:
        await conn.close()
    assert await migrate(empty_database_url) == 0


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("CREATE TABLE b (x int NOT NULL); CREATE INDEX ON a (x)", []),
        ("ALTER TABLE a ADD z int; ALTER TABLE a ADD w int NOT NULL DEFAULT 0", []),
        ("ALTER TABLE a DROP x", ["a.x is gone"]),
        ("ALTER TABLE a RENAME x TO z", ["a.x is gone"]),
        ("DROP TABLE a", ["a.x is gone", "a.y is gone"]),
        ("ALTER TABLE a ALTER x TYPE text", ["a.x has another type"]),
        ("ALTER TABLE a ALTER x SET NOT NULL", ["a.x has to be given"]),
        ("ALTER TABLE a ALTER y DROP DEFAULT", ["a.y has to be given"]),
        ("ALTER TABLE a ADD z int NOT NULL", ["a.z has to be given"]),
        ("ALTER TABLE a ADD CHECK (x > 0)", ["a new rule, a: CHECK ((x > 0))"]),
        ("CREATE UNIQUE INDEX u ON a (x)", ["a new rule, a: unique CREATE UNIQUE INDEX u ON public.a USING btree (x)"]),
    ],
)
async def test_each_kind_of_break_is_found(empty_database_url: str, sql: str, found: list[str]) -> None:
    conn = await asyncpg.connect(empty_database_url)
    try:
        await conn.execute(CREATE_TABLE)
        await conn.execute("CREATE TABLE a (x int, y int NOT NULL DEFAULT 1)")
        before = await read_schema(conn)
        await apply(conn, Migration(1, "next", sql))
        assert find_breaks(before, await read_schema(conn)) == found
    finally:
        await conn.close()
