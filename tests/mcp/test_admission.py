"""Who may use `/mcp`: keys with the scope, of accounts with access, at the gateway's own address."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from mcp.shared.exceptions import MCPError

from gatepost.admin import accounts, keys
from gatepost.api.mcp_route import check_host
from gatepost.model.errors import Forbidden
from gatepost.model.mcp_policy import Policy
from tests.mcp.assistant import ERAS, assistant, channel_of, mcp_key, set_policy
from tests.mcp.wire import PATH, check_rejected, post, rpc
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

LIMIT = 1024 * 1024


async def test_a_key_with_the_scope(gateway: Gateway) -> None:
    answer = await post(gateway, await mcp_key(gateway))
    assert answer.status == 200, answer.body
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.json()["result"]["tools"]
    assert len(answer.body) < 24 * 1024


async def test_no_key_or_a_wrong_one(gateway: Gateway) -> None:
    for key, code in (("", "missing_api_key"), ("gpk_wrong", "invalid_api_key"), ("x", "invalid_api_key")):
        answer = await post(gateway, key)
        check_rejected(answer, 401, code)
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("era", ERAS)
async def test_the_client_shows_why_it_is_rejected(gateway: Gateway, era: str) -> None:
    for key, message in (("gpk_wrong", "This API key is mistyped"), (gateway.key, "scope")):
        with pytest.raises(MCPError, match=message) as rejected:
            await _connect(gateway, key, era)
        assert rejected.value.error.data["docs"].startswith("/docs/reference/errors#")


async def _connect(gateway: Gateway, key: str, era: str) -> None:
    async with assistant(gateway, key, era) as mine:
        await mine.ask("list_labels")


async def test_a_key_without_the_scope(gateway: Gateway) -> None:
    check_rejected(await post(gateway, gateway.key), 403, "missing_scope")


async def test_a_session_is_not_enough(gateway: Gateway) -> None:
    answer = await post(gateway, "", headers={"cookie": "gatepost_session=x"})
    check_rejected(answer, 401, "missing_api_key")


async def test_a_key_that_has_expired(parted_database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    async with running_gateway(parted_database_url, clock=clock) as gateway:
        key = await mcp_key(gateway, expires_at=clock.now() + timedelta(minutes=1))
        assert (await post(gateway, key)).status == 200
        clock.advance(60)
        check_rejected(await post(gateway, key), 401, "invalid_api_key")


async def test_a_key_that_was_revoked_between_two_calls(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, security__key_cache_seconds=0.0) as gateway:
        channel_id = channel_of(gateway)
        new = await keys.create_key(gateway.db, channel_id, "bot", scopes=("mcp",), now=gateway.clock.now())
        assert (await post(gateway, new.text)).status == 200
        await keys.revoke_key(gateway.db, channel_id, new.key.id, gateway.clock.now())
        check_rejected(await post(gateway, new.text), 401, "invalid_api_key")


async def test_the_trial_is_over(gateway: Gateway) -> None:
    account_id = await gateway.new_account(trial_days=0)
    channel = await gateway.new_channel(account_id, "15550002222", "100000000000002")
    key = await gateway.new_key(channel.id, scopes=("mcp",))
    check_rejected(await post(gateway, key), 402, "api_access_required")


async def test_the_account_is_suspended(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    await accounts.set_suspended(gateway.db, gateway.account_id, True)
    check_rejected(await post(gateway, key), 402, "account_suspended")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_other_methods(gateway: Gateway, method: str) -> None:
    answer = await gateway.call(method, PATH, key=await mcp_key(gateway), headers={"accept": "text/event-stream"})
    check_rejected(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


async def test_a_foreign_host_or_origin(gateway: Gateway) -> None:
    key = await mcp_key(gateway)
    check_rejected(await post(gateway, key, headers={"host": "evil.example"}), 403, "wrong_host")
    check_rejected(await post(gateway, key, headers={"origin": "https://evil.example"}), 403, "wrong_origin")
    check_rejected(await post(gateway, key, headers={"origin": "null"}), 403, "wrong_origin")
    assert (await post(gateway, key, headers={"origin": "http://localhost:5173"})).status == 200


PUBLIC = "https://gateway.example.com"


@pytest.mark.parametrize(
    ("public_url", "host", "origin", "code"),
    [
        (PUBLIC, "gateway.example.com", None, None),
        (PUBLIC, "gateway.example.com:443", PUBLIC, None),
        (PUBLIC, "GATEWAY.example.com", None, None),
        (PUBLIC, "localhost:8080", None, "wrong_host"),
        (PUBLIC, "gateway.example.com:8443", None, "wrong_host"),
        (PUBLIC, "gateway.example.com", "http://gateway.example.com", "wrong_origin"),
        (PUBLIC, "gateway.example.com.evil.example", None, "wrong_host"),
        ("", "127.0.0.1:8080", "http://localhost:3000", None),
        ("", "[::1]:8080", None, None),
        ("", "localhost.evil.example", None, "wrong_host"),
        ("", "127.0.0.1@evil.example", None, "wrong_host"),
        ("", "", None, "wrong_host"),
        ("", "localhost:x", None, "wrong_host"),
    ],
)
def test_which_host_and_origin(public_url: str, host: str, origin: str | None, code: str | None) -> None:
    if code is None:
        check_host(public_url, host, origin)
        return
    with pytest.raises(Forbidden) as refused:
        check_host(public_url, host, origin)
    assert refused.value.code == code


@pytest.mark.parametrize(("more", "status"), [(-1, 200), (0, 200), (1, 413)])
async def test_the_size_of_a_body(gateway: Gateway, more: int, status: int) -> None:
    body = msgspec.json.encode(rpc("tools/list"))
    sent = body + b" " * (LIMIT + more - len(body))
    answer = await post(gateway, await mcp_key(gateway), rpc("tools/list"), raw=sent)
    assert answer.status == status, answer.body[:200]
    if status == 413:
        check_rejected(answer, 413, "body_too_large")


async def test_a_body_without_a_length(gateway: Gateway) -> None:
    gateway.key = await mcp_key(gateway)
    answer = await gateway.call_in_pieces("POST", PATH, [b" " * 1024] * 1025)
    check_rejected(answer, 413, "body_too_large")


async def test_a_revoked_key_is_refused_within_a_second(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:  # with the cache of keys as it is by default
        channel_id = channel_of(gateway)
        new = await keys.create_key(gateway.db, channel_id, "bot", scopes=("mcp",), now=gateway.clock.now())
        assert (await post(gateway, new.text)).status == 200
        await keys.revoke_key(gateway.db, channel_id, new.key.id, gateway.clock.now())
        await asyncio.sleep(1.0)  # the time in which a node may still trust what it knows
        check_rejected(await post(gateway, new.text), 401, "invalid_api_key")


async def test_a_policy_is_in_force_within_a_second(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:
        key = await mcp_key(gateway)
        async with assistant(gateway, key) as mine:
            await mine.ask("list_labels")
            await set_policy(gateway, key, Policy(ends_at=gateway.clock.now()))
            await asyncio.sleep(1.0)  # the time in which a node may still trust what it knows
            assert (await mine.fail("list_labels"))["rule"] == "ends_at"
