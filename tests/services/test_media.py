"""Files on the desk: stored whole or not at all, told apart by key, and forgotten in time."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from gatepost.admin import channels
from gatepost.api.contract.media import Media
from gatepost.model import ids
from gatepost.model.errors import BadRequest, Conflict, Invalid, NotFound, TooLarge
from gatepost.services.media import MediaService, check_ready, forget_old_media, sweep_orphans
from gatepost.store.idempotency import IdempotencyKey
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from tests.patience import PATIENCE
from tests.services.media_stage import MOST, NOW, MediaStage, body_of, make_media_stage

KEY = IdempotencyKey("/api/v1/media", "order-17", b"")


async def read(media_stage: MediaStage, media_id: str, start: int, end: int) -> bytes:
    media = await media_stage.files.access(media_stage.channel_id, media_id)
    return b"".join([piece async for piece in await media_stage.files.content(media, start, end)])


# -- storing ----------------------------------------------------------------------------------------------------------


async def test_a_file_is_kept_with_its_size_and_sum(media_stage: MediaStage) -> None:
    stored = await media_stage.files.upload(media_stage.new("application/pdf", "bill.pdf"), body_of([b"ab", b"cd"]))
    answer = msgspec.json.decode(stored.answer)
    data = answer["data"]
    media = await media_stage.get(data["id"])
    assert answer["success"] is True
    assert data == msgspec.to_builtins(Media.of(media))
    assert (data["mime_type"], data["size"], data["filename"]) == ("application/pdf", 4, "bill.pdf")
    assert data["sha256"] == hashlib.sha256(b"abcd").hexdigest()
    assert media_stage.bytes_kept() == {media.key: b"abcd"}
    assert await read(media_stage, data["id"], 0, 4) == b"abcd"
    assert await read(media_stage, data["id"], 1, 3) == b"bc"
    assert await read(media_stage, data["id"], 2, 2) == b""


async def test_the_limit_is_the_smaller_of_type_and_setting(media_stage: MediaStage) -> None:
    new = msgspec.structs.replace(media_stage.new(), limit=10)
    await media_stage.files.upload(new, body_of([b"x" * 10]))
    with pytest.raises(TooLarge, match="at most 0 KB \\(10 bytes\\)") as refused:
        await media_stage.files.upload(new, body_of([b"x" * 10, b"x"]))
    assert refused.value.code == "media_too_large"
    wide = msgspec.structs.replace(media_stage.new(), limit=10 * MOST)
    await media_stage.files.upload(wide, body_of([b"x" * MOST]))
    with pytest.raises(TooLarge, match="1,000 bytes"):
        await media_stage.files.upload(wide, body_of([b"x" * MOST, b"x"]))
    assert sorted(len(content) for content in media_stage.bytes_kept().values()) == [10, MOST]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([b"", b""], Invalid),
        ([], Invalid),
        ([b"half", BadRequest("broke off")], BadRequest),
        ([b"half", RuntimeError("a bug")], RuntimeError),
        ([b"x" * MOST, b"x"], TooLarge),
    ],
)
async def test_a_bad_upload_leaves_nothing(
    media_stage: MediaStage, given: list[bytes | Exception], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await media_stage.files.upload(media_stage.new(), body_of(given))
    assert media_stage.bytes_kept() == {}
    assert await count(media_stage) == 0


async def test_an_upload_that_breaks_off_after_many_parts_leaves_nothing(media_stage: MediaStage) -> None:
    files = MediaService(media_stage.db, media_stage.objects, media_stage.clock, most=1 << 30, timeout=PATIENCE)
    new = msgspec.structs.replace(media_stage.new(), limit=1 << 30)
    with pytest.raises(BadRequest):
        await files.upload(new, body_of([bytes(1 << 20)] * 12 + [BadRequest("broke off")]))
    assert media_stage.bytes_kept() == {}


async def test_an_upload_has_its_time(media_stage: MediaStage) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"half"
        await asyncio.Event().wait()

    files = MediaService(media_stage.db, media_stage.objects, media_stage.clock, most=MOST, timeout=0.05)
    with pytest.raises(BadRequest, match=r"longer than 0\.05 seconds") as refused:
        await files.upload(media_stage.new(), never())
    assert refused.value.code == "malformed_upload"
    assert media_stage.bytes_kept() == {}


async def test_no_file_for_a_channel_that_is_gone(media_stage: MediaStage) -> None:
    await channels.delete_channel(media_stage.db, media_stage.account_id, media_stage.channel_id, now=NOW)
    with pytest.raises(NotFound):
        await media_stage.files.upload(media_stage.new(), body_of([b"abc"]))
    assert media_stage.bytes_kept() == {}


# -- the same key twice -----------------------------------------------------------------------------------------------


async def test_a_key_gives_the_first_answer_again(media_stage: MediaStage) -> None:
    first = await media_stage.files.upload(media_stage.new(key=KEY), body_of([b"abc"]))
    again = await media_stage.files.upload(media_stage.new(key=KEY), body_of([b"a", b"bc"]))
    assert (first.replayed, again.replayed) == (False, True)
    assert first.answer == again.answer
    assert len(media_stage.bytes_kept()) == await count(media_stage) == 1


@pytest.mark.parametrize(
    ("content", "mime_type", "name"),
    [(b"abd", "image/png", None), (b"abc", "image/jpeg", None), (b"abc", "image/png", "x")],
)
async def test_a_key_is_for_one_file(media_stage: MediaStage, content: bytes, mime_type: str, name: str | None) -> None:
    await media_stage.files.upload(media_stage.new(key=KEY), body_of([b"abc"]))
    with pytest.raises(Invalid) as refused:
        await media_stage.files.upload(media_stage.new(mime_type, name, key=KEY), body_of([content]))
    assert refused.value.code == "idempotency_key_reused"
    assert len(media_stage.bytes_kept()) == await count(media_stage) == 1


async def test_two_at_once_with_one_key_are_one_file(media_stage: MediaStage) -> None:
    uploads = (media_stage.files.upload(media_stage.new(key=KEY), body_of([b"abc"])) for _ in range(8))
    answers = await asyncio.gather(*uploads)
    assert len({answer.answer for answer in answers}) == 1
    assert sum(answer.replayed for answer in answers) == 7
    assert len(media_stage.bytes_kept()) == await count(media_stage) == 1


# -- looking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "med_", "med_0", "x" * 36, "ch_" + "0" * 32, "med_" + "0" * 32])
async def test_what_is_not_there_is_not_found(media_stage: MediaStage, text: str) -> None:
    with pytest.raises(NotFound):
        await media_stage.files.access(media_stage.channel_id, text)
    with pytest.raises(NotFound):
        await media_stage.files.delete(media_stage.channel_id, text)


async def test_another_channels_file_is_not_there(media_stage: MediaStage, db: Database, tmp_path: Path) -> None:
    stranger = await make_media_stage(db, tmp_path)
    theirs = ids.format_id("med", (await stranger.store(b"abc")).id)
    for call in (media_stage.files.access, media_stage.files.delete):
        with pytest.raises(NotFound):
            await call(media_stage.channel_id, theirs)
    assert await read(stranger, theirs, 0, 3) == b"abc"


async def test_a_deleted_file_is_gone_with_its_bytes(media_stage: MediaStage) -> None:
    media = await media_stage.store(b"abc")
    await media_stage.files.delete(media_stage.channel_id, ids.format_id("med", media.id))
    assert media_stage.bytes_kept() == {}
    assert await count(media_stage) == 0


async def test_lost_bytes_are_reported_as_lost(media_stage: MediaStage) -> None:
    media = await media_stage.store(b"abc")
    (media_stage.folder / media.key).unlink()
    with pytest.raises(NotFound, match="gone from the storage"):
        await media_stage.files.content(media, 0, 3)
    await media_stage.files.delete(media_stage.channel_id, ids.format_id("med", media.id))


async def test_only_a_file_that_is_ready_is_given_out(media_stage: MediaStage) -> None:
    media = await media_stage.expect(b"abc")
    waiting = msgspec.structs.replace(media, next_at=NOW + timedelta(seconds=30), error="timeout")
    with pytest.raises(Conflict) as refused:
        check_ready(waiting, NOW)
    assert (refused.value.code, refused.value.retry_after) == ("wrong_state", 30)
    with pytest.raises(Conflict) as refused:
        check_ready(media, NOW + timedelta(seconds=5))
    assert refused.value.retry_after == 1
    assert Media.of(waiting).next_at == "2026-11-15T10:00:30.000Z"
    assert Media.of(waiting).message_id == ids.message_id(media.message_id or ids.ZERO)
    with pytest.raises(NotFound, match="its checksum differs"):
        check_ready(msgspec.structs.replace(media, state="failed", error="its checksum differs"), NOW)
    assert check_ready(msgspec.structs.replace(media, state="ready", size=3), NOW) == 3


# -- forgetting -------------------------------------------------------------------------------------------------------


async def test_files_are_forgotten_in_time(media_stage: MediaStage) -> None:
    await media_stage.store(b"old")
    media_stage.clock.advance(60)
    young = await media_stage.store(b"young")
    days = timedelta(days=30)
    assert await forget(media_stage, NOW + days) == 0
    assert await forget(media_stage, NOW + days + timedelta(seconds=1)) == 1
    assert media_stage.bytes_kept() == {young.key: b"young"}
    assert await count(media_stage) == 1
    assert await forget(media_stage, NOW + 1000 * days, days=0) == 0
    assert await count(media_stage) == 1


async def test_files_of_a_channel_that_is_gone_are_forgotten(
    media_stage: MediaStage, db: Database, tmp_path: Path
) -> None:
    """As when its account is removed, which takes the channels along but not what lies in big tables."""
    other = await make_media_stage(db, tmp_path)
    kept = await other.store(b"theirs")
    for _ in range(3):
        await media_stage.store(b"mine")
    await media_stage.write("DELETE FROM channels WHERE id = $1")
    assert await forget(media_stage, NOW, days=0) == 3
    assert media_stage.bytes_kept() == {kept.key: b"theirs"}


async def test_the_bytes_of_a_deleted_channel_are_swept(media_stage: MediaStage) -> None:
    await media_stage.store(b"mine")
    await channels.delete_channel(media_stage.db, media_stage.account_id, media_stage.channel_id, now=NOW)
    assert await sweep_orphans(media_stage.db, media_stage.objects, datetime.now(UTC) + timedelta(hours=25)) == 1
    assert media_stage.bytes_kept() == {}


async def test_the_files_of_another_database_are_kept(media_stage: MediaStage, empty_database_url: str) -> None:
    """Such as those of the gateway from whose backup a copy was made, which has the same settings."""
    later = datetime.now(UTC) + timedelta(hours=25)
    kept = await media_stage.store(b"new since the backup")
    await sweep_orphans(media_stage.db, media_stage.objects, later)
    await migrate(empty_database_url)
    copy = await Database.connect(empty_database_url, connections=1)
    try:
        with capture_logs() as logs:
            assert await sweep_orphans(copy, media_stage.objects, later) == 0
    finally:
        await copy.close()
    assert "belongs to another database" in logs[0]["event"]
    assert media_stage.bytes_kept() == {kept.key: b"new since the backup"}


async def test_bytes_without_a_row_are_swept_once_they_are_old(media_stage: MediaStage) -> None:
    media = await media_stage.store(b"kept")
    orphan = f"{media_stage.channel_id.hex}/{ids.new_id(NOW).hex}"
    await media_stage.objects.put(orphan, body_of([b"orphan"]))
    half = media_stage.folder / f"{orphan}#1"
    half.write_bytes(b"half")
    foreign = media_stage.folder / "notes.txt"
    foreign.write_bytes(b"not ours")
    written = datetime.fromtimestamp(os.stat(half).st_mtime, UTC)
    assert await sweep_orphans(media_stage.db, media_stage.objects, written + timedelta(hours=23)) == 0
    assert len(media_stage.bytes_kept()) == 4
    assert await sweep_orphans(media_stage.db, media_stage.objects, written + timedelta(hours=25)) == 2
    assert media_stage.bytes_kept() == {media.key: b"kept", "notes.txt": b"not ours"}


async def test_a_storage_that_is_away_says_so(media_stage: MediaStage) -> None:
    media = await media_stage.store(b"abc")
    away = ObjectStorage.open("", media_stage.folder / media.key.split("/")[0] / "blocked")
    os.rmdir(media_stage.folder / media.key.split("/")[0] / "blocked")
    (media_stage.folder / media.key.split("/")[0] / "blocked").write_bytes(b"a file where a folder should be")
    files = MediaService(media_stage.db, away, media_stage.clock, most=MOST, timeout=PATIENCE)
    with pytest.raises(Exception, match="cannot be reached") as refused:
        await files.upload(media_stage.new(), body_of([b"abc"]))
    assert refused.value.code == "storage_unavailable"  # type: ignore[attr-defined]


async def forget(media_stage: MediaStage, now: datetime, days: int = 30) -> int:
    """How many files of this very channel went; strangers share the database."""
    before = await count(media_stage)
    await forget_old_media(media_stage.db, media_stage.objects, now, days)
    return before - await count(media_stage)


async def count(media_stage: MediaStage) -> int:
    async with media_stage.db.connection() as conn:
        return int(await conn.fetchval("SELECT count(*) FROM media WHERE channel_id = $1", media_stage.channel_id))
