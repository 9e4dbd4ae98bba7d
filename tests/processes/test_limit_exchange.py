"""The exchange of what limits have counted: nothing counts twice, and every notification fits."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import asyncpg
import pytest

from gatepost.access.rate_limit import RateLimit
from gatepost.model.account import Principal
from gatepost.model.errors import LimitReached
from gatepost.process_limits import LimitExchange, ProcessLimits
from gatepost.settings import load
from gatepost.store.notifications import LIMIT_COUNTS, LimitCounts, LimitedAction, read_notice, send_counts
from gatepost.store.pool import Database
from tests.gateway.checks import until
from tests.movable_clock import MovableClock
from tests.outbound.stage import NOW


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    one = await Database.connect(database_url, connections=1)
    yield one
    await one.close()


def exchange(db: Database, gateway: UUID, *, first: bool = True) -> tuple[LimitExchange, ProcessLimits]:
    limits = ProcessLimits(load(environ={}), MovableClock(NOW))
    return LimitExchange(db, limits, gateway, first=first), limits


async def test_a_gateway_counts_nothing_twice(db: Database) -> None:
    gateway = uuid4()
    cases = [(True, uuid4(), 1, 1), (False, uuid4(), 0, 1), (True, gateway, 0, 0)]
    for first, sender, rates, actions in cases:
        one, limits = exchange(db, gateway, first=first)
        one.receive(LimitCounts(sender, {uuid4(): 5}, [LimitedAction("sign-ins by address", "a", False)]))
        assert (len(limits.rate._due), len(limits.sign_ins._by_address._times)) == (rates, actions)


async def test_what_was_counted_is_sent_once_and_fits(db: Database, database_url: str) -> None:
    received: list[str] = []
    conn = await asyncpg.connect(database_url)
    await conn.add_listener(LIMIT_COUNTS, lambda *args: received.append(str(args[-1])))
    one, limits = exchange(db, uuid4())
    requests = {uuid4(): number for number in range(1, 251)}
    longest, too_long = "\U0001f600" * 299 + "ab", "\x01" * 200  # as JSON: 1,200 bytes, and 1,202
    actions = [LimitedAction("sign-ins by e-mail, minute", actor, False) for actor in [longest] * 20 + [too_long]]
    await send_counts(db, uuid4(), requests, actions)
    for _ in range(400):  # more than is sent at once
        limits.sign_ins._by_address.take("a")
        limits.sign_ins._by_address.give_back("a")
    await one.send()
    await one.send()  # nothing is left

    async def complete() -> bool:
        found = [read_notice(text, LimitCounts) for text in received]
        return sum(len(counts.actions) for counts in found if counts) == 20 + 300

    await until(complete)
    found = [read_notice(text, LimitCounts) for text in received]
    assert {key: count for counts in found if counts for key, count in counts.requests.items()} == requests
    assert all(len(text.encode()) < 8000 for text in received)
    assert read_notice("{}", LimitCounts) is None
    await conn.close()


def test_only_keys_that_come_near_their_rate_are_sent() -> None:
    rate = RateLimit(100, 200)
    busy, quiet = (Principal("key", uuid4(), frozenset()) for _ in range(2))
    for _ in range(11):
        rate.take(busy)
    for _ in range(10):
        rate.take(quiet)
    assert rate.collect(0.1) == {busy.id: 11}
    assert rate.collect(0.0) == {}  # each request is sent once


def test_requests_of_other_nodes_use_up_the_rate() -> None:
    rate, key = RateLimit(0.001, 10), Principal("key", uuid4(), frozenset())
    rate.note(key.id, 9)
    rate.take(key)
    with pytest.raises(LimitReached):
        rate.take(key)
    rate.note(key.id, 1_000_000)  # nobody waits for longer than for two bursts
    with pytest.raises(LimitReached) as caught:
        rate.take(key)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after <= 20 / 0.001
