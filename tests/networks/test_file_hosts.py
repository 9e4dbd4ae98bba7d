"""The channel's token and the addresses of files: a forged answer of the network gets no token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from pyreqwest.client import Client

from gatepost.networks.base import CallFailed, RemoteMedia
from gatepost.networks.cloud.file_hosts import FileHosts, same_origin
from gatepost.networks.cloud.send import CloudNetwork, make_client
from gatepost.settings import BadSettings, load
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.link_fetch import open_network_file
from tests.conftest import Answer, Received, Receiver
from tests.for_each import for_each
from tests.patience import PATIENCE
from tests.webhooks.test_forbidden_targets import OK, listening
from tests.webhooks.test_http_post import certify, names

FILE = RemoteMedia("900", "image/png")
LISTED = frozenset({"files.example", "other.example:8443"})


@asynccontextmanager
async def no_client(url: str) -> AsyncIterator[Client]:
    raise AssertionError(url)
    yield


@for_each(
    ("url", "trusted"),
    [
        ("https://files.example/a?mid=1", True),
        ("https://files.example:443/a", True),
        ("https://FILES.example/a", True),
        ("https://other.example:8443/a", True),
        # As the client reads it: a backslash ends the host.
        ("https://files.example\\@evil.example/a", True),
        ("https://evil.example\\@files.example/a", False),
        ("https://other.example/a", False),
        ("http://files.example/a", False),
        ("http://files.example:443/a", False),
        ("https://files.example:8443/a", False),
        ("https://files.example./a", False),
        ("https://x.files.example/a", False),
        ("https://files.example.evil.example/a", False),
        ("https://user@files.example/a", False),
        ("https://files.example@evil.example/a", False),
        ("https://evil.example#@files.example/a", False),
        ("//files.example/a", False),
        ("", False),
    ],
)
def test_which_addresses_may_have_the_token(url: str, trusted: bool) -> None:
    assert FileHosts(LISTED, no_client).include(url) is trusted


@for_each(
    ("url", "same"),
    [
        ("http://127.0.0.1:8081/file", True),
        ("http://127.0.0.1:8082/file", False),
        ("https://127.0.0.1:8081/file", False),
        ("http://127.0.0.1:8081@evil.example/file", False),
        ("http://user@127.0.0.1:8081/file", False),
        ("http://evil.example\\@127.0.0.1:8081/", False),
        ("x", False),
    ],
)
def test_what_is_at_the_networks_own_address(url: str, same: bool) -> None:
    assert same_origin(url, "http://127.0.0.1:8081/graph") is same


class Forger:
    """A network that names a file wherever the test says."""

    def __init__(self, receiver: Receiver) -> None:
        self.url, self.where = receiver.url, ""
        receiver.answer = self

    def __call__(self, request: Received) -> Answer:
        body = {"url": self.where, "mime_type": "image/png"}
        return Answer(body=b"own" if request.path == "/file" else msgspec.json.encode(body))

    async def get(self, files: FileHosts | None) -> bytes:
        async with make_client(PATIENCE, PATIENCE) as client:
            network = CloudNetwork(client, self.url, "v25.0", "1000", "secret", files)
            return await network.get_media(FILE, 1000)


@pytest.mark.parametrize("listed", [True, False])
async def test_a_listed_host_is_dialled_through_the_guard(receiver: Receiver, tmp_path: Path, listed: bool) -> None:
    forger, (context, root) = Forger(receiver), certify("files.example", tmp_path)
    async with listening(OK, tls=context) as host:
        guard = Guard(["127.0.0.0/8"], names(["127.0.0.1"]))
        dial = partial(open_network_file, guard, 5.0, "ana", roots=[root])
        forger.where = f"https://files.example:{host.port}/a"
        files = FileHosts(frozenset({f"files.example:{host.port}"} if listed else {"files.example"}), dial)
        if listed:
            assert await forger.get(files) == b"ok"
            assert "Authorization: Bearer secret" in host.heads[0]
        else:
            with pytest.raises(CallFailed, match="media_hosts"):
                await forger.get(files)
            assert host.connections == 0


async def test_a_listed_host_that_leads_inside_gets_nothing(receiver: Receiver, tmp_path: Path) -> None:
    forger, (context, root) = Forger(receiver), certify("files.example", tmp_path)
    async with listening(OK, tls=context) as host:
        dial = partial(open_network_file, Guard([], names(["127.0.0.1"])), 5.0, "ana", roots=[root])
        forger.where = f"https://files.example:{host.port}/a"
        with pytest.raises(CallFailed) as failed:
            await forger.get(FileHosts(frozenset({f"files.example:{host.port}"}), dial))
        assert (failed.value.retry, host.connections) == (False, 0)


async def test_no_redirect_takes_the_token_elsewhere(receiver: Receiver, tmp_path: Path) -> None:
    forger, (context, root) = Forger(receiver), certify("files.example", tmp_path)
    async with listening(OK, tls=context) as evil:
        moved = f"HTTP/1.1 302 Found\r\nlocation: https://files.example:{evil.port}/\r\ncontent-length: 0\r\n\r\n"
        async with listening(moved.encode(), tls=context) as host:
            guard = Guard(["127.0.0.0/8"], names(["127.0.0.1"]))
            dial = partial(open_network_file, guard, 5.0, "ana", roots=[root])
            forger.where = f"https://files.example:{host.port}/a"
            with pytest.raises(CallFailed) as failed:
                await forger.get(FileHosts(frozenset({f"files.example:{host.port}"}), dial))
            assert (failed.value.status, evil.connections) == (302, 0)


def test_the_setting_holds_names_of_hosts() -> None:
    assert load(environ={}).cloud.media_hosts == ("lookaside.fbsbx.com",)
    assert load(environ={}, overrides={"cloud.media_hosts": ["a.example:8443"]}).cloud.media_hosts == (
        "a.example:8443",
    )
    for wrong in ("https://a.example", "A.example", "*.example", "", "a.example/", "a.example:"):
        with pytest.raises(BadSettings):
            load(environ={}, overrides={"cloud.media_hosts": [wrong]})
