"""What lasts ends soon after its session, or the right that it needed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from gatepost.admin import sign_in, users
from gatepost.api import hot_routes
from tests.gateway.account_streams import open_account_stream
from tests.gateway.checks import TEXT, check_refused
from tests.gateway.people import SESSION, Person, new_person
from tests.gateway.wire import Wire, request
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

EVENTS, CONTACTS = "/api/v1/events", "/api/v1/contacts"
End = Callable[[Person], Awaitable[object]]


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway that looks every session up."""
    options = {"security__key_cache_seconds": 0.0, "api__heartbeat": 0.05}
    async with running_gateway(parted_database_url, role="api", **options) as one:  # type: ignore[arg-type]
        yield one


async def end_all(person: Person) -> object:
    return await sign_in.end_sessions(person.gateway.db, person.user, now=person.gateway.clock.now())


async def sign_out(person: Person) -> object:
    return await person.call("DELETE", SESSION)


async def new_password(person: Person) -> object:
    gateway = person.gateway
    return await users.change_password(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())


async def remove(person: Person) -> None:
    gateway = person.gateway
    await users.delete_user(gateway.db, gateway.account_id, person.user.id, now=gateway.clock.now())


@pytest.mark.parametrize("end", [end_all, sign_out, new_password, remove])
async def test_a_long_poll(gateway: Gateway, end: End) -> None:
    person = await new_person(gateway)
    waiting = asyncio.create_task(person.call("GET", f"{EVENTS}?wait=30"))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    await end(person)
    made = await gateway.call("POST", CONTACTS, {"phone": "5511977776666"})
    assert made.status == 201
    async with asyncio.timeout(PATIENCE):
        check_refused(await waiting, 401, "session_ended")


async def test_a_stream(gateway: Gateway) -> None:
    person = await new_person(gateway)
    host, port = gateway.url.removeprefix("http://").split(":")
    wire = Wire(*await asyncio.open_connection(host, int(port)))
    try:
        headers = {"cookie": person.cookie, "connection": "close"}
        await wire.send(request("GET", f"{EVENTS}/stream?channel={gateway.channel}", headers))
        assert (await wire.answer()).status == 200
        await end_all(person)
        await gateway.call("POST", CONTACTS, {"phone": "5511977776666"})
        rest = await wire.ended()
    finally:
        await wire.close()
    assert b"5511977776666" not in rest
    assert b"session has ended" in rest


async def test_each_stream_of_an_account_ends_with_its_own_session(gateway: Gateway) -> None:
    people = [await new_person(gateway) for _ in range(3)]
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(open_account_stream(person)) for person in people]
        await end_all(people[1])
        await gateway.call("POST", CONTACTS, {"phone": "5511977776666"})
        blocks = await streams[1].end()
        assert "session has ended" in blocks[-1][""]
        assert "5511977776666" not in str(blocks)
        for stream in streams[::2]:
            assert "5511977776666" in str(await stream.event())


async def test_a_send_whose_body_is_slow(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_routes, "PROMPT", 0.0)
    person = await new_person(gateway)
    body = b'{"phone": "5511977776666", "body": "x"}'.ljust(200_000)
    headers = {
        "cookie": person.cookie,
        "gatepost-csrf": person.csrf,
        "gatepost-channel": gateway.channel,
        "origin": "http://gateway",  # the host that `request` names
        "content-type": "application/json",
        "expect": "100-continue",
    }
    host, port = gateway.url.removeprefix("http://").split(":")
    wire = Wire(*await asyncio.open_connection(host, int(port)))
    try:
        await wire.send(request("POST", hot_routes.SEND, headers, length=len(body)))
        assert (await wire.answer()).status == 100
        await wire.send(body[:100_000])
        await users.change_role(gateway.db, gateway.account_id, person.user.id, "reader", now=gateway.clock.now())
        await wire.flood(body[100_000:], 1)
        check_refused(await wire.answer(), 403, "missing_scope")
    finally:
        await wire.close()
    async with gateway.db.connection() as conn:
        assert await conn.fetchval("SELECT count(*) FROM messages") == 0


async def test_a_session_sends_as_a_key_does(gateway: Gateway) -> None:
    person = await new_person(gateway)
    once = {"idempotency-key": "order-1"}
    first, again = [await person.call("POST", hot_routes.SEND, TEXT, headers=once) for _ in range(2)]
    assert first.status == again.status == 200
    assert first.body == again.body
    assert again.headers["idempotent-replayed"] == "true"
    assert "ratelimit" in first.headers
