"""Incoming files of an account whose storage is full: the message is there, and its file waits for room."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatepost.api.contract.media import Media
from gatepost.channel_task import ChannelContext
from gatepost.grouped_lookup import GroupedLookup
from gatepost.inbound.media_fetch import FULL_DELAY, NETWORK_MEMORY, MediaFetchContext, MediaFetchTask
from gatepost.model import ids
from gatepost.model.account import Plan
from gatepost.model.errors import Conflict
from gatepost.services.media import check_ready
from gatepost.store.channel_head import Lease
from gatepost.store.media.files import next_waiting
from gatepost.store.media.storage import stored_bytes
from gatepost.store.pool import Database
from tests.services.media_stage import MediaStage, make_media_stage

CONTENT = b"x" * 100
PLANS = {"unlimited": Plan("Small", storage_bytes=1000)}


@pytest.fixture
async def media_stage(db: Database, tmp_path: Path) -> MediaStage:
    """Give a channel with its own files and network."""
    one = await make_media_stage(db, tmp_path)
    one.network.on_get = lambda _: CONTENT
    return one


async def step(media_stage: MediaStage, lease: Lease, plans: Mapping[str, Plan] = PLANS) -> datetime | None:
    context = ChannelContext(media_stage.db, media_stage.clock, lease, media_stage.ref, lambda: True)
    shared = MediaFetchContext(media_stage.objects, most=1000, attempts=3, timeout=5, in_flight=8, plans=plans)
    find = GroupedLookup(partial(next_waiting, media_stage.db)).find
    return await MediaFetchTask(context, shared, media_stage.network, find).step()


def changes(events: list[Any]) -> list[tuple[str, str | None]]:
    return [(event["data"]["change"], event["data"].get("reason")) for event in events]


@pytest.mark.parametrize(("taken", "state"), [(899, "ready"), (900, "ready"), (901, "waiting")])
async def test_a_file_is_fetched_while_there_is_room(media_stage: MediaStage, taken: int, state: str) -> None:
    await media_stage.store(b"x" * taken)
    media = await media_stage.expect(CONTENT)
    await step(media_stage, await media_stage.own())
    assert (await media_stage.get(media.id)).state == state
    assert len(media_stage.network.asked) == (state == "ready")  # what does not fit is not even asked for
    assert await stored_bytes(media_stage.db, media_stage.account_id) == taken + (100 if state == "ready" else 0)
    async with media_stage.db.connection() as conn:
        assert not await conn.fetch("SELECT 1 FROM storage_reservations")


async def test_a_plan_without_a_limit_has_room_beside_one_with_a_limit(media_stage: MediaStage) -> None:
    plans = {"small": Plan("Small", storage_bytes=1), "unlimited": Plan("Unlimited")}
    media = await media_stage.expect(CONTENT)
    await step(media_stage, await media_stage.own(), plans)
    assert (await media_stage.get(media.id)).state == "ready"


async def test_a_file_that_cannot_be_stored_is_tried_again(media_stage: MediaStage) -> None:
    media, lease = await media_stage.expect(CONTENT), await media_stage.own()
    media_stage.folder.rename(media_stage.folder.with_name("away"))
    media_stage.folder.write_text("in the way")
    again = await step(media_stage, lease)
    waiting = await media_stage.get(media.id)
    assert (waiting.state, waiting.attempts, waiting.error is not None) == ("waiting", 1, True)
    media_stage.folder.unlink()
    media_stage.folder.mkdir()
    assert again is not None
    media_stage.clock.advance((again - media_stage.clock.now()).total_seconds())
    await step(media_stage, lease)
    assert (await media_stage.get(media.id)).state == "ready"


async def test_a_file_waits_for_room_and_comes_when_there_is_some(media_stage: MediaStage) -> None:
    old, lease = await media_stage.store(b"x" * 1000), await media_stage.own()
    media = await media_stage.expect(CONTENT)
    for _ in range(5):  # more often than a file may fail
        again = await step(media_stage, lease)
        assert again == media_stage.clock.now() + timedelta(seconds=FULL_DELAY)
        media_stage.clock.advance(FULL_DELAY)
    waiting = await media_stage.get(media.id)
    assert (waiting.state, waiting.attempts) == ("waiting", 0)
    assert "storage of this account is full" in str(Media.of(waiting).error)
    with pytest.raises(Conflict, match=r"not fetched from the network yet\. The storage of this account is full"):
        check_ready(waiting, media_stage.clock.now())
    assert media_stage.network.asked == []
    await media_stage.files.delete(media_stage.channel_id, ids.format_id("med", old.id))
    assert await step(media_stage, lease) is None
    assert (await media_stage.get(media.id)).state == "ready"
    seen = changes(await media_stage.events())
    assert [change for change, _ in seen] == ["media_waiting", "media_ready"]
    assert "storage of this account is full" in (seen[0][1] or "")


async def test_a_file_of_unknown_size_that_turns_out_too_large_waits_too(media_stage: MediaStage) -> None:
    await media_stage.store(b"x" * 950)
    media = await media_stage.expect(CONTENT, size=None)
    await step(media_stage, await media_stage.own())
    assert (await media_stage.get(media.id)).state == "waiting"
    assert len(media_stage.bytes_kept()) == 1


async def test_when_the_network_forgets_the_file_it_has_failed(media_stage: MediaStage) -> None:
    await media_stage.store(b"x" * 1000)
    media, lease = await media_stage.expect(CONTENT), await media_stage.own(NETWORK_MEMORY.total_seconds() * 2)
    await step(media_stage, lease)
    media_stage.clock.advance(NETWORK_MEMORY.total_seconds() - FULL_DELAY)
    assert await step(media_stage, lease) is None
    failed = await media_stage.get(media.id)
    assert (failed.state, "storage of this account is full" in (failed.error or "")) == ("failed", True)
    assert [change for change, _ in changes(await media_stage.events())] == ["media_waiting", "media_failed"]
