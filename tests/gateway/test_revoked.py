"""Revoked means over: whatever lasts ends when its key does, and says so, or is visibly not whole."""

import asyncio
import inspect
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from gatepost.admin import keys
from gatepost.api import hot_routes
from gatepost.api.app import ROUTES
from tests.gateway import test_account_stream
from tests.gateway.checks import TEXT, check_refused, until
from tests.gateway.event_streams import open_stream
from tests.gateway.wire import Wire, request
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE, patience
from tests.running_gateway import Gateway, running_gateway

CONTACTS, MEDIA, EVENTS, CHANNEL = "/api/v1/contacts", "/api/v1/media", "/api/v1/events", "/api/v1/channel"
LASTING = {  # the routes that last, with the test of each
    "GET /api/v1/account/stream": "test_it_ends_with_the_session_and_the_right_to_read",
    f"GET {EVENTS}": "test_a_long_poll",
    f"GET {EVENTS}/stream": "test_an_event_stream",
    "GET /api/v1/messages/export": "test_an_export",
    f"GET {CONTACTS}/export": "test_an_export",
    f"POST {CONTACTS}/import": "test_an_import",
    f"POST {MEDIA}": "test_a_body",
    f"GET {MEDIA}/{{media_id}}/content": "test_a_download",
    f"GET {CHANNEL}/qr": "test_a_code_to_scan",
    f"POST {CHANNEL}/pairing-code": "test_a_pairing_code",
}


def test_every_route_that_lasts_is_tested() -> None:
    signs = ("StreamResponse(", "event_stream(", "_WAIT", "query.wait")
    lasting = [
        route
        for route in ROUTES
        if not route.body_limit or any(sign in inspect.getsource(route.function) for sign in signs)
    ]
    named = {f"{route.method} {route.path}" for route in lasting}
    assert named == set(LASTING)
    assert set(LASTING.values()) <= globals().keys() | vars(test_account_stream).keys()


class Short(msgspec.Struct, frozen=True):
    """A gateway, and a key of it that is about to be revoked."""

    gateway: Gateway
    key: str
    key_id: UUID
    channel_id: UUID

    async def revoke(self) -> None:
        await keys.revoke_key(self.gateway.db, self.channel_id, self.key_id, self.gateway.clock.now())

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}


@pytest.fixture
async def short(parted_database_url: str) -> AsyncIterator[Short]:
    """Give a gateway that looks every key up, and a key."""
    cached = {"security__key_cache_seconds": 0.0, "api__heartbeat": 0.05}
    async with running_gateway(parted_database_url, role="api", **cached) as gateway:  # type: ignore[arg-type]
        yield await shorten(gateway, UUID(hex=gateway.channel[3:]))


async def shorten(gateway: Gateway, channel_id: UUID) -> Short:
    made = await keys.create_key(gateway.db, channel_id, "short", now=gateway.clock.now())
    return Short(gateway, made.text, made.key.id, channel_id)


@asynccontextmanager
async def slowly(url: str) -> AsyncIterator[Wire]:
    """A connection of a client that takes little at a time: so the server cannot be done before it has read on."""
    host, port = url.removeprefix("http://").split(":")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
    wire = Wire(*await asyncio.open_connection(sock=sock, limit=16_384))
    try:
        yield wire
    finally:
        await wire.close()


# -- waits ------------------------------------------------------------------------------------------------------------


async def test_a_long_poll(short: Short) -> None:
    waiting = asyncio.create_task(short.gateway.call("GET", f"{EVENTS}?wait=30", key=short.key))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await short.revoke()
    await short.gateway.send(**TEXT)
    await add_event(short)
    async with asyncio.timeout(PATIENCE):
        check_refused(await waiting, 401, "invalid_api_key")


async def add_event(short: Short) -> None:
    """Something that is in the feed; a node that only accepts adds nothing to it."""
    made = await short.gateway.call("POST", CONTACTS, {"phone": "5511977776666"})
    assert made.status == 201, made.body


async def linking(short: Short) -> Short:
    """A key of a channel whose phone is to be linked; nobody owns it, so that nothing shows a code but the test."""
    qr = await short.gateway.new_qr_channel(short.gateway.account_id)
    linked = await shorten(short.gateway, qr.id)
    assert (await short.gateway.call("POST", f"{CHANNEL}/connect", key=linked.key)).status == 200
    return linked


async def show(short: Short, columns: str) -> None:
    async with short.gateway.db.connection() as conn:
        await conn.execute(f"UPDATE channel_links SET {columns} WHERE channel_id = $1", short.channel_id)


async def test_a_code_to_scan(short: Short) -> None:
    linked = await linking(short)
    for format_, type_ in (("json", "application/json"), ("svg", "image/svg+xml")):
        waiting = asyncio.create_task(short.gateway.call("GET", f"{CHANNEL}/qr?format={format_}", key=linked.key))
        await asyncio.sleep(0.2)
        if format_ == "svg":
            await linked.revoke()
        await show(linked, "qr = 'code', qr_until = now() + interval '1 hour'")
        answer = await waiting
        assert answer.headers["content-type"].startswith(type_ if format_ == "json" else "application/json")
        await show(linked, "qr = NULL")
        if format_ == "json":
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    check_refused(answer, 401, "invalid_api_key")


async def requested(short: Short) -> None:
    """Wait until a pairing code is requested."""
    async with patience(lambda: "no pairing code was requested"), short.gateway.db.connection() as conn:
        sql = "SELECT pair_phone FROM channel_links WHERE channel_id = $1"
        while await conn.fetchval(sql, short.channel_id) is None:
            await asyncio.sleep(0.02)


async def test_a_pairing_code(short: Short) -> None:
    linked = await linking(short)
    for revoked in (False, True):
        await show(linked, "pair_phone = NULL")
        waiting = asyncio.create_task(short.gateway.call("POST", f"{CHANNEL}/pairing-code", {}, key=linked.key))
        await requested(linked)
        if revoked:
            await linked.revoke()
        await show(linked, "pairing_code = 'ABCD1234'")
        answer = await waiting
        if not revoked:
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    check_refused(answer, 401, "invalid_api_key")


# -- answers in pieces ------------------------------------------------------------------------------------------------


async def test_an_event_stream(short: Short) -> None:
    async with open_stream(short.gateway, key=short.key) as stream:
        await short.revoke()
        await add_event(short)
        blocks = await stream.end()
    assert "key" in blocks[-1][""]
    assert not any("data" in block for block in blocks)


async def fill(gateway: Gateway, channel_id: UUID) -> None:
    """20,000 contacts and messages: far more than fits between a server and a client that reads slowly."""
    async with gateway.db.connection() as conn:
        await conn.execute(
            """INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               SELECT $1, gen_random_uuid(), (551100000000 + i)::text, repeat('n', 1000), now(), now()
               FROM generate_series(1, 20000) i""",
            channel_id,
        )
        await conn.execute(
            """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, attempt, phone, type, content,
                                     created_at, expires_at, event_ids)
               SELECT $1, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - i), 12, '0')
                           || '7000' || 'a' || substr(md5(i::text), 1, 15))::uuid,
                      gen_random_uuid(), false, false, 4, 1, '5511' || i, 'text',
                      json_build_object('body', repeat('b', 1000))::text, now(), now() + interval '1 day', '{}'
               FROM generate_series(1, 20000) i""",
            channel_id,
        )


@pytest.mark.parametrize("of", ["contacts", "messages"])
@pytest.mark.parametrize("format_", ["csv", "ndjson"])
async def test_an_export(short: Short, of: str, format_: str) -> None:
    await fill(short.gateway, short.channel_id)
    async with slowly(short.gateway.url) as wire:
        await wire.send(request("GET", f"/api/v1/{of}/export?format={format_}", short.headers))
        assert (await wire.answer()).status == 200
        assert (b"nnnn" if of == "contacts" else b"bbbb") in await wire.take(100_000)
        await short.revoke()
        rest = await wire.ended()
    assert not rest.endswith(b"0\r\n\r\n"), "it looks whole"
    assert len(rest) < 15_000_000


async def test_a_download(short: Short) -> None:
    size = 20_000_000
    headers = {"content-type": "application/pdf"}
    made = await short.gateway.call("POST", MEDIA, raw=b"%PDF-1.4".ljust(size), headers=headers)
    assert made.status == 201, made.body
    async with slowly(short.gateway.url) as wire:
        path = f"{MEDIA}/{made.json()['data']['id']}/content"
        await wire.send(request("GET", path, short.headers))
        with pytest.raises(asyncio.IncompleteReadError):
            await wire.answer(after_head=short.revoke)


# -- bodies -----------------------------------------------------------------------------------------------------------


async def count(gateway: Gateway, table: str) -> int:
    async with gateway.db.connection() as conn:
        return int(await conn.fetchval(f"SELECT count(*) FROM {table}"))


BODIES: dict[str, tuple[str, str, bytes, str]] = {  # content type, path, body, and the table that stays empty
    "upload": ("image/png", MEDIA, b"\x89PNG\r\n\x1a\n".ljust(200_000), "media"),
    "import": ("text/csv", f"{CONTACTS}/import", b"phone\n" + b"5511977776666\n" * 10_000, "contacts"),
    "json": ("application/json", CONTACTS, b'{"phone": "5511977776666"}'.ljust(200_000), "contacts"),
    "send": (
        "application/json",
        hot_routes.SEND,
        b'{"phone": "5511977776666", "body": "x"}'.ljust(200_000),
        "messages",
    ),
}


@pytest.mark.parametrize("kind", BODIES)
async def test_a_body(short: Short, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_routes, "PROMPT", 0.0)
    content_type, path, body, table = BODIES[kind]
    headers = short.headers | {"content-type": content_type, "expect": "100-continue"}
    async with slowly(short.gateway.url) as wire:
        await wire.send(request("POST", path, headers, length=len(body)))
        assert (await wire.answer()).status == 100  # the key was good
        await wire.send(body[:100_000])
        await short.revoke()
        await wire.flood(body[100_000:], 1)
        check_refused(await wire.answer(), 401, "invalid_api_key", about=kind)
    assert await count(short.gateway, table) == 0


async def test_an_import(short: Short) -> None:
    """The third batch of six waits for a contact that somebody else holds."""
    phones = [str(5511970000000 + number) for number in range(1500)]
    made = await short.gateway.call("POST", CONTACTS, {"phone": phones[700]})
    assert made.status == 201, made.body
    conn = await asyncpg.connect(short.gateway.settings.database.url)
    held = conn.transaction()
    await held.start()
    await conn.execute("SELECT 1 FROM contacts WHERE phone = $1 FOR UPDATE", phones[700])
    raw = "phone,name\n" + "".join(f"{phone},Ada\n" for phone in phones)
    importing = asyncio.create_task(
        short.gateway.call(
            "POST", f"{CONTACTS}/import", raw=raw.encode(), key=short.key, headers={"content-type": "text/csv"}
        )
    )
    try:
        await until(lambda: waits_for_lock(short.gateway))
        await short.revoke()
    finally:
        await held.rollback()
        await conn.close()
    answer = await importing
    assert answer.status == 200
    last = msgspec.json.decode(answer.body.splitlines()[-1])
    assert last["error"]["code"] == "invalid_api_key"
    assert sum(last["summary"].get(result, 0) for result in ("created", "updated", "unchanged")) == 750
    assert await count(short.gateway, "contacts") == 750


async def waits_for_lock(gateway: Gateway) -> Any:
    async with gateway.db.connection() as conn:
        return await conn.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )


async def test_a_key_that_expires_ends_an_export_too(parted_database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    gateway_of = running_gateway(parted_database_url, clock=clock, role="api", security__key_cache_seconds=0.0)
    async with gateway_of as gateway:
        channel_id = UUID(hex=gateway.channel[3:])
        await fill(gateway, channel_id)
        key = await gateway.new_key(channel_id, expires_at=clock.now() + timedelta(seconds=10))
        async with slowly(gateway.url) as wire:  # not before: a connection that sends nothing is closed
            await wire.send(request("GET", f"{CONTACTS}/export", {"authorization": f"Bearer {key}"}))
            assert (await wire.answer()).status == 200
            clock.advance(10)
            assert not (await wire.ended()).endswith(b"0\r\n\r\n")
