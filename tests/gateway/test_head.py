"""HEAD: what GET would say, without its body, and without holding or running what GET would."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatepost.api import deprecations
from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.deprecations import Deprecation
from gatepost.api.openapi.routes import list_operations
from tests.gateway.checks import TEXT
from tests.patience import PATIENCE
from tests.running_gateway import Answer, Gateway, running_gateway

CHANGING = {"x-request-id", "ratelimit", "date", "content-disposition", "transfer-encoding"}
# A count or an hour in the body may move from one request to the next, and the length with it.
LIVING = ("/api/v1/channel", "/api/v1/usage")
GETS = sorted(o.path for o in list_operations([*ROUTES, *REFERENCE, *HEALTH]) if o.key.startswith("GET "))


def stable(answer: Answer, path: str) -> dict[str, str]:
    left_out = CHANGING | ({"content-length"} if path in LIVING else set())
    return {name: value for name, value in answer.headers.items() if name not in left_out}


async def both(gateway: Gateway, path: str, key: str | None = None) -> tuple[Answer, Answer]:
    async with asyncio.timeout(PATIENCE):
        plain = {"accept-encoding": "identity"}
        got = await gateway.call("GET", path, key=key, headers=plain)
        return got, await gateway.call("HEAD", path, key=key, headers=plain)


async def test_every_get_route_answers_head_alike(gateway: Gateway) -> None:
    assert len(GETS) > 30
    message_id = await gateway.send(**TEXT)
    await gateway.until_status(message_id, "READ")
    for path in GETS:
        if path == "/api/v1/events/stream":
            continue
        asked = path.replace("{message_id}", message_id).replace("{", "").replace("}", "")
        got, headed = await both(gateway, asked)
        assert (headed.status, headed.body) == (got.status, b""), path
        assert stable(headed, asked) == stable(got, asked), path
        assert got.status != 405, path
        assert got.headers["content-type"].count("charset") <= 1, path


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_answers_without_a_key(gateway: Gateway, path: str) -> None:
    got, headed = await both(gateway, path, key="")
    assert (got.status, headed.status, headed.body) == (200, 200, b"")
    assert headed.headers["content-length"] == str(len(got.body))


async def test_no_byte_of_a_body_follows_on_the_wire(gateway: Gateway) -> None:
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for path in ("/healthz", "/api/v1/channel", "/api/v1/message/send", "/nowhere", "/callbacks/cloud/ch_x", "/docs"):
        writer.write(f"HEAD {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 "), path  # else the body of the one before was in the way
    writer.write(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()


async def test_a_route_without_get_has_no_head(gateway: Gateway) -> None:
    for path in ("/api/v1/message/send", "/api/v1/messages/batch"):
        assert (await gateway.call("HEAD", path)).status == 405
    assert (await gateway.call("HEAD", "/api/v1/nothing")).status == 404


async def test_a_stream_is_neither_held_nor_left_open(database_url: str) -> None:
    async with running_gateway(database_url, api__streams=2) as gateway:
        for _ in range(4):
            async with asyncio.timeout(PATIENCE):
                headed = await gateway.call("HEAD", "/api/v1/events/stream")
            assert (headed.status, headed.body) == (200, b"")
            assert headed.headers["content-type"].startswith("text/event-stream")
            assert headed.headers["cache-control"] == "no-store"


async def test_a_long_poll_does_not_wait(gateway: Gateway) -> None:
    waiting = asyncio.create_task(gateway.call("GET", "/api/v1/events?wait=30"))
    await asyncio.sleep(0.3)  # it waits by now
    assert (await gateway.call("HEAD", "/api/v1/events?wait=30")).status == 200
    assert not waiting.done()
    waiting.cancel()


async def test_a_key_is_asked_for_and_head_counts_against_its_rate(database_url: str) -> None:
    async with running_gateway(database_url, api__rate=0.01, api__burst=2) as gateway:
        assert (await gateway.call("HEAD", "/api/v1/channel", key="")).status == 401
        assert [(await gateway.call("HEAD", "/api/v1/channel")).status for _ in range(3)] == [200, 200, 429]


async def test_a_route_that_ends_says_so(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    ending = Deprecation(now, now + timedelta(days=200), "docs/reference/api.md")
    monkeypatch.setitem(deprecations.DEPRECATIONS, "GET /api/v1/channel", ending)
    async with running_gateway(database_url) as gateway:
        got, headed = await both(gateway, "/api/v1/channel")
        assert headed.headers["sunset"] == got.headers["sunset"]
