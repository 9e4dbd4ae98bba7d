"""Keys: who gets in, with what, and until when."""

from datetime import UTC, datetime, timedelta

import asyncpg

from gatepost.admin import accounts, keys
from gatepost.model import ids
from gatepost.model.account import API_ACCESS, key_hash, new_key
from gatepost.store.keys import ApiKey, list_keys
from tests.gateway.checks import SEND, TEXT, check_refused, until, written
from tests.movable_clock import MovableClock
from tests.running_gateway import Answer, Gateway, running_gateway

CHANNEL = "/api/v1/channel"
START = datetime(2030, 5, 10, 12, 0, tzinfo=UTC)
DAY = 86_400


async def test_no_key_and_no_real_key(gateway: Gateway) -> None:
    before = await written(gateway)
    refused = [
        ({}, "missing_api_key"),
        ({"authorization": ""}, "missing_api_key"),
        ({"authorization": gateway.key}, "invalid_api_key"),
        ({"authorization": f"Basic {gateway.key}"}, "invalid_api_key"),
        ({"authorization": "Bearer"}, "invalid_api_key"),
        ({"authorization": "Bearer gpk_"}, "invalid_api_key"),
        ({"authorization": "Bearer nonsense"}, "invalid_api_key"),
        ({"authorization": f"Bearer {new_key()}"}, "invalid_api_key"),
        ({"authorization": f"Bearer {gateway.key[:-1]}"}, "invalid_api_key"),
        ({"authorization": f"Bearer {gateway.key}x"}, "invalid_api_key"),
        ({"authorization": f"Bearer gpk_{'k' * 5000}"}, "invalid_api_key"),
        ({"authorization": f"Bearer {gateway.key.lower()}"}, "invalid_api_key"),
    ]
    for headers, code in refused:
        for method, path, body in (("POST", SEND, TEXT), ("GET", CHANNEL, None)):
            answer = await gateway.call(method, path, body, key="", headers=headers)
            check_refused(answer, 401, code, about=headers)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert await written(gateway) == before
    for word in ("Bearer", "bearer", "BEARER"):
        answer = await gateway.call("GET", CHANNEL, key="", headers={"authorization": f"{word} {gateway.key}"})
        assert answer.status == 200


async def test_a_mistyped_key_costs_no_query_and_an_old_one_still_works(gateway: Gateway) -> None:
    """The table of keys is renamed, so that every look-up fails."""
    old, other, absent = "gpk_" + "o" * 43, await gateway.new_key((await _only_key(gateway)).channel_id), new_key()
    async with gateway.db.connection() as conn:
        await conn.execute("UPDATE api_keys SET hash = $1 WHERE hash = $2", key_hash(old), key_hash(other))
    assert (await gateway.call("GET", CHANNEL, key=old)).status == 200
    async with gateway.db.connection() as conn:
        await conn.execute("ALTER TABLE api_keys RENAME TO api_keys_away")
    last = "y" if absent[-1] == "x" else "x"
    for mistyped in (absent[:-1] + last, absent[:-1], absent + "x", "gpk_" + "o" * 42):
        for method, path, body in (("POST", SEND, TEXT), ("GET", CHANNEL, None)):
            check_refused(await gateway.call(method, path, body, key=mistyped), 401, "invalid_api_key", about=mistyped)
    for possible in (absent, "gpk_" + "p" * 43):
        check_refused(await gateway.call("GET", CHANNEL, key=possible), 500, "internal_error")
    async with gateway.db.connection() as conn:
        await conn.execute("ALTER TABLE api_keys_away RENAME TO api_keys")


async def test_the_key_is_asked_for_before_anything_else(gateway: Gateway) -> None:
    check_refused(await gateway.call("POST", SEND, raw=b"{", key=""), 401, "missing_api_key")
    check_refused(await gateway.call("POST", SEND, raw=b"x" * 2_000_000, key=""), 401, "missing_api_key")
    check_refused(await gateway.call("GET", "/api/v1/messages/x", key=""), 401, "missing_api_key")


async def test_a_revoked_key_dies_when_it_is_looked_up_again(gateway: Gateway) -> None:
    assert (await gateway.call("GET", CHANNEL)).status == 200
    key = await _only_key(gateway)
    await keys.revoke_key(gateway.db, key.channel_id, key.id, gateway.clock.now())

    async def refused() -> Answer | None:
        answer = await gateway.call("GET", CHANNEL)
        return answer if answer.status != 200 else None

    check_refused(await until(refused), 401, "invalid_api_key")


async def test_a_key_ends_at_its_time(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock) as gateway:
        channel_id = (await _only_key(gateway)).channel_id
        key = await gateway.new_key(channel_id, expires_at=START + timedelta(seconds=100))
        assert (await gateway.call("GET", CHANNEL, key=key)).status == 200
        clock.advance(99.9)
        assert (await gateway.call("GET", CHANNEL, key=key)).status == 200
        clock.advance(0.1)
        check_refused(await gateway.call("GET", CHANNEL, key=key), 401, "invalid_api_key")
        assert (await gateway.call("GET", CHANNEL)).status == 200


async def test_a_rotated_key_lives_on_for_the_overlap(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock, security__key_cache_seconds=0) as gateway:
        old = await _only_key(gateway)
        new = await keys.rotate_key(gateway.db, old.channel_id, old.id, overlap=timedelta(hours=1), now=clock.now())
        for key in (gateway.key, new.text):
            assert (await gateway.call("GET", CHANNEL, key=key)).status == 200
        clock.advance(3600)
        check_refused(await gateway.call("GET", CHANNEL), 401, "invalid_api_key")
        assert (await gateway.call("GET", CHANNEL, key=new.text)).status == 200


async def test_each_route_asks_for_its_scope(gateway: Gateway) -> None:
    channel_id = (await _only_key(gateway)).channel_id
    hook = {"url": "http://127.0.0.1:54321/"}
    routes = [
        ("send", "POST", SEND, TEXT),
        ("send", "POST", f"/api/v1/messages/{'0' * 32}/cancel", None),
        ("read", "GET", f"/api/v1/messages/{'0' * 32}", None),
        ("read", "GET", f"/api/v1/messages/{'0' * 32}/trace", None),
        ("read", "GET", "/api/v1/events", None),
        ("read", "GET", CHANNEL, None),
        ("read", "GET", "/api/v1/webhooks", None),
        ("read", "GET", "/api/v1/webhooks/we_x", None),
        ("read", "GET", "/api/v1/webhooks/we_x/attempts", None),
        ("manage", "POST", "/api/v1/webhooks", hook),
        ("manage", "PATCH", "/api/v1/webhooks/we_x", {}),
        ("manage", "DELETE", "/api/v1/webhooks/we_x", None),
    ]
    scoped = {scope: await gateway.new_key(channel_id, scopes=[scope]) for scope in ("send", "read", "manage", "mcp")}
    before = await written(gateway)
    for needed, method, path, body in routes:
        for scope in scoped.keys() - {needed}:
            answer = await gateway.call(method, path, body, key=scoped[scope])
            check_refused(answer, 403, "missing_scope", about=(method, path, scope))
            assert f"'{needed}'" in answer.json()["message"]
    assert await written(gateway) == before
    for needed, method, path, body in routes:
        assert (await gateway.call(method, path, body, key=scoped[needed])).status in (200, 201, 404)


async def test_trial_add_on_and_suspension(database_url: str) -> None:
    clock = MovableClock(START)
    async with running_gateway(database_url, clock=clock, security__key_cache_seconds=0) as gateway:
        clock.advance(14 * DAY - 1)
        assert (await gateway.call("GET", CHANNEL)).status == 200
        clock.advance(1)
        before = await written(gateway)
        for method, path, body in (("GET", CHANNEL, None), ("POST", SEND, TEXT)):
            answer = await gateway.call(method, path, body)
            check_refused(answer, 402, "api_access_required")
            assert API_ACCESS in answer.json()["message"]
        assert await written(gateway) == before
        await accounts.add_addon(gateway.db, gateway.account_id, API_ACCESS, clock.now())
        assert (await gateway.call("GET", CHANNEL)).status == 200
        assert (await gateway.call("POST", SEND, TEXT)).status == 200
        await accounts.set_suspended(gateway.db, gateway.account_id, True)
        check_refused(await gateway.call("POST", SEND, TEXT), 402, "account_suspended")
        await accounts.set_suspended(gateway.db, gateway.account_id, False)
        assert (await gateway.call("POST", SEND, TEXT)).status == 200


async def test_last_use_is_recorded(database_url: str) -> None:
    async with running_gateway(database_url) as gateway:
        unused = await gateway.new_key((await _only_key(gateway)).channel_id)
        before = datetime.now(UTC)
        await gateway.call("GET", CHANNEL)
        check_refused(await gateway.call("GET", CHANNEL, key=unused + "x"), 401, "invalid_api_key")
    conn = await asyncpg.connect(database_url)
    used, never = await conn.fetch("SELECT last_used_at FROM api_keys ORDER BY id")
    await conn.close()
    assert before <= used[0] <= datetime.now(UTC)
    assert never[0] is None


async def _only_key(gateway: Gateway) -> ApiKey:
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    return (await list_keys(gateway.db, channel_id))[0]
