"""A pooler in transaction mode is refused with a sentence that says what to set; a server is accepted."""

import asyncio
import json
from pathlib import Path

import asyncpg
import pytest

from gatepost.store.pooling import TransactionPooling, check_sessions
from tests.cli.conftest import invoke
from tests.store.transaction_pooler import transaction_pooler

ADVICE = "Set database.url to the address of PostgreSQL itself, or to a pool with pool_mode = session"


async def test_a_server_is_accepted(database_url: str) -> None:
    await check_sessions(database_url)


async def test_a_pooler_in_transaction_mode_is_refused(database_url: str) -> None:
    async with transaction_pooler(database_url) as url:
        conn = await asyncpg.connect(url)
        assert await conn.fetchval("SELECT 1") == 1  # one client alone sees no difference
        await conn.close()
        with pytest.raises(TransactionPooling, match=ADVICE):
            await check_sessions(url)


async def test_commands_refuse_it_and_change_nothing(empty_database_url: str, tmp_path: Path) -> None:
    async with transaction_pooler(empty_database_url) as url:
        place = ("--data", str(tmp_path), "--database-url", url)
        refused = await asyncio.to_thread(invoke, "migrate", *place)
        assert (refused.code, refused.out) == (1, "")
        assert ADVICE in " ".join(refused.err.split())
        checked = await asyncio.to_thread(invoke, "doctor", *place, "--json")
    [found] = [one for one in json.loads(checked.out) if one["check"] == "database"]
    assert (found["state"], found["fix"]) == ("problem", "Correct database.url.")
    conn = await asyncpg.connect(empty_database_url)
    assert await conn.fetchval("SELECT to_regclass('schema_migrations')") is None
    await conn.close()
