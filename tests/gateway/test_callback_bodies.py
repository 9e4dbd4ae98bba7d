"""Bodies of callbacks: read only when they may be wanted, and never more of them at once than there is room for."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator

import pytest

from gatepost.api.body_memory import BodyMemory
from gatepost.model import ids
from gatepost.model.errors import Unavailable
from tests.for_each import for_each
from tests.gateway.checks import check_refused
from tests.gateway.wire import Wire, request, wired
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

LENGTH = 1_000_000
EMPTY = b'{"object": "whatsapp_business_account", "entry": []}'
POSSIBLE = "sha256=" + "0" * 64


def sign(body: bytes) -> str:
    return "sha256=" + hmac.new(b"app-secret", body, hashlib.sha256).hexdigest()


def address(gateway: Gateway) -> str:
    return f"/callbacks/cloud/{gateway.channel}"


async def refused_unread(gateway: Gateway, path: str, signature: str | None, status: int, code: str) -> None:
    """Announces a body and sends none of it: the answer comes all the same, and the connection ends."""
    headers = {} if signature is None else {"x-hub-signature-256": signature}
    async with wired(gateway.url) as wire:
        await wire.send(request("POST", path, headers, length=LENGTH))
        answer = await wire.answer()
        check_refused(answer, status, code, about=(path, signature))
        assert answer.headers["connection"] == "close"
        assert await wire.ended() == b""


async def test_the_body_for_an_unknown_channel_is_not_read(gateway: Gateway) -> None:
    qr = await gateway.new_qr_channel(gateway.account_id)
    for channel in ("nobody", f"ch_{'0' * 32}", ids.format_id("ch", qr.id), gateway.channel + "0"):
        await refused_unread(gateway, f"/callbacks/cloud/{channel}", POSSIBLE, 404, "not_found")


@for_each(
    "signature",
    [
        None,
        "",
        "sha256=",
        "sha256=" + "0" * 63,
        "sha256=" + "0" * 65,
        "sha256=" + "g" * 64,
        "sha1=" + "0" * 64,
        "x" * 71,
    ],
)
async def test_without_a_possible_signature_the_body_is_not_read(gateway: Gateway, signature: str | None) -> None:
    await refused_unread(gateway, address(gateway), signature, 401, "invalid_signature")


async def test_a_body_that_says_it_is_too_large_is_not_read(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, server__callback_limit=LENGTH - 1, role="api") as gateway:
        await refused_unread(gateway, address(gateway), POSSIBLE, 413, "body_too_large")


async def test_a_possible_signature_is_checked_with_the_body(gateway: Gateway) -> None:
    for signature, status in ((POSSIBLE, 401), (sign(EMPTY), 200)):
        async with wired(gateway.url) as wire:
            await wire.send(request("POST", address(gateway), {"x-hub-signature-256": signature}, length=len(EMPTY)))
            await wire.send(EMPTY)
            answer = await wire.answer()
            assert (answer.status, "connection" in answer.headers) == (status, False)


async def test_without_a_key_no_body_is_read(gateway: Gateway) -> None:
    for path in ("/api/v1/message/send", "/api/v1/media", "/api/v1/contacts/import", "/api/v1/webhooks"):
        async with wired(gateway.url) as wire:
            await wire.send(request("POST", path, {"content-type": "application/json"}, length=LENGTH))
            answer = await wire.answer()
            check_refused(answer, 401, "missing_api_key", about=path)
            assert answer.headers["connection"] == "close"


@pytest.fixture
async def narrow(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a gateway with room for one full body of each channel."""
    url, limit, memory = parted_database_url, 4096, 16_384
    async with running_gateway(url, role="api", server__callback_limit=limit, server__callback_memory=memory) as one:
        yield one


async def begin(wire: Wire, gateway: Gateway, channel: str, sent: int) -> None:
    headers = {"x-hub-signature-256": POSSIBLE}
    await wire.send(request("POST", f"/callbacks/cloud/{channel}", headers, b" " * sent, length=4096))


async def test_so_much_may_be_in_memory_at_once(narrow: Gateway) -> None:
    other = await narrow.new_channel(await narrow.new_account(), "15550002222", "100000000000002")
    async with wired(narrow.url) as first, wired(narrow.url) as second, wired(narrow.url) as third:
        answers = {}
        for wire in (first, second):
            await begin(wire, narrow, narrow.channel, 4000)
            answers[asyncio.create_task(wire.answer())] = wire
        done, waiting = await asyncio.wait(answers, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = (task.result() for task in done)
        assert check_refused(refused, 503, "overloaded")["retryable"] is True
        assert int(refused.headers["retry-after"]) >= 1
        await begin(third, narrow, ids.format_id("ch", other.id), 4000)  # a channel has a share of its own
        await third.send(b" " * 96)
        check_refused(await third.answer(), 401, "invalid_signature")
        for task in waiting:
            await answers[task].send(b" " * 96)
            check_refused(await task, 401, "invalid_signature")
    assert (await post_full(narrow)) == 200


async def test_who_hangs_up_gives_the_memory_back(narrow: Gateway) -> None:
    for _ in range(10):
        async with wired(narrow.url) as wire:
            await begin(wire, narrow, narrow.channel, 4000)
    async with asyncio.timeout(PATIENCE):
        while await post_full(narrow) != 200:
            await asyncio.sleep(0.01)


async def post_full(gateway: Gateway) -> int:
    """A callback that takes all the room that its channel has."""
    body = EMPTY.ljust(4096)
    answer = await gateway.call("POST", address(gateway), raw=body, key="", headers={"x-hub-signature-256": sign(body)})
    return answer.status


def test_the_memory_itself() -> None:
    memory = BodyMemory(400)
    with memory.open("a") as one, memory.open("a") as two:
        one.take(60)
        two.take(40)
        with pytest.raises(Unavailable):
            two.take(1)
        with memory.open("b") as b, memory.open("c") as c, memory.open("d") as d, memory.open("e") as e:
            for body in (b, c):
                body.take(100)
            d.take(99)
            e.take(1)
            assert memory.held == 400
            with pytest.raises(Unavailable):
                e.take(1)
        assert memory.held == 100
    assert memory.held == 0
    assert memory._of == {}
