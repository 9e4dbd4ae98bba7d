"""POSTs over real sockets: pinned, bounded, and every failure explained."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gatepost.webhooks import connection_pool
from gatepost.webhooks.dns import ResolvedName
from gatepost.webhooks.guard import REUSE_SECONDS, Guard
from gatepost.webhooks.http_post import BODY_LIMIT, HEADERS_LIMIT, Poster
from tests.for_each import for_each
from tests.listening import stop_listening
from tests.patience import PATIENCE

LOOPBACK = ["127.0.0.0/8"]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """A scripted endpoint that keeps what it was sent and counts its connections."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[tuple[bytes, bytes]] = []
        self.opened = 0
        self.closed = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
                self.requests.append((head, await reader.readexactly(length)))
                await self.script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self.closed += 1
            writer.transport.abort()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def header(self, name: str) -> str:
        head = self.requests[-1][0].decode()
        lines = [line.partition(": ") for line in head.split("\r\n")]
        return next(value for key, _, value in lines if key.lower() == name)


def says(answer: bytes) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return script


def says_and_waits(answer: bytes) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await reader.read()

    return script


def says_and_hangs_up(answer: bytes) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()
        raise ConnectionError

    return script


def repeats(first: bytes, then: bytes, pause: float = 0.0) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(pause)

    return script


@asynccontextmanager
async def receiving(script: Script, context: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(script)
    serving: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(receiver.serve(reader, writer))
        task.add_done_callback(lambda _: writer.close())  # also if it is cancelled before it begins
        serving.add(task)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        await stop_listening(server)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@asynccontextmanager
async def posting(guard: Guard | None = None, deadline: float = 5.0, **settings: object) -> AsyncIterator[Poster]:
    poster = Poster(guard or Guard(LOOPBACK), deadline=deadline, **settings)  # type: ignore[arg-type]
    try:
        yield poster
    finally:
        await poster.close()


def names(*answers: Sequence[str]) -> Callable[[str, object], Awaitable[ResolvedName]]:
    left = list(answers)

    async def resolve(host: str, channel: object) -> ResolvedName:
        return ResolvedName(tuple(left.pop(0) if len(left) > 1 else left[0]), 30)

    return resolve


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_post_carries_headers_and_body_and_brings_the_answer_back() -> None:
    answer = b"HTTP/1.1 201 Created\r\nX-Trace: 7\r\nx-two: a\r\nx-two: b\r\ncontent-length: 5\r\n\r\nthere"
    async with receiving(says(answer)) as receiver, posting() as poster:
        result = await poster.post(receiver.url + "?a=1", {"webhook-id": "evt_1"}, "olá".encode())
        assert (result.status, result.body, result.truncated) == (201, b"there", False)
        assert (result.error, result.error_kind) == (None, None)
        assert [pair for pair in result.headers if pair[0] != "content-length"] == [
            ("x-trace", "7"),
            ("x-two", "a"),
            ("x-two", "b"),
        ]
        assert result.latency_ms > 0
        head, body = receiver.requests[0]
        assert head.startswith(b"POST /hook?a=1 HTTP/1.1\r\n")
        assert body == "olá".encode()
        assert receiver.header("webhook-id") == "evt_1"
        assert receiver.header("user-agent") == "Gatepost"


@for_each("status", [200, 204, 301, 302, 307, 308, 400, 410, 429, 500, 503])
async def test_every_status_is_an_answer_and_no_redirect_is_followed(status: int) -> None:
    async with receiving(says(OK)) as inner:
        location = f"location: http://127.0.0.1:{inner.port}/inner\r\n".encode()
        answer = b"HTTP/1.1 %d X\r\n" % status + location + (b"\r\n" if status == 204 else b"content-length: 0\r\n\r\n")
        async with receiving(says(answer)) as receiver, posting() as poster:
            result = await poster.post(receiver.url, {}, b"{}")
            assert (result.status, result.body, result.error) == (status, b"", None)
        assert inner.opened == 0


async def test_one_kept_alive_connection_serves_many_posts() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        for _ in range(20):
            assert (await poster.post(receiver.url, {}, b"{}")).status == 200
        assert (len(receiver.requests), receiver.opened) == (20, 1)


# Where the connection goes ------------------------------------------------------------------------------------------


async def test_the_checked_address_is_called_with_the_name_of_the_url() -> None:
    async with receiving(says(OK)) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.1"]))
        async with posting(guard) as poster:
            result = await poster.post(f"http://hook.example:{receiver.port}/", {}, b"{}")
            assert result.status == 200
            assert receiver.header("host") == f"hook.example:{receiver.port}"


async def test_a_name_with_a_final_dot_is_pinned_as_well() -> None:
    async with receiving(says(OK)) as receiver, posting(Guard(LOOPBACK, names(["127.0.0.1"]))) as poster:
        assert (await poster.post(f"http://hook.example.:{receiver.port}/", {}, b"{}")).status == 200


async def test_a_name_that_turns_private_is_refused_before_anything_is_sent() -> None:
    now = 0.0
    async with receiving(says(OK)) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.1"], ["10.0.0.1"]), clock=lambda: now)
        async with posting(guard) as poster:
            url = f"http://rebind.example:{receiver.port}/"
            assert (await poster.post(url, {}, b"{}")).status == 200
            assert (await poster.post(url, {}, b"{}")).status == 200
            now = REUSE_SECONDS + 1
            refused = await poster.post(url, {}, b"{}")
            assert (refused.status, refused.error_kind) == (None, "forbidden")
            assert "private network" in (refused.error or "")
        assert len(receiver.requests) == 2


async def test_a_forbidden_url_opens_no_connection() -> None:
    async with receiving(says(OK)) as receiver, posting(Guard()) as poster:
        for host in ("127.0.0.1", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "localhost."):
            assert (await poster.post(f"http://{host}:{receiver.port}/", {}, b"{}")).error_kind == "forbidden"
        assert receiver.opened == 0


async def test_proxy_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(says(OK)) as proxy, receiving(says(OK)) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with posting() as poster:
            assert (await poster.post(receiver.url, {}, b"{}")).status == 200
        assert (proxy.opened, len(receiver.requests)) == (0, 1)


async def test_when_one_address_refuses_the_next_checked_one_is_tried() -> None:
    async with receiving(says(OK)) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.2", "127.0.0.1"]))
        async with posting(guard) as poster:
            assert (await poster.post(f"http://hook.example:{receiver.port}/", {}, b"{}")).status == 200


async def test_once_bytes_have_left_no_other_address_is_tried() -> None:
    async with receiving(says_and_hangs_up(b"")) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.1", "127.0.0.1", "127.0.0.2"]))
        async with posting(guard) as poster:
            result = await poster.post(f"http://hook.example:{receiver.port}/", {}, b"{}")
            assert result.error_kind == "protocol"
        assert len(receiver.requests) == 1


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "connection"])
async def test_headers_of_the_connection_are_rejected(name: str) -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {name: "5"}, b"{}")
        assert result.error_kind == "forbidden"
        assert name in (result.error or "")
        assert receiver.opened == 0


@pytest.mark.parametrize(("name", "value"), [("bad name", "x"), ("x-a", "one\r\ntwo: 2"), ("", "x")])
async def test_headers_that_cannot_be_sent_are_refused(name: str, value: str) -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        assert (await poster.post(receiver.url, {name: value}, b"{}")).error_kind == "forbidden"
        assert receiver.opened == 0


# Endpoints that misbehave -------------------------------------------------------------------------------------------


STALLING = {
    "never answers": says_and_waits(b""),
    "drips its headers": repeats(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n", 0.02),
    "drips its body": repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z", 0.02),
    "stops in its body": says_and_waits(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"),
    "says continue for ever": repeats(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
}


@pytest.mark.parametrize("script", STALLING.values(), ids=STALLING)
async def test_the_deadline_holds_against_an_endpoint_that_stalls(script: Script) -> None:
    async with receiving(script) as receiver, posting(deadline=0.3) as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (result.status, result.error_kind) == (None, "timeout")
        assert "0.3 s" in (result.error or "")
        await until(lambda: receiver.closed == 1)


async def test_the_deadline_holds_while_resolving() -> None:
    async def hang(host: str, channel: object) -> ResolvedName:
        await asyncio.Event().wait()
        return ResolvedName((), 0)

    async with posting(Guard(LOOPBACK, hang), deadline=0.1) as poster:
        result = await poster.post("http://hook.example/", {}, b"{}")
        assert result.error_kind == "unresolved"


async def test_a_host_that_swallows_connections_is_given_up() -> None:
    # A listener whose queue is full drops every further greeting, as a black hole does.
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        async with posting(deadline=2.0, connect_deadline=0.2) as poster:
            result = await poster.post(f"http://127.0.0.1:{port}/", {}, b"{}")
        for one in crowd:
            one.close()
    assert result.error_kind == "timeout"
    assert "connected" in (result.error or "")


async def test_an_endless_answer_is_cut_at_the_limit_and_the_connection_dropped() -> None:
    async with receiving(repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z" * 65536)) as receiver, posting() as poster:
        before = psutil.Process().memory_info().rss
        for count in range(1, 31):
            result = await poster.post(receiver.url, {}, b"{}")
            assert (result.status, len(result.body), result.truncated) == (200, BODY_LIMIT, True)
            await until(lambda count=count: receiver.closed == count)  # type: ignore[misc]
        assert psutil.Process().memory_info().rss - before < 30_000_000


@pytest.mark.parametrize(("size", "truncated"), [(BODY_LIMIT - 1, False), (BODY_LIMIT, False), (BODY_LIMIT + 1, True)])
async def test_the_limit_is_exact(size: int, truncated: bool) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"a" * size
    async with receiving(says(answer)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (len(result.body), result.truncated) == (min(size, BODY_LIMIT), truncated)


async def test_a_compressed_bomb_stays_compressed() -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb) + bomb
    async with receiving(says(answer)) as receiver, posting() as poster:
        assert (await poster.post(receiver.url, {}, b"{}")).body == bomb[:BODY_LIMIT]
        assert b"accept-encoding" not in receiver.requests[0][0].lower()


async def test_enormous_headers_are_a_protocol_error_and_large_ones_are_cut() -> None:
    line = b"x-a: " + b"v" * 10_000 + b"\r\n"
    async with receiving(says_and_hangs_up(b"HTTP/1.1 200 OK\r\n" + line * 100 + b"\r\n")) as huge, posting() as poster:
        assert (await poster.post(huge.url, {}, b"{}")).error_kind == "protocol"
    large = b"HTTP/1.1 200 OK\r\n" + line * 20 + b"content-length: 0\r\n\r\n"
    async with receiving(says(large)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert result.status == 200
        assert 0 < sum(len(name) + len(value) for name, value in result.headers) <= HEADERS_LIMIT


async def test_a_header_that_is_no_text_does_not_cost_the_answer() -> None:
    answer = b"HTTP/1.1 200 OK\r\nx-a: caf\xe9\r\nx-b: 1\r\nx-b: 2\r\ncontent-length: 2\r\n\r\nok"
    async with receiving(says(answer)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (result.status, result.body) == (200, b"ok")
        assert result.headers == (("x-b", "1"), ("x-b", "2"), ("content-length", "2"))


BROKEN = {
    "closes at once": b"",
    "speaks another protocol": b"SSH-2.0-OpenSSH_9.9\r\n",
    "speaks RTSP": b"RTSP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
    "speaks ICE, after an empty line": b"\r\nICE/1.0 200 OK\r\ncontent-length: 0\r\n\r\n",
    "closes inside its body": b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc",
    "sends a bad chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    "sends a bad status": b"HTTP/1.1 099 No\r\ncontent-length: 0\r\n\r\n",
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_a_broken_answer_is_a_protocol_error_without_a_status(answer: bytes) -> None:
    async with receiving(says_and_hangs_up(answer)) as receiver, posting() as poster:
        result = await poster.post(receiver.url, {}, b"{}")
        assert (result.status, result.error_kind) == (None, "protocol")
        assert (result.error or "").startswith("The endpoint broke off")


async def test_a_closed_port_is_a_connect_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with posting() as poster:
            result = await poster.post(f"http://127.0.0.1:{unused.getsockname()[1]}/", {}, b"{}")
    assert result.error_kind == "connect"
    assert "refused" in (result.error or "")


async def test_a_name_without_an_address_is_unresolved() -> None:
    async with posting(Guard([], names([]))) as poster:
        assert (await poster.post("http://hook.example/", {}, b"{}")).error_kind == "unresolved"


# The life of clients ------------------------------------------------------------------------------------------------


async def test_the_least_recently_used_client_is_dropped_with_its_connections() -> None:
    guard = Guard(LOOPBACK, names(["127.0.0.1"]))
    async with receiving(says(OK)) as one, receiving(says(OK)) as two, posting(guard, places=1) as poster:
        assert (await poster.post(f"http://one.example:{one.port}/", {}, b"{}")).status == 200
        assert one.closed == 0
        assert (await poster.post(f"http://two.example:{two.port}/", {}, b"{}")).status == 200
        await until(lambda: one.closed == 1)
        assert two.closed == 0


async def test_a_post_in_flight_outlives_its_client() -> None:
    go = asyncio.Event()

    async def wait_then_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        writer.write(OK)

    guard = Guard(LOOPBACK, names(["127.0.0.1"]))
    async with receiving(wait_then_answer) as slow, receiving(says(OK)) as other, posting(guard, places=1) as poster:
        post = asyncio.create_task(poster.post(f"http://slow.example:{slow.port}/", {}, b"{}"))
        await until(lambda: len(slow.requests) == 1)
        assert (await poster.post(f"http://other.example:{other.port}/", {}, b"{}")).status == 200
        go.set()
        assert (await post).status == 200


async def test_close_fails_posts_in_flight_and_ends_their_connections_at_once() -> None:
    async with receiving(says_and_waits(b"")) as receiver, posting(deadline=3600) as poster:
        post = asyncio.create_task(poster.post(receiver.url, {}, b"{}"))
        await until(lambda: len(receiver.requests) == 1)
        await poster.close()
        result = await post
        assert (result.status, result.error_kind) == (None, "protocol")
        assert "gateway stopped" in (result.error or "")
        await until(lambda: receiver.closed == 1)


async def test_close_fails_a_post_in_flight_whose_client_was_dropped() -> None:
    guard = Guard(LOOPBACK, names(["127.0.0.1"]))
    async with receiving(says_and_waits(b"")) as slow, receiving(says(OK)) as other:
        async with posting(guard, deadline=3600, places=1) as poster:
            post = asyncio.create_task(poster.post(f"http://slow.example:{slow.port}/", {}, b"{}"))
            await until(lambda: len(slow.requests) == 1)
            assert (await poster.post(f"http://other.example:{other.port}/", {}, b"{}")).status == 200
            await poster.close()
            await until(post.done)
        assert "gateway stopped" in ((await post).error or "")


async def test_close_drops_idle_connections() -> None:
    async with receiving(says(OK)) as receiver, posting() as poster:
        assert (await poster.post(receiver.url, {}, b"{}")).status == 200
        await poster.close()
        await until(lambda: receiver.closed == 1)


@pytest.mark.parametrize(("posts", "closed"), [(2, 0), (3, 0), (4, 1)])
async def test_idle_connections_of_a_place_are_kept_up_to_a_limit(
    posts: int, closed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_pool, "IDLE_PER_PLACE", 3)
    go = asyncio.Event()

    async def wait_then_answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        writer.write(OK)

    async with receiving(wait_then_answer) as receiver, posting() as poster:
        running = [asyncio.create_task(poster.post(receiver.url, {}, b"{}")) for _ in range(posts)]
        await until(lambda: len(receiver.requests) == posts)
        go.set()
        assert {(await post).status for post in running} == {200}
        await until(lambda: receiver.closed == closed)
        assert (await poster.post(receiver.url, {}, b"{}")).status == 200
        assert (receiver.opened, receiver.closed) == (posts, closed)


async def test_a_cancelled_post_leaves_the_poster_usable() -> None:
    async with receiving(says_and_waits(b"")) as silent, receiving(says(OK)) as receiver, posting() as poster:
        post = asyncio.create_task(poster.post(silent.url, {}, b"{}"))
        await until(lambda: len(silent.requests) == 1)
        post.cancel()
        with pytest.raises(asyncio.CancelledError):
            await post
        assert (await poster.post(receiver.url, {}, b"{}")).status == 200


# TLS ----------------------------------------------------------------------------------------------------------------


def certify(name: str, folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """A server context for `name`, and the certificate that a client must trust to believe it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(secret + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context, certificate


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(("own", "sent"), [({}, b"*/*"), ({"Accept": "application/json"}, b"application/json")])
async def test_an_endpoint_may_have_its_own_accept_header(
    tmp_path: Path, secure: bool, own: dict[str, str], sent: bytes
) -> None:
    context, root = certify("hook.example", tmp_path)
    guard = Guard(LOOPBACK, names(["127.0.0.1"]))
    async with receiving(says(OK), context if secure else None) as receiver, posting(guard, roots=[root]) as poster:
        url = f"{'https' if secure else 'http'}://hook.example:{receiver.port}/"
        assert (await poster.post(url, own, b"{}")).status == 200
    lines = receiver.requests[0][0].lower().split(b"\r\n")
    assert [line for line in lines if line.startswith(b"accept:")] == [b"accept: " + sent]


async def test_tls_asks_for_the_name_at_the_pinned_address(tmp_path: Path) -> None:
    context, root = certify("hook.example", tmp_path)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    async with receiving(says(OK), context) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.1"]))
        async with posting(guard, roots=[root]) as poster:
            result = await poster.post(f"https://hook.example:{receiver.port}/", {}, b"{}")
            assert (result.status, result.error) == (200, None)
        assert asked == ["hook.example"]
        assert receiver.header("host") == f"hook.example:{receiver.port}"


@pytest.mark.parametrize(("host", "trusted"), [("other.example", True), ("hook.example", False)])
async def test_a_wrong_or_unknown_certificate_is_a_tls_error(tmp_path: Path, host: str, trusted: bool) -> None:
    context, root = certify("hook.example", tmp_path)
    async with receiving(says(OK), context) as receiver:
        guard = Guard(LOOPBACK, names(["127.0.0.1"]))
        async with posting(guard, roots=[root] if trusted else []) as poster:
            result = await poster.post(f"https://{host}:{receiver.port}/", {}, b"{}")
            assert (result.status, result.error_kind) == (None, "tls")
        assert receiver.requests == []


async def test_plain_http_behind_an_https_url_is_a_tls_error() -> None:
    async def answer_anything(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(OK)
        writer.close()

    server = await asyncio.start_server(answer_anything, "127.0.0.1", 0)
    async with server, posting() as poster:
        port = server.sockets[0].getsockname()[1]
        assert (await poster.post(f"https://127.0.0.1:{port}/", {}, b"{}")).error_kind == "tls"
