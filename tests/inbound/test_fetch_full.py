"""Incoming files of an account whose storage is full: the message is there, and its file waits for room."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gatepost.api.contract.media import Media
from gatepost.channel_task import ChannelContext
from gatepost.inbound.media_fetch import FULL_DELAY, NETWORK_MEMORY, MediaFetchContext, MediaFetchTask
from gatepost.model import ids
from gatepost.model.account import Plan
from gatepost.model.errors import Conflict
from gatepost.services.media import check_ready
from gatepost.store.channel_head import Lease
from gatepost.store.media.storage import stored_bytes
from gatepost.store.pool import Database
from tests.services.shelf import Shelf, make_shelf

CONTENT = b"x" * 100
PLANS = {"unlimited": Plan("Small", storage_bytes=1000)}


@pytest.fixture
async def shelf(db: Database, tmp_path: Path) -> Shelf:
    """Give a channel with its own files and network."""
    one = await make_shelf(db, tmp_path)
    one.network.on_get = lambda _: CONTENT
    return one


async def step(shelf: Shelf, lease: Lease, plans: Mapping[str, Plan] = PLANS) -> datetime | None:
    context = ChannelContext(shelf.db, shelf.clock, lease, shelf.ref, lambda: True)
    shared = MediaFetchContext(shelf.objects, most=1000, attempts=3, timeout=5, in_flight=8, plans=plans)
    return await MediaFetchTask(context, shared, shelf.network).step(shelf.network)


def changes(events: list[Any]) -> list[tuple[str, str | None]]:
    return [(event["data"]["change"], event["data"].get("reason")) for event in events]


@pytest.mark.parametrize(("taken", "state"), [(899, "ready"), (900, "ready"), (901, "waiting")])
async def test_a_file_is_fetched_while_there_is_room(shelf: Shelf, taken: int, state: str) -> None:
    await shelf.store(b"x" * taken)
    media = await shelf.expect(CONTENT)
    await step(shelf, await shelf.own())
    assert (await shelf.get(media.id)).state == state
    assert len(shelf.network.asked) == (state == "ready")  # what does not fit is not even asked for
    assert await stored_bytes(shelf.db, shelf.account_id) == taken + (100 if state == "ready" else 0)
    async with shelf.db.connection() as conn:
        assert not await conn.fetch("SELECT 1 FROM storage_reservations")


async def test_a_plan_without_a_limit_has_room_beside_one_with_a_limit(shelf: Shelf) -> None:
    plans = {"small": Plan("Small", storage_bytes=1), "unlimited": Plan("Unlimited")}
    media = await shelf.expect(CONTENT)
    await step(shelf, await shelf.own(), plans)
    assert (await shelf.get(media.id)).state == "ready"


async def test_a_file_that_cannot_be_stored_is_tried_again(shelf: Shelf) -> None:
    media, lease = await shelf.expect(CONTENT), await shelf.own()
    shelf.folder.rename(shelf.folder.with_name("away"))
    shelf.folder.write_text("in the way")
    again = await step(shelf, lease)
    waiting = await shelf.get(media.id)
    assert (waiting.state, waiting.attempts, waiting.error is not None) == ("waiting", 1, True)
    shelf.folder.unlink()
    shelf.folder.mkdir()
    assert again is not None
    shelf.clock.advance((again - shelf.clock.now()).total_seconds())
    await step(shelf, lease)
    assert (await shelf.get(media.id)).state == "ready"


async def test_a_file_waits_for_room_and_comes_when_there_is_some(shelf: Shelf) -> None:
    old, lease = await shelf.store(b"x" * 1000), await shelf.own()
    media = await shelf.expect(CONTENT)
    for _ in range(5):  # more often than a file may fail
        again = await step(shelf, lease)
        assert again == shelf.clock.now() + timedelta(seconds=FULL_DELAY)
        shelf.clock.advance(FULL_DELAY)
    waiting = await shelf.get(media.id)
    assert (waiting.state, waiting.attempts) == ("waiting", 0)
    assert "storage of this account is full" in str(Media.of(waiting).error)
    with pytest.raises(Conflict, match=r"not fetched from the network yet\. The storage of this account is full"):
        check_ready(waiting, shelf.clock.now())
    assert shelf.network.asked == []
    await shelf.files.delete(shelf.channel_id, ids.format_id("med", old.id))
    assert await step(shelf, lease) is None
    assert (await shelf.get(media.id)).state == "ready"
    told = changes(await shelf.events())
    assert [change for change, _ in told] == ["media_waiting", "media_ready"]
    assert "storage of this account is full" in (told[0][1] or "")


async def test_a_file_of_unknown_size_that_turns_out_too_large_waits_too(shelf: Shelf) -> None:
    await shelf.store(b"x" * 950)
    media = await shelf.expect(CONTENT, size=None)
    await step(shelf, await shelf.own())
    assert (await shelf.get(media.id)).state == "waiting"
    assert len(shelf.bytes_kept()) == 1


async def test_when_the_network_forgets_the_file_it_has_failed(shelf: Shelf) -> None:
    await shelf.store(b"x" * 1000)
    media, lease = await shelf.expect(CONTENT), await shelf.own(NETWORK_MEMORY.total_seconds() * 2)
    await step(shelf, lease)
    shelf.clock.advance(NETWORK_MEMORY.total_seconds() - FULL_DELAY)
    assert await step(shelf, lease) is None
    failed = await shelf.get(media.id)
    assert (failed.state, "storage of this account is full" in (failed.error or "")) == ("failed", True)
    assert [change for change, _ in changes(await shelf.events())] == ["media_waiting", "media_failed"]
