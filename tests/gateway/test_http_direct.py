"""The hot routes without ASGI: the same answers, byte by byte, and the same connections as with it."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import msgspec
import pytest
import uvicorn

from gatepost.api import deprecations
from gatepost.api.deprecations import Deprecation
from gatepost.console.dashboard import Dashboard
from gatepost.http_direct import DirectCycle, DirectRoutes
from gatepost.model import ids
from gatepost.outbound.accept import Acceptor
from gatepost.serving import server_config
from tests import running_gateway as running
from tests.for_each import for_each
from tests.gateway.checks import TEXT, check_refused, until
from tests.gateway.test_callback_bodies import EMPTY, POSSIBLE, address, sign
from tests.gateway.test_http_protocol import alive
from tests.gateway.wire import Wire, request, wired
from tests.patience import PATIENCE, patience
from tests.running_gateway import Gateway, running_gateway

SEND = "/api/v1/message/send"
BODY = msgspec.json.encode(TEXT)
LINKED = {"phone": TEXT["phone"], "type": "image", "image": {"link": "http://127.0.0.1:9/a.png"}}
NUMBER_ID = "100000000000001"  # of the first channel
HEALTH = request("GET", "/healthz")
# What differs between two answers: the time, the ids of the request and of the message, and what is left of the rate.
VARYING = re.compile(rb"date: [^\r]+|req_\w+|ratelimit: [^\r]+|\b[0-9A-F]{32}\b|\bwamid\.[\w=+/]+")


@pytest.fixture
def passed_to_asgi(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the requests that reach the ASGI app."""
    seen: list[str] = []
    app = Dashboard.__call__

    async def noting(self: Dashboard, scope: Any, receive: Any, send: Any) -> None:
        seen.append(f"{scope['method']} {scope['path']}")
        await app(self, scope, receive, send)

    monkeypatch.setattr(Dashboard, "__call__", noting)
    return seen


def sending(gateway: Gateway, path: str = SEND, body: bytes = BODY, **headers: str) -> bytes:
    known = {"authorization": f"Bearer {gateway.key}", "content-type": "application/json"}
    return request("POST", path, known | {name.replace("_", "-"): value for name, value in headers.items()}, body)


def calling(gateway: Gateway, signature: str = "", channel: str = "") -> bytes:
    path = f"/callbacks/cloud/{channel}" if channel else address(gateway)
    return request("POST", path, {"x-hub-signature-256": signature or sign(EMPTY)}, EMPTY)


def in_chunks(whole: bytes) -> bytes:
    """The same request, its body in chunks of seven bytes."""
    head, _, body = whole.partition(b"\r\n\r\n")
    head = re.sub(rb"content-length: \d+", b"transfer-encoding: chunked", head)
    chunks = [body[at : at + 7] for at in range(0, len(body), 7)]
    return head + b"\r\n\r\n" + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


def with_trailer(whole: bytes, name: str, value: str) -> bytes:
    """A request in chunks, with a field behind its body."""
    return whole.removesuffix(b"\r\n") + f"{name}: {value}\r\n\r\n".encode()


def as_asgi(whole: bytes) -> bytes:
    """The same request with an empty query, which goes through ASGI."""
    return whole.replace(b" HTTP/", b"? HTTP/", 1)


async def test_both_ways_answer_alike(gateway: Gateway, passed_to_asgi: list[str]) -> None:
    send = sending(gateway)
    keyed, keyless = sending(gateway, idempotency_key="one"), send.replace(b"authorization", b"x-nothing")
    async with wired(gateway.url) as wire:
        await wire.send(keyed)
        assert (await wire.answer()).status == 200
    cases = {
        "a message": (send, b"200"),
        "a repeated request": (keyed, b"200"),
        "the last request of a connection": (sending(gateway, connection="close"), b"200"),
        "HTTP/1.0": (send.replace(b"HTTP/1.1", b"HTTP/1.0"), b"200"),
        "a chunked body": (in_chunks(send), b"200"),
        "a key behind the body": (
            with_trailer(in_chunks(keyless), "authorization", f"Bearer {gateway.key}"),
            b"401",
        ),
        "a wrong key behind the body": (with_trailer(in_chunks(send), "authorization", "Bearer gpk_1"), b"200"),
        "no key": (keyless, b"401"),
        "a mistyped key": (send.replace(gateway.key.encode(), gateway.key.encode()[:-1]), b"401"),
        "not JSON": (send.replace(b"application/json", b"text/plain"), b"415"),
        "an invalid message": (sending(gateway, body=b"{}"), b"422"),
        "malformed JSON": (sending(gateway, body=b"{"), b"400"),
        "too large": (request("POST", SEND, headers_of(gateway), length=2 << 20), b"413"),
        "a callback": (calling(gateway), b"200"),
        "a chunked callback": (in_chunks(calling(gateway)), b"200"),
        "a forged callback": (calling(gateway, POSSIBLE), b"401"),
        "a callback of nobody": (calling(gateway, channel="ch_0"), b"404"),
    }
    for name, (whole, status) in cases.items():
        passed_to_asgi.clear()
        direct = await said(gateway, whole)
        assert set(passed_to_asgi) <= {"GET /healthz"}, name
        through_asgi = await said(gateway, as_asgi(whole))
        assert not set(passed_to_asgi) <= {"GET /healthz"}, name
        assert direct.split()[1] == status, (name, direct)
        assert VARYING.sub(b"(varying)", direct) == VARYING.sub(b"(varying)", through_asgi), name


def headers_of(gateway: Gateway) -> dict[str, str]:
    return {"authorization": f"Bearer {gateway.key}", "content-type": "application/json"}


async def said(gateway: Gateway, whole: bytes) -> bytes:
    """The whole answer, and whether the connection ends after it."""
    async with wired(gateway.url) as wire:
        await wire.send(whole)
        answer = await wire.raw_answer()
        if b"connection: close" in answer:
            return answer + await wire.ended() + b"(the end)"
        await wire.send(HEALTH)
        assert (await wire.answer()).status == 200
        return answer


@for_each("method", ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"])
async def test_other_methods(gateway: Gateway, passed_to_asgi: list[str], method: str) -> None:
    passed_to_asgi.clear()
    async with wired(gateway.url) as wire:
        await wire.send(request(method, SEND) + sending(gateway))
        first = await wire.answer(head=method == "HEAD")
        assert (first.status, first.headers["allow"]) == (204 if method == "OPTIONS" else 405, "OPTIONS, POST")
        assert (await wire.answer()).status == 200
    assert passed_to_asgi[0] == f"{method} {SEND}"


async def test_answers_are_counted(parted_database_url: str, passed_to_asgi: list[str]) -> None:
    async with running_gateway(parted_database_url, role="api", metrics__token="figures") as gateway:
        before = await counted(gateway)
        passed_to_asgi.clear()
        async with wired(gateway.url) as wire:
            for body in (BODY, BODY, b"{}"):
                await wire.send(sending(gateway, body=body))
                await wire.answer()
        assert passed_to_asgi == []
        after = await counted(gateway)
    assert {kind: after[kind] - before[kind] for kind in after} == {"2xx": 2 + 1, "4xx": 1}  # and GET /metrics


async def counted(gateway: Gateway) -> dict[str, float]:
    text = (await gateway.call("GET", "/metrics", key="figures")).body.decode()
    found = re.findall(r'gatepost_requests_total\{status="(2xx|4xx)"\} ([\d.]+)', text)
    return {kind: float(count) for kind, count in found}


async def test_a_route_that_ends_says_so(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    ending = Deprecation(now, now + timedelta(days=200), "docs/reference/api.md")
    monkeypatch.setitem(deprecations.DEPRECATIONS, f"POST {SEND}", ending)
    async with running_gateway(parted_database_url, role="api") as gateway:
        assert "sunset" in (await gateway.call("POST", SEND, TEXT)).headers


# -- without a task ---------------------------------------------------------------------------------------------------


@pytest.fixture
def in_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the paths of requests that are answered by a task."""
    seen: list[str] = []
    answer = DirectCycle._answer

    async def noting(self: DirectCycle, scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["path"])
        await answer(self, scope, receive, send)

    monkeypatch.setattr(DirectCycle, "_answer", noting)
    return seen


def status_of(network_id: str, status: str = "delivered") -> dict[str, Any]:
    return {"id": network_id, "status": status, "timestamp": "1790000000", "recipient_id": TEXT["phone"]}


def reporting(gateway: Gateway, *statuses: Any) -> bytes:
    """A callback with statuses."""
    value = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": NUMBER_ID}, "statuses": statuses}
    entry = {"id": "1", "changes": [{"field": "messages", "value": value}]}
    body = msgspec.json.encode({"object": "whatsapp_business_account", "entry": [entry]})
    return request("POST", address(gateway), {"x-hub-signature-256": sign(body)}, body)


async def test_a_plain_request_of_a_known_sender_needs_no_task(gateway: Gateway, in_tasks: list[str]) -> None:
    send, report = sending(gateway), reporting(gateway, status_of("wamid.of.nobody"))
    keyed = sending(gateway, idempotency_key="one")
    for whole in (send, keyed, report):
        await said(gateway, whole)
    cases = {
        "a message": (send, 0),
        "with a trace": (sending(gateway, traceparent=f"00-{'1' * 32}-{'2' * 16}-01"), 0),
        "the last request of a connection": (sending(gateway, connection="close"), 0),
        "a chunked body": (in_chunks(send), 0),
        "as large as is decoded at once": (sending(gateway, body=BODY.ljust(16_384)), 0),
        "larger": (sending(gateway, body=BODY.ljust(16_385)), 1),
        "with a key that was used before": (keyed, 1),
        "with a cookie": (sending(gateway, cookie="a=b"), 1),
        "with a reply": (sending(gateway, body=msgspec.json.encode({**TEXT, "reply_to": "0" * 32})), 0),
        "to a new recipient": (sending(gateway, body=BODY.replace(TEXT["phone"].encode(), b"5511900000077")), 0),
        "with a link": (sending(gateway, body=msgspec.json.encode(LINKED)), 1),
        "invalid": (sending(gateway, body=b"{}"), 1),
        "a status": (report, 0),
        "a status without an id": (reporting(gateway, {"status": "read"}), 1),
        "an empty callback": (calling(gateway), 1),
        "a forged callback": (reporting(gateway).replace(b"sha256=", b"sha256=0")[:-1], 1),
    }
    for name, (whole, tasks) in cases.items():
        async with patience(lambda name=name: f"{name}: {in_tasks}"):  # type: ignore[misc]
            direct = await said_once(gateway, whole, in_tasks)
            while len(in_tasks) > tasks:  # more than a second after the last request: the key is not cached
                direct = await said_once(gateway, whole, in_tasks)
        assert len(in_tasks) == tasks, name
        through_asgi = await said(gateway, as_asgi(whole))
        assert VARYING.sub(b"(varying)", direct) == VARYING.sub(b"(varying)", through_asgi), name
    in_tasks.append("a request")
    async with patience(lambda: f"with a new key: {in_tasks}"):
        while in_tasks:
            await said_once(gateway, sending(gateway, idempotency_key=uuid4().hex), in_tasks)


async def said_once(gateway: Gateway, whole: bytes, in_tasks: list[str]) -> bytes:
    in_tasks.clear()
    return await said(gateway, whole)


async def test_what_a_commit_leaves_out_is_accepted_by_a_task(gateway: Gateway, in_tasks: list[str]) -> None:
    async with wired(gateway.url) as wire:
        for _ in range(2):
            await wire.send(sending(gateway))
            assert (await wire.answer()).status == 200
        async with gateway.db.connection() as conn:
            await conn.execute("UPDATE contacts SET phone = '5511900000078'")
        in_tasks.clear()
        await wire.send(sending(gateway))
        answer = await wire.answer()
        assert (answer.status, "connection" in answer.headers) == (200, False)
    assert in_tasks == [SEND]
    assert await stored(gateway) == 3


async def test_an_error_after_the_commit_is_answered(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Acceptor, "trace", broken)
    async with wired(gateway.url) as wire:
        for _ in range(2):  # the second one with a key that is cached
            await wire.send(sending(gateway))
            assert (await wire.answer()).status == 500
    assert await stored(gateway) == 2


@pytest.mark.parametrize("known", [True, False])
async def test_a_message_that_its_commit_refuses_leaves_no_garbage(parted_database_url: str, known: bool) -> None:
    """The garbage collector runs rarely. A key that is not cached any more is looked up in a task."""
    async with running_gateway(parted_database_url, role="api") as gateway:  # which gets no callbacks
        refused = sending(gateway, body=msgspec.json.encode({**TEXT, "reply_to": "0" * 32}))
        await said(gateway, sending(gateway))
        gc.collect()
        gc.disable()
        before = alive(DirectCycle)
        if not known:
            gateway.key = await gateway.new_key(ids.parse_id("ch", gateway.channel) or ids.ZERO)
            refused = sending(gateway, body=msgspec.json.encode({**TEXT, "reply_to": "0" * 32}))
        try:
            async with wired(gateway.url) as wire:
                for _ in range(3):
                    await wire.send(refused)
                    check_refused(await wire.answer(), 422, "invalid_field", "reply_to")
            async with patience(lambda: f"{alive(DirectCycle) - before} requests are in memory"):
                while alive(DirectCycle) > before:
                    await asyncio.sleep(0.02)
        finally:
            gc.enable()


async def test_an_answer_that_cannot_be_written(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> bytes:
        raise RuntimeError("broken")

    monkeypatch.setattr(DirectRoutes, "write", broken)
    for _ in range(2):  # the second one with a key that is cached
        async with wired(gateway.url) as wire:
            await wire.send(sending(gateway))
            assert (await wire.answer()).status == 500
            assert await wire.ended() == b""


async def test_requests_over_the_limit(parted_database_url: str, in_tasks: list[str]) -> None:
    """What is rejected is counted neither by the attempt without a task nor by the task."""
    few = running_gateway(parted_database_url, role="api", api__rate=0.01, api__burst=4)
    async with few as gateway, wired(gateway.url) as wire:
        found = []
        for _ in range(6):
            await wire.send(sending(gateway))
            answer = await wire.answer()
            found.append((answer.status, re.findall(r"r=(\d+)", answer.headers["ratelimit"])))
    assert found == [(200, ["3"]), (200, ["2"]), (200, ["1"]), (200, ["0"]), (429, ["0"]), (429, ["0"])]
    assert len(in_tasks) < len(found)  # the last two, and those with a key that is not cached


async def test_a_request_of_an_overloaded_gateway_counts_once(parted_database_url: str) -> None:
    full = running_gateway(parted_database_url, role="api", api__rate=0.01, api__burst=9, api__queue=1)
    async with full as gateway, AsyncExitStack() as connections:
        writing, waiting, third = [await connections.enter_async_context(wired(gateway.url)) for _ in range(3)]
        assert "r=8;" in await left_after(third, gateway)
        async with held(gateway) as locked:
            await writing.send(sending(gateway))
            await locked()
            await waiting.send(sending(gateway))
            for _ in range(3):
                await third.send(HEALTH)
                assert (await third.answer()).status == 200
                await third.send(sending(gateway))
                check_refused(await third.answer(), 503, "overloaded")
        assert [(await wire.answer()).status for wire in (writing, waiting)] == [200, 200]
        assert "r=2;" in await left_after(third, gateway)


async def left_after(wire: Wire, gateway: Gateway) -> str:
    """How many requests are left after a message."""
    await wire.send(sending(gateway))
    answer = await wire.answer()
    assert answer.status == 200
    return answer.headers["ratelimit"]


# -- bodies -----------------------------------------------------------------------------------------------------------


async def test_a_request_byte_by_byte(gateway: Gateway, passed_to_asgi: list[str]) -> None:
    async with wired(gateway.url) as wire:
        for whole in (sending(gateway), in_chunks(sending(gateway)), calling(gateway)):
            for at in range(len(whole)):
                await wire.send(whole[at : at + 1])
            answer = await wire.answer()
            assert (answer.status, "connection" in answer.headers) == (200, False)
    assert passed_to_asgi == []


async def test_expect_continue(gateway: Gateway, passed_to_asgi: list[str]) -> None:
    async with wired(gateway.url) as wire:
        for whole in (sending(gateway, expect="100-continue"), calling(gateway)):
            head, _, body = whole.partition(b"\r\n\r\n")
            await wire.send(head + b"\r\n\r\n")
            if b"expect" in head:
                assert (await wire.answer()).status == 100
            await wire.send(body)
            assert (await wire.answer()).status == 200
    assert passed_to_asgi == []


async def test_a_large_body_is_read_in_parts(gateway: Gateway, passed_to_asgi: list[str]) -> None:
    async with wired(gateway.url) as wire:
        for body in (BODY.ljust(1 << 20), BODY):
            await wire.send(sending(gateway, body=body))
            answer = await wire.answer()
            assert (answer.status, "connection" in answer.headers) == (200, False)
        await wire.send(in_chunks(sending(gateway, body=BODY.ljust((1 << 20) + 1))))
        check_refused(await wire.answer(), 413, "body_too_large")
        await wire.send(sending(gateway, body=BODY))  # the rest of the large body was read and ignored
        assert (await wire.answer()).status == 200
    assert passed_to_asgi == []


async def test_a_body_that_stalls_is_given_up(parted_database_url: str) -> None:
    quick = running_gateway(parted_database_url, role="api", server__body_window=0.2)
    async with quick as gateway, wired(gateway.url) as wire:
        await wire.send(request("POST", SEND, headers_of(gateway), BODY, length=1000))
        check_refused(await wire.answer(), 408, "request_timeout")
        assert await wire.ended() == b""


@for_each("known", [False, True])
async def test_a_client_that_leaves(gateway: Gateway, known: bool) -> None:
    """In the middle of the body nothing is sent; after it, the message is stored without an answer."""
    if known:
        assert (await gateway.call("POST", SEND, TEXT)).status == 200
    before = await stored(gateway)
    async with wired(gateway.url) as wire:
        await wire.send(request("POST", SEND, headers_of(gateway), BODY, length=len(BODY) + 1))
    async with held(gateway) as waiting, wired(gateway.url) as wire:
        await wire.send(sending(gateway))
        await waiting()
    await until(lambda: one_more(gateway, before))
    assert await stored(gateway) == before + 1


async def one_more(gateway: Gateway, before: int) -> bool:
    return await stored(gateway) > before


async def stored(gateway: Gateway) -> int:
    count: int = await gateway.db.fetchval("SELECT count(*) FROM messages")
    return count


# -- other requests on the connection ---------------------------------------------------------------------------------


@asynccontextmanager
async def held(gateway: Gateway) -> AsyncIterator[Any]:
    """Let accepts wait until the end of the block; yields a function that returns when one waits."""
    conn = await asyncpg.connect(gateway.settings.database.url)
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute("SELECT 1 FROM channel_heads FOR UPDATE")

    async def waiting() -> None:
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))"
        await until(lambda: gateway.db.fetchval(blocked, conn.get_server_pid()))

    try:
        yield waiting
    finally:
        await transaction.rollback()
        await conn.close()


async def test_answers_come_in_the_order_of_the_requests(gateway: Gateway, passed_to_asgi: list[str]) -> None:
    send, callback = sending(gateway), calling(gateway)
    for first in (send, as_asgi(send)):
        async with wired(gateway.url) as wire:
            async with held(gateway) as waiting:
                await wire.send(first + HEALTH + send + callback)
                await waiting()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(wire.take(1), 0.05)
            bodies = [(await wire.answer()).body for _ in range(4)]
            assert [b"queued" in body for body in bodies] == [True, False, True, False]
            assert (bool(bodies[1]), bodies[3]) == (True, b"")
            await wire.send(send)
            assert (await wire.answer()).status == 200
    assert passed_to_asgi.count("GET /healthz") == 2


@for_each("known", [False, True])
async def test_a_stopping_server_answers_what_it_has(
    parted_database_url: str, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setattr(running, "gateway_config", patient_config)
    async with AsyncExitStack() as connections, AsyncExitStack() as lock:
        async with running_gateway(parted_database_url, role="api") as gateway:
            wire, idle = [await connections.enter_async_context(wired(gateway.url)) for _ in range(2)]
            await idle.send(HEALTH)
            assert (await idle.answer()).status == 200
            if known:
                assert (await gateway.call("POST", SEND, TEXT)).status == 200
            waiting = await lock.enter_async_context(held(gateway))
            await wire.send(sending(gateway))
            await waiting()
            releasing = asyncio.create_task(release_after(idle, lock))
        await releasing
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await wire.ended() == b""


def patient_config(*args: Any) -> uvicorn.Config:
    config = server_config(*args)
    config.timeout_graceful_shutdown = int(PATIENCE)
    return config


async def release_after(idle: Wire, lock: AsyncExitStack) -> None:
    """Let the accept go on once the server has closed its idle connections."""
    assert await idle.ended() == b""
    await lock.aclose()


async def test_addresses_that_anyone_can_invent_take_little_memory(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set[DirectRoutes]()
    find = DirectRoutes.find

    def noting(routes: DirectRoutes, method: bytes, url: bytes) -> Any:
        seen.add(routes)
        return find(routes, method, url)

    monkeypatch.setattr(DirectRoutes, "find", noting)
    async with wired(gateway.url) as wire:
        await wire.send(sending(gateway))
        assert (await wire.answer()).status == 200
        await wire.send(calling(gateway, channel="a" * 5000))
        assert (await wire.answer()).status == 404
    (routes,) = seen
    for number in range(10_000):
        route = routes.find(b"POST", b"/callbacks/cloud/%d" % number)
        assert route is routes.find(b"POST", b"/callbacks/cloud/%d" % number) is not None
        assert routes.find(b"GET", b"/callbacks/cloud/%d" % number) is None
    assert len(routes._found) <= 4096
    remembered = len(routes._found)
    assert routes.find(b"POST", b"/callbacks/cloud/%b" % (b"a" * 5000)) is not None
    assert len(routes._found) == remembered
