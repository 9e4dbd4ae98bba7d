"""HTTP before the application: what is refused, what is ended, and what has to be left alone."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gatepost.http_connections import BodyRate, Connections
from gatepost.http_protocol import LimitedProtocol, limited_protocol
from gatepost.settings import BadSettings, load
from tests.conftest import serve_config
from tests.gateway.wire import HOST, Wire, check_wire, request, wired
from tests.patience import PATIENCE, patience

LIMIT, HEADERS = 4096, 20
SMALL = {"header_limit": LIMIT, "headers": HEADERS}
GET = request("GET", "/", {})

Serve = Callable[..., AbstractAsyncContextManager[str]]


class App:
    """An application that answers with what it got.

    /early does not read, /wait waits, /long writes a lot, /large the same at once, /broken fails,
    /headers lists them.
    """

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.seen: list[str] = []
        self.answered: list[str] = []
        self.disconnected = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope["path"])
        body = b"" if scope["path"] == "/early" else await self._read(receive)
        if body is None:
            self.disconnected.set()
            return
        if scope["path"] == "/broken":
            raise RuntimeError("broken")
        if scope["path"] == "/wait":
            await self.go_on.wait()
        told = f"{scope['method']} {scope['path']} {len(body)}".encode()
        if scope["path"] == "/large":
            told = bytes(400 * 65_536)
        if scope["path"] == "/headers":
            told = b"\n".join(b"%s: %s" % header for header in scope["headers"])
        start = {"type": "http.response.start", "status": 200}
        if scope["path"] == "/long":
            await send({**start, "headers": []})
            for _ in range(400):
                await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
            self.disconnected.set()
            await send({"type": "http.response.body"})
            return
        self.answered.append(scope["path"])
        await send({**start, "headers": [(b"content-length", b"%d" % len(told))]})
        await send({"type": "http.response.body", "body": told})

    async def _read(self, receive: Any) -> bytes | None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body, more = body + message["body"], message["more_body"]
        return body


@pytest.fixture
def app() -> App:
    """Give the application behind the server."""
    return App()


@pytest.fixture
def statuses() -> list[int]:
    """Give what was answered before the application."""
    return []


@pytest.fixture
def serve(app: App, statuses: list[int]) -> Serve:
    """Give a server with some limits."""

    @asynccontextmanager
    async def serving(**limits: Any) -> AsyncIterator[str]:
        options = SMALL | {"unlimited_addresses": []} | limits
        server = load(environ={}, overrides={f"server.{name}": value for name, value in options.items()}).server
        protocol = limited_protocol(Connections(server, statuses.append))
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=server.keep_alive,
            timeout_graceful_shutdown=1,
        )
        async with serve_config(config) as url:
            yield url

    return serving


async def said(url: str, data: bytes) -> Any:
    async with wired(url) as wire:
        await wire.send(data)
        return await wire.answer()


# -- headers ----------------------------------------------------------------------------------------------------------


def with_head_of(size: int) -> bytes:
    """A request whose address, header names and values have so many bytes."""
    known = len("/") + len("Host") + len("gateway") + len("X-Pad")
    return request("GET", "/", {"X-Pad": "x" * (size - known)})


@pytest.mark.parametrize(("size", "status"), [(LIMIT - 1, 200), (LIMIT, 200), (LIMIT + 1, 431)])
async def test_headers_may_have_so_many_bytes(serve: Serve, statuses: list[int], size: int, status: int) -> None:
    async with serve() as url:
        answer = await said(url, with_head_of(size))
    assert answer.status == status
    if status == 431:
        check_wire(answer, 431, "headers_too_large")
    assert statuses == ([431] if status == 431 else [])


@pytest.mark.parametrize(("count", "status"), [(HEADERS - 1, 200), (HEADERS, 200), (HEADERS + 1, 431)])
async def test_there_may_be_so_many_headers(serve: Serve, count: int, status: int) -> None:
    async with serve() as url:
        answer = await said(url, request("GET", "/", {f"x-{number}": "" for number in range(count - 1)}))
    assert answer.status == status


async def test_lines_of_the_same_header_are_one_list(serve: Serve) -> None:
    lines = b"X-Forwarded-For: 10.0.0.1\r\nCookie: a=1\r\nx-forwarded-for:  10.0.0.2 \r\nCookie: b=2\r\n"
    async with serve() as url:
        answer = await said(url, b"GET /headers HTTP/1.1\r\n" + HOST + lines + b"\r\n")
    assert answer.body == b"host: gateway\nx-forwarded-for: 10.0.0.1, 10.0.0.2\ncookie: a=1; b=2"


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key", "Content-Type", "HOST"])
async def test_a_header_with_one_value_may_be_sent_only_once(
    serve: Serve, app: App, statuses: list[int], name: str
) -> None:
    async with serve() as url:
        one = request("POST", "/headers", {name: "a"}, b"{}") if name != "HOST" else GET
        assert (await said(url, one)).status == 200
        answer = await said(url, one.replace(b"\r\n", f"\r\n{name}: a\r\n".encode(), 1))
    check_wire(answer, 400, "malformed_request")
    assert f"Send the header {name.lower()} only once.".encode() in answer.body
    assert (len(app.seen), statuses) == (1, [400])


@pytest.mark.parametrize(
    "start",
    [
        b"GET /" + b"a" * 100,
        b"GET / HTTP/1.1\r\nX-Long: ",
        b"GET / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Trailer: ",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;extension=",
    ],
)
async def test_what_has_no_end_is_refused_before_it_ends(serve: Serve, app: App, start: bytes) -> None:
    async with serve() as url, wired(url) as wire:
        await wire.send(start)
        sent = await wire.flood(b"a" * 1024, 200)
        assert sent < 200 or (await wire.ended()).startswith(b"HTTP/1.1 431")
        async with wired(url) as other:
            await other.send(GET)
            assert (await other.answer()).status == 200


async def test_head_gets_no_body(serve: Serve) -> None:
    async with serve() as url, wired(url) as wire:
        await wire.send(with_head_of(LIMIT + 1).replace(b"GET", b"HEAD", 1))
        answer = await wire.answer(head=True)
        assert (answer.status, await wire.ended()) == (431, b"")
        assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("data", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"CONNECT a:443 HTTP/1.1\r\n\r\n"])
async def test_what_is_no_request(serve: Serve, app: App, data: bytes) -> None:
    async with serve() as url:
        check_wire(await said(url, data), 400, "malformed_request")
    assert app.seen == []


async def test_the_answer_before_comes_first(serve: Serve, app: App) -> None:
    """A pipelined request that is refused must not be answered into the middle of the one before."""
    async with serve() as url, wired(url) as wire:
        await wire.send(request("GET", "/wait") + with_head_of(LIMIT + 1))
        await asyncio.sleep(0.05)
        app.go_on.set()
        assert (await wire.answer()).body == b"GET /wait 0"
        assert await wire.ended() == b""


# -- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"G", b"GET / HTTP/1.1\r\n" + HOST, b"\r\n"])
async def test_headers_have_to_come_in_time(serve: Serve, data: bytes) -> None:
    async with serve(header_timeout=0.2) as url, wired(url) as wire:
        await wire.send(data)
        said = await wire.ended()
    assert said.startswith(b"HTTP/1.1 408 ") if data else said == b""


async def test_a_drip_does_not_help(serve: Serve) -> None:
    async with serve(header_timeout=0.2) as url, wired(url) as wire:
        await wire.send(b"GET / HTTP/1.1\r\n" + HOST)
        ended = asyncio.create_task(wire.ended())
        while not ended.done():
            await wire.flood(b"X: a\r\n", 1)
            await asyncio.sleep(0.04)
        assert b"408" in ended.result() or not ended.result()


async def test_the_second_request_has_to_come_in_time_too(serve: Serve) -> None:
    async with serve(header_timeout=0.2) as url, wired(url) as wire:
        await wire.send(GET)
        assert (await wire.answer()).status == 200
        await wire.send(b"GET ")
        check_wire(await wire.answer(), 408, "request_timeout")


async def test_an_idle_connection_is_closed_without_a_word(serve: Serve) -> None:
    async with serve(keep_alive=1, header_timeout=0.1) as url, wired(url) as wire:
        await wire.send(GET)
        assert (await wire.answer()).status == 200
        assert await wire.ended() == b""


async def test_a_body_that_stalls_is_given_up(serve: Serve, app: App) -> None:
    async with serve(body_window=0.2) as url, wired(url) as wire:
        await wire.send(request("POST", "/", body=b"a" * 10, length=1000))
        check_wire(await wire.answer(), 408, "request_timeout")
        async with asyncio.timeout(PATIENCE):
            await app.disconnected.wait()


async def test_a_body_that_nobody_reads_is_given_up_too(serve: Serve) -> None:
    async with serve(body_window=0.2) as url, wired(url) as wire:
        await wire.send(request("POST", "/early", body=b"a", length=10_000_000))
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await wire.ended() == b""


async def test_a_body_has_so_long_in_all(serve: Serve) -> None:
    async with serve(body_window=0.1, body_rate=1, body_timeout=0.5) as url, wired(url) as wire:
        await wire.send(request("POST", "/", length=1_000_000))
        ended = asyncio.create_task(wire.answer())
        while not ended.done():
            await wire.flood(b"a" * 100, 1)
            await asyncio.sleep(0.02)
        check_wire(ended.result(), 408, "request_timeout")


async def test_a_slow_body_is_taken_as_long_as_it_gets_on(serve: Serve) -> None:
    async with serve(body_window=2, body_rate=200) as url, wired(url) as wire:
        await wire.send(request("POST", "/", length=6000))
        for _ in range(60):
            await wire.send(b"a" * 100)
            await asyncio.sleep(0.05)
        assert (await wire.answer()).body == b"POST / 6000"


def test_the_rate_counts_over_any_period() -> None:
    rate, received = BodyRate(10, 5), 0
    for second in range(20):  # exactly as fast as it has to be
        received += 10
        assert not rate.too_slow(second, received)
    for second in range(20, 24):  # what came in the last five seconds is less and less
        assert rate.too_slow(second, received + 9)
    rate.restart()
    assert not rate.too_slow(24, received)
    assert not rate.too_slow(28.9, received)
    assert rate.too_slow(29, received + 49)
    assert not rate.too_slow(29, received + 50)


async def test_an_answer_that_is_long_in_coming_is_waited_for(serve: Serve, app: App) -> None:
    """A long poll: nothing is sent, nothing is received, and nothing is wrong."""
    limits = {"header_timeout": 0.1, "body_window": 0.1, "body_timeout": 0.2, "send_timeout": 0.1, "keep_alive": 1}
    async with serve(**limits) as url, wired(url) as wire, wired(url) as poster:
        await wire.send(request("GET", "/wait"))
        await poster.send(request("POST", "/wait", body=b"abc"))
        await asyncio.sleep(1.2)
        app.go_on.set()
        assert (await wire.answer()).body == b"GET /wait 0"
        assert (await poster.answer()).body == b"POST /wait 3"


async def test_an_answer_that_nobody_takes_is_given_up(serve: Serve, app: App) -> None:
    async with serve(send_timeout=0.3) as url, wired(url) as wire:
        await wire.send(request("GET", "/long"))
        async with asyncio.timeout(PATIENCE):
            await app.disconnected.wait()
        assert len(await wire.ended()) < 400 * 65_536


async def test_the_last_answer_of_a_connection_is_given_up_too(serve: Serve) -> None:
    before = alive(LimitedProtocol)
    async with serve(send_timeout=0.3) as url, wired(url) as wire:
        await wire.send(request("GET", "/large", {"connection": "close"}))
        await wire.take(1)
        async with patience(lambda: "the connection is still open"):
            while alive(LimitedProtocol) > before:
                await asyncio.sleep(0.02)


def test_a_request_ends_with_its_connection_although_others_wait(
    serve: Serve, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    """With the loop of a gateway, which does not allow to write to a closed connection."""

    async def scenario() -> None:
        async with serve(body_timeout=0.2) as url, wired(url) as wire:
            await wire.send(request("GET", "/wait") + request("POST", "/", {}, b"1234", length=5))
            assert await wire.ended() == b""
            app.go_on.set()
            async with patience(lambda: app.answered):
                while not app.answered:
                    await asyncio.sleep(0.02)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
    assert "Exception" not in caplog.text


# -- what has to go on working ----------------------------------------------------------------------------------------


async def test_pipelining_and_keep_alive(serve: Serve) -> None:
    async with serve() as url, wired(url) as wire:
        for _ in range(3):
            await wire.send(request("GET", "/a") + request("POST", "/b", body=b"12345") + request("GET", "/c"))
            told = [await wire.answer() for _ in range(3)]
            assert [answer.body for answer in told] == [b"GET /a 0", b"POST /b 5", b"GET /c 0"]
            assert all("connection" not in answer.headers for answer in told)


async def test_few_requests_wait_for_their_turn(serve: Serve, app: App) -> None:
    """Unread, a request has 18 bytes; read, a hundred times as many. An answer does not let more of them in either."""
    total, most = 6000, 0
    async with serve() as url, wired(url) as wire:
        await wire.send(request("GET", "/wait"))
        sending = asyncio.create_task(wire.send(b"GET / HTTP/1.1\r\n\r\n" * total))
        async with patience(lambda: f"{alive(RequestResponseCycle)} requests were read"):
            while alive(RequestResponseCycle) < 3:
                await asyncio.sleep(0.02)
        app.go_on.set()
        assert (await wire.answer()).body == b"GET /wait 0"
        for number in range(total):
            if number % 1000 == 0:
                most = max(most, alive(RequestResponseCycle))
            assert (await wire.answer()).body == b"GET / 0"
        await sending
    assert most < 500


def alive(kind: type) -> int:
    """How many objects of a class there are."""
    return sum(isinstance(thing, kind) for thing in gc.get_objects())


async def test_a_long_request_behind_another(serve: Serve, app: App) -> None:
    """Its body is read when it is its turn, also what arrived before; and so is what follows."""
    body = b"a" * 300_000
    async with serve() as url, wired(url) as wire:
        several = request("GET", "/wait") + request("POST", "/", {}, body) + GET * 300 + request("POST", "/", {}, body)
        sending = asyncio.create_task(wire.send(several))
        app.go_on.set()
        told = [(await wire.answer()).body for _ in range(303)]
        await sending
        assert told == [b"GET /wait 0", b"POST / 300000", *[b"GET / 0"] * 300, b"POST / 300000"]


async def test_nothing_is_done_behind_the_last_answer(serve: Serve, app: App) -> None:
    async with serve() as url, wired(url) as wire:
        await wire.send(request("GET", "/broken") + request("POST", "/early", {}, b"1234", length=5))
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (500, "close")
        assert await wire.ended() == b""
    assert app.seen == ["/broken"]


async def test_a_large_body_in_pieces_keeps_its_connection(serve: Serve) -> None:
    async with serve() as url, wired(url) as wire:
        await wire.send(request("POST", "/", length=3_000_000))
        await wire.flood(b"a" * 100_000, 30)
        answer = await wire.answer()
        assert (answer.body, "connection" in answer.headers) == (b"POST / 3000000", False)
        await wire.send(GET)
        assert (await wire.answer()).status == 200


async def test_who_still_sends_can_read_why_it_was_refused(serve: Serve) -> None:
    async with serve() as url, wired(url) as wire:
        await wire.send(request("POST", "/early", length=20_000_000))
        await wire.flood(b"a" * 100_000, 200)
        assert (await wire.answer()).body == b"POST /early 0"


async def test_expect_continue(serve: Serve) -> None:
    async with serve(body_window=0.1) as url, wired(url) as wire:
        await wire.send(request("POST", "/", {"expect": "100-continue"}, length=3))
        assert (await wire.answer()).status == 100
        await wire.send(b"abc")
        assert (await wire.answer()).body == b"POST / 3"


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
@pytest.mark.parametrize("body", [b"", b"hello"])
async def test_an_upgrade_is_not_offered_and_the_request_is_answered(serve: Serve, protocol: str, body: bytes) -> None:
    options = {"connection": "Upgrade, HTTP2-Settings", "upgrade": protocol, "http2-settings": "AAMAAABkAAQAAP__"}
    async with serve() as url, wired(url) as wire:
        await wire.send(request("POST", "/up", options, body))
        answer = await wire.answer()
        assert (answer.status, answer.body) == (200, b"POST /up %d" % len(body))
        assert answer.headers["connection"] == "close"
        assert await wire.ended() == b""


# -- connections ------------------------------------------------------------------------------------------------------


async def opened(url: str, stack: Any, count: int) -> list[Wire]:
    """Connections that each had an answer: so they are counted."""
    wires = [await stack.enter_async_context(wired(url)) for _ in range(count)]
    for wire in wires:
        await wire.send(GET)
        assert (await wire.answer()).status == 200
    return wires


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        ({"connections_per_address": 3}, 429, "too_many_connections"),
        ({"connections": 3}, 503, "overloaded"),
        ({"connections": 3, "unlimited_addresses": ["127.0.0.0/8"]}, 503, "overloaded"),
    ],
)
async def test_so_many_connections(serve: Serve, limits: dict[str, Any], status: int, code: str) -> None:
    async with serve(**limits) as url, AsyncExitStack() as stack:
        await opened(url, stack, 2)
        async with wired(url) as third:
            await third.send(GET)
            assert (await third.answer()).status == 200
            check_wire(await said(url, GET), status, code)
            async with wired(url) as silent:
                check_wire(await silent.answer(), status, code)
        async with asyncio.timeout(PATIENCE):
            while (await said(url, GET)).status != 200:  # the third has hung up
                await asyncio.sleep(0.01)


async def test_an_exempt_address_is_not_counted(serve: Serve) -> None:
    exempt = ["10.0.0.0/8", "127.0.0.1/32"]
    async with serve(connections_per_address=1, unlimited_addresses=exempt) as url, AsyncExitStack() as stack:
        await opened(url, stack, 5)


@pytest.mark.parametrize("behind", [b"", GET])
async def test_a_closed_connection_is_freed_at_once(serve: Serve, app: App, behind: bytes) -> None:
    """The garbage collector runs rarely."""
    gc.collect()
    gc.disable()
    before = alive(LimitedProtocol)
    try:
        async with serve() as url:
            async with wired(url) as wire:
                await wire.send(request("GET", "/wait") + behind)
                async with patience(lambda: app.seen):
                    while not app.seen:
                        await asyncio.sleep(0.02)
                assert alive(LimitedProtocol) > before
            app.go_on.set()
            async with patience(lambda: f"{alive(LimitedProtocol)} connections are in memory"):
                while alive(LimitedProtocol) > before:
                    await asyncio.sleep(0.02)
    finally:
        gc.enable()


async def test_a_crowd_of_the_refused_is_not_let_in_either(serve: Serve) -> None:
    async with serve(connections=1) as url, AsyncExitStack() as stack:
        await opened(url, stack, 1)
        crowd = [await stack.enter_async_context(wired(url)) for _ in range(100)]
        told = [await wire.ended() for wire in crowd]
    assert all(text.startswith(b"HTTP/1.1 503") or not text for text in told)
    assert 1 <= sum(bool(text) for text in told) <= 64


async def test_silent_connections_go_away_by_themselves(serve: Serve) -> None:
    async with serve(connections=50, header_timeout=0.3) as url, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(wired(url)) for _ in range(50)]
        assert {await wire.ended() for wire in silent} == {b""}
        assert (await said(url, GET)).status == 200


@pytest.mark.parametrize(
    "option", [{"server.unlimited_addresses": ["10.0.0.1/8"]}, {"server.callback_memory": 4 * 4_194_304 - 1}]
)
def test_settings_that_make_no_sense(option: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match=next(iter(option))):
        load(environ={}, overrides=option)


# -- and anything else ------------------------------------------------------------------------------------------------

PARTS = (
    b"GET / HTTP/1.1\r\n",
    b"POST /early HTTP/1.1\r\n",
    b"POST / HTTP/1.1\r\n",
    b"HEAD / HTTP/1.0\r\n",
    b"CONNECT a:1 HTTP/1.1\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
    b"Connection: close\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"X: " + b"a" * 3000 + b"\r\n",
    b"A: b\r\n" * 15,
    b"\r\n",
    b"\r\n",
    b"hello",
    b"5\r\nhello\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"\x16\x03\x01\x00",
)


async def babble(url: str, chance: random.Random) -> None:
    """A client that sends pieces of requests in any order, and leaves when it likes."""
    async with wired(url) as wire:
        with suppress(OSError, TimeoutError):
            for _ in range(chance.randint(1, 5)):
                await wire.send(b"".join(chance.choices(PARTS, k=chance.randint(1, 8))))
                await asyncio.sleep(0)
            async with asyncio.timeout(chance.choice([0.01, 0.2])):
                await wire.ended()


async def test_a_request_that_is_wrong_in_two_ways_gets_one_answer(serve: Serve) -> None:
    broken: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))
    async with serve() as url, wired(url) as wire:
        await wire.send(b"GET / HTTP/1.1\r\nX: ")
        await asyncio.sleep(0.05)
        await wire.send(b"a" * (LIMIT + 1) + b"\0")
        assert (await wire.answer()).status in (400, 431)
        assert await wire.ended() == b""
    assert broken == []


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_that_a_client_sends_breaks_the_protocol(serve: Serve, seed: int) -> None:
    broken: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))
    chance = random.Random(seed)
    async with serve(header_timeout=0.1, body_window=0.1, connections=15) as url:
        for _ in range(15):
            await asyncio.gather(*(babble(url, random.Random(chance.random())) for _ in range(20)))
        async with asyncio.timeout(PATIENCE):
            while (await said(url, GET)).status != 200:
                await asyncio.sleep(0.01)
    assert broken == []
