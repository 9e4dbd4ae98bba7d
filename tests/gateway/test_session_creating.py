"""Every POST of people that creates is done once under its Idempotency-Key. The routes are those of the reference."""

from typing import Any

import msgspec

from tests.gateway.checks import check_refused
from tests.gateway.people import Person, new_person
from tests.gateway.reference import Route, routes_of, served
from tests.gateway.test_account_keys import create
from tests.house import Answer, House

_TABLES = ("channels", "api_keys", "users", "one_time_links", "account_log", "labels")


async def creating(house: House) -> list[Route]:
    """Return the routes of sessions only that create something."""
    return [
        route
        for route in routes_of(await served(house))
        if route.method == "POST" and route.secured and not route.scope and "201" in route.spec["responses"]
    ]


async def rows(house: House) -> dict[str, int]:
    async with house.db.connection() as conn:
        return {table: await conn.fetchval(f"SELECT count(*) FROM {table}") for table in _TABLES}


async def things_of(person: Person) -> dict[str, str]:
    """Return the ids of a key and of a colleague."""
    colleague = await new_person(person.house, "agent", signed_in=False)
    return {
        "channel_id": person.house.channel,
        "key_id": (await create(person))["id"],
        "user_id": f"usr_{colleague.user.id.hex}",
    }


async def ask(person: Person, route: Route, things: dict[str, str], body: Any, key: str) -> Answer:
    given = body if "requestBody" in route.spec else None
    return await person.call(route.method, route.at(things), given, headers={"idempotency-key": key})


async def test_each_is_done_once(house: House) -> None:
    owner, routes = await new_person(house), await creating(house)
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
        before = await rows(house)
        again = await ask(owner, route, things, route.example, "one")
        assert (again.status, again.body) == (201, first.body), route.key
        assert again.headers["idempotent-replayed"] == "true", route.key
        assert again.headers["cache-control"] == first.headers["cache-control"] == "no-store", route.key
        if route.example:
            raw = msgspec.json.encode(route.example) + b" "
            other = await owner.call("POST", route.at(things), raw=raw, headers={"idempotency-key": "one"})
            check_refused(other, 422, "idempotency_key_reused", about=route.key)
        assert await rows(house) == before, route.key


async def test_an_agent_and_another_account_do_not_get_the_answer_of_an_owner(house: House) -> None:
    owner, agent = await new_person(house), await new_person(house, "agent")
    stranger = await new_person(house, account_id=await house.new_account())
    things = await things_of(owner)
    for route in await creating(house):
        first = await ask(owner, route, things, route.example, "one")
        assert first.status == 201, (route.key, first.body)
        check_refused(await ask(agent, route, things, route.example, "one"), 403, "missing_role", about=route.key)
        theirs = await ask(stranger, route, things, route.example, "one")
        assert "idempotent-replayed" not in theirs.headers, route.key
        assert theirs.body != first.body, route.key


async def test_a_session_and_a_key_share_the_keys_of_a_channel(house: House) -> None:
    owner, once = await new_person(house), {"idempotency-key": "one"}
    made = await owner.call("POST", "/api/v1/labels", {"name": "VIP"}, headers=once)
    assert made.status == 201
    again = await house.call("POST", "/api/v1/labels", {"name": "VIP"}, headers=once)
    assert (again.body, again.headers["idempotent-replayed"]) == (made.body, "true")
    assert (await rows(house))["labels"] == 1
