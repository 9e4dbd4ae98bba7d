"""Limits by the minute: test events to one endpoint, and wrong keys from one address."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from gatepost.access.client_address import client_network
from gatepost.access.sliding_limit import MAX_COUNTED, SlidingLimit
from tests.conftest import Receiver
from tests.gateway.checks import SEND, TEXT, check_refused
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway, running_gateway

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)
HOOKS, CHANNEL = "/api/v1/webhooks", "/api/v1/channel"
WRONG = "gpk_" + "0" * 40


@pytest.fixture
async def still(database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway whose clock is moved by hand, and which lets three wrong keys a minute pass."""
    async with running_gateway(database_url, clock=MovableClock(NOW), role="api", api__wrong_keys=3) as one:
        yield one


def advance(gateway: Gateway, seconds: float) -> None:
    assert isinstance(gateway.clock, MovableClock)
    gateway.clock.advance(seconds)


# -- test events -------------------------------------------------------------------------------------------------------


async def add_hook(gateway: Gateway, receiver: Receiver) -> str:
    made = await gateway.call("POST", HOOKS, {"url": receiver.url + "/hook"})
    assert made.status == 201, made.body
    return f"{HOOKS}/{made.json()['data']['id']}/test"


async def test_an_endpoint_gets_ten_test_events_in_a_minute(still: Gateway, receiver: Receiver) -> None:
    path, other = await add_hook(still, receiver), await add_hook(still, receiver)
    for _ in range(10):
        advance(still, 1)
        assert (await still.call("POST", path, {})).status == 200
    refused = await still.call("POST", path, {})
    assert "test events" in refused.json()["message"]
    assert check_refused(refused, 429, "rate_limited")["retryable"] is True
    assert refused.headers["retry-after"] == "51"
    assert refused.headers["ratelimit-policy"] == '"webhook-test";q=10;w=60'
    assert len(receiver.requests) == 10
    assert (await still.call("POST", other, {})).status == 200


async def test_the_next_one_may_go_when_the_first_is_a_minute_ago(still: Gateway, receiver: Receiver) -> None:
    path = await add_hook(still, receiver)
    for _ in range(10):
        assert (await still.call("POST", path, {})).status == 200
    advance(still, 59.9)
    assert (await still.call("POST", path, {})).status == 429
    advance(still, 0.1)
    assert (await still.call("POST", path, {})).status == 200


async def test_what_is_refused_otherwise_counts_nothing(still: Gateway, receiver: Receiver) -> None:
    path = await add_hook(still, receiver)
    for _ in range(11):
        assert (await still.call("POST", path, {"type": "nothing"})).status == 422
    assert (await still.call("POST", path, {})).status == 200


# -- wrong keys --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [("GET", CHANNEL), ("POST", SEND)])
async def test_an_address_may_fail_so_often_in_a_minute(still: Gateway, method: str, path: str) -> None:
    body = TEXT if method == "POST" else None
    for key in (WRONG, WRONG, ""):
        assert (await still.call(method, path, body, key=key)).status == 401
    refused = await still.call(method, path, body, key=WRONG)
    check_refused(refused, 429, "rate_limited")
    assert "wrong API key" in refused.json()["message"]
    assert refused.headers["retry-after"] in ("60", "61")
    assert (await still.call(method, path, body)).status == 200


async def test_it_is_accepted_again_once_it_has_slowed_down(still: Gateway) -> None:
    for _ in range(3):
        assert (await still.call("GET", CHANNEL, key=WRONG)).status == 401
    advance(still, 30)
    assert (await still.call("GET", CHANNEL, key=WRONG)).status == 429
    advance(still, 30)  # those of the first half are a minute ago; the one that was refused is not
    assert [(await still.call("GET", CHANNEL, key=WRONG)).status for _ in range(3)] == [401, 401, 429]
    advance(still, 60)
    assert (await still.call("GET", CHANNEL, key=WRONG)).status == 401


async def test_zero_is_no_limit(database_url: str) -> None:
    async with running_gateway(database_url, clock=MovableClock(NOW), role="api", api__wrong_keys=0) as gateway:
        assert {(await gateway.call("GET", CHANNEL, key=WRONG)).status for _ in range(70)} == {401}


def test_a_network_of_the_new_kind_counts_as_one_address() -> None:
    assert client_network("2001:db8:1:2:3::4") == client_network("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert client_network("2001:db8:1:3::4") != client_network("2001:db8:1:2::4")
    assert client_network("127.0.0.1") == "127.0.0.1"
    assert client_network("fe80::1%eth0") == "fe80::/64"
    assert client_network("/run/socket") == "/run/socket"


def test_addresses_of_the_old_kind_stay_apart_on_a_socket_for_both_kinds() -> None:
    assert client_network("::ffff:192.0.2.1") == "192.0.2.1"
    assert client_network("::ffff:192.0.2.2") == "192.0.2.2"


# -- the count itself --------------------------------------------------------------------------------------------------


def test_no_more_than_a_number_is_remembered_and_the_quietest_go_first() -> None:
    clock = MovableClock(NOW)
    counted = SlidingLimit(1, clock)
    for number in range(MAX_COUNTED):
        counted.take(number)
    assert counted.take(0) == 60.0
    counted.take("one more")
    assert counted.take(0) > 0, "it was not quiet"
    assert counted.take(1) == 0.0, "it was the quietest, and is forgotten"
    assert len(counted._times) == MAX_COUNTED
