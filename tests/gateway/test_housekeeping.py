"""Housekeeping: one job that fails keeps no other from being done."""

import tempfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gatepost.housekeeping import Housekeeper
from gatepost.settings import load
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database
from tests.movable_clock import MovableClock

NOW = datetime(2031, 3, 4, tzinfo=UTC)  # nobody has made partitions for that


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    one = await Database.connect(database_url, connections=2)
    yield one
    await one.close()


async def partitions(db: Database) -> int:
    async with db.connection() as conn:
        count: int = await conn.fetchval("SELECT count(*) FROM pg_inherits WHERE inhparent = 'messages'::regclass")
    return count


async def test_partitions_are_made_though_everything_else_fails(db: Database) -> None:
    noted: list[str] = []

    async def note_use() -> None:
        noted.append("use")
        raise ValueError("no")

    with tempfile.TemporaryDirectory() as folder:
        settings = load(environ={}, overrides={"data": folder})
        objects = ObjectStorage.open("", Path(folder))
        housekeeper = Housekeeper(settings, db, objects, MovableClock(NOW), note_use)
        async with db.connection() as conn:
            await conn.execute("ALTER TABLE daily_counts RENAME TO elsewhere")
            await conn.execute("ALTER TABLE media RENAME TO elsewhere_too")
        before = await partitions(db)
        await housekeeper.turn(0)
        assert noted == ["use"]
        assert await partitions(db) > before
