"""Storage over HTTP: the plan's bytes, what usage shows of them, and how little memory a slow upload takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import psutil

from gatepost.store.media.storage import stored_bytes
from tests.gateway.checks import check_refused, until
from tests.gateway.test_media import FORM, MEDIA, form, kept, resident_memory, rows, stored, upload
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

SMALL: dict[str, Any] = {"plans__small__title": "Small", "plans__small__storage_bytes": 100_000}
BYTES = {"content-type": "image/png"}


async def _tenant(gateway: Gateway) -> None:
    account_id = await gateway.new_account("small")
    channel = await gateway.new_channel(account_id, "15550007777", "100000000000007")
    gateway.key = await gateway.new_key(channel.id)


async def test_a_full_storage_refuses_the_next_file_and_says_so(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        await _tenant(gateway)
        first = await stored(gateway, bytes(60_000))
        for content, type_ in ((bytes(40_001), "image/png"), (form(("file", bytes(40_001))), FORM)):
            error = check_refused(await upload(gateway, content, type_), 413, "storage_full")
            assert error["retryable"] is False
        assert len(kept(gateway)) == await rows(gateway) == 1
        assert await _shown(gateway) == {"limit": 100_000, "used": 60_000, "left": 40_000}
        assert (await upload(gateway, form(("file", bytes(40_000))))).status == 201
        assert await _shown(gateway) == {"limit": 100_000, "used": 100_000, "left": 0}
        check_refused(await upload(gateway, b"x", "image/png"), 413, "storage_full")
        assert (await gateway.call("DELETE", f"{MEDIA}/{first['id']}")).status == 200
        assert await _shown(gateway) == {"limit": 100_000, "used": 40_000, "left": 60_000}
        await stored(gateway, bytes(60_000))


async def test_a_plan_without_a_limit_shows_what_is_used(gateway: Gateway) -> None:
    before = (await _shown(gateway))["used"]
    await stored(gateway, bytes(1234))
    assert await _shown(gateway) == {"limit": None, "used": before + 1234, "left": None}


async def test_a_replayed_upload_is_counted_once(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        await _tenant(gateway)
        for _ in range(3):
            answer = await upload(gateway, bytes(60_000), "image/png", **{"idempotency-key": "once"})
            assert answer.status == 201, "there is no room for it a second time, and none is needed"
        assert (await _shown(gateway))["used"] == 60_000


async def _shown(gateway: Gateway) -> Any:
    return (await gateway.call("GET", "/api/v1/usage")).json()["data"]["storage"]


async def test_stalled_uploads_hold_little_memory(gateway: Gateway) -> None:
    """Each has sent almost 5 MB of its 6 and is silent."""
    count, sent = 25, 4_900_000
    await stored(gateway)  # so that everything is loaded that an upload needs
    piece = bytes(sent)
    before = resident_memory()
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(_stalled(gateway, piece, 6_000_000))
        await until(lambda: _on_disk(gateway, count, sent - (1 << 20)), PATIENCE)
        grown = psutil.Process().memory_info().rss - before
        assert grown < count * 2_000_000, grown
    await until(lambda: _nothing_on_disk(gateway, 1), PATIENCE)


@asynccontextmanager
async def _stalled(gateway: Gateway, piece: bytes, announced: int) -> AsyncIterator[None]:
    place = urlsplit(gateway.url)
    _, writer = await asyncio.open_connection(place.hostname, place.port)
    head = (
        f"POST {MEDIA} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {gateway.key}\r\n"
        f"Content-Type: application/pdf\r\nContent-Length: {announced}\r\n\r\n"
    )
    try:
        writer.write(head.encode())
        view = memoryview(piece)
        for start in range(0, len(piece), 1 << 18):
            writer.write(view[start : start + (1 << 18)])
            await writer.drain()
        yield
    finally:
        writer.transport.abort()


async def _on_disk(gateway: Gateway, count: int, least: int) -> bool:
    sizes = [path.stat().st_size for path in kept(gateway)]
    return sum(size >= least for size in sizes) >= count


async def _nothing_on_disk(gateway: Gateway, but: int) -> bool:
    return len(kept(gateway)) == but


async def test_a_broken_upload_counts_nothing(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, **SMALL) as gateway:
        account_id = await gateway.new_account("small")
        channel = await gateway.new_channel(account_id, "15550007777", "100000000000007")
        gateway.key = await gateway.new_key(channel.id)
        async with _stalled(gateway, bytes(60_000), 90_000):
            await until(lambda: _reserved(gateway))
            check_refused(await upload(gateway, bytes(20_000), "image/png"), 413, "storage_full")

        async def free() -> bool:
            return not await _reserved(gateway)

        await until(free)
        assert await stored_bytes(gateway.db, account_id) == 0
        await stored(gateway, bytes(100_000))


async def _reserved(gateway: Gateway) -> bool:
    async with gateway.db.connection() as conn:
        return bool(await conn.fetchval("SELECT count(*) FROM storage_reservations"))
