"""Who may call what, route by route, as the served reference names it."""

import asyncio
import re
from pathlib import Path

from gatepost.model import ids
from gatepost.model.account import SCOPES
from tests.gateway.checks import check_refused
from tests.gateway.reference import Route, routes_of, served
from tests.running_gateway import Answer, Gateway

NOTHING = "0" * 32
API = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


async def _call(gateway: Gateway, route: Route, key: str) -> Answer:
    path = route.at(dict.fromkeys(route.ids, NOTHING))
    return await gateway.call(route.method, path, {} if "requestBody" in route.spec else None, key=key)


async def test_a_key_without_the_scope_gets_nowhere(gateway: Gateway) -> None:
    channel = ids.parse_id("ch", gateway.channel)
    assert channel
    lacking = {
        scope: await gateway.new_key(channel, scopes=tuple(other for other in SCOPES if other != scope))
        for scope in SCOPES
    }
    routes = [route for route in routes_of(await served(gateway)) if route.scope]
    assert len(routes) > 30
    answers = await asyncio.gather(*(_call(gateway, route, lacking[route.scope or ""]) for route in routes))
    for route, answer in zip(routes, answers, strict=True):
        check_refused(answer, 403, "missing_scope", about=route.key)


async def test_a_key_with_only_the_scope_gets_in(gateway: Gateway) -> None:
    channel = ids.parse_id("ch", gateway.channel)
    assert channel
    having = {scope: await gateway.new_key(channel, scopes=(scope,)) for scope in SCOPES}
    for route in routes_of(await served(gateway)):
        if route.scope:
            answer = await _call(gateway, route, having[route.scope])
            assert answer.status not in (401, 403), (route.key, answer.body)


async def test_no_key_gets_in_nowhere_but_where_none_is_needed(gateway: Gateway) -> None:
    public = set()
    for route in routes_of(await served(gateway)):
        answer = await _call(gateway, route, "")
        if route.scope:
            check_refused(answer, 401, "missing_api_key", about=route.key)
        elif route.secured:
            check_refused(answer, 401, "session_ended", about=route.key)
        else:
            public.add(route.path)
    assert public == {
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs",
        "/docs/page.css",
        "/docs/page.js",
        "/docs/events",
        "/docs/events/{schema_name}",
        "/callbacks/cloud/{channel_id}",
        "/api/v1/session",
        "/api/v1/one-time-links/{token}",
    }


async def test_the_docs_name_the_same_scopes(gateway: Gateway) -> None:
    needed = {re.sub(r"\{\w+\}", "{id}", route.key): route.scope for route in routes_of(await served(gateway))}
    seen = {
        key: scope
        for row, scope in re.findall(r"^\| (.+?) \| (`\w+`|no key) \|", API.read_text(), re.MULTILINE)
        for key in re.findall(r"(?:GET|POST|PUT|PATCH|DELETE) /[\w/.{}-]+", row)
    }
    assert len(seen) > 30
    for key, scope in seen.items():
        assert scope == (f"`{needed[key]}`" if needed[key] else "no key"), key
