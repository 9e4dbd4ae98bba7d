"""Files of incoming messages, fetched without the library: never more bytes than the message announces."""

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gatepost.networks.qr.phone.by_neonize import files
from gatepost.networks.qr.phone.by_neonize.files import fetch_file
from gatepost.networks.qr.phone.engine import EngineError
from gatepost.networks.qr.phone.handles import FIELDS
from gatepost.networks.qr.phone.protos import e2e
from tests.for_each import for_each
from tests.networks.qr.file_host import FileHost, file_host, seal

KEY = bytes(range(32))
KINDS = {"image": "Image", "sticker": "Image", "video": "Video", "audio": "Audio", "document": "Document"}


@pytest.fixture
async def host() -> AsyncIterator[FileHost]:
    async with file_host() as one:
        yield one


def seen(kind: str = "document", length: int = 0, path: str = "/f?ccb=1&oh=2", url: str = "") -> Any:
    file = getattr(e2e.Message(), FIELDS[kind])
    file.mediaKey, file.directPath, file.URL, file.fileLength = KEY, path, url, length
    return file


@for_each("kind", FIELDS)
@for_each("size", [1, 15, 16, 17, 300_000])
async def test_a_file_comes_as_it_was(host: FileHost, kind: str, size: int) -> None:
    content = os.urandom(size)
    host.files["/f?ccb=1&oh=2"] = seal(content, KEY, KINDS[kind])
    assert await fetch_file(kind, seen(kind, size), host.url) == content
    assert await fetch_file(kind, seen(kind), host.url) == content  # its length is not told


@pytest.mark.parametrize(("size", "fits"), [(1599, True), (1600, True), (1601, False), (1616, False), (5000, False)])
async def test_a_file_may_be_as_long_as_its_message_says_and_no_longer(host: FileHost, size: int, fits: bool) -> None:
    host.files["/f"] = seal(bytes(size), KEY, "Document")
    if fits:
        assert len(await fetch_file("document", seen(length=1600, path="/f"), host.url)) == size
        return
    with pytest.raises(EngineError, match="longer than the 1600 bytes") as refused:
        await fetch_file("document", seen(length=1600, path="/f"), host.url)
    assert (refused.value.code, refused.value.sure) == (400, True)


@pytest.mark.parametrize(("length", "most"), [(1000, 1000), (0, 3_000_000)])
async def test_a_file_without_an_end_is_left_soon(
    host: FileHost, length: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", 3_000_000)
    host.endless.add("/f")
    with pytest.raises(EngineError, match=f"longer than the {most} bytes"):
        await fetch_file("document", seen(length=length, path="/f"), host.url)
    assert host.sent < most + (20 << 20)  # what the sockets of both sides hold


@pytest.mark.parametrize("spoil", ["cut", "changed", "other key", "empty"])
async def test_a_file_that_was_changed_is_refused(host: FileHost, spoil: str) -> None:
    sealed = seal(b"hello" * 100, KEY if spoil != "other key" else bytes(32), "Document")
    broken = {"cut": sealed[:-16], "changed": sealed[:20] + b"?" + sealed[21:], "other key": sealed, "empty": b""}
    host.files["/f"] = broken[spoil]
    with pytest.raises(EngineError, match="checksum of the file") as refused:
        await fetch_file("document", seen(length=500, path="/f"), host.url)
    assert refused.value.code == 400


async def test_a_file_that_is_gone_says_so(host: FileHost) -> None:
    with pytest.raises(EngineError, match="status code 404") as refused:
        await fetch_file("document", seen(path="/gone"), host.url)
    assert refused.value.code == 404


async def test_a_redirect_is_not_followed(host: FileHost) -> None:
    host.redirects["/f"] = f"{host.url}/inside"
    with pytest.raises(EngineError, match="status code 302"):
        await fetch_file("document", seen(path="/f"), host.url)
    assert host.asked == ["/f"]


@pytest.mark.parametrize("path", ["", "f", "@evil.example/f", "https://a.example/f", "/a b", "/a\r\nx: y", "/\u00e9"])
async def test_a_path_is_a_path(host: FileHost, path: str) -> None:
    with pytest.raises(EngineError, match="no valid path"):
        await fetch_file("document", seen(path=path), host.url)
    assert host.asked == []


@for_each(
    ("url", "host_asked"),
    [
        ("https://media-ams2-1.cdn.whatsapp.net/v/f", "media-ams2-1.cdn.whatsapp.net"),
        ("https://mmg.whatsapp.net/v/f", "mmg.whatsapp.net"),
        ("https://127.0.0.1/f", "mmg.whatsapp.net"),
        ("http://169.254.169.254/latest", "mmg.whatsapp.net"),
        ("https://evilwhatsapp.net/f", "mmg.whatsapp.net"),
        ("https://mmg.whatsapp.net.evil.example/f", "mmg.whatsapp.net"),
        ("https://user@evil.example:1/.whatsapp.net", "mmg.whatsapp.net"),
        ("https://evil.example#.whatsapp.net", "mmg.whatsapp.net"),
        ("https://[::1/f", "mmg.whatsapp.net"),
        ("", "mmg.whatsapp.net"),
    ],
)
def test_only_hosts_of_the_network_are_asked(url: str, host_asked: str) -> None:
    assert files._host_of(url) == host_asked
