"""Files of incoming messages: fetched in time, checked, reported once, and given up with a reason."""

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gatepost.channel_task import ChannelContext
from gatepost.grouped_lookup import GroupedLookup
from gatepost.inbound.media_fetch import DELAYS, MISMATCHES, NETWORK_MEMORY, MediaFetchContext, MediaFetchTask, next_try
from gatepost.model import ids
from gatepost.networks.base import CallFailed, ErrorReaction, NetworkError, RemoteMedia
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.leases import release_channel
from gatepost.store.media.files import MediaRow, next_waiting
from gatepost.store.pool import Database
from tests.patience import PATIENCE
from tests.services.media_stage import NOW, MediaStage, failing, make_media_stage

CONTENT = b"a photo"
PATIENT = 100


@pytest.fixture
async def media_stage(db: Database, tmp_path: Path) -> MediaStage:
    """Give a channel with its own files, network and clock."""
    one = await make_media_stage(db, tmp_path)
    one.network.on_get = lambda _: CONTENT
    return one


class Rig:
    """The fetcher of one channel at work."""

    def __init__(self, media_stage: MediaStage, lease: Lease, *, attempts: int, timeout: float, in_flight: int) -> None:
        self.media_stage = media_stage
        self.lease = lease
        self.commits = 0
        db = media_stage.db.notifying(self._on_commit)
        context = ChannelContext(db, media_stage.clock, lease, media_stage.ref, lambda: True)
        shared = MediaFetchContext(
            media_stage.objects, most=1000, attempts=attempts, timeout=timeout, in_flight=in_flight
        )
        find = GroupedLookup(partial(next_waiting, db)).find
        self.task = MediaFetchTask(context, shared, media_stage.network, find)

    def _on_commit(self, channel_id: UUID, *, sending: bool, tasks: bool = True) -> None:
        assert not sending
        self.commits += 1

    async def step(self) -> Any:
        return await self.task.step()

    async def until_settled(self, media: MediaRow) -> tuple[MediaRow, list[float]]:
        """Moves the clock from try to try; gives the file as it ended, and the waits between the tries."""
        waits: list[float] = []
        while (again := await self.step()) is not None:
            waits.append((again - self.media_stage.clock.now()).total_seconds())
            assert waits[-1] > 0
            self.media_stage.clock.advance(waits[-1])
        return await self.media_stage.get(media.id), waits


async def rig(media_stage: MediaStage, *, attempts: int = PATIENT, timeout: float = 5, in_flight: int = 8) -> Rig:
    return Rig(media_stage, await media_stage.own(), attempts=attempts, timeout=timeout, in_flight=in_flight)


# -- the plan ---------------------------------------------------------------------------------------------------------


def test_tries_grow_rarer_and_end() -> None:
    waits = [next_try(n, NOW, NOW, PATIENT) for n in range(1, 12)]
    assert [(at - NOW).total_seconds() for at in waits if at] == [*DELAYS, DELAYS[-1], DELAYS[-1]]
    assert next_try(4, NOW, NOW, 5) is not None
    assert next_try(5, NOW, NOW, 5) is None


def test_no_try_after_the_network_has_forgotten() -> None:
    end = NOW + NETWORK_MEMORY
    assert next_try(1, NOW, end - timedelta(seconds=6), PATIENT) is not None
    assert next_try(1, NOW, end - timedelta(seconds=5), PATIENT) is None


# -- it comes ---------------------------------------------------------------------------------------------------------


async def test_a_file_is_fetched_and_reported(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    assert await it.step() is None
    ready = await media_stage.get(media.id)
    assert (ready.state, ready.size, ready.sha256, ready.next_at) == ("ready", len(CONTENT), media.sha256, None)
    assert media_stage.bytes_kept() == {media.key: CONTENT}
    assert media_stage.network.asked == [RemoteMedia("handle", "image/jpeg", media.sha256, 7, "photo.jpg")]
    (event,) = await media_stage.events()
    assert (event["type"], event["action"], event["sequence"]) == ("message_notification", "updated", 1)
    data = event["data"]
    assert (data["change"], data["direction"], data["type"]) == ("media_ready", "in", "image")
    assert data["key"]["id"] == ids.message_id(media.message_id or ids.ZERO)
    assert data["contact"]["name"] == "Ana"
    assert data["content"] == {
        "media": {
            "id": ids.format_id("med", media.id),
            "mime_type": "image/jpeg",
            "size": len(CONTENT),
            "sha256": media.sha256,
        },
        "caption": "Look",
    }
    assert it.commits == 1
    async with media_stage.db.connection() as conn:
        traced = await conn.fetchval("SELECT event_ids FROM messages WHERE channel_id = $1", media_stage.channel_id)
    assert [ids.format_id("evt", id_) for id_ in traced] == [event["id"]]


async def test_a_file_without_checksum_or_message_is_fetched_too(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(b"?", sha256=None, message=False, size=None), await rig(media_stage)
    assert await it.step() is None
    assert (await media_stage.get(media.id)).state == "ready"
    assert await media_stage.events() == []


async def test_a_delivery_is_made_for_each_endpoint(media_stage: MediaStage) -> None:
    await media_stage.write(
        """INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, cursor, created_at, updated_at)
           VALUES ($1, gen_random_uuid(), 'http://127.0.0.1/', '{message_notification}', '{}', '', 'active',
                   gen_random_uuid(), now(), now())"""
    )
    await media_stage.expect(CONTENT)
    await (await rig(media_stage)).step()
    async with media_stage.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM deliveries WHERE channel_id = $1", media_stage.channel_id) == 1


# -- it comes later ---------------------------------------------------------------------------------------------------


async def test_a_failed_try_is_repeated_with_longer_waits(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    media_stage.network.on_get = failing(retry=True, details="busy")
    for expected in DELAYS[:3]:
        again = await it.step()
        assert again == media_stage.clock.now() + timedelta(seconds=expected)
        assert (await media_stage.get(media.id)).error == "The network said no: busy"
        media_stage.clock.advance(expected - 1)
        asked = len(media_stage.network.asked)
        assert await it.step() == again
        assert len(media_stage.network.asked) == asked
        media_stage.clock.advance(1)
    media_stage.network.on_get = lambda _: CONTENT
    assert await it.step() is None
    ready = await media_stage.get(media.id)
    assert (ready.state, ready.attempts, ready.error) == ("ready", 3, None)
    assert [event["data"]["change"] for event in await media_stage.events()] == ["media_ready"]


async def test_the_last_try_is_the_last(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage, attempts=4)
    media_stage.network.on_get = failing(retry=True)
    failed, waits = await it.until_settled(media)
    assert waits == [5, 30, 120]
    assert (failed.state, failed.attempts, failed.error) == ("failed", 4, "The network said no")
    (event,) = await media_stage.events()
    assert (event["data"]["change"], event["data"]["reason"]) == ("media_failed", "The network said no")
    assert event["data"]["content"]["media"] == {"id": ids.format_id("med", media.id)}
    assert media_stage.bytes_kept() == {}
    assert it.commits == 1


async def test_tries_end_with_the_networks_memory(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    media_stage.network.on_get = failing(retry=True)
    failed, waits = await it.until_settled(media)
    assert failed.state == "failed"
    assert NETWORK_MEMORY - timedelta(days=1) < timedelta(seconds=sum(waits)) < NETWORK_MEMORY


async def test_a_final_no_is_believed_at_once(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    media_stage.network.on_get = failing(retry=False, status=404)
    failed, waits = await it.until_settled(media)
    assert (failed.state, waits) == ("failed", [])


async def test_a_file_waits_while_the_network_rejects_the_token(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    media_stage.network.on_get = failing(retry=False, status=401, reaction=ErrorReaction.BREAK)
    await it.step()
    assert (await media_stage.get(media.id)).state == "waiting"
    media_stage.network.on_get = lambda _: CONTENT
    ready, _ = await it.until_settled(media)
    assert ready.state == "ready"


async def test_a_wrong_checksum_is_tried_again_and_then_believed(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    answers = [b"wrong", CONTENT]
    media_stage.network.on_get = lambda _: answers.pop(0)
    ready, waits = await it.until_settled(media)
    assert (ready.state, waits) == ("ready", [5])
    other = await media_stage.expect(CONTENT)
    media_stage.network.on_get = lambda _: b"wrong"
    failed, waits = await it.until_settled(other)
    assert (failed.state, len(waits)) == ("failed", MISMATCHES - 1)
    assert "checksum" in (failed.error or "")
    assert set(media_stage.bytes_kept()) == {media.key}


@pytest.mark.parametrize(("size", "state", "asked"), [(1000, "ready", 1), (1001, "failed", 0)])
async def test_a_file_may_be_as_large_as_the_setting(
    media_stage: MediaStage, size: int, state: str, asked: int
) -> None:
    media, it = await media_stage.expect(bytes(size)), await rig(media_stage)
    media_stage.network.on_get = lambda _: bytes(size)
    assert await it.step() is None
    assert (await media_stage.get(media.id)).state == state
    assert len(media_stage.network.asked) == asked


async def test_a_file_that_is_larger_than_it_said_is_refused(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(b"x", sha256=None), await rig(media_stage)
    media_stage.network.on_get = lambda _: bytes(1001)
    assert await it.step() is None
    assert (await media_stage.get(media.id)).state == "failed"


async def test_a_silent_network_is_not_waited_for(media_stage: MediaStage) -> None:
    async def silent() -> bytes:
        await asyncio.Event().wait()
        return b""

    media, it = await media_stage.expect(CONTENT), await rig(media_stage, timeout=0.05)
    media_stage.network.on_get = lambda _: silent()
    assert await it.step() == NOW + timedelta(seconds=5)
    assert "within 0.05 seconds" in ((await media_stage.get(media.id)).error or "")


async def test_what_breaks_the_adapter_or_the_row_does_not_stop_the_others(media_stage: MediaStage) -> None:
    broken, odd, good = (
        await media_stage.expect(b"1"),
        await media_stage.expect(b"2"),
        await media_stage.expect(CONTENT),
    )
    async with media_stage.db.connection() as conn:
        await conn.execute(
            "UPDATE media SET source = '{}' WHERE channel_id = $1 AND id = $2", media_stage.channel_id, odd.id
        )

    def breaks(remote: RemoteMedia) -> bytes:
        if remote.size == 1:
            raise ZeroDivisionError
        return CONTENT

    media_stage.network.on_get = breaks
    await (await rig(media_stage)).step()
    states = {media.id: (await media_stage.get(media.id)).state for media in (broken, odd, good)}
    assert states == {broken.id: "waiting", odd.id: "failed", good.id: "ready"}


# -- together ---------------------------------------------------------------------------------------------------------


async def test_few_are_under_way_at_once_and_all_come(media_stage: MediaStage) -> None:
    flying, most = 0, 0

    async def counted() -> bytes:
        nonlocal flying, most
        flying, most = flying + 1, max(most, flying + 1)
        await asyncio.sleep(0.002)
        flying -= 1
        return CONTENT

    media_stage.network.on_get = lambda _: counted()
    for _ in range(9):
        await media_stage.expect(CONTENT)
    assert await (await rig(media_stage, in_flight=12)).step() is None
    assert (most, len(media_stage.network.asked), len(media_stage.bytes_kept())) == (3, 9, 9)
    assert [event["sequence"] for event in await media_stage.events()] == list(range(1, 10))


async def test_a_slow_file_does_not_hold_up_one_that_came_later(media_stage: MediaStage) -> None:
    opened = asyncio.Event()

    async def held() -> bytes:
        await opened.wait()
        return b"slow"

    media_stage.network.on_get = lambda remote: held() if remote.size == 4 else CONTENT
    slow, it = await media_stage.expect(b"slow"), await rig(media_stage)
    stepping = asyncio.create_task(it.step())
    while not media_stage.network.asked:
        await asyncio.sleep(0.005)
    quick = await media_stage.expect(CONTENT)
    async with asyncio.timeout(PATIENCE):
        while (await media_stage.get(quick.id)).state != "ready":
            await asyncio.sleep(0.02)
    assert (await media_stage.get(slow.id)).state == "waiting"
    opened.set()
    assert await stepping is None
    assert (await media_stage.get(slow.id)).state == "ready"


async def test_files_wait_for_a_connection_and_use_the_one_that_is_there(media_stage: MediaStage) -> None:
    """A link may end, and come back, while files are fetched. Without one, nothing is tried."""
    it = await rig(media_stage, in_flight=4)  # one at a time

    def lose(_remote: RemoteMedia) -> bytes:
        it.task.adjust(None)
        raise CallFailed(NetworkError(0, "The link has ended"), retry=True)

    media_stage.network.on_get = lose
    files = [await media_stage.expect(CONTENT) for _ in range(5)]
    assert await it.step() == media_stage.clock.now()  # due, once there is a connection
    assert [(await media_stage.get(file.id)).attempts for file in files] == [1, 0, 0, 0, 0]
    media_stage.network.on_get = lambda _: CONTENT
    it.task.adjust(media_stage.network)
    assert (await it.until_settled(files[0]))[0].state == "ready"
    assert {(await media_stage.get(file.id)).state for file in files} == {"ready"}


# -- owners -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["good", "again", "never"])
async def test_a_stale_owner_writes_nothing(media_stage: MediaStage, answer: str) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    await release_channel(media_stage.db, it.lease, seen=None, work_at=None)
    new = await rig(media_stage)
    if answer != "good":
        media_stage.network.on_get = failing(retry=answer == "again")
    with pytest.raises(StaleOwner):
        await it.step()
    assert await media_stage.get(media.id) == media
    assert await media_stage.events() == []
    media_stage.network.on_get = lambda _: CONTENT
    assert await new.step() is None
    assert (await media_stage.get(media.id)).state == "ready"


async def test_a_file_that_was_deleted_meanwhile_stays_deleted(media_stage: MediaStage) -> None:
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)

    async def deleted() -> bytes:
        await media_stage.write("DELETE FROM media WHERE channel_id = $1 AND id = $2", media.id)
        return CONTENT

    media_stage.network.on_get = lambda _: deleted()
    assert await it.step() is None
    assert await media_stage.events() == []
    assert it.commits == 0


async def test_stopping_leaves_the_file_waiting(media_stage: MediaStage) -> None:
    async def held() -> bytes:
        await asyncio.Event().wait()
        raise CallFailed(NetworkError(0, "never"), retry=False)

    media_stage.network.on_get = lambda _: held()
    media, it = await media_stage.expect(CONTENT), await rig(media_stage)
    stepping = asyncio.create_task(it.step())
    while not media_stage.network.asked:
        await asyncio.sleep(0.005)
    stepping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stepping
    assert await media_stage.get(media.id) == media
