"""Costly requests: the limits per key and per node, and that one key at its limit does not delay the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gatepost.access.costly import ALWAYS, CostlyRequests, is_costly
from gatepost.api.app import ROUTES
from gatepost.model.account import Principal
from gatepost.model.errors import GatepostError, LimitReached
from tests.gateway.checks import TEXT, check_refused
from tests.gateway.wire import Wire, request, wired
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

EXPORT = "/api/v1/contacts/export?format=ndjson"
COSTLY = {
    "GET /api/v1/messages": "q",
    "GET /api/v1/messages/export": ALWAYS,
    "GET /api/v1/contacts": "q",
    "GET /api/v1/conversations": "q",
    "GET /api/v1/contacts/export": ALWAYS,
    "POST /api/v1/contacts/import": ALWAYS,
    "POST /api/v1/media": ALWAYS,
}


def test_which_routes_are_costly() -> None:
    marked = {f"{route.method} {route.path}": route.costly for route in ROUTES if route.costly}
    assert marked == COSTLY
    assert is_costly(ALWAYS, {})
    assert is_costly("q", {"q": "x"})
    assert not is_costly("q", {"phone": "x"})
    assert not is_costly(None, {"q": "x"})


def test_the_count_itself() -> None:
    kinds: list[Any] = ["key", "session", "mcp_key"]
    costly = CostlyRequests(2, 3)
    keys = [Principal(kind, UUID(int=number), frozenset()) for number, kind in enumerate(kinds)]
    costly.begin(keys[0])
    costly.begin(keys[0])
    with pytest.raises(LimitReached, match="This key has 2 exports"):
        costly.begin(keys[0])
    costly.begin(keys[1])
    with pytest.raises(LimitReached):
        costly.begin(keys[2])
    costly.end(keys[0].id)
    costly.begin(keys[2])
    for key in keys:
        costly.end(key.id)
    for _ in range(2):
        costly.begin(keys[1])
    with pytest.raises(LimitReached, match="This session has 2 exports"):
        costly.begin(keys[1])
    for _ in range(2):
        costly.end(keys[1].id)
    assert (costly.count, costly._running) == (0, {})


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose keys may run two costly requests, of three in all."""
    async with running_gateway(parted_database_url, api__costly_per_key=2, api__costly=3) as one:
        yield one


async def fill_contacts(gateway: Gateway, count: int = 30_000) -> None:
    async with gateway.db.connection() as conn:
        await conn.execute(
            """INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               SELECT $1, gen_random_uuid(), (551100000000 + i)::text, repeat('n', 100), now(), now()
               FROM generate_series(1, $2) i""",
            UUID(hex=gateway.channel[3:]),
            count,
        )


def bearer(key: str, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", **more}


@asynccontextmanager
async def begun(gateway: Gateway, asked: bytes, status: int) -> AsyncIterator[Wire]:
    """A costly request that has begun. The slots of connections that were closed become free one after the other."""
    found = 429
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(PATIENCE):
            while found == 429:
                wire = await stack.enter_async_context(wired(gateway.url))
                await wire.send(asked)
                found = (await wire.answer()).status
        assert found == status
        yield wire


def uploading(gateway: Gateway, key: str = "") -> AbstractAsyncContextManager[Wire]:
    """An upload that has begun, and does not get on."""
    headers = bearer(key or gateway.key, **{"content-type": "image/png", "expect": "100-continue"})
    asked = request("POST", "/api/v1/media", headers, length=1000)
    return begun(gateway, asked, 100)  # it is admitted, and its body is waited for


def exporting(gateway: Gateway) -> AbstractAsyncContextManager[Wire]:
    """An export that nobody reads."""
    return begun(gateway, request("GET", EXPORT, bearer(gateway.key)), 200)


async def until_free(gateway: Gateway) -> None:
    """Wait until at least one slot is free."""
    async with asyncio.timeout(PATIENCE):
        while (await gateway.call("GET", "/api/v1/contacts?q=x")).status != 200:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("route", COSTLY)
async def test_one_more_is_refused_on_every_costly_route(gateway: Gateway, route: str) -> None:
    method, path = route.split()
    path += "?q=x" if COSTLY[route] == "q" else ""
    async with uploading(gateway):
        assert (await gateway.call(method, path, {})).status != 429
        async with uploading(gateway):
            answer = await gateway.call(method, path, {})
            assert check_refused(answer, 429, "too_many_requests")["retryable"] is True
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.headers["ratelimit-policy"].startswith('"costly";q=2;')
            assert (await gateway.call("GET", "/api/v1/contacts")).status == 200  # not a search
            assert (await gateway.call("POST", "/api/v1/message/send", TEXT)).status == 200


async def test_so_many_with_all_keys_together(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    third = await gateway.new_key(UUID(hex=gateway.channel[3:]))
    async with uploading(gateway), uploading(gateway), uploading(gateway, stranger):
        check_refused(await gateway.call("GET", "/api/v1/contacts?q=x", key=third), 429, "too_many_requests")
    await until_free(gateway)


async def test_a_slot_is_free_when_the_request_has_ended(gateway: Gateway) -> None:
    for _ in range(5):
        assert (await gateway.call("GET", EXPORT)).status == 200
        assert (await gateway.call("GET", "/api/v1/contacts/export?format=no")).status == 422
        assert (await gateway.call("GET", "/api/v1/messages?q=")).status in (200, 422)
        assert (await gateway.call("HEAD", EXPORT)).status == 200
        assert (await gateway.call("OPTIONS", EXPORT)).status == 204
        assert (await gateway.call("POST", "/api/v1/media", raw=b"x", headers={"content-type": "a/b"})).status in (
            415,
            422,
        )
        assert (await gateway.call("GET", EXPORT, key="gpk_wrong")).status == 401


async def test_a_slot_is_free_when_the_client_hangs_up(gateway: Gateway) -> None:
    await fill_contacts(gateway)
    for _ in range(3):
        async with uploading(gateway), uploading(gateway):
            assert (await gateway.call("GET", EXPORT)).status == 429
        await until_free(gateway)
        async with exporting(gateway), exporting(gateway):
            assert (await gateway.call("GET", EXPORT)).status == 429
        await until_free(gateway)


async def test_others_are_served_while_one_key_exports_all_it_can(parted_database_url: str) -> None:
    """With as few connections as a gateway may have."""
    url = parted_database_url
    async with running_gateway(url, database__connections=4, api__costly_per_key=8, api__costly=8) as gateway:
        stranger = await gateway.new_stranger()
        await fill_contacts(gateway)
        exports = [asyncio.create_task(export_forever(gateway)) for _ in range(8)]
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                sent = await gateway.call("POST", "/api/v1/message/send", TEXT, key=stranger)
                assert sent.status == 200, sent.body
                while (await gateway.call("GET", "/readyz", key="")).status != 200:  # its write has a limit of 5 s
                    await asyncio.sleep(0.02)
                path = f"/api/v1/messages/{sent.json()['data']['key']['id']}"
                while (await gateway.call("GET", path, key=stranger)).json()["data"]["status"] != "READ":
                    await asyncio.sleep(0.02)
        assert not any(task.done() for task in exports)
        for task in exports:
            task.cancel()


async def export_forever(gateway: Gateway) -> None:
    while True:
        assert (await gateway.call("GET", EXPORT)).status == 200


async def test_accepting_receiving_and_owning_go_on_without_the_connections_of_the_rest(
    parted_database_url: str,
) -> None:
    async with running_gateway(parted_database_url) as gateway, AsyncExitStack() as stack:
        stranger = await gateway.new_stranger()
        assert (await gateway.call("GET", "/api/v1/channel", key=stranger)).status == 200
        with suppress(TimeoutError, GatepostError):
            while True:  # all that requests of customers can have
                async with asyncio.timeout(0.3):
                    await stack.enter_async_context(gateway.db.connection())
        sent = await gateway.call("POST", "/api/v1/message/send", TEXT, key=stranger)
        assert sent.status == 200, sent.body
        assert (await gateway.call("GET", "/readyz", key="")).json()["data"]["owner"] is True
        conn = await asyncpg.connect(parted_database_url)
        try:  # it is claimed, sent, and the network's updates are taken in
            async with asyncio.timeout(PATIENCE):
                while await conn.fetchval("SELECT state FROM messages WHERE read_at IS NOT NULL") is None:
                    await asyncio.sleep(0.02)
        finally:
            await conn.close()
