"""The limits of failed sign-ins, at, under and over, and whose address counts behind a proxy."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from gatepost.access.client_address import TrustedProxies
from gatepost.access.sign_in_throttle import PER_ADDRESS_MINUTE, PER_EMAIL_HOUR, PER_EMAIL_MINUTE, SignInThrottle
from gatepost.access.sliding_limit import SlidingLimit
from gatepost.admin import passwords
from gatepost.model.errors import LimitReached, NotAuthenticated, Unavailable
from tests.conftest import REAL_HASHER
from tests.gateway.checks import check_refused
from tests.gateway.people import PASSWORD, new_person, post_session
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)


@pytest.fixture
async def gateway(database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway behind a proxy, whose clock is moved by hand, and which lets three wrong keys a minute pass."""
    clock = MovableClock(NOW)
    async with running_gateway(
        database_url, clock=clock, role="api", server__trusted_proxies=["127.0.0.1/32"], api__wrong_keys=3
    ) as one:
        yield one


def fail(throttle: SignInThrottle, email: str, address: str) -> None:
    with pytest.raises(NotAuthenticated), throttle.trying(email, address):
        raise NotAuthenticated("wrong", "invalid_credentials")


def refused(throttle: SignInThrottle, email: str, address: str) -> float:
    with pytest.raises(LimitReached) as caught, throttle.trying(email, address):
        pass
    assert caught.value.retry_after is not None
    return caught.value.retry_after


async def test_the_sixth_try_waits(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False, email="nikita@example.com")
    for _ in range(PER_EMAIL_MINUTE):
        check_refused(await person.sign_in("wrong horse battery"), 401, "invalid_credentials")
    late = await person.sign_in()
    error = check_refused(late, 429, "rate_limited")
    assert error["retryable"] is True
    assert late.headers["retry-after"] == "60"
    assert late.headers["ratelimit-policy"] == '"sign-in";q=5;w=60'
    shouted = await post_session(gateway, {"email": person.user.email.upper(), "password": PASSWORD})
    check_refused(shouted, 429, "rate_limited")
    for letter in "İK":  # for PostgreSQL, the small ones of these are i and k
        address = person.user.email.replace("i", letter).replace("k", letter)
        strange = await post_session(gateway, {"email": address, "password": PASSWORD})
        assert strange.status in (401, 429), letter
    other = await new_person(gateway, signed_in=False)
    assert (await other.sign_in()).status == 201, "another e-mail address from the same place"
    assert isinstance(gateway.clock, MovableClock)
    gateway.clock.advance(60)
    assert (await person.sign_in()).status == 201


async def test_unknown_addresses_wait_too(gateway: Gateway) -> None:
    body = {"email": "nobody@example.com", "password": PASSWORD}
    for _ in range(PER_EMAIL_MINUTE):
        check_refused(await post_session(gateway, body), 401, "invalid_credentials")
    check_refused(await post_session(gateway, body), 429, "rate_limited")


async def test_many_at_once_are_not_more(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    answers = await asyncio.gather(*(person.sign_in("wrong horse battery") for _ in range(12)))
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 7


async def test_success_does_not_count(gateway: Gateway) -> None:
    person = await new_person(gateway, signed_in=False)
    for _ in range(PER_EMAIL_MINUTE + 2):
        assert (await person.sign_in()).status == 201


async def test_the_password_of_a_session_counts_too(gateway: Gateway) -> None:
    person = await new_person(gateway)
    body = {"current_password": "wrong horse battery", "new_password": PASSWORD}
    for _ in range(PER_EMAIL_MINUTE):
        check_refused(await person.call("PUT", "/api/v1/session/password", body), 401, "invalid_credentials")
    check_refused(await person.call("PUT", "/api/v1/session/password", body), 429, "rate_limited")
    assert (await person.call("GET", "/api/v1/session")).status == 200, "the session goes on"


def test_an_address_and_an_hour() -> None:
    clock = MovableClock(NOW)
    throttle = SignInThrottle(clock)
    for number in range(PER_ADDRESS_MINUTE):
        fail(throttle, f"{number}@example.com", f"2001:db8:1:2::{number + 1}")
    assert 59 < refused(throttle, "new@example.com", "2001:db8:1:2:ffff::9") <= 60
    fail(throttle, "new@example.com", "2001:db8:1:3::1")
    clock.advance(60)
    with throttle.trying("new@example.com", "2001:db8:1:2::1"):
        pass
    for number in range(PER_EMAIL_HOUR):
        clock.advance(13)  # under five in a minute
        fail(throttle, "ana@example.com", f"10.0.0.{number}")
    clock.advance(13)
    assert refused(throttle, "ana@example.com", "10.0.1.1") > 60
    clock.advance(3600 - 30 * 13)
    fail(throttle, "ana@example.com", "10.0.1.1")


def test_a_refused_try_counts_nowhere() -> None:
    throttle = SignInThrottle(MovableClock(NOW))
    for _ in range(PER_EMAIL_MINUTE):
        fail(throttle, "ana@example.com", "10.0.0.1")
    for _ in range(100):
        refused(throttle, "ana@example.com", "10.0.0.2")
    with throttle.trying("bo@example.com", "10.0.0.2"):
        pass


def test_what_is_given_back_is_not_counted() -> None:
    limit = SlidingLimit(2, MovableClock(NOW))
    assert [limit.take("a"), limit.take("a"), limit.take("a") > 0] == [0.0, 0.0, True]
    limit.give_back("a")
    assert limit.take("a") == 0.0
    limit.give_back("b")
    limit.give_back("a")
    limit.give_back("a")
    assert not limit._times


# -- addresses behind proxies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        ([], "10.0.0.1", "1.2.3.4", "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", None, "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4", "1.2.3.4"),
        (["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 1.2.3.4 , 10.0.0.2", "1.2.3.4"),
        (["10.0.0.0/8"], "9.9.9.9", "1.2.3.4", "9.9.9.9"),
        (["10.0.0.0/8"], "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4, nonsense", "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4, nonsense, 10.0.0.2", "10.0.0.2"),
        (["10.0.0.0/8"], "10.0.0.1", "", "10.0.0.1"),
        (["10.0.0.0/8"], "::ffff:10.0.0.1", "1.2.3.4", "1.2.3.4"),
        (["fd00::/8"], "fd00::1", "2001:db8::7", "2001:db8::7"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4:50123", "1.2.3.4"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4:50123, 10.0.0.2:443", "1.2.3.4"),
        (["10.0.0.0/8"], "10.0.0.1", "[2001:db8::7]:50123", "2001:db8::7"),
        (["10.0.0.0/8"], "10.0.0.1", "[2001:db8::7]", "2001:db8::7"),
        (["10.0.0.0/8"], "10.0.0.1", "1.2.3.4:500000", "10.0.0.1"),
        (["10.0.0.0/8"], None, "1.2.3.4", None),
    ],
)
def test_the_last_address_that_is_not_trusted(
    trusted: list[str], peer: str | None, forwarded: str | None, client: str | None
) -> None:
    assert TrustedProxies(trusted).client_of(peer, forwarded) == client


async def test_people_behind_a_proxy_are_counted_apart(gateway: Gateway) -> None:
    for path in ("/api/v1/channel", "/api/v1/channel", "/api/v1/channel"):
        answer = await gateway.call("GET", path, key="", headers={"x-forwarded-for": "6.6.6.6, 1.2.3.4"})
        check_refused(answer, 401, "missing_api_key")
    again = await gateway.call("GET", "/api/v1/channel", key="", headers={"x-forwarded-for": "7.7.7.7, 1.2.3.4"})
    check_refused(again, 429, "rate_limited")
    other = await gateway.call("GET", "/api/v1/channel", key="", headers={"x-forwarded-for": "1.2.3.5"})
    check_refused(other, 401, "missing_api_key")
    cookie = {"cookie": f"gatepost_session={'x' * 43}", "x-forwarded-for": "1.2.3.6"}
    for _ in range(4):  # the page has to show the form, also if there were too many
        check_refused(await gateway.call("GET", "/api/v1/session", key="", headers=cookie), 401, "session_ended")
    same = {"x-forwarded-for": "1.2.3.6"}
    check_refused(await gateway.call("GET", "/api/v1/channel", key="", headers=same), 429, "rate_limited")
    link = "/api/v1/one-time-links/" + "x" * 43
    for _ in range(3):
        answer = await gateway.call("GET", link, key="", headers={"x-forwarded-for": "1.2.3.7"})
        check_refused(answer, 404, "link_not_valid")
    check_refused(await gateway.call("GET", link, key="", headers={"x-forwarded-for": "1.2.3.7"}), 429, "rate_limited")


# -- hashing ----------------------------------------------------------------------------------------------------------


async def test_too_many_passwords_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "DUMMY_HASH", await passwords.hash_password("quick to verify"))
    release = threading.Event()
    slow = [asyncio.create_task(passwords._queue.run(lambda: release.wait(PATIENCE))) for _ in range(passwords.AT_ONCE)]
    tries = [asyncio.create_task(passwords.verify_password("", "x" * 12)) for _ in range(passwords.WAITING + 3)]
    await asyncio.wait(tries, return_when=asyncio.FIRST_EXCEPTION)
    release.set()
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, Unavailable) for result in results) == 3
    assert results.count(False) == passwords.WAITING
    assert await asyncio.gather(*slow) == [True] * passwords.AT_ONCE
    assert await passwords.verify_password(await passwords.hash_password("correct horse"), "correct horse")


def test_an_unknown_address_costs_as_much_as_a_known_one() -> None:
    assert not REAL_HASHER.check_needs_rehash(passwords.DUMMY_HASH), "its parameters are not those of passwords"
    assert REAL_HASHER.memory_cost >= 64 * 1024
