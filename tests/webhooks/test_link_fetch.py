"""Links: fetched only through the guard, within their limits, and every failure explained."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from gatepost.model.errors import Invalid
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.webhooks.dns import ResolvedName
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.link_fetch import check_link, fetch_guarded
from tests.conftest import Answer, Receiver
from tests.for_each import for_each

MOST = 1000
PNG = {"Content-Type": "image/png"}


def open_guard() -> Guard:
    return Guard(["127.0.0.0/8"])


def unfetched(found: FetchedFile | FetchFailure) -> tuple[str, bool]:
    assert isinstance(found, FetchFailure), found
    return found.reason, found.retry


async def test_a_file_comes_with_its_type(receiver: Receiver) -> None:
    receiver.answer = Answer(200, {"Content-Type": "Image/PNG; x=y"}, b"abc")
    found = await fetch_guarded(open_guard(), receiver.url + "/a.png?x=1", MOST)
    assert found == FetchedFile(b"abc", "image/png")
    (request,) = receiver.requests
    assert (request.method, request.path, request.query) == ("GET", "/a.png", "x=1")
    assert "authorization" not in request.headers
    assert "accept-encoding" not in request.headers


@pytest.mark.parametrize("kind", [{}, {"Content-Type": "nonsense"}])
async def test_a_file_without_a_type_is_just_bytes(receiver: Receiver, kind: dict[str, str]) -> None:
    receiver.answer = Answer(200, kind, b"abc")
    assert await fetch_guarded(open_guard(), receiver.url, MOST) == FetchedFile(b"abc", "application/octet-stream")


@pytest.mark.parametrize("announced", [True, False])
async def test_a_file_may_be_as_large_as_asked_for(receiver: Receiver, announced: bool) -> None:
    for size, fits in ((MOST, True), (MOST + 1, False)):
        length = {"Content-Length": str(size)} if announced else {}
        receiver.answer = Answer(200, PNG | length, bytes(size))
        found = await fetch_guarded(open_guard(), receiver.url, MOST)
        if fits:
            assert found == FetchedFile(bytes(size), "image/png")
        else:
            assert unfetched(found) == ("The file behind the link has more than 1 KB.", False)


async def test_no_redirect_is_followed(receiver: Receiver) -> None:
    receiver.answer = Answer(302, {"Location": receiver.url + "/other"})
    reason, retry = unfetched(await fetch_guarded(open_guard(), receiver.url, MOST))
    assert "redirects are not followed" in reason
    assert retry is False
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("status", "retry"), [(404, False), (403, False), (204, False), (206, False), (408, True), (429, True), (500, True)]
)
async def test_only_200_is_a_file(receiver: Receiver, status: int, retry: bool) -> None:
    receiver.answer = Answer(status)
    assert unfetched(await fetch_guarded(open_guard(), receiver.url, MOST)) == (
        f"The link answered {status} instead of 200.",
        retry,
    )


async def test_a_compressed_answer_is_no_file(receiver: Receiver) -> None:
    receiver.answer = Answer(200, PNG | {"Content-Encoding": "gzip"}, b"abc")
    reason, retry = unfetched(await fetch_guarded(open_guard(), receiver.url, MOST))
    assert "compressed" in reason
    assert retry is False


async def test_a_slow_link_has_its_time(receiver: Receiver) -> None:
    receiver.answer = Answer(200, PNG, b"abc", delay=30)
    found = await fetch_guarded(open_guard(), receiver.url, MOST, deadline=0.1)
    assert unfetched(found) == ("The link did not return its file within 0.1 s.", True)


@asynccontextmanager
async def speaking(*sayings: bytes) -> AsyncIterator[str]:
    """A server that says these things one after the other, whatever it is asked, and hangs up."""
    ended = asyncio.Event()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.readuntil(b"\r\n\r\n")
            for saying in sayings:
                writer.write(saying)
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        await ended.wait()


async def test_a_link_that_drips_has_its_time_too() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    async with speaking(head, *[b"x"] * 20) as url:
        found = await fetch_guarded(open_guard(), url, MOST, deadline=0.1)
    assert unfetched(found) == ("The link did not return its file within 0.1 s.", True)


async def test_a_link_that_breaks_off_is_no_file() -> None:
    async with speaking(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") as url:
        found = await fetch_guarded(open_guard(), url, MOST)
    away = await fetch_guarded(open_guard(), url, MOST)
    assert unfetched(found) == ("The server of the link broke off, or did not answer in HTTP.", True)
    assert unfetched(away) == ("The server of the link refused the connection, or cannot be reached.", True)


# -- the guard --------------------------------------------------------------------------------------------------------


async def test_a_forbidden_address_is_not_called(receiver: Receiver) -> None:
    _, retry = unfetched(await fetch_guarded(Guard(), receiver.url, MOST))
    assert retry is False
    assert receiver.requests == []


async def test_only_the_checked_address_is_called(receiver: Receiver) -> None:
    """A name that changes after the check has no effect: it is resolved once."""
    asked: list[str] = []

    async def moving(host: str, _: object) -> ResolvedName:
        asked.append(host)
        return ResolvedName(("127.0.0.1",) if len(asked) == 1 else ("10.0.0.1",), 30)

    receiver.answer = Answer(200, PNG, b"abc")
    url = receiver.url.replace("127.0.0.1", "files.example")
    found = await fetch_guarded(Guard(["127.0.0.0/8"], moving), url, MOST)
    assert (found, asked) == (FetchedFile(b"abc", "image/png"), ["files.example"])
    assert receiver.requests[0].headers["host"].startswith("files.example:")


async def test_a_name_without_an_address_may_have_one_later() -> None:
    async def no_address(_host: str, _channel: object) -> ResolvedName:
        return ResolvedName((), 0)

    _, retry = unfetched(await fetch_guarded(Guard([], no_address), "https://files.example/a.png", MOST))
    assert retry is True


@for_each(
    "link",
    [
        "no link",
        "ftp://files.example/a",
        "https://user:pass@files.example/a",
        "https://files.example:22/a",
        "http://10.0.0.1/a",
        "http://[::1]/a",
        "http://localhost/a",
        "http://169.254.169.254/latest",
    ],
)
def test_a_link_is_checked_before_a_message_is_accepted(link: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_link(Guard(), link)
    assert refused.value.code == "forbidden_url"
    assert refused.value.fields[0].field == "media.link"


def test_a_public_link_may_pass() -> None:
    check_link(Guard(), "https://files.example/a.png")
