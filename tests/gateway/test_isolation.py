"""Nobody reaches another tenant's things: every route, with every id of somebody else, finds and changes nothing.

The routes come from the served reference, so that new ones are covered without anyone remembering.
"""

import re
from typing import Any

import msgspec

from tests.gateway.checks import check_refused
from tests.gateway.reference import BODIES, Route, Tenant, move_in, routes_of, rows_of, served
from tests.running_gateway import Answer, Gateway

PLACE = re.compile(r"\{\{(\w+)\}\}")


async def _two(gateway: Gateway) -> tuple[list[Route], Tenant, Tenant]:
    routes = [route for route in routes_of(await served(gateway)) if route.scope]
    wanted = {name for route in routes for name in route.ids}
    return routes, await move_in(gateway, wanted, 1), await move_in(gateway, wanted, 2)


async def _call(gateway: Gateway, route: Route, path: str, body: Any, key: str) -> Answer:
    if route.takes_file:
        return await gateway.call(route.method, path, raw=b"Hello", key=key, headers={"content-type": "text/plain"})
    return await gateway.call(route.method, path, body, key=key)


async def test_ids_in_paths(gateway: Gateway) -> None:
    routes, mine, theirs = await _two(gateway)
    before = await rows_of(gateway, theirs.channel_id)
    assert len(before) > 5
    tried = 0
    for route in routes:
        for name in route.ids:
            for thing in set(theirs.things.values()):
                path = route.at(mine.things | {name: thing})
                answer = await _call(gateway, route, path, route.example, mine.key)
                check_refused(answer, 404, "not_found", about=(route.key, path))
                tried += 1
    assert tried > 100
    assert await rows_of(gateway, theirs.channel_id) == before


async def test_ids_in_bodies(gateway: Gateway) -> None:
    """Wherever an example names a thing, somebody else's is refused."""
    routes, mine, theirs = await _two(gateway)
    before = await rows_of(gateway, theirs.channel_id)
    for route in routes:
        for name, body in _foreign_bodies(BODIES[route.key], mine, theirs):
            answer = await _call(gateway, route, route.at(mine.things), body, mine.key)
            assert answer.status in (404, 422) or _all_refused(answer), (route.key, name, answer.body)
    for body in _sends(theirs):
        answer = await gateway.call("POST", "/api/v1/message/send", body, key=mine.key)
        assert answer.status in (404, 422), (body, answer.body)
        answer = await gateway.call("POST", "/api/v1/messages/batch", {"messages": [body]}, key=mine.key)
        assert _all_refused(answer), (body, answer.body)
    assert await rows_of(gateway, theirs.channel_id) == before


def _foreign_bodies(example: Any, mine: Tenant, theirs: Tenant) -> list[tuple[str, Any]]:
    text = msgspec.json.encode(example).decode()
    names = [name for name in dict.fromkeys(PLACE.findall(text)) if name in theirs.things]
    found = []
    for foreign in names:
        things = mine.things | {foreign: theirs.things[foreign]}
        filled = PLACE.sub(lambda hit, things=things: things.get(hit.group(1), hit.group(0)), text)  # type: ignore[misc]
        found.append((foreign, msgspec.json.decode(filled)))
    return found


def _all_refused(answer: Answer) -> bool:
    """A batch answers for each of its sends."""
    return bool(answer.status == 200 and answer.json()["data"].get("accepted") == 0)


def _sends(theirs: Tenant) -> list[dict[str, Any]]:
    phone, their = "5511999990001", theirs.things
    return [
        {"phone": phone, "body": "Hello", "reply_to": their["message_id"]},
        {"phone": phone, "type": "document", "media": {"id": their["media_id"]}},
        {"phone": phone, "type": "reaction", "reaction": {"message_id": their["message_id"], "emoji": "👍"}},
    ]


async def test_ids_in_queries_and_lists(gateway: Gateway) -> None:
    """No list shows anything of somebody else, whatever it is asked for."""
    routes, mine, theirs = await _two(gateway)
    foreign = {*theirs.things.values(), theirs.phone, theirs.key}
    for route in routes:
        if route.method != "GET":
            continue
        asked = [""] + [f"?{name}={thing}" for name in route.query for thing in sorted(set(theirs.things.values()))]
        for query in asked:
            answer = await gateway.call("GET", route.at(mine.things) + query, key=mine.key)
            assert answer.status < 500, (route.key, query, answer.body)
            leaked = [thing for thing in foreign if thing in answer.body.decode(errors="replace")]
            if answer.status == 200:
                assert not [thing for thing in leaked if thing not in query], (route.key, query)


async def test_the_owner_does_reach_them(gateway: Gateway) -> None:
    """The other side of the matrix: the same ids lead somewhere for whom they belong to."""
    routes, mine, _ = await _two(gateway)
    for route in routes:
        if route.ids and route.method == "GET":
            answer = await gateway.call("GET", route.at(mine.things), key=mine.key)
            assert answer.status == 200, (route.key, answer.body)
