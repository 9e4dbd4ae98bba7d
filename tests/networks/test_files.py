"""Files at the network: over at the sandbox, and at a server that does what no sandbox would."""

import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from gatepost.networks.base import CallFailed, ErrorReaction, RemoteMedia
from gatepost.networks.cloud.send import CloudNetwork, make_client
from tests.conftest import Answer, Received, Receiver
from tests.networks.sandboxed import Sandboxed, sandboxed
from tests.patience import PATIENCE

CONTENT = b"%PDF-1.4 " + bytes(range(256)) * 40
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
async def world() -> AsyncIterator[Sandboxed]:
    async with sandboxed() as one:
        yield one


# -- at the sandbox ---------------------------------------------------------------------------------------------------


async def test_a_file_goes_there_and_comes_back(world: Sandboxed) -> None:
    handle = await world.network.put_media(CONTENT, "application/pdf", 'a "b" é.pdf')
    (kept,) = await world.control("GET", "media")
    assert (kept["id"], kept["mime_type"], kept["sha256"]) == (handle, "application/pdf", SHA)
    file = RemoteMedia(handle, "application/pdf", SHA)
    assert await world.network.get_media(file, len(CONTENT)) == CONTENT
    with pytest.raises(CallFailed) as failed:
        await world.network.get_media(file, len(CONTENT) - 1)
    assert not failed.value.retry


async def test_a_file_that_is_deleted_is_gone(world: Sandboxed) -> None:
    handle = await world.network.put_media(CONTENT, "application/pdf", "a.pdf")
    await world.client.delete(f"{world.url}/v25.0/{handle}").bearer_auth("token").build().send()
    with pytest.raises(CallFailed) as failed:
        await world.network.get_media(RemoteMedia(handle, "application/pdf"), 100_000)
    assert not failed.value.retry


async def test_a_file_of_a_type_that_nobody_takes_is_refused(world: Sandboxed) -> None:
    with pytest.raises(CallFailed) as failed:
        await world.network.put_media(b"x", "application/x-odd", None)
    assert (failed.value.error.code, failed.value.retry, failed.value.status) == (100, False, 400)


@pytest.mark.parametrize(
    ("change", "code"), [({"token": "another"}, 190), ({"phone_number_id": "100000000000099"}, 100)]
)
async def test_a_problem_of_the_number_is_none_of_its_files(world: Sandboxed, change: Any, code: int) -> None:
    access = {"phone_number_id": "100000000000001", "token": "token"} | change
    network = CloudNetwork(world.client, world.url, "v25.0", **access)
    with pytest.raises(CallFailed) as failed:
        await network.put_media(CONTENT, "application/pdf", "a.pdf")
    assert (failed.value.error.code, failed.value.reaction) == (code, ErrorReaction.BREAK)


async def test_an_address_that_is_too_old_is_asked_for_again(world: Sandboxed) -> None:
    handle = await world.network.put_media(CONTENT, "application/pdf", "a.pdf")
    response = await world.client.get(f"{world.url}/v25.0/{handle}").bearer_auth("token").build().send()
    url = (await response.json())["url"]
    file = RemoteMedia(handle, "application/pdf", SHA, url=url)
    assert await world.network.get_media(file, 100_000) == CONTENT
    await world.control("POST", "clock", {"advance": 301})
    assert await world.network.get_media(file, 100_000) == CONTENT


# -- at a server of our own -------------------------------------------------------------------------------------------


class FileServer:
    """A network with one file: /v25.0/900 says where, /file gives it."""

    def __init__(self, receiver: Receiver) -> None:
        self.url = receiver.url
        self.where: Any = {"url": receiver.url + "/file", "mime_type": "image/png", "sha256": SHA, "file_size": "10249"}
        self.file: Callable[[Received], Answer] = lambda _: Answer(body=CONTENT)
        self.asked: list[str] = []
        receiver.answer = self

    def __call__(self, request: Received) -> Answer:
        assert request.headers["authorization"] == "Bearer secret"
        self.asked.append(request.path)
        return self.file(request) if request.path == "/file" else Answer(body=msgspec.json.encode(self.where))

    async def get(self, file: RemoteMedia, most: int = 100_000) -> bytes:
        async with make_client(PATIENCE, PATIENCE) as client:
            return await CloudNetwork(client, self.url, "v25.0", "1000", "secret").get_media(file, most)

    async def refusal(self, file: RemoteMedia, most: int = 100_000) -> CallFailed:
        with pytest.raises(CallFailed) as failed:
            await self.get(file, most)
        return failed.value


@pytest.fixture
def files(receiver: Receiver) -> FileServer:
    return FileServer(receiver)


FILE = RemoteMedia("900", "image/png")


async def test_a_good_address_is_used_at_once(files: FileServer) -> None:
    assert await files.get(msgspec.structs.replace(FILE, url=files.url + "/file")) == CONTENT
    assert files.asked == ["/file"]


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.2:1/file", "ftp://x/file", "//x", "file:///etc/passwd", "http://[", "x"),
        *("https://evil.example/file", "https://127.0.0.1/file", "https://lookaside.fbsbx.com.evil.example/"),
    ],
)
async def test_the_token_goes_nowhere_but_where_it_goes_anyway(files: FileServer, url: str) -> None:
    assert await files.get(msgspec.structs.replace(FILE, url=url)) == CONTENT
    assert files.asked == ["/v25.0/900", "/file"]
    files.where["url"] = url
    failed = await files.refusal(FILE)
    assert failed.retry is True
    assert "is not in cloud.media_hosts" in failed.error.title
    assert files.asked == ["/v25.0/900", "/file", "/v25.0/900"]


@pytest.mark.parametrize("most", [len(CONTENT), len(CONTENT) - 1])
async def test_a_file_is_never_larger_than_it_may_be(files: FileServer, most: int) -> None:
    del files.where["file_size"]
    if most == len(CONTENT):
        assert await files.get(FILE, most) == CONTENT
    else:
        failed = await files.refusal(FILE, most)
        assert (failed.error.title, failed.retry) == ("The file is too large", False)


async def test_a_file_that_is_announced_too_large_is_not_fetched(files: FileServer) -> None:
    assert (await files.refusal(FILE, 10_248)).error.title == "The file is too large"
    assert files.asked == ["/v25.0/900"]
    await files.refusal(msgspec.structs.replace(FILE, size=101), 100)
    assert files.asked == ["/v25.0/900"]


@pytest.mark.parametrize("by", ["the callback", "the network"])
async def test_another_file_than_the_announced_one_is_not_taken(files: FileServer, by: str) -> None:
    wrong = hashlib.sha256(b"other").hexdigest()
    if by == "the network":
        files.where["sha256"] = wrong
    failed = await files.refusal(FILE if by == "the network" else msgspec.structs.replace(FILE, sha256=wrong))
    assert (failed.error.title, failed.retry) == ("The file is not the one that was announced", True)


@pytest.mark.parametrize(("status", "again"), [(404, True), (403, True), (410, True), (500, False), (429, False)])
async def test_only_an_expired_address_is_asked_for_again(files: FileServer, status: int, again: bool) -> None:
    files.file = lambda _: Answer(status) if files.asked == ["/file"] else Answer(body=CONTENT)
    file = msgspec.structs.replace(FILE, url=files.url + "/file")
    if again:
        assert await files.get(file) == CONTENT
        assert files.asked == ["/file", "/v25.0/900", "/file"]
    else:
        assert (await files.refusal(file)).retry
        assert files.asked == ["/file"]


async def test_a_redirect_is_not_followed(files: FileServer) -> None:
    files.file = lambda _: Answer(302, {"location": files.url + "/file2"})
    failed = await files.refusal(FILE)
    assert (failed.status, failed.retry) == (302, False)


@pytest.mark.parametrize("where", [{}, {"url": ""}, {"url": 5}])
async def test_an_answer_without_an_address_may_be_better_next_time(files: FileServer, where: Any) -> None:
    files.where = where
    assert (await files.refusal(FILE)).retry


async def test_a_network_out_of_reach_may_be_back_later(unused_tcp_port: int) -> None:
    async with make_client(PATIENCE, PATIENCE) as client:
        network = CloudNetwork(client, f"http://127.0.0.1:{unused_tcp_port}", "v25.0", "1000", "secret")
        for call in (network.get_media(FILE, 10), network.put_media(b"x", "image/png", None)):
            with pytest.raises(CallFailed) as failed:
                await call
            assert (failed.value.retry, failed.value.status) == (True, 0)
