"""Bytes of files per account: counted no matter who writes the rows, and reserved before anything is stored."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gatepost.admin import channels
from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.services.media import MediaService, NewFile, forget_old_media
from gatepost.store.channels import delete_channel
from gatepost.store.media.storage import StorageAllowance, forget_reservations, release, reserve, stored_bytes
from gatepost.store.pool import Database
from tests.services.media_stage import MOST, MediaStage, body_of, make_media_stage

LIMIT = 2000


@pytest.fixture
async def media_stage(db: Database, tmp_path: Path) -> MediaStage:
    """Give a channel with its own files."""
    return await make_media_stage(db, tmp_path)


async def upload(media_stage: MediaStage, size: int, *, announced: bool = True, channel_id: UUID | None = None) -> str:
    """`stored`, or the code of a refusal."""
    new = NewFile(
        channel_id or media_stage.channel_id,
        "image/png",
        MOST,
        account_id=media_stage.account_id,
        storage=LIMIT,
        least=size if announced else 0,
        announced=size if announced else 0,
    )
    try:
        await media_stage.files.upload(new, body_of([b"x" * (size // 2), b"x" * (size - size // 2)]))
    except GatepostError as error:
        return error.code
    return "stored"


async def reservations(media_stage: MediaStage) -> int:
    async with media_stage.db.connection() as conn:
        count: int = await conn.fetchval(
            "SELECT count(*) FROM storage_reservations WHERE account_id = $1", media_stage.account_id
        )
    return count


def space(media_stage: MediaStage, seconds: float = 60) -> StorageAllowance:
    now = media_stage.clock.now()
    return StorageAllowance(
        media_stage.account_id, media_stage.channel_id, ids.new_id(now), LIMIT, now + timedelta(seconds=seconds)
    )


# -- counting ---------------------------------------------------------------------------------------------------------


async def test_bytes_are_counted_through_the_life_of_files(media_stage: MediaStage) -> None:
    first, second = await media_stage.store(b"x" * 10), await media_stage.store(b"x" * 20)
    waiting = await media_stage.expect(b"x" * 400)
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 30
    await media_stage.write(
        "UPDATE media SET state = 'ready', size = 401 WHERE channel_id = $1 AND id = $2", waiting.id
    )
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 431
    await media_stage.write(
        "UPDATE media SET network_id = 'n', size = 401 WHERE channel_id = $1 AND id = $2", waiting.id
    )
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 431
    await media_stage.write("UPDATE media SET state = 'failed' WHERE channel_id = $1 AND id = $2", waiting.id)
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 30
    await media_stage.files.delete(media_stage.channel_id, ids.format_id("med", first.id))
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 20
    media_stage.clock.advance(61 * 86_400)
    await forget_old_media(media_stage.db, media_stage.objects, media_stage.clock.now(), 60)
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 0
    assert second.size == 20


async def test_an_account_is_the_sum_of_its_channels_and_a_deleted_one_counts_no_more(
    media_stage: MediaStage, db: Database, tmp_path: Path
) -> None:
    other, stranger = await another_channel(media_stage), await make_media_stage(db, tmp_path / "stranger")
    assert [await upload(media_stage, 100), await upload(media_stage, 50, channel_id=other)] == ["stored"] * 2
    await stranger.store(b"x" * 7)
    assert await stored_bytes(db, media_stage.account_id) == 150
    assert await stored_bytes(db, stranger.account_id) == 7
    assert await delete_channel(db, media_stage.account_id, other)
    assert await stored_bytes(db, media_stage.account_id) == 100
    async with db.connection() as conn:
        assert not await conn.fetch("SELECT 1 FROM channel_storage WHERE channel_id = $1", other)


async def another_channel(media_stage: MediaStage) -> UUID:
    made = await channels.create_qr(
        media_stage.db,
        media_stage.account_id,
        phone="15550009999",
        name="Other",
        limits={},
        now=media_stage.clock.now(),
    )
    return made.id


# -- the limit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "outcome"), [(999, "stored"), (1000, "stored"), (1001, "media_too_large")])
async def test_a_file_may_fill_the_storage_to_its_last_byte(
    media_stage: MediaStage, size: int, outcome: str, announced: bool
) -> None:
    assert await upload(media_stage, 1000) == "stored"
    assert await upload(media_stage, size, announced=announced) == outcome


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "outcome"), [(499, "stored"), (500, "stored"), (501, "storage_full")])
async def test_one_byte_too_many_is_refused_and_leaves_nothing(
    media_stage: MediaStage, size: int, outcome: str, announced: bool
) -> None:
    assert [await upload(media_stage, 1000), await upload(media_stage, 500)] == ["stored"] * 2
    assert await upload(media_stage, size, announced=announced) == outcome
    left = 1500 + (size if outcome == "stored" else 0)
    assert await stored_bytes(media_stage.db, media_stage.account_id) == left
    assert sum(map(len, media_stage.bytes_kept().values())) == left
    assert await reservations(media_stage) == 0


async def test_room_that_is_made_can_be_used(media_stage: MediaStage) -> None:
    first = await media_stage.store(b"x" * 1000)
    assert [await upload(media_stage, 1000), await upload(media_stage, 1)] == ["stored", "storage_full"]
    await media_stage.files.delete(media_stage.channel_id, ids.format_id("med", first.id))
    assert [await upload(media_stage, 1000), await upload(media_stage, 1)] == ["stored", "storage_full"]


@pytest.mark.parametrize("announced", [True, False])
async def test_many_at_once_over_two_channels_stay_within_the_limit(media_stage: MediaStage, announced: bool) -> None:
    other = await another_channel(media_stage)
    places = [media_stage.channel_id, other] * 20
    outcomes = await asyncio.gather(
        *(upload(media_stage, 90, announced=announced, channel_id=place) for place in places)
    )
    stored = outcomes.count("stored")
    assert set(outcomes) <= {"stored", "storage_full"}
    assert 0 < stored <= 22
    assert await stored_bytes(media_stage.db, media_stage.account_id) == stored * 90
    assert await reservations(media_stage) == 0
    assert [await upload(media_stage, 90) for _ in range(22 - stored)] == ["stored"] * (22 - stored)
    assert await upload(media_stage, 90) == "storage_full"


async def test_an_upload_that_fails_gives_its_room_back(media_stage: MediaStage) -> None:
    async def broken() -> Any:
        yield b"x" * 500
        raise RuntimeError("gone")

    new = media_stage.new(account_id=media_stage.account_id, storage=LIMIT, announced=1000, least=1000)
    with pytest.raises(RuntimeError):
        await media_stage.files.upload(new, broken())
    assert await reservations(media_stage) == 0
    assert [await upload(media_stage, 1000), await upload(media_stage, 1000)] == ["stored"] * 2


async def test_a_plan_without_a_limit_reserves_nothing(media_stage: MediaStage) -> None:
    assert (await media_stage.store(b"x" * 1000)).size == 1000
    files = MediaService(media_stage.db, media_stage.objects, media_stage.clock, most=10_000, timeout=5)
    await files.upload(NewFile(media_stage.channel_id, "image/png", 10_000), body_of([b"x" * 5000]))
    assert await stored_bytes(media_stage.db, media_stage.account_id) == 6000


# -- reservations -----------------------------------------------------------------------------------------------------


async def test_a_reservation_counts_until_it_is_released_or_expires(media_stage: MediaStage) -> None:
    one, two = space(media_stage), space(media_stage)
    now = media_stage.clock.now()
    assert await reserve(media_stage.db, one, 100, 1900, now) == 1900
    assert await reserve(media_stage.db, two, 101, 101, now) is None
    assert await reserve(media_stage.db, two, 50, 500, now) == 100  # as much as there is
    await release(media_stage.db, two)
    assert await reserve(media_stage.db, one, 100, 100, now) == 2000
    assert await upload(media_stage, 1) == "storage_full"
    media_stage.clock.advance(60)  # as after a crash
    assert await upload(media_stage, 1000) == "stored"
    await forget_reservations(media_stage.db, media_stage.clock.now())
    assert await reservations(media_stage) == 0
