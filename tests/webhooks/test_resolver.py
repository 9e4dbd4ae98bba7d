"""Host names: what a machine's own configuration says, and no name of one channel that delays another's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.metrics import ProcessMetrics
from gatepost.model.file import FetchedFile
from gatepost.webhooks import dns
from gatepost.webhooks.dns import DnsLookup, NotResolved, ResolvedName
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import fetch_guarded
from gatepost.webhooks.lookup_limiter import LookupLimiter
from gatepost.webhooks.resolver import FAILED_TTL, MAX_TTL, MIN_TTL, REMEMBERED, Resolver
from tests.conftest import Receiver
from tests.patience import PATIENCE
from tests.webhooks.name_server import NameServer, lookup_at, name_server

V4, V6 = "93.184.215.14", "2606:2800:21f:cb07::1"
NAMES = {"shop.example": [V4, V6], "hooks.corp.local": [V4], "six.example": [V6], "empty.example": []}
ANA, BOB, EVE = "ana", "bob", "eve"


class Book:
    """A lookup that the test answers; records what was looked up, and how many lookups run."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self.asked: list[str] = []
        self.open: dict[str, asyncio.Future[ResolvedName]] = {}

    async def __call__(self, host: str) -> ResolvedName:
        self.asked.append(host)
        if not host.endswith(".dead"):
            return ResolvedName((V4,), self.seconds)
        self.open[host] = asyncio.get_running_loop().create_future()
        try:
            return await self.open[host]
        finally:
            del self.open[host]


class Figures(ProcessMetrics):
    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []
        self.now = (0, 0)

    def lookup(self, result: str) -> None:
        self.ended.append(result)

    def lookups(self, running: int, waiting: int) -> None:
        self.now = (running, waiting)


async def turn(times: int = 20) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


@asynccontextmanager
async def asking(ttl: int = 60, **more: Any) -> AsyncIterator[tuple[NameServer, DnsLookup]]:
    async with name_server(NAMES, ttl) as server:
        lookup = lookup_at(server, **more)
        try:
            yield server, lookup
        finally:
            await lookup.close()


# -- one lookup -------------------------------------------------------------------------------------------------------


async def test_addresses_come_with_their_ttl() -> None:
    async with asking(ttl=17) as (_, lookup):
        found = await lookup("shop.example")
        assert (set(found.addresses), found.seconds) == ({V4, V6}, 17)
        assert (await lookup("six.example")).addresses == (V6,)


@pytest.mark.parametrize("search", ["environment", "several"])
async def test_a_single_label_is_looked_up_in_the_search_domains(monkeypatch: pytest.MonkeyPatch, search: str) -> None:
    """As the name of a service in a network of containers, or a short name inside a company."""
    if search == "environment":
        monkeypatch.setenv("LOCALDOMAIN", "corp.local")  # as `search` in /etc/resolv.conf
    more: dict[str, Any] = {"domains": ["other.local", "corp.local"]} if search == "several" else {}
    async with asking(**more) as (_, lookup):
        assert (await lookup("hooks")).addresses == (V4,)
        assert set((await lookup("shop.example")).addresses) == {V4, V6}


async def test_the_hosts_file_and_localhost_are_known_without_a_server() -> None:
    lines = [line.partition("#")[0].split() for line in Path("/etc/hosts").read_text().splitlines()]
    names = {name: line[0] for line in lines for name in line[1:] if line[0].startswith("127.")}
    assert names
    async with asking() as (server, lookup):
        for name, address in {**names, "localhost": "127.0.0.1", "a.localhost": "127.0.0.1"}.items():
            assert address in (await lookup(name)).addresses
        assert server.asked == []


@pytest.mark.parametrize("host", ["nobody.example", "empty.example", "a..b", "x" * 64 + ".example", "é" * 70])
async def test_what_has_no_address_is_not_resolved(host: str) -> None:
    async with asking() as (_, lookup):
        with pytest.raises(NotResolved):
            await lookup(host)


async def test_the_library_caches_no_longer_than_a_minute_and_no_more_than_some_thousand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    async with asking(ttl=3600, clock=lambda: now) as (server, lookup):
        for at, asked in ((0.0, 1), (59.0, 1), (60.0, 2)):
            now = at
            await lookup("shop.example")
            assert server.asked.count("shop.example") == 2 * asked  # IPv4 and IPv6
        monkeypatch.setattr(dns, "CHANNEL_LOOKUPS", 2)
        await lookup("shop.example")
        assert server.asked.count("shop.example") == 4
        await lookup("shop.example")
        assert server.asked.count("shop.example") == 6


async def test_a_replaced_channel_finishes_its_lookups() -> None:
    now = 0.0
    async with asking(clock=lambda: now) as (server, lookup):
        slow = asyncio.create_task(lookup("slow.dead"))
        while "slow.dead" not in server.asked:
            await asyncio.sleep(0.01)
        now = 61.0
        await lookup("shop.example")
        assert not slow.done()
        await lookup.close()
        with pytest.raises(NotResolved):
            await slow
        with pytest.raises(NotResolved):
            await lookup("shop.example")


# -- what is remembered -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ttl", "kept"), [(0.0, MIN_TTL), (MIN_TTL - 1, MIN_TTL), (20.0, 20.0), (MAX_TTL, MAX_TTL), (3600.0, MAX_TTL)]
)
async def test_an_answer_is_cached_for_its_ttl(ttl: float, kept: float) -> None:
    now, book = 100.0, Book(ttl)
    resolver = Resolver(book, clock=lambda: now)
    assert (await resolver("Shop.example", ANA)).seconds == kept
    now = 100.0 + kept - 1
    assert (await resolver("shop.example", BOB)).seconds == pytest.approx(1)
    assert book.asked == ["shop.example"]
    now = 100.0 + kept
    await resolver("shop.example", ANA)
    assert len(book.asked) == 2


@pytest.mark.parametrize("answers", [True, False])
async def test_a_failure_is_remembered_for_a_moment(answers: bool) -> None:
    now, asked, figures = 0.0, 0, Figures()

    async def no_address(_host: str) -> ResolvedName:
        nonlocal asked
        asked += 1
        if answers:
            return ResolvedName((), 60.0)
        raise NotResolved("none")

    resolver = Resolver(no_address, clock=lambda: now, metrics=figures)
    for at, questions in ((0.0, 1), (FAILED_TTL - 0.1, 1), (FAILED_TTL, 2)):
        now = at
        with pytest.raises(NotResolved):
            await resolver("shop.example", ANA)
        assert asked == questions
    assert figures.ended == ["failed", "failed"]


async def test_any_exception_of_a_lookup_means_not_resolved() -> None:
    async def broken(_host: str) -> ResolvedName:
        raise RuntimeError("no more file descriptors")

    with pytest.raises(NotResolved):
        await Resolver(broken)("shop.example", ANA)


async def test_no_more_names_are_remembered_than_fit() -> None:
    book = Book()
    resolver = Resolver(book)
    for number in range(REMEMBERED + 1):
        await resolver(f"h{number}.example", ANA)
    assert len(resolver._known) == REMEMBERED
    await resolver(f"h{REMEMBERED}.example", ANA)
    assert len(book.asked) == REMEMBERED + 1
    await resolver("h0.example", ANA)
    assert len(book.asked) == REMEMBERED + 2


async def test_a_renewed_name_is_forgotten_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.webhooks.resolver.REMEMBERED", 3)
    now, book = 0.0, Book()
    resolver = Resolver(book, clock=lambda: now)
    for host in ("a.example", "b.example"):
        await resolver(host, ANA)
    now = MAX_TTL
    for host in ("a.example", "c.example", "d.example", "a.example"):
        await resolver(host, ANA)
    assert book.asked == ["a.example", "b.example", "a.example", "c.example", "d.example"]


async def test_concurrent_callers_share_a_lookup_and_none_can_cancel_it_for_the_others() -> None:
    book = Book()
    resolver = Resolver(book)
    first, second = (asyncio.create_task(resolver("a.dead", who)) for who in (ANA, BOB))
    await turn()
    first.cancel()
    await turn()
    book.open["a.dead"].set_result(ResolvedName((V4,), 60))
    assert (await second).addresses == (V4,)
    assert book.asked == ["a.dead"]


# -- shares -----------------------------------------------------------------------------------------------------------


async def test_a_channel_waits_for_its_own_lookups_only() -> None:
    book, figures = Book(), Figures()
    resolver = Resolver(book, per_channel=2, total=8, metrics=figures)
    dead = [asyncio.create_task(resolver(f"{number}.dead", ANA)) for number in range(5)]
    behind = asyncio.create_task(resolver("shop.example", ANA))
    await turn()
    assert (len(book.open), figures.now) == (2, (2, 4))
    assert (await resolver("other.example", BOB)).addresses == (V4,)
    assert not behind.done()
    # A name that waits in the queue of one channel is asked for at once by another.
    assert (await resolver("shop.example", BOB)).addresses == (V4,)
    book.open["0.dead"].set_exception(NotResolved("none"))
    await turn()
    assert list(book.open) == ["1.dead", "2.dead"]
    for task in (*dead, behind):
        task.cancel()
    await turn()
    assert figures.now[1] == 0


async def test_who_waited_for_a_place_joins_a_lookup_that_runs_by_then() -> None:
    book, figures = Book(), Figures()
    resolver = Resolver(book, per_channel=1, metrics=figures)
    first = asyncio.create_task(resolver("a.dead", ANA))
    await turn()
    waiting = asyncio.create_task(resolver("b.dead", ANA))
    await turn()
    other = asyncio.create_task(resolver("b.dead", BOB))
    await turn()
    book.open["a.dead"].set_result(ResolvedName((V4,), 60))
    await first
    await turn()
    assert (book.asked, figures.now) == (["a.dead", "b.dead"], (1, 0))
    assert (await resolver("shop.example", ANA)).addresses == (V4,)  # the place that was not needed is free
    book.open["b.dead"].set_result(ResolvedName((V4,), 60))
    assert (await waiting).addresses == (await other).addresses == (V4,)
    assert figures.now == (0, 0)


async def test_a_lookup_holds_its_slot_until_it_ends_though_its_caller_was_cancelled() -> None:
    book = Book()
    resolver = Resolver(book, per_channel=1)
    impatient = asyncio.create_task(resolver("a.dead", ANA))
    await turn()
    impatient.cancel()
    waiting = asyncio.create_task(resolver("shop.example", ANA))
    await turn()
    assert not waiting.done()
    book.open["a.dead"].set_exception(NotResolved("none"))
    assert (await waiting).addresses == (V4,)


async def test_the_first_lookup_of_a_channel_has_room_that_others_cannot_take() -> None:
    book = Book()
    resolver = Resolver(book, per_channel=8, total=8)
    dead = [asyncio.create_task(resolver(f"{who}{number}.dead", who)) for who in (ANA, BOB) for number in range(6)]
    await turn()
    assert len(book.open) == 5  # half of all, and the first of the second channel
    assert (await resolver("shop.example", EVE)).addresses == (V4,)
    for task in dead:
        task.cancel()


async def test_a_free_slot_goes_to_the_channel_with_the_fewest() -> None:
    share = LookupLimiter(per_channel=4, total=4)
    for channel in (ANA, ANA, BOB):
        await share.acquire(channel)
    order: list[str] = []

    async def want(channel: str) -> None:
        await share.acquire(channel)
        order.append(channel)

    waiting = [asyncio.create_task(want(channel)) for channel in (BOB, ANA)]
    await turn()
    assert (order, share.running, share.waiting) == ([], 3, 2)
    for _ in range(2):
        share.release(ANA)
    await turn()
    assert order == [ANA]  # it has none any more, and the other has one
    share.release(BOB)
    await asyncio.gather(*waiting)
    assert order == [ANA, BOB]
    for channel in (ANA, BOB):
        share.release(channel)
    assert (share.running, share._held) == (0, {})


async def test_a_caller_that_is_cancelled_as_it_gets_its_slot_returns_it() -> None:
    share = LookupLimiter(per_channel=1, total=1)
    await share.acquire(ANA)
    waiting = asyncio.create_task(share.acquire(BOB))
    await turn()
    share.release(ANA)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (share.running, share.waiting) == (0, 0)


async def test_a_caller_that_is_cancelled_before_it_gets_a_slot_leaves_it_to_the_next() -> None:
    share = LookupLimiter(per_channel=1, total=1)
    await share.acquire(ANA)
    cancelled, other = asyncio.create_task(share.acquire(BOB)), asyncio.create_task(share.acquire(None))
    await turn()
    cancelled.cancel()
    share.release(ANA)  # before the cancelled task has run
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await other
    assert (share.running, share.waiting) == (1, 0)
    share.release(None)
    assert (share.running, share._held) == (0, {})


@pytest.mark.parametrize("turns", range(6))
async def test_a_lookup_that_ends_while_another_caller_is_cancelled(turns: int) -> None:
    book = Book()
    resolver = Resolver(book, per_channel=1, total=1)
    first = asyncio.create_task(resolver("a.dead", ANA))
    await turn()
    waiting = asyncio.create_task(resolver("b.dead", BOB))
    await turn()
    book.open["a.dead"].set_result(ResolvedName((V4,), 60.0))
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await first).addresses == (V4,)
    await turn()
    for future in book.open.values():  # the lookup of the cancelled caller, if it has begun
        future.set_result(ResolvedName((V4,), 60.0))
    assert (await resolver("shop.example", EVE)).addresses == (V4,)


async def test_the_work_for_a_slot_does_not_grow_with_the_channels_that_wait() -> None:
    share, looks = LookupLimiter(per_channel=2, total=2), 0

    class Channel:
        def __hash__(self) -> int:
            nonlocal looks
            looks += 1
            return id(self)

    for _ in range(2):
        await share.acquire(first := Channel())
    waiting = [asyncio.create_task(share.acquire(Channel())) for _ in range(500)]
    await turn()
    looks = 0
    share.release(first)
    assert 0 < looks < 50
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


# -- with a real name server ------------------------------------------------------------------------------------------


async def test_a_name_that_is_never_answered_is_given_up() -> None:
    figures = Figures()
    async with asking() as (_, lookup):
        with pytest.raises(NotResolved):
            await Resolver(lookup, seconds=0.2, metrics=figures)("a.dead", ANA)
        async with asyncio.timeout(PATIENCE):
            while figures.ended != ["timeout"]:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["delivery", "file"])
async def test_another_channel_gets_through_while_a_hundred_dead_names_hang(receiver: Receiver, kind: str) -> None:
    port = receiver.url.rpartition(":")[2]
    async with name_server({"live.example": ["127.0.0.1"], "file.example": ["127.0.0.1"]}) as server:
        lookup = lookup_at(server)
        resolver = Resolver(lookup, seconds=60.0)
        guard = Guard(["127.0.0.0/8"], resolver, timeout=60.0)
        poster = Poster(guard, deadline=60.0)
        dead = [asyncio.create_task(poster.post(f"http://n{i}.dead/", {}, b"{}", ANA)) for i in range(100)]
        while len(set(server.asked)) < 16:  # all that the channel may ask for at once
            await asyncio.sleep(0.01)
        if kind == "delivery":
            answer = await poster.post(f"http://live.example:{port}/", {}, b"{}", BOB)
            assert answer.status == 200
        else:
            found = await fetch_guarded(guard, f"http://file.example:{port}/", 1000, channel=BOB)
            assert isinstance(found, FetchedFile)
        assert not any(task.done() for task in dead)
        assert len({name for name in server.asked if name.endswith(".dead")}) == 16
        for task in dead:
            task.cancel()
        await lookup.close()
        await poster.close()


async def test_lookups_use_no_thread_of_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead names must not fill the few threads that all blocking work shares."""

    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a thread was asked for")

    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", refuse)
    lookup = DnsLookup()
    assert (await lookup("localhost")).addresses
    await lookup.close()
