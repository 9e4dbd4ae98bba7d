"""Where connections go, for deliveries and for media links alike: every way around the guard that is known."""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gatepost.model.errors import Invalid
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.webhooks.dns import ResolvedName
from gatepost.webhooks.guard import REUSE_SECONDS, Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import check_link, fetch_guarded
from tests.for_each import for_each
from tests.listening import stop_listening
from tests.webhooks.test_http_post import certify

OK = b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 2\r\n\r\nok"
LITERALS = [
    *("127.0.0.1", "0", "0.0.0.0", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.0.1."),
    *("127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1", "127.0.0.1%2e"),
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::127.0.0.1]"),
    *("[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fd00:ec2::254]", "[fe80::1]"),
    *("169.254.169.254", "169.254.169.254.", "100.64.0.1", "100.100.100.200", "100.127.255.255", "168.63.129.16"),
    *("10.0.0.1", "172.16.0.1", "192.168.0.1", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
    *("localhost", "localhost.", "LocalHost", "a.localhost", "ｌocalhost"),
    *("user@127.0.0.1", "user:secret@files.example", "@files.example:80@127.0.0.1", "127.0.0.1%00.files.example"),
    *("files.example%00", "files%00.example", "127.0.0.1\t", "[::1%25lo]", "[fe80::1%25eth0]"),
]
SCHEMES = ["ftp", "file", "gopher", "dict", "ldap", "unix", "ws", "data", "javascript", "jar:http"]
PORTS = [0, 22, 25, 53, 111, 389, 445, 3306, 5432, 6379, 11211, 27017]


class Names:
    """A resolver with given answers, one after another, the last one repeated."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _channel: object) -> ResolvedName:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return ResolvedName(tuple(answer), REUSE_SECONDS)


class Listener:
    """A server at one address: every connection to it, with the name that TLS asked for, and every request's head."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.port = 0
        self.connections = 0
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode())
                if head.startswith(b"POST"):
                    await reader.readexactly(2)
                writer.write(self.answer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()

    @property
    def hosts(self) -> list[str]:
        lines = [line for head in self.heads for line in head.split("\r\n") if line.lower().startswith("host: ")]
        return [line[6:].rpartition(":")[0] for line in lines]


@asynccontextmanager
async def listening(
    answer: bytes = OK, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Listener]:
    listener, serving = Listener(answer), set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(listener.serve(reader, writer))
        task.add_done_callback(lambda _: writer.close())  # also if it is cancelled before it begins
        serving.add(task)

    server = await asyncio.start_server(accept, address, port, ssl=tls)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        await stop_listening(server)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


# Both ways to call an address: each gives None when it got through, or says why not, and whether for good.
Call = Callable[..., Awaitable[tuple[str, bool] | None]]


async def deliver(guard: Guard, url: str, roots: Sequence[bytes] = ()) -> tuple[str, bool] | None:
    """A delivery."""
    poster = Poster(guard, deadline=5.0, roots=roots)
    try:
        answer = await poster.post(url, {}, b"{}")
    finally:
        await poster.close()
    if answer.status is not None and answer.status < 300:
        return None
    return answer.error or f"{answer.status}", answer.error_kind == "forbidden"


async def fetch(guard: Guard, url: str, roots: Sequence[bytes] = ()) -> tuple[str, bool] | None:
    """A media link."""
    found = await fetch_guarded(guard, url, 1000, deadline=5.0, roots=roots)
    if isinstance(found, FetchedFile):
        return None
    assert isinstance(found, FetchFailure)
    return found.reason, not found.retry


@pytest.fixture(params=[deliver, fetch], ids=["delivery", "media link"])
def call(request: pytest.FixtureRequest) -> Call:
    """Give each way."""
    made: Call = request.param
    return made


# -- 32: every way to write a forbidden place -------------------------------------------------------------------------


async def test_no_spelling_of_a_forbidden_address_is_called(call: Call) -> None:
    async with listening() as listener:
        for host in LITERALS:
            names = Names(["127.0.0.1"])  # should a spelling pass for a name, it leads here all the same
            refused = await call(Guard([], names), f"http://{host}:{listener.port}/")
            assert refused is not None, host
            assert refused[1] is True, (host, refused)
        assert listener.connections == 0


@for_each("host", LITERALS)
def test_no_spelling_of_a_forbidden_address_is_accepted_in_a_message(host: str) -> None:
    """A link is checked without resolving its name; what is clearly forbidden is rejected with the message."""
    with pytest.raises(Invalid):
        check_link(Guard(), f"http://{host}/a.png")


async def test_only_http_is_spoken_and_no_other_services_port_is_called(call: Call) -> None:
    public = Names(["93.184.215.14"])
    for scheme in SCHEMES:
        assert await call(Guard([], public), f"{scheme}://files.example/") is not None, scheme
    for port in PORTS:
        refused = await call(Guard(["127.0.0.0/8"], public), f"http://127.0.0.1:{port}/")
        assert refused is not None
        assert refused[1] is True, port
    assert public.asked == []


async def test_what_cannot_be_parsed_or_resolved_is_closed(call: Call) -> None:
    async def broken(_host: str, _channel: object) -> ResolvedName:
        raise OSError("no such name")

    for url in ("", "http://", "http:///x", "http://[::1/", "http://a b/", "http://1.2.3.4.5/", "http://0x/", "//x"):
        assert await call(Guard([], broken), url) is not None, url
    refused = await call(Guard([], broken), "http://files.example/")
    assert refused is not None
    assert refused[1] is False


# -- 33: names --------------------------------------------------------------------------------------------------------


@for_each(
    "answers",
    [
        ["127.0.0.1"],
        ["93.184.215.14", "127.0.0.1"],
        ["127.0.0.1", "93.184.215.14"],
        ["2606:2800:21f:cb07::1", "127.0.0.1"],
        ["93.184.215.14", "fd00:ec2::254"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["100.64.0.1"],
    ],
)
@for_each("host", ["127-0-0-1.nip.example", "inner.example", "a7f000001.example"])
async def test_one_forbidden_address_behind_a_name_closes_it(call: Call, host: str, answers: list[str]) -> None:
    async with listening() as listener:
        refused = await call(Guard([], Names(answers)), f"http://{host}:{listener.port}/")
        assert refused is not None
        assert refused[1] is True
        assert not any(answer in refused[0] for answer in answers)
        assert listener.connections == 0


async def test_a_name_that_changes_between_check_and_call_has_no_effect(call: Call) -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    async with listening() as good, listening(address="127.0.0.2", port=good.port) as inner:
        assert await call(Guard(["127.0.0.1/32"], names), f"http://rebind.example:{good.port}/") is None
        assert (good.connections, inner.connections) == (1, 0)
    assert names.asked == ["rebind.example"]


async def test_a_name_that_changed_is_checked_again_after_its_ttl(call: Call) -> None:
    now, names = 0.0, Names(["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"])
    guard = Guard(["127.0.0.1/32"], names, clock=lambda: now)
    async with listening() as good, listening(address="127.0.0.2", port=good.port) as inner:
        url = f"http://rebind.example:{good.port}/"
        for now, through, asked in (  # noqa: B007 - the guard reads the clock
            (0.0, True, 1),
            (REUSE_SECONDS - 0.1, True, 1),
            (REUSE_SECONDS, False, 2),
            (REUSE_SECONDS + 0.1, True, 3),
        ):
            refused = await call(guard, url)
            assert (refused is None) == through
            assert refused is None or refused[1] is True
            assert len(names.asked) == asked
        assert (good.connections, inner.connections) == (3, 0)


# -- 34: redirects, proxies, connections ------------------------------------------------------------------------------


@for_each("status", [301, 302, 303, 307, 308])
async def test_no_redirect_leads_to_the_metadata_service(call: Call, status: int) -> None:
    async with listening() as inner:
        for place in (f"http://127.0.0.1:{inner.port}/", "http://169.254.169.254/latest/meta-data/"):
            head = f"HTTP/1.1 {status} Moved\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n"
            async with listening(head.encode(), address="127.0.0.2") as outer:
                refused = await call(Guard(["127.0.0.2/32"]), f"http://127.0.0.2:{outer.port}/")
                assert refused is not None
                assert str(status) in refused[0]
                assert outer.connections == 1
        assert inner.connections == 0


async def test_proxy_variables_have_no_effect(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as proxy, listening() as aim:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert await call(Guard(["127.0.0.0/8"], Names(["127.0.0.1"])), f"http://files.example:{aim.port}/") is None
        assert await call(Guard(["127.0.0.0/8"]), f"http://127.0.0.1:{aim.port}/") is None
        assert (proxy.connections, aim.connections) == (0, 2)


async def test_a_pinned_address_is_asked_for_by_its_name(call: Call, tmp_path: Path) -> None:
    context, root = certify("files.example", tmp_path)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    async with listening(tls=context) as listener:
        guard = Guard(["127.0.0.0/8"], Names(["127.0.0.1"]))
        assert await call(guard, f"https://files.example:{listener.port}/", [root]) is None
        assert (asked, listener.hosts) == (["files.example"], ["files.example"])
        # The same machine under a name that its certificate does not hold.
        assert await call(guard, f"https://other.example:{listener.port}/", [root]) is not None
        assert await call(guard, f"https://127.0.0.1:{listener.port}/", [root]) is not None
        assert listener.hosts == ["files.example"]


async def test_a_connection_serves_one_host_and_no_other(tmp_path: Path) -> None:
    context, root = certify("one.example", tmp_path)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    guard = Guard(["127.0.0.0/8"], Names(["127.0.0.1"]))
    async with listening() as plain, listening(tls=context) as safe:
        poster = Poster(guard, roots=[root])
        for _ in range(2):
            for host in ("one.example", "two.example", "127.0.0.1"):
                assert (await poster.post(f"http://{host}:{plain.port}/", {}, b"{}")).status == 200
            assert (await poster.post(f"https://one.example:{safe.port}/", {}, b"{}")).status == 200
            assert (await poster.post(f"https://two.example:{safe.port}/", {}, b"{}")).error_kind == "tls"
        await poster.close()
        assert plain.connections == 3
        assert plain.hosts == ["one.example", "two.example", "127.0.0.1"] * 2
        assert asked == ["one.example", "two.example", "two.example"]


async def test_literal_addresses_share_a_client_but_no_connection() -> None:
    async with listening() as one, listening(address="127.0.0.2", port=one.port) as two:
        poster = Poster(Guard(["127.0.0.0/8"]))
        for _ in range(2):
            assert (await poster.post(f"http://127.0.0.1:{one.port}/", {}, b"{}")).status == 200
            assert (await poster.post(f"http://127.0.0.2:{one.port}/", {}, b"{}")).status == 200
        await poster.close()
        assert (one.hosts, two.hosts) == (["127.0.0.1"] * 2, ["127.0.0.2"] * 2)


# -- 35: no help from the standard library ----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [True, False])
async def test_the_ipaddress_module_decides_nothing(call: Call, monkeypatch: pytest.MonkeyPatch, wrong: bool) -> None:
    """Older ipaddress modules are mistaken (CVE-2024-4032), and none counts 100.64.0.0/10 as private."""
    for kind in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        for name in ("is_private", "is_global", "is_loopback", "is_reserved", "is_link_local", "is_multicast"):
            monkeypatch.setattr(kind, name, property(lambda _self: wrong))
    for host in ("127.0.0.1", "100.64.0.1", "[::ffff:10.0.0.1]", "192.0.0.9", "[64:ff9b:1::1]", "[2001:1::1]"):
        refused = await call(Guard(), f"http://{host}/")
        assert refused is not None
        assert refused[1] is True, host
    Guard().check_shape("http://93.184.215.14/")


def test_two_addresses_are_to_be_had() -> None:
    """These tests need a second address of this machine: were it not there, some could not fail."""
    with socket.create_server(("127.0.0.2", 0)):
        pass
