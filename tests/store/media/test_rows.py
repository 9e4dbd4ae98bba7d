"""The object storage, wherever it is, and the order in which files wait."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from obstore.store import LocalStore, MemoryStore

from gatepost.model import ids
from gatepost.model.errors import GatepostError, NotFound, Unavailable
from gatepost.store.media.files import next_channel, next_waiting, object_key, read_key, waiting_media
from gatepost.store.media.objects import PART, ObjectStorage
from gatepost.store.pool import Database

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)


@pytest.fixture(params=["folder", "file-url", "memory"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStorage:
    """Give a storage of each kind that needs no network."""
    urls = {"folder": "", "file-url": tmp_path.as_uri(), "memory": "memory:///"}
    return ObjectStorage.open(urls[request.param], tmp_path / "media")


async def said(*pieces: bytes | Exception) -> AsyncIterator[bytes]:
    for piece in pieces:
        if isinstance(piece, Exception):
            raise piece
        yield piece


async def read(objects: ObjectStorage, key: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([piece async for piece in await objects.read(key, start, end)])


async def names(objects: ObjectStorage) -> list[str]:
    return sorted([one.key async for some in objects.listed() for one in some])


# -- every kind of storage --------------------------------------------------------------------------------------------


async def test_what_is_put_comes_back(objects: ObjectStorage) -> None:
    await objects.put("a/b", said(b"01", b"", b"234", b"56789"))
    assert await read(objects, "a/b") == await objects.read_all("a/b") == b"0123456789"
    assert await read(objects, "a/b", 3, 7) == b"3456"
    assert await names(objects) == ["a/b"]


async def test_many_parts_come_back_in_their_order(objects: ObjectStorage) -> None:
    pieces = [bytes([number]) * 300_000 for number in range(40)]
    assert sum(map(len, pieces)) > 2 * PART
    await objects.put("a/b", said(*pieces))
    assert await objects.read_all("a/b") == b"".join(pieces)


@pytest.mark.parametrize("before", [0, 1, 40])
async def test_what_breaks_off_is_not_there(objects: ObjectStorage, before: int) -> None:
    for error in (GatepostError("ours"), ValueError("a bug")):
        with pytest.raises(type(error), match=str(error)):
            await objects.put("a/b", said(*[bytes(300_000)] * before, error))
    assert await names(objects) == []
    with pytest.raises(NotFound):
        await objects.read("a/b")


async def test_a_second_put_replaces_the_first(objects: ObjectStorage) -> None:
    for content in (b"first", b"2nd"):
        await objects.put("a/b", said(content))
    assert await objects.read_all("a/b") == b"2nd"


async def test_what_is_deleted_is_reported_as_deleted(objects: ObjectStorage) -> None:
    for call in (objects.read("a/b"), objects.read_all("a/b")):
        with pytest.raises(NotFound):
            await call
    await objects.put("a/c", said(b"x"))
    await objects.delete(["a/b", "a/c", "a/b"])
    assert await names(objects) == []


async def test_all_are_listed_however_many(objects: ObjectStorage) -> None:
    for number in range(7):
        await objects.put(f"x/{number}", said(b"x"))
    assert await names(objects) == [f"x/{number}" for number in range(7)]
    assert await objects.forget_parts(datetime.now(UTC)) == 0


# -- places -----------------------------------------------------------------------------------------------------------


def test_the_folder_is_its_owners_alone(tmp_path: Path) -> None:
    ObjectStorage.open("", tmp_path / "deep" / "media")
    assert (tmp_path / "deep" / "media").stat().st_mode & 0o777 == 0o700


def test_a_url_leads_elsewhere_and_makes_no_folder(tmp_path: Path) -> None:
    ObjectStorage.open("s3://bucket/some/folder", tmp_path / "media")
    assert list(tmp_path.iterdir()) == []


async def test_a_storage_that_fails_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a file where a folder should be")
    with pytest.raises(Unavailable) as refused:
        await ObjectStorage(LocalStore(tmp_path)).put("a/b", said(b"x"))
    assert (refused.value.code, refused.value.retryable) == ("storage_unavailable", True)


async def test_half_written_files_are_found_by_their_age(tmp_path: Path) -> None:
    objects = ObjectStorage.open("", tmp_path)
    await objects.put("a/b", said(b"x"))
    (tmp_path / "a" / "c#1").write_bytes(b"half")
    assert await names(objects) == ["a/b"]
    now = datetime.now(UTC)
    assert await objects.forget_parts(now - timedelta(minutes=1)) == 0
    assert await objects.forget_parts(now + timedelta(minutes=1)) == 1
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert await ObjectStorage(MemoryStore()).forget_parts(now) == 0


def test_only_the_key_identifies_a_file() -> None:
    channel_id, media_id = uuid4(), uuid4()
    assert read_key(object_key(channel_id, media_id)) == (channel_id, media_id)
    for key in ("", "a", "a/b", f"{channel_id.hex}", f"{channel_id.hex}/{media_id.hex}/x", f"x/{media_id.hex}"):
        assert read_key(key) is None


# -- waiting ----------------------------------------------------------------------------------------------------------


async def test_files_wait_in_the_order_of_their_time(database_url: str) -> None:
    channel_id, other = sorted([uuid4(), uuid4()])
    made = {name: ids.new_id(NOW) for name in ("late", "early", "now", "future", "ready", "theirs")}
    due = {"late": -1, "early": -60, "now": 0, "future": 1, "ready": -60, "theirs": -60}
    conn = await asyncpg.connect(database_url)
    for name, id_ in made.items():
        await conn.execute(
            """INSERT INTO media (channel_id, id, state, mime_type, next_at, created_at)
               VALUES ($1, $2, $3, 'image/png', $4, $5)""",
            other if name == "theirs" else channel_id,
            id_,
            "ready" if name == "ready" else "waiting",
            NOW + timedelta(seconds=due[name]),
            NOW,
        )
    await conn.close()
    db = await Database.connect(database_url, connections=1)
    try:
        found = await waiting_media(db, channel_id, NOW, 10)
        assert [media.id for media in found] == [made["early"], made["late"], made["now"]]
        assert [media.id for media in await waiting_media(db, channel_id, NOW, 1)] == [made["early"]]
        left = await waiting_media(db, channel_id, NOW, 10, [made["early"], made["now"]])
        assert [media.id for media in left] == [made["late"]]
        assert await next_waiting(db, [channel_id, uuid4()]) == {channel_id: NOW - timedelta(seconds=60)}
        assert await next_channel(db, ids.ZERO) == (channel_id, False)
        assert await next_channel(db, channel_id) == (other, False)
        assert await next_channel(db, other) is None
    finally:
        await db.close()
