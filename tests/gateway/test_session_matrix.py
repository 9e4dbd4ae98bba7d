"""What a session may do, route by route, as the served reference names it: roles, CSRF tokens, origins, tenants."""

from typing import Any

from gatepost.model import ids
from gatepost.model.session import ROLE_SCOPES
from tests.gateway.checks import check_refused
from tests.gateway.people import Person, new_person
from tests.gateway.reference import Route, routes_of, served
from tests.running_gateway import Answer, Gateway

NOTHING = "0" * 32
SIGN_OUT = "DELETE /api/v1/session"


def secured(document: Any) -> list[Route]:
    """The routes that take a session; the one that ends it comes last."""
    routes = [route for route in routes_of(document) if any("session" in one for one in route.spec["security"])]
    return sorted(routes, key=lambda route: route.key == SIGN_OUT)


async def call(person: Person, route: Route, **headers: str | None) -> Answer:
    path = route.at(dict.fromkeys(route.ids, NOTHING))
    body: Any = {} if "requestBody" in route.spec else None
    renamed = {name.replace("_", "-"): value for name, value in headers.items()}
    return await person.call(route.method, path, body, headers=renamed)


async def test_every_route_that_takes_a_key_takes_a_session(gateway: Gateway) -> None:
    routes = secured(await served(gateway))
    assert {route.key for route in routes_of(await served(gateway)) if route.scope} <= {route.key for route in routes}
    assert len(routes) > 80


async def test_roles(gateway: Gateway) -> None:
    for role, scopes in ROLE_SCOPES.items():
        person, refused = await new_person(gateway, role), 0
        for route in secured(await served(gateway)):
            answer = await call(person, route)
            if route.scope and route.scope not in scopes and not (role == "agent" and route.agents):
                check_refused(answer, 403, "missing_scope", about=(role, route.key))
                refused += 1
            elif route.role and route.role != role:
                check_refused(answer, 403, "missing_role", about=(role, route.key))
            else:
                assert answer.status not in (401, 402, 403), (role, route.key, answer.body)
        assert (refused > 10) == (role != "owner"), role


async def test_the_daily_work_of_agents(gateway: Gateway) -> None:
    """Keys need the scope `manage` for these routes; agents may use them, and readers not."""
    daily = {route.key: route for route in secured(await served(gateway)) if route.agents}
    assert sorted(daily) == [
        "DELETE /api/v1/contacts/{contact_id}/labels/{label_id}",
        "DELETE /api/v1/conversations/{conversation_id}/hand-over",
        "DELETE /api/v1/conversations/{conversation_id}/labels/{label_id}",
        "PATCH /api/v1/contacts/{contact_id}",
        "PATCH /api/v1/conversations/{conversation_id}",
        "PATCH /api/v1/orders/{order_id}",
        "POST /api/v1/contacts",
        "PUT /api/v1/contacts/{contact_id}/labels/{label_id}",
        "PUT /api/v1/conversations/{conversation_id}/labels/{label_id}",
    ]
    assert {route.scope for route in daily.values()} == {"manage"}
    channel = ids.parse_id("ch", gateway.channel)
    assert channel
    agent, key = await new_person(gateway, "agent"), await gateway.new_key(channel, scopes=("send", "read"))
    made = await agent.call("POST", "/api/v1/contacts", {"phone": "15557770001", "name": "Ana"})
    assert made.status == 201, made.body
    refused = await gateway.call("POST", "/api/v1/contacts", {"phone": "15557770002"}, key=key)
    check_refused(refused, 403, "missing_scope")


async def test_changes_need_the_token_and_the_origin(gateway: Gateway) -> None:
    person, other = await new_person(gateway), await new_person(gateway)
    changes = [route for route in secured(await served(gateway)) if route.method not in ("GET", "HEAD")]
    assert len(changes) > 40
    foreign = gateway.url.replace("127.0.0.1", "localhost")
    origins: list[dict[str, str | None]] = [{"origin": None}, {"origin": "null"}, {"origin": foreign}]
    origins.append({"origin": None, "referer": foreign})
    for route in changes:
        for token in (None, "", "x" * 43, other.csrf, person.cookie.partition("=")[2]):
            check_refused(await call(person, route, gatepost_csrf=token), 403, "csrf_failed", about=(route.key, token))
        for headers in (
            {"origin": None},
            {"origin": "null"},
            {"origin": foreign},
            {"origin": None, "referer": foreign},
        ):
            check_refused(await call(person, route, **headers), 403, "wrong_origin", about=(route.key, headers))
        for nobody in ("", "gatepost_session=" + "x" * 43):
            answer = await call(person, route, cookie=nobody)
            code = "missing_api_key" if not nobody and route.scope else "session_ended"
            check_refused(answer, 401, code, about=(route.key, nobody))
    for route in changes:
        answer = await call(person, route, origin=None, referer=gateway.url + "/inbox?x=1")
        assert answer.status not in (401, 403), (route.key, answer.body)


async def test_reading_needs_neither(gateway: Gateway) -> None:
    person = await new_person(gateway)
    for route in secured(await served(gateway)):
        if route.method == "GET":
            answer = await call(person, route, origin="https://evil.example.com")
            assert answer.status not in (401, 403), (route.key, answer.body)
            assert "access-control-allow-origin" not in answer.headers


async def test_another_account_s_channel_is_not_found(gateway: Gateway) -> None:
    theirs = await gateway.new_channel(await gateway.new_account(), "15550002222", "100000000000002")
    person = await new_person(gateway)
    for route in secured(await served(gateway)):
        if route.scope:
            answer = await call(person, route, gatepost_channel=ids.format_id("ch", theirs.id))
            check_refused(answer, 404, "not_found", about=route.key)
            answer = await call(person, route, gatepost_channel=None)
            check_refused(answer, 400, "channel_required", about=route.key)


async def test_a_key_on_a_session_s_route(gateway: Gateway) -> None:
    tried = 0
    for route in secured(await served(gateway)):
        if not route.scope:
            path = route.at(dict.fromkeys(route.ids, NOTHING))
            answer = await gateway.call(route.method, path, {} if "requestBody" in route.spec else None)
            check_refused(answer, 403, "session_required", about=route.key)
            tried += 1
    assert tried >= 7
