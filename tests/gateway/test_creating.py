"""Every POST that creates is done once under its Idempotency-Key. The routes come from the served reference."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.store.idempotency import LEASE
from tests.gateway.checks import check_refused
from tests.gateway.reference import BODIES, Route, Tenant, move_in, routes_of, served
from tests.running_gateway import Answer, Gateway, running_gateway

V1 = "/api/v1"
ALSO = {
    f"POST {V1}/message/send",
    f"POST {V1}/messages/batch",
    f"POST {V1}/contacts/import",
}  # 200, and yet they create
REFUSALS = {"invalid_idempotency_key": "400", "idempotency_in_progress": "409", "idempotency_key_reused": "422"}
_PLACE = re.compile(r"\{\{(\$?\w+)\}\}")
_TABLES = """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE a.attname = 'channel_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
             AND c.relnamespace = 'public'::regnamespace"""
_GROWING = {
    "events",
    "deliveries",
    "delivery_attempts",
    "delivery_retries",
    "message_days",
    "daily_counts",
    "daily_failures",
    "daily_cursors",
    "refused_requests",
}
TABLE = b"phone,name\n15557770001,Ben Cole\n"


class Stage(msgspec.Struct):
    """A running gateway, somebody in it, and all routes that create."""

    gateway: Gateway
    tenant: Tenant
    document: Any
    routes: list[Route]

    def body(self, route: Route) -> tuple[bytes, str]:
        """A body that works once, and its type."""
        if route.takes_file:
            return (TABLE, "text/csv") if route.path.endswith("/import") else (b"Hello", "text/plain")
        values = self.tenant.things | {"phone": "5511999990001", "$timestamp": "1794736800"}
        values["webhook_url"] = self.gateway.sandbox_url + "/nowhere"
        text = msgspec.json.encode(BODIES[route.key]).decode()
        return _PLACE.sub(lambda hit: values.get(hit.group(1), hit.group(0)), text).encode(), "application/json"

    async def ask(self, route: Route, raw: bytes, kind: str, key: str) -> Answer:
        return await self.gateway.call(
            route.method,
            route.at(self.tenant.things),
            raw=raw,
            key=self.tenant.key,
            headers={"content-type": kind, "idempotency-key": key},
        )

    async def rows(self) -> dict[str, int]:
        """How many rows there are of everything that does not grow by itself."""
        async with self.gateway.db.connection() as conn:
            tables = await conn.fetch(_TABLES)
            counts = {
                table["relname"]: await conn.fetchval(
                    f"SELECT count(*) FROM {table['relname']} WHERE channel_id = $1", self.tenant.channel_id
                )
                for table in tables
            }
        assert len(counts) > 10
        return {table: count for table, count in counts.items() if table not in _GROWING}

    def route(self, path: str) -> Route:
        return next(route for route in self.routes if route.path == V1 + path)


@pytest.fixture
async def stage(parted_database_url: str) -> AsyncIterator[Stage]:
    """Give a gateway with one of everything."""
    async with running_gateway(parted_database_url) as gateway:
        document = await served(gateway)
        routes = [route for route in routes_of(document) if route.key in ALSO or _creates(route)]
        tenant = await move_in(gateway, {name for route in routes for name in route.ids}, 1)
        yield Stage(gateway, tenant, document, routes)


def _creates(route: Route) -> bool:
    """Whether a key can create something with it. Routes of sessions have tests of their own."""
    return route.method == "POST" and route.scope is not None and "201" in route.spec["responses"]


async def test_each_names_the_header_and_what_can_come_of_it(stage: Stage) -> None:
    assert len(stage.routes) >= 8
    named = {
        route.key
        for route in routes_of(stage.document)
        if route.scope and any(one["name"] == "Idempotency-Key" for one in route.spec["parameters"])
    }
    assert named == {route.key for route in stage.routes}
    for route in stage.routes:
        for code, status in REFUSALS.items():
            words = stage.document["components"]["responses"][route.spec["responses"][status]["$ref"].split("/")[-1]]
            assert f"`{code}`" in words["description"], (route.key, code)


async def test_each_is_done_once(stage: Stage) -> None:
    for route in stage.routes:
        raw, kind = stage.body(route)
        first = await stage.ask(route, raw, kind, "one")
        assert first.status in (200, 201), (route.key, first.body)
        assert "idempotent-replayed" not in first.headers
        before = await stage.rows()
        again = await stage.ask(route, raw, kind, "one")
        assert (again.status, again.body) == (first.status, first.body), route.key
        assert again.headers["idempotent-replayed"] == "true", route.key
        assert again.headers["content-type"] == first.headers["content-type"]
        other = raw + (b"\n15557770002,Anna Lee\n" if kind == "text/csv" else b" ")
        check_refused(await stage.ask(route, other, kind, "one"), 422, "idempotency_key_reused", about=route.key)
        assert await stage.rows() == before, route.key


async def test_each_refuses_a_key_that_is_none(stage: Stage) -> None:
    before = await stage.rows()
    for route in stage.routes:
        raw, kind = stage.body(route)
        for bad in ("", "k" * 256, "two words"):
            answer = await stage.ask(route, raw, kind, bad)
            check_refused(answer, 400, "invalid_idempotency_key", about=(route.key, bad))
    assert await stage.rows() == before


async def test_no_refusal_is_kept(stage: Stage) -> None:
    for route in stage.routes:
        raw, kind = stage.body(route)
        for bad in (b"", b"{") if kind == "application/json" else (b"",):
            assert (await stage.ask(route, bad, kind, "k" * 255)).status in (400, 422), route.key
        good = await stage.ask(route, raw, kind, "k" * 255)
        assert good.status in (200, 201), (route.key, good.body)
        assert "idempotent-replayed" not in good.headers, route.key


async def test_many_at_once_make_one(stage: Stage) -> None:
    for path in ("/labels", "/contacts", "/webhooks", "/templates", "/media", "/contacts/import"):
        route = stage.route(path)
        raw, kind = stage.body(route)
        answers = await asyncio.gather(*(stage.ask(route, raw, kind, "many") for _ in range(12)))
        assert {answer.status for answer in answers} <= {200, 201, 409}, (path, {a.body for a in answers})
        done = [answer for answer in answers if answer.status != 409]
        assert len({answer.body for answer in done}) == 1, path
        assert len([answer for answer in done if "idempotent-replayed" not in answer.headers]) == 1, path
        for answer in answers:
            if answer.status == 409:
                assert check_refused(answer, 409, "idempotency_in_progress")["retryable"] is True
                assert answer.headers["retry-after"] == "1"


async def test_the_same_key_on_another_address_is_another_key(stage: Stage) -> None:
    label, contact = stage.route("/labels"), stage.route("/contacts")
    assert (await stage.ask(label, *stage.body(label), "one")).status == 201
    made = await stage.ask(contact, *stage.body(contact), "one")
    assert made.status == 201
    assert "idempotent-replayed" not in made.headers


# -- what takes more than one commit ----------------------------------------------------------------------------------


async def _left_behind(stage: Stage, route: Route, age: timedelta) -> None:
    """As a process leaves it that dies halfway: begun, and no answer."""
    async with stage.gateway.db.connection() as conn:
        done = await conn.execute(
            "UPDATE idempotency_keys SET answer = NULL, created_at = $3 WHERE channel_id = $1 AND route = $2",
            stage.tenant.channel_id,
            route.key,
            stage.gateway.clock.now() - age,
        )
    assert done == "UPDATE 1"


async def test_a_template_that_was_left_halfway_is_not_handed_in_twice(stage: Stage) -> None:
    route = stage.route("/templates")
    raw, kind = stage.body(route)
    first = (await stage.ask(route, raw, kind, "one")).json()["data"]
    async with stage.gateway.db.connection() as conn:
        forgotten = "UPDATE templates SET network_id = NULL, status = 'PENDING' WHERE channel_id = $1 AND name = $2"
        await conn.execute(forgotten, stage.tenant.channel_id, first["name"])
    await _left_behind(stage, route, timedelta(0))
    check_refused(await stage.ask(route, raw, kind, "one"), 409, "idempotency_in_progress")
    check_refused(await stage.ask(route, raw + b" ", kind, "one"), 422, "idempotency_key_reused")
    await _left_behind(stage, route, LEASE)
    again = await stage.ask(route, raw, kind, "one")
    assert again.status == 201, again.body
    assert "idempotent-replayed" not in again.headers
    seen = again.json()["data"]
    assert (seen["id"], seen["network_id"]) == (first["id"], first["network_id"])
    assert (await stage.ask(route, raw, kind, "one")).headers["idempotent-replayed"] == "true"


async def test_a_template_that_never_left_is_handed_in_later(stage: Stage) -> None:
    route = stage.route("/templates")
    raw, kind = stage.body(route)
    first = (await stage.ask(route, raw, kind, "one")).json()["data"]
    gone = await stage.gateway.call("DELETE", f"{V1}/templates/{first['id']}", key=stage.tenant.key)
    assert gone.status == 200
    await _left_behind(stage, route, LEASE)
    again = await stage.ask(route, raw, kind, "one")
    assert again.status == 201, again.body
    assert again.json()["data"]["network_id"] not in (None, first["network_id"])


async def test_a_template_that_the_network_refuses_frees_its_key(stage: Stage) -> None:
    """A stranger's channel at the same business account has taken the name."""
    route = stage.route("/templates")
    raw, kind = stage.body(route)
    first = (await stage.ask(route, raw, kind, "one")).json()["data"]
    async with stage.gateway.db.connection() as conn:
        template_id = ids.parse_id("tpl", first["id"])
        await conn.execute("DELETE FROM templates WHERE id = $1", template_id)
    check_refused(await stage.ask(route, raw, kind, "two"), 422, "network_refused")
    async with stage.gateway.db.connection() as conn:
        kept = await conn.fetchval("SELECT count(*) FROM idempotency_keys WHERE key = 'two'")
    assert kept == 0


async def test_an_import_that_was_interrupted_starts_again(stage: Stage) -> None:
    route = stage.route("/contacts/import")
    raw, kind = stage.body(route)
    first = (await stage.ask(route, raw, kind, "one")).body.decode()
    assert '"result":"created"' in first
    await _left_behind(stage, route, LEASE - timedelta(seconds=20))
    check_refused(await stage.ask(route, raw, kind, "one"), 409, "idempotency_in_progress")
    await _left_behind(stage, route, LEASE)
    again = await stage.ask(route, raw, kind, "one")
    assert '"result":"unchanged"' in again.body.decode()
    assert "idempotent-replayed" not in again.headers
    replay = await stage.ask(route, raw, kind, "one")
    assert (replay.body, replay.headers["idempotent-replayed"]) == (again.body, "true")


# -- what holds a secret ----------------------------------------------------------------------------------------------


async def test_a_secret_is_kept_encrypted(stage: Stage) -> None:
    route = stage.route("/webhooks")
    raw, kind = stage.body(route)
    first = await stage.ask(route, raw, kind, "one")
    secret = first.json()["data"]["secret"]
    async with stage.gateway.db.connection() as conn:
        kept = await conn.fetchval("SELECT answer FROM idempotency_keys WHERE key = 'one'")
    assert kept
    assert secret.encode() not in kept
    assert stage.tenant.things["endpoint_id"].encode() not in kept
    again = await stage.ask(route, raw, kind, "one")
    assert again.json()["data"]["secret"] == secret
    assert first.headers["cache-control"] == again.headers["cache-control"] == "no-store"
