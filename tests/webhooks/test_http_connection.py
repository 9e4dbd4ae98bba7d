"""A connection to an endpoint: how responses end, when it is used again, and when it is closed."""

import asyncio
import socket
import tracemalloc
from collections.abc import Callable

import pytest

from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_connection import BODY_LIMIT, IDLE_SECONDS, ExchangeFailed, HttpConnection
from gatepost.webhooks.http_post import Poster
from tests.webhooks.test_http_post import OK, posting, receiving, says, says_and_hangs_up, says_and_waits, until

RESPONSES = {
    "chunked": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n3;x=1\r\ncde\r\n0\r\n\r\n", b"abcde"),
    "with a trailer": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-t: 1\r\n\r\n", b"a"),
    "after 100 and 103": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\n" + OK, b"ok"),
    "after an unknown interim response that has a body": (
        b"HTTP/1.1 104 Odd\r\ncontent-length: 3\r\n\r\nodd" + OK,
        b"ok",
    ),
    "chunk sizes with spaces": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2  \r\nab\r\n0\r\n\r\n", b"ab"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "lines without carriage return": (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok", b"ok"),
    "a status without a reason": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", b"ok"),
}


@pytest.mark.parametrize(("answer", "body"), RESPONSES.values(), ids=RESPONSES)
async def test_a_complete_response_leaves_the_connection_for_the_next_request(answer: bytes, body: bytes) -> None:
    async with receiving(says(answer)) as receiver, posting() as poster:
        for _ in range(3):
            result = await poster.post(receiver.url, {}, b"{}")
            assert (result.error, result.body, result.truncated) == (None, body, False)
            assert not any(name in ("link", "x-t") for name, _ in result.headers)
        assert receiver.opened == 1


ENDING = {
    "connection: close": b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    "more than was requested": OK + OK,
    "garbage behind the response": OK + b"SSH-2.0",
}


@pytest.mark.parametrize("answer", ENDING.values(), ids=ENDING)
async def test_a_connection_is_not_used_again_if_the_response_ends_it(answer: bytes) -> None:
    async with receiving(says(answer)) as receiver, posting() as poster:
        for _ in range(3):
            result = await poster.post(receiver.url, {}, b"{}")
            assert (result.status, result.body) == (200, b"ok")
        assert (receiver.opened, len(receiver.requests)) == (3, 3)
        await until(lambda: receiver.closed == 3)


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with receiving(says_and_hangs_up(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (result.status, result.body) == (200, b"until the end")


async def test_a_connection_that_the_endpoint_closed_is_not_used_again() -> None:
    async with receiving(says_and_hangs_up(OK)) as receiver, posting() as poster:
        for count in range(1, 4):
            assert (await poster.post(receiver.url, {}, b"{}")).status == 200
            await until(lambda count=count: receiver.closed == count)  # type: ignore[misc]
            await asyncio.sleep(0)
        assert receiver.opened == 3


async def test_an_endpoint_that_switches_protocols_has_answered() -> None:
    switch = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"
    async with receiving(says(switch)) as receiver, posting() as poster:
        for _ in range(2):
            assert (await poster.post(receiver.url, {}, b"{}")).status == 101
        assert receiver.opened == 2


async def test_an_endpoint_that_closes_each_connection_is_not_waited_for() -> None:
    def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server, posting(deadline=3600) as poster:
        for _ in range(20):
            result = await poster.post(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", {}, b"{}")
            assert (result.status, result.error_kind) == (None, "protocol")


@pytest.mark.parametrize(("lines", "kind"), [(99, None), (100, "protocol")])
async def test_a_response_has_at_most_a_hundred_headers(lines: int, kind: str | None) -> None:
    answer = b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * lines + b"content-length: 0\r\n\r\n"
    async with receiving(says(answer)) as receiver, posting() as poster:
        assert (await poster.post(receiver.url, {}, b"{}")).error_kind == kind


async def test_a_body_in_endless_chunk_extensions_is_given_up() -> None:
    answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"x" * 1_200_000
    async with receiving(says_and_waits(answer)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (result.status, result.error_kind) == (None, "protocol")
        assert "too large" in (result.error or "")


async def test_posts_at_once_share_no_connection_and_keep_theirs() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        for _ in range(2):
            results = await asyncio.gather(*[poster.post(receiver.url, {}, b"{}") for _ in range(8)])
            assert [result.status for result in results] == [200] * 8
        assert receiver.opened == 8


async def test_a_cancelled_post_closes_its_connection_at_once() -> None:
    async with receiving(says_and_waits(b"")) as receiver, posting(deadline=3600) as poster:
        post = asyncio.create_task(poster.post(receiver.url, {}, b"{}"))
        await until(lambda: len(receiver.requests) == 1)
        post.cancel()
        await until(lambda: receiver.closed == 1)


async def test_close_fails_a_post_that_is_connecting() -> None:
    with socket.socket() as deaf:  # its queue is full, so that it answers no further greeting
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(deaf.getsockname())
        poster = Poster(Guard(["127.0.0.0/8"]), connect_deadline=3600, deadline=3600)
        post = asyncio.create_task(poster.post(f"http://127.0.0.1:{deaf.getsockname()[1]}/", {}, b"{}"))
        while not post.done():
            await poster.close()
            await asyncio.sleep(0)
        for one in crowd:
            one.close()
    assert "gateway stopped" in ((await post).error or "")


class Time:
    """The parts of an event loop that a connection uses, with a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[tuple[float, Callable[[], None], asyncio.Handle]] = []

    def time(self) -> float:
        return self.now

    def create_future(self) -> "asyncio.Future[object]":
        return asyncio.get_running_loop().create_future()

    def call_at(self, when: float, call: Callable[[], None]) -> asyncio.Handle:
        handle = asyncio.Handle(call, (), asyncio.get_running_loop())
        self.timers.append((when, call, handle))
        return handle

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer[0] <= end and not timer[2].cancelled()]:
            first = min(due, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: object) -> None: ...

    def close(self) -> None:
        self.closed = True

    abort = close

    def get_write_buffer_size(self) -> int:
        return 0


def connected() -> tuple[Time, Wire, HttpConnection]:
    clock, wire = Time(), Wire()
    connection = HttpConnection(clock, lambda _: None)  # type: ignore[arg-type]
    connection.connection_made(wire)
    return clock, wire, connection


async def answer(connection: HttpConnection, seconds: float = 15.0) -> None:
    waiter = connection.request(b"", seconds)
    connection.data_received(OK)
    await waiter
    connection.rest()


async def test_a_connection_that_is_lost_before_its_first_request_fails_it_at_once() -> None:
    _, _, connection = connected()
    connection.connection_lost(None)
    with pytest.raises(ExchangeFailed):
        await connection.request(b"", 3600)


@pytest.mark.parametrize("first", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\nlink: a\r\n\r\n", b""])
async def test_a_large_response_is_not_taken_for_a_large_head(first: bytes) -> None:
    _, _, connection = connected()
    waiter = connection.request(b"", 3600)
    if first:
        connection.data_received(first)
    connection.data_received(b"HTTP/1.1 2")
    connection.data_received(b"00 OK\r\ncontent-length: 900000\r\n\r\n" + b"x" * 262_144)
    result = await waiter
    assert (result.status, len(result.body), result.truncated) == (200, BODY_LIMIT, True)


async def test_a_body_in_small_parts_takes_no_more_memory_than_its_size_and_an_idle_connection_none() -> None:
    _, _, connection = connected()
    parts = b"2\r\nab\r\n" * 30_000
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        waiter = connection.request(b"", 3600)
        connection.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        connection.data_received(parts)
        held = tracemalloc.get_traced_memory()[0] - before
        assert held < 2 * BODY_LIMIT
        connection.data_received(b"0\r\n\r\n")
        assert len((await waiter).body) == 60_000
        del waiter
        connection.rest()
        assert tracemalloc.get_traced_memory()[0] - before < BODY_LIMIT // 4
    finally:
        tracemalloc.stop()


async def test_an_idle_connection_is_closed_after_four_seconds() -> None:
    clock, wire, connection = connected()
    for _ in range(5):
        await answer(connection)
        clock.advance(IDLE_SECONDS - 0.1)
        assert not wire.closed
    clock.advance(0.1)
    assert wire.closed


@pytest.mark.parametrize("seconds", [0.5, 4.0, 15.0])
async def test_the_deadline_is_that_of_the_request_however_old_the_connection_is(seconds: float) -> None:
    clock, wire, connection = connected()
    for _ in range(3):
        await answer(connection)
        clock.advance(1.1)
    waiter = connection.request(b"", seconds)
    clock.advance(seconds - 0.01)
    assert not waiter.done()
    clock.advance(0.01)
    assert wire.closed
    with pytest.raises(ExchangeFailed) as failed:
        await waiter
    assert failed.value.kind == "timeout"


async def test_a_poster_that_was_closed_keeps_no_connection() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        await poster.close()
        for count in range(1, 3):
            assert (await poster.post(receiver.url, {}, b"{}")).status == 200
            await until(lambda count=count: receiver.closed == count)  # type: ignore[misc]
