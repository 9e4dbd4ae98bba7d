"""POSTs over TLS: the same limits of time and size as without it, and no part of a response counts as a whole one."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import BODY_LIMIT, HEADERS_LIMIT, Poster
from tests.webhooks.test_http_post import (
    LOOPBACK,
    OK,
    Receiver,
    Script,
    certify,
    names,
    posting,
    receiving,
    repeats,
    says,
    says_and_hangs_up,
    says_and_waits,
    until,
)

Pair = AbstractAsyncContextManager[tuple[Receiver, str, Poster]]
Secure = Callable[[Script, float], Pair]
_PATIENT = 3600.0


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, bytes]:
    return certify("hook.example", tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(tls: tuple[ssl.SSLContext, bytes]) -> Secure:
    """Give a receiver with TLS, its URL, and a poster that trusts it."""
    context, root = tls

    @asynccontextmanager
    async def pair(script: Script, deadline: float) -> AsyncIterator[tuple[Receiver, str, Poster]]:
        guard = Guard(LOOPBACK, names(["127.0.0.1"]))
        async with receiving(script, context) as receiver, posting(guard, deadline, roots=[root]) as poster:
            yield receiver, f"https://hook.example:{receiver.port}/", poster

    return pair


async def test_a_connection_is_used_again(secure: Secure) -> None:
    async with secure(says(OK), _PATIENT) as (receiver, url, poster):
        for _ in range(3):
            assert (await poster.post(url, {}, b"{}")).body == b"ok"
        assert receiver.opened == 1


@pytest.mark.parametrize(("size", "truncated"), [(BODY_LIMIT - 1, False), (BODY_LIMIT, False), (BODY_LIMIT + 1, True)])
async def test_the_limit_of_the_body_is_exact(secure: Secure, size: int, truncated: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"a" * size
    async with secure(says(answer), _PATIENT) as (_, url, poster):
        result = await poster.post(url, {}, b"{}")
        assert (len(result.body), result.truncated) == (min(size, BODY_LIMIT), truncated)


async def test_an_endless_body_is_cut_and_the_connection_closed(secure: Secure) -> None:
    async with secure(repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z" * 65536), _PATIENT) as (receiver, url, poster):
        result = await poster.post(url, {}, b"{}")
        assert (result.status, len(result.body), result.truncated) == (200, BODY_LIMIT, True)
        await until(lambda: receiver.closed == 1)


async def test_of_large_headers_only_the_beginning_is_kept(secure: Secure) -> None:
    line = b"x-a: " + b"v" * 5_000 + b"\r\n"
    async with secure(says(b"HTTP/1.1 200 OK\r\n" + line * 20 + b"content-length: 0\r\n\r\n"), _PATIENT) as (
        _,
        url,
        poster,
    ):
        result = await poster.post(url, {}, b"{}")
        assert result.status == 200
        assert 0 < sum(len(name) + len(value) for name, value in result.headers) <= HEADERS_LIMIT


async def test_a_header_that_is_no_text_does_not_cost_the_response(secure: Secure) -> None:
    answer = b"HTTP/1.1 200 OK\r\nx-a: caf\xe9\r\nx-b: 1\r\ncontent-length: 2\r\n\r\nok"
    async with secure(says(answer), _PATIENT) as (_, url, poster):
        result = await poster.post(url, {}, b"{}")
        assert (result.body, result.headers) == (b"ok", (("x-b", "1"), ("content-length", "2")))


STALLING = {
    "never answers": says_and_waits(b""),
    "drips its headers": repeats(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n", 0.02),
    "drips its body": repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z", 0.02),
    "says continue for ever": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
}


@pytest.mark.parametrize("script", STALLING.values(), ids=STALLING)
async def test_the_deadline_holds(secure: Secure, script: Script) -> None:
    async with secure(script, 0.5) as (receiver, url, poster):
        result = await poster.post(url, {}, b"{}")
        assert (result.status, result.error_kind) == (None, "timeout")
        await until(lambda: receiver.closed == receiver.opened)


def says_and_cuts(answer: bytes) -> Script:
    """Close the connection without the end that TLS has of its own, as somebody on the way could."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.transport.abort()
        raise ConnectionError

    return script


BROKEN = {
    "closes at once": says_and_hangs_up(b""),
    "closes inside its body": says_and_hangs_up(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"),
    "closes between chunks": says_and_hangs_up(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"),
    "is cut off in a body without a length": says_and_cuts(b"HTTP/1.1 200 OK\r\n\r\nabc"),
    "speaks RTSP": says_and_hangs_up(b"RTSP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"),
    "sends too many headers": says_and_hangs_up(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 200 + b"\r\n"),
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
async def test_a_broken_response_has_no_status(secure: Secure, script: Script) -> None:
    async with secure(script, _PATIENT) as (_, url, poster):
        result = await poster.post(url, {}, b"{}")
        assert (result.status, result.error_kind) == (None, "protocol")


async def test_close_fails_posts_in_flight_at_once(secure: Secure) -> None:
    async with secure(says_and_waits(b""), _PATIENT) as (receiver, url, poster):
        post = asyncio.create_task(poster.post(url, {}, b"{}"))
        await until(lambda: len(receiver.requests) == 1)
        await poster.close()
        await until(post.done)
        assert "gateway stopped" in ((await post).error or "")


async def test_close_fails_a_post_in_flight_whose_client_was_dropped(tls: tuple[ssl.SSLContext, bytes]) -> None:
    context, root = tls
    guard = Guard(LOOPBACK, names(["127.0.0.1"]))
    async with receiving(says_and_waits(b""), context) as slow, receiving(says(OK), context) as other:
        async with posting(guard, _PATIENT, roots=[root], places=1) as poster:
            post = asyncio.create_task(poster.post(f"https://hook.example:{slow.port}/", {}, b"{}"))
            await until(lambda: len(slow.requests) == 1)
            assert (await poster.post(f"https://hook.example:{other.port}/", {}, b"{}")).status == 200
            await poster.close()
            await until(post.done)
        assert "gateway stopped" in ((await post).error or "")
