"""Files in S3, at a real server that speaks its protocol."""

import re
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from gatepost.model.errors import NotFound, Unavailable
from gatepost.store.media.objects import PART, ObjectStorage
from tests.cli.conftest import invoke

BIG = bytes(range(256)) * (PART // 256 * 2 + 100)  # three parts


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Give the address of an S3 server with a bucket."""
    one = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    one.start()
    url = "http://{}:{}".format(*one.get_host_and_port())
    ask(f"{url}/files", "PUT")
    yield url
    one.stop()


def ask(url: str, method: str, body: bytes = b"") -> None:
    with urlopen(Request(url, body, {"Content-Type": "text/plain"}, method=method)) as answer:
        assert answer.status == 200


@pytest.fixture
def variables(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the usual variables for the server."""
    named = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "someone", "SECRET_ACCESS_KEY": "something"}
    for name, value in (named | {"REGION": "us-east-1", "ALLOW_HTTP": "true"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)


async def pieces(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(objects: ObjectStorage, key: str, *span: int) -> bytes:
    return b"".join([piece async for piece in await objects.read(key, *span)])


async def keys(objects: ObjectStorage) -> list[str]:
    return [one.key async for some in objects.listed() for one in some]


@pytest.mark.usefixtures("variables")
async def test_files_are_put_read_in_ranges_listed_and_deleted(tmp_path: Path) -> None:
    objects = ObjectStorage.open("s3://files/folder", tmp_path / "media")
    for key, content in (("a/small", b"small"), ("a/big", BIG)):
        await objects.put(key, pieces(content))
        assert await read(objects, key) == await objects.read_all(key) == content
    assert await read(objects, "a/big", 5_000_000, 6_000_001) == BIG[5_000_000:6_000_001]
    assert await keys(ObjectStorage.open("s3://files", tmp_path)) == ["folder/a/big", "folder/a/small"]
    await objects.delete(["a/small", "a/big", "a/never"])
    assert await keys(objects) == []
    with pytest.raises(NotFound):
        await objects.read("a/big")


@pytest.mark.usefixtures("variables")
async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        async for piece in pieces(BIG):
            yield piece
        raise NotFound("gone")

    objects = ObjectStorage.open("s3://files", tmp_path)
    with pytest.raises(NotFound, match="gone"):
        await objects.put("a/broken", broken())
    assert await keys(objects) == []
    assert list(tmp_path.iterdir()) == []  # the temporary file has no name


@pytest.mark.usefixtures("variables")
async def test_a_missing_bucket_wrong_credentials_and_a_dead_server_are_unavailable(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = ObjectStorage.open("s3://nothing", tmp_path)
    await refused(nothing, "NoSuchBucket")
    with pytest.raises(Unavailable):
        await nothing.read_all("a/b")
    ask(f"{server}/moto-api/reset-auth", "POST", b"0")
    try:
        await refused(ObjectStorage.open("s3://files", tmp_path), "InvalidAccessKeyId")
    finally:
        ask(f"{server}/moto-api/reset-auth", "POST", b"inf")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    await refused(ObjectStorage.open("s3://files", tmp_path), "error sending request")


async def refused(objects: ObjectStorage, reason: str) -> None:
    with pytest.raises(Unavailable) as caught:
        await objects.put("a/b", pieces(b"content"))
    assert caught.value.code == "storage_unavailable"
    assert re.search(reason, str(caught.value.__cause__), re.IGNORECASE)


@pytest.mark.usefixtures("variables")
def test_doctor_checks_that_the_bucket_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bucket, state in (("files", "ok"), ("nothing", "problem")):
        monkeypatch.setenv("GATEPOST_MEDIA__URL", f"s3://{bucket}")
        (line,) = [one for one in invoke("doctor", "--data", str(tmp_path)).out.splitlines() if f"s3://{bucket}" in one]
        assert line.split()[:2] == [state, "files"]
