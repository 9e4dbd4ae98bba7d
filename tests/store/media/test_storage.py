"""Bytes of files per account: counted whoever writes the rows, and reserved before anything is stored."""

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
from tests.services.shelf import MOST, Shelf, make_shelf, pieces

LIMIT = 2000


@pytest.fixture
async def shelf(db: Database, tmp_path: Path) -> Shelf:
    """Give a channel with its own files."""
    return await make_shelf(db, tmp_path)


async def upload(shelf: Shelf, size: int, *, announced: bool = True, channel_id: UUID | None = None) -> str:
    """`stored`, or the code of a refusal."""
    new = NewFile(
        channel_id or shelf.channel_id,
        "image/png",
        MOST,
        account_id=shelf.account_id,
        storage=LIMIT,
        least=size if announced else 0,
        announced=size if announced else 0,
    )
    try:
        await shelf.files.upload(new, pieces([b"x" * (size // 2), b"x" * (size - size // 2)]))
    except GatepostError as error:
        return error.code
    return "stored"


async def reservations(shelf: Shelf) -> int:
    async with shelf.db.connection() as conn:
        count: int = await conn.fetchval(
            "SELECT count(*) FROM storage_reservations WHERE account_id = $1", shelf.account_id
        )
    return count


def space(shelf: Shelf, seconds: float = 60) -> StorageAllowance:
    now = shelf.clock.now()
    return StorageAllowance(
        shelf.account_id, shelf.channel_id, ids.new_id(now), LIMIT, now + timedelta(seconds=seconds)
    )


# -- counting ---------------------------------------------------------------------------------------------------------


async def test_bytes_are_counted_through_the_life_of_files(shelf: Shelf) -> None:
    first, second = await shelf.store(b"x" * 10), await shelf.store(b"x" * 20)
    waiting = await shelf.expect(b"x" * 400)
    assert await stored_bytes(shelf.db, shelf.account_id) == 30
    await shelf.write("UPDATE media SET state = 'ready', size = 401 WHERE channel_id = $1 AND id = $2", waiting.id)
    assert await stored_bytes(shelf.db, shelf.account_id) == 431
    await shelf.write("UPDATE media SET network_id = 'n', size = 401 WHERE channel_id = $1 AND id = $2", waiting.id)
    assert await stored_bytes(shelf.db, shelf.account_id) == 431
    await shelf.write("UPDATE media SET state = 'failed' WHERE channel_id = $1 AND id = $2", waiting.id)
    assert await stored_bytes(shelf.db, shelf.account_id) == 30
    await shelf.files.delete(shelf.channel_id, ids.format_id("med", first.id))
    assert await stored_bytes(shelf.db, shelf.account_id) == 20
    shelf.clock.advance(61 * 86_400)
    await forget_old_media(shelf.db, shelf.objects, shelf.clock.now(), 60)
    assert await stored_bytes(shelf.db, shelf.account_id) == 0
    assert second.size == 20


async def test_an_account_is_the_sum_of_its_channels_and_a_deleted_one_counts_no_more(
    shelf: Shelf, db: Database, tmp_path: Path
) -> None:
    other, stranger = await another_channel(shelf), await make_shelf(db, tmp_path / "stranger")
    assert [await upload(shelf, 100), await upload(shelf, 50, channel_id=other)] == ["stored"] * 2
    await stranger.store(b"x" * 7)
    assert await stored_bytes(db, shelf.account_id) == 150
    assert await stored_bytes(db, stranger.account_id) == 7
    assert await delete_channel(db, shelf.account_id, other)
    assert await stored_bytes(db, shelf.account_id) == 100
    async with db.connection() as conn:
        assert not await conn.fetch("SELECT 1 FROM channel_storage WHERE channel_id = $1", other)


async def another_channel(shelf: Shelf) -> UUID:
    made = await channels.create_qr(
        shelf.db, shelf.account_id, phone="15550009999", name="Other", limits={}, now=shelf.clock.now()
    )
    return made.id


# -- the limit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "outcome"), [(999, "stored"), (1000, "stored"), (1001, "media_too_large")])
async def test_a_file_may_fill_the_storage_to_its_last_byte(
    shelf: Shelf, size: int, outcome: str, announced: bool
) -> None:
    assert await upload(shelf, 1000) == "stored"
    assert await upload(shelf, size, announced=announced) == outcome


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(("size", "outcome"), [(499, "stored"), (500, "stored"), (501, "storage_full")])
async def test_one_byte_too_many_is_refused_and_leaves_nothing(
    shelf: Shelf, size: int, outcome: str, announced: bool
) -> None:
    assert [await upload(shelf, 1000), await upload(shelf, 500)] == ["stored"] * 2
    assert await upload(shelf, size, announced=announced) == outcome
    left = 1500 + (size if outcome == "stored" else 0)
    assert await stored_bytes(shelf.db, shelf.account_id) == left
    assert sum(map(len, shelf.bytes_kept().values())) == left
    assert await reservations(shelf) == 0


async def test_room_that_is_made_can_be_used(shelf: Shelf) -> None:
    first = await shelf.store(b"x" * 1000)
    assert [await upload(shelf, 1000), await upload(shelf, 1)] == ["stored", "storage_full"]
    await shelf.files.delete(shelf.channel_id, ids.format_id("med", first.id))
    assert [await upload(shelf, 1000), await upload(shelf, 1)] == ["stored", "storage_full"]


@pytest.mark.parametrize("announced", [True, False])
async def test_many_at_once_over_two_channels_stay_within_the_limit(shelf: Shelf, announced: bool) -> None:
    other = await another_channel(shelf)
    places = [shelf.channel_id, other] * 20
    outcomes = await asyncio.gather(*(upload(shelf, 90, announced=announced, channel_id=place) for place in places))
    stored = outcomes.count("stored")
    assert set(outcomes) <= {"stored", "storage_full"}
    assert 0 < stored <= 22
    assert await stored_bytes(shelf.db, shelf.account_id) == stored * 90
    assert await reservations(shelf) == 0
    assert [await upload(shelf, 90) for _ in range(22 - stored)] == ["stored"] * (22 - stored)
    assert await upload(shelf, 90) == "storage_full"


async def test_an_upload_that_fails_gives_its_room_back(shelf: Shelf) -> None:
    async def broken() -> Any:
        yield b"x" * 500
        raise RuntimeError("gone")

    new = shelf.new(account_id=shelf.account_id, storage=LIMIT, announced=1000, least=1000)
    with pytest.raises(RuntimeError):
        await shelf.files.upload(new, broken())
    assert await reservations(shelf) == 0
    assert [await upload(shelf, 1000), await upload(shelf, 1000)] == ["stored"] * 2


async def test_a_plan_without_a_limit_reserves_nothing(shelf: Shelf) -> None:
    assert (await shelf.store(b"x" * 1000)).size == 1000
    files = MediaService(shelf.db, shelf.objects, shelf.clock, most=10_000, timeout=5)
    await files.upload(NewFile(shelf.channel_id, "image/png", 10_000), pieces([b"x" * 5000]))
    assert await stored_bytes(shelf.db, shelf.account_id) == 6000


# -- reservations -----------------------------------------------------------------------------------------------------


async def test_a_reservation_counts_until_it_is_released_or_expires(shelf: Shelf) -> None:
    one, two = space(shelf), space(shelf)
    now = shelf.clock.now()
    assert await reserve(shelf.db, one, 100, 1900, now) == 1900
    assert await reserve(shelf.db, two, 101, 101, now) is None
    assert await reserve(shelf.db, two, 50, 500, now) == 100  # as much as there is
    await release(shelf.db, two)
    assert await reserve(shelf.db, one, 100, 100, now) == 2000
    assert await upload(shelf, 1) == "storage_full"
    shelf.clock.advance(60)  # as after a crash
    assert await upload(shelf, 1000) == "stored"
    await forget_reservations(shelf.db, shelf.clock.now())
    assert await reservations(shelf) == 0
