"""Housekeeping after a leap of the clock: what was due is not left until its next turn."""

from datetime import UTC, datetime
from pathlib import Path

from gatepost.clock import MovableClock
from gatepost.housekeeping import Housekeeper
from gatepost.settings import load
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database

DAY = 86_400.0


async def nothing() -> None:
    """No key was used."""


async def test_partitions_are_there_at_the_first_turn_after_a_leap(database_url: str, tmp_path: Path) -> None:
    clock = MovableClock(datetime(2026, 11, 15, tzinfo=UTC))
    db = await Database.connect(database_url, connections=4)
    try:
        settings = load(environ={}, overrides={"data": str(tmp_path)})
        keeper = Housekeeper(settings, db, ObjectStorage.open("", tmp_path / "media"), clock, nothing)
        await keeper.turn(0)
        clock.advance(40 * DAY)
        await keeper.turn(3)
        assert await make_partitions(db, clock.now(), settings.retention.partition_days) == []
    finally:
        await db.close()
