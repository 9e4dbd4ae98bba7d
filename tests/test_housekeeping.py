"""Housekeeping after a leap of the clock: what was due is not left until its next turn, and nothing is deleted."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from gatepost.housekeeping import HOLD_SECONDS, START_SECONDS, Housekeeper
from gatepost.model import ids
from gatepost.settings import load
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.partitions import make_partitions, read_ends
from gatepost.store.pool import Database
from tests.movable_clock import MovableClock

DAY = 86_400.0
SETTINGS = load(environ={})
TIDY = 120  # every so many turns


class WallClock(MovableClock):
    """A clock whose time can be set, which does not affect the monotonic one."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._moved = 0.0

    def monotonic(self) -> float:
        return super().monotonic() - self._moved

    def leap(self, seconds: float) -> None:
        self.advance(seconds)
        self._moved += seconds


async def nothing() -> None:
    """No key was used."""


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Give a fresh database without any partition."""
    database = await Database.connect(database_url, connections=4)
    yield database
    await database.close()


def keeper_of(db: Database, clock: MovableClock, folder: Path) -> Housekeeper:
    return Housekeeper(SETTINGS, db, ObjectStorage.open("", folder / "media"), clock, nothing)


async def test_partitions_are_there_at_the_first_turn_after_a_leap(db: Database, tmp_path: Path) -> None:
    clock = MovableClock(datetime(2026, 11, 15, tzinfo=UTC))
    keeper = keeper_of(db, clock, tmp_path)
    await keeper.turn(0)
    clock.advance(40 * DAY)
    await keeper.turn(3)
    assert await make_partitions(db, clock.now(), SETTINGS.retention.partition_days) == []


async def test_a_clock_that_is_set_forward_deletes_nothing_for_a_while(db: Database, tmp_path: Path) -> None:
    clock = WallClock(datetime(2026, 11, 15, tzinfo=UTC))
    keeper = keeper_of(db, clock, tmp_path)
    await keeper.turn(0)
    before = {table: oldest for table, (oldest, _) in (await read_ends(db)).items()}
    clock.leap(400 * DAY)
    clock.advance(5)
    await keeper.turn(1)
    assert await make_partitions(db, clock.now(), SETTINGS.retention.partition_days) == []
    assert {table: oldest for table, (oldest, _) in (await read_ends(db)).items()} == before
    clock.advance(HOLD_SECONDS - 1)
    await keeper.turn(TIDY)
    assert {table: oldest for table, (oldest, _) in (await read_ends(db)).items()} == before
    clock.advance(1)
    await keeper.turn(2 * TIDY)
    kept = clock.now() - timedelta(days=SETTINGS.retention.messages_days)
    assert all(oldest > kept for oldest, _ in (await read_ends(db)).values())


async def test_a_clock_that_is_corrected_meanwhile_has_deleted_nothing(db: Database, tmp_path: Path) -> None:
    clock = WallClock(datetime(2026, 11, 15, tzinfo=UTC))
    keeper = keeper_of(db, clock, tmp_path)
    await keeper.turn(0)
    event = ids.floor_id(clock.now())
    await db.execute("INSERT INTO events VALUES ($1, $2, 1, 'x', '{}')", UUID(int=5), event)
    clock.leap(400 * DAY)
    await keeper.turn(1)
    clock.leap(-400 * DAY)
    clock.advance(2 * HOLD_SECONDS)
    await keeper.turn(TIDY)
    assert await db.fetchval("SELECT id FROM events") == event


async def test_a_gateway_that_starts_with_a_wrong_clock_deletes_nothing_until_it_is_corrected(
    db: Database, tmp_path: Path
) -> None:
    clock = WallClock(datetime(2026, 11, 15, tzinfo=UTC))
    await keeper_of(db, clock, tmp_path).turn(0)
    event = ids.floor_id(clock.now())
    await db.execute("INSERT INTO events VALUES ($1, $2, 1, 'x', '{}')", UUID(int=5), event)
    clock.leap(400 * DAY)
    keeper = keeper_of(db, clock, tmp_path)
    await keeper.turn(0)
    clock.advance(START_SECONDS - 1)
    clock.leap(-400 * DAY)
    clock.advance(6)
    await keeper.turn(TIDY)
    assert await db.fetchval("SELECT id FROM events") == event
    clock.advance(400 * DAY)
    await keeper.turn(2 * TIDY)
    assert await db.fetchval("SELECT id FROM events") is None
