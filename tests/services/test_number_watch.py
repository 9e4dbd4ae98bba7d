"""When a number is read again, and what its status means."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gatepost.channel_task import ChannelContext
from gatepost.model import times
from gatepost.model.errors import Unavailable
from gatepost.model.number_status import changed_connection, connection_of
from gatepost.services.stale_watch import NumberWatch, is_number_due
from gatepost.store.channels import get_config
from gatepost.store.network_updates import STALE_NUMBER
from gatepost.store.pool import Database
from tests.for_each import for_each
from tests.patience import PATIENCE
from tests.services.media_stage import MediaStage, make_media_stage

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def read(ago: timedelta) -> dict[str, object]:
    return {"checked_at": times.format_time(NOW - ago)}


def test_a_number_is_due_when_it_was_never_read_or_long_ago() -> None:
    assert is_number_due({}, NOW, HOUR)
    assert is_number_due({"checked_at": None}, NOW, HOUR)
    assert not is_number_due(read(HOUR - timedelta(milliseconds=1)), NOW, HOUR)
    assert is_number_due(read(HOUR), NOW, HOUR)
    assert is_number_due(read(HOUR + timedelta(milliseconds=1)), NOW, HOUR)


def test_an_update_makes_it_due_at_once() -> None:
    assert is_number_due(read(timedelta(0)) | {STALE_NUMBER: times.format_time(NOW)}, NOW, HOUR)


@for_each(
    ("before", "status", "state"),
    [
        (None, "CONNECTED", None),
        (None, "BANNED", "banned"),
        (None, None, None),
        ("CONNECTED", "CONNECTED", None),
        ("CONNECTED", "RESTRICTED", "limited"),
        ("BANNED", "BANNED", None),
        ("BANNED", "CONNECTED", "connected"),
        ("FLAGGED", "DISCONNECTED", "disconnected"),
        ("CONNECTED", "A_NEW_WORD", None),
        ("BANNED", None, None),
    ],
)
def test_only_a_changed_status_is_reported(before: str | None, status: str | None, state: str | None) -> None:
    found = changed_connection(before, status)
    assert (found[0] if found else None) == state


def test_a_status_that_stops_a_number_says_why() -> None:
    for status in ("BANNED", "RESTRICTED", "RATE_LIMITED", "FLAGGED", "DISCONNECTED"):
        found = connection_of(status)
        assert found is not None
        assert str(found[1]).endswith(".")


class Watched:
    """A watch that reads what the test says."""

    def __init__(self, media_stage: MediaStage) -> None:
        self.reads = 0
        self.away = False
        self._shelf = media_stage

    async def begin(self) -> NumberWatch:
        media_stage = self._shelf
        context = ChannelContext(
            media_stage.db, media_stage.clock, await media_stage.own(), media_stage.ref, lambda: True
        )
        return NumberWatch(context, self._read, 3600)

    async def _read(self) -> None:
        self.reads += 1
        if self.away:
            raise Unavailable("The network is away")

    async def until(self, reads: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.reads < reads:
                await asyncio.sleep(0.005)


@pytest.fixture
async def watched(db: Database, tmp_path: Path) -> tuple[Watched, MediaStage]:
    """Give a watch over a channel of its own."""
    media_stage = await make_media_stage(db, tmp_path)
    return Watched(media_stage), media_stage


async def test_it_reads_when_due_and_rests_otherwise(watched: tuple[Watched, MediaStage]) -> None:
    one, media_stage = watched
    watch = await one.begin()
    running = asyncio.create_task(watch.run())
    watch.look({"checked_at": times.format_time(media_stage.clock.now())})
    await asyncio.sleep(0.02)
    assert (one.reads, watch.idle) == (0, True)
    watch.look({})
    await one.until(1)
    await watch.stop()
    await running


async def test_an_update_keeps_the_channel_until_it_was_applied(
    watched: tuple[Watched, MediaStage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NumberWatch, "first_wait", 0.01)
    one, media_stage = watched
    one.away = True
    mark = {STALE_NUMBER: times.format_time(media_stage.clock.now())}
    async with media_stage.db.connection() as conn:
        await conn.execute("UPDATE channels SET state = $2::jsonb WHERE id = $1", media_stage.channel_id, _json(mark))
    watch = await one.begin()
    running = asyncio.create_task(watch.run())
    watch.look(dict(mark))
    await one.until(3)
    assert not watch.idle, "tried again and again"
    one.away = False
    async with asyncio.timeout(PATIENCE):
        while not watch.idle:
            await asyncio.sleep(0.005)
    config = await get_config(media_stage.db, media_stage.channel_id)
    assert config is not None
    assert STALE_NUMBER not in config.state
    await watch.stop()
    await running


def _json(mark: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": "{value}"' for name, value in mark.items()) + "}"
