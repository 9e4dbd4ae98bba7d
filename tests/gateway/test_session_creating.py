"""Every POST of people that creates is done once under its Idempotency-Key. The routes are those of the reference."""

import asyncio
from typing import Any
from uuid import uuid4

import msgspec

from gatepost.admin import accounts
from tests.gateway.checks import check_refused
from tests.gateway.people import Person, new_person
from tests.gateway.reference import Route, routes_of, served
from tests.gateway.test_account_keys import create
from tests.running_gateway import Answer, Gateway

_TABLES = ("channels", "api_keys", "users", "one_time_links", "account_log", "labels")


async def creating(gateway: Gateway) -> list[Route]:
    """Return the routes of sessions only that create something."""
    return [
        route
        for route in routes_of(await served(gateway))
        if route.method == "POST" and route.secured and not route.scope and "201" in route.spec["responses"]
    ]


async def rows(gateway: Gateway) -> dict[str, int]:
    async with gateway.db.connection() as conn:
        return {table: await conn.fetchval(f"SELECT count(*) FROM {table}") for table in _TABLES}


async def things_of(person: Person) -> dict[str, str]:
    """Return the ids of a key and of a colleague."""
    colleague = await new_person(person.gateway, "agent", signed_in=False)
    return {
        "channel_id": person.gateway.channel,
        "key_id": (await create(person))["id"],
        "user_id": f"usr_{colleague.user.id.hex}",
    }


async def ask(person: Person, route: Route, things: dict[str, str], body: Any, key: str) -> Answer:
    given = body if "requestBody" in route.spec else None
    return await person.call(route.method, route.at(things), given, headers={"idempotency-key": key})


async def test_each_is_done_once(gateway: Gateway) -> None:
    owner, routes = await new_person(gateway), await creating(gateway)
    assert len(routes) >= 5
    things = await things_of(owner)
    for route in routes:
        assert "Idempotency-Key" in [one["name"] for one in route.spec["parameters"]], route.key
        for bad in ("", "k" * 256, "two words"):
            answer = await ask(owner, route, things, route.example, bad)
            check_refused(answer, 400, "invalid_idempotency_key", about=(route.key, bad))
        first = await ask(owner, route, things, route.example, "one")
        assert first.status == 201, (route.key, first.body)
        assert "idempotent-replayed" not in first.headers
        before = await rows(gateway)
        again = await ask(owner, route, things, route.example, "one")
        assert (again.status, again.body) == (201, first.body), route.key
        assert again.headers["idempotent-replayed"] == "true", route.key
        assert again.headers["cache-control"] == first.headers["cache-control"] == "no-store", route.key
        if route.example:
            raw = msgspec.json.encode(route.example) + b" "
            other = await owner.call("POST", route.at(things), raw=raw, headers={"idempotency-key": "one"})
            check_refused(other, 422, "idempotency_key_reused", about=route.key)
        assert await rows(gateway) == before, route.key


async def test_each_is_done_once_by_many_at_once(gateway: Gateway) -> None:
    owner = await new_person(gateway)
    things = await things_of(owner)
    for route in await creating(gateway):
        await check_once(owner, route, things, route.example)
    await accounts.change_plan(gateway.db, gateway.account_id, "starter", plans=gateway.settings.plans)
    (channels,) = [route for route in await creating(gateway) if route.path == "/api/v1/account/channels"]
    count = (await rows(gateway))["channels"]
    for number in range(count, gateway.settings.plans["starter"].channels or 0):  # up to the last that the plan allows
        await check_once(owner, channels, things, {"kind": "qr", "name": "Shop", "phone": f"1555200{number:04}"})
    body = {"kind": "qr", "name": "Shop", "phone": "15553000000"}
    check_refused(await ask(owner, channels, things, body, "over"), 409, "channel_limit_reached")


async def check_once(owner: Person, route: Route, things: dict[str, str], body: Any) -> None:
    """Send the same request several times at once: it is done once, and all get the same answer."""
    key = uuid4().hex
    answers = await asyncio.gather(*(ask(owner, route, things, body, key) for _ in range(4)))
    assert {answer.status for answer in answers} == {201}, (route.key, [answer.body for answer in answers])
    assert len({answer.body for answer in answers}) == 1, route.key
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 3, route.key


async def test_an_agent_and_another_account_do_not_get_the_answer_of_an_owner(gateway: Gateway) -> None:
    owner, agent = await new_person(gateway), await new_person(gateway, "agent")
    stranger = await new_person(gateway, account_id=await gateway.new_account())
    things = await things_of(owner)
    for route in await creating(gateway):
        first = await ask(owner, route, things, route.example, "one")
        assert first.status == 201, (route.key, first.body)
        check_refused(await ask(agent, route, things, route.example, "one"), 403, "missing_role", about=route.key)
        theirs = await ask(stranger, route, things, route.example, "one")
        assert "idempotent-replayed" not in theirs.headers, route.key
        assert theirs.body != first.body, route.key


async def test_a_session_and_a_key_share_the_keys_of_a_channel(gateway: Gateway) -> None:
    owner, once = await new_person(gateway), {"idempotency-key": "one"}
    made = await owner.call("POST", "/api/v1/labels", {"name": "VIP"}, headers=once)
    assert made.status == 201
    again = await gateway.call("POST", "/api/v1/labels", {"name": "VIP"}, headers=once)
    assert (again.body, again.headers["idempotent-replayed"]) == (made.body, "true")
    assert (await rows(gateway))["labels"] == 1
