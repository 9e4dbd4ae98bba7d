"""Heads that a connection repeats: not parsed again, and understood as the parser understands them."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import httptools
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.http_protocol import LimitedProtocol
from gatepost.http_repeated import RepeatedHead
from tests.gateway.checks import TEXT
from tests.gateway.test_callback_bodies import POSSIBLE, address, sign
from tests.gateway.test_http_direct import BODY, NUMBER_ID, SEND, headers_of, in_chunks, sending
from tests.gateway.wire import request, wired
from tests.running_gateway import Answer, Gateway, running_gateway

SEVERAL = 4  # requests after which the head of a connection is known


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway that sends nothing."""
    async with running_gateway(parted_database_url, role="api") as one:
        yield one


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Give the addresses of the requests that the parser reads."""
    seen: list[bytes] = []
    on_url = LimitedProtocol.on_url

    def noting(protocol: LimitedProtocol, url: bytes) -> None:
        seen.append(url)
        on_url(protocol, url)

    monkeypatch.setattr(LimitedProtocol, "on_url", noting)
    return seen


def keyed(gateway: Gateway, key: str, text: str = "Hello") -> bytes:
    return sending(gateway, body=msgspec.json.encode(TEXT | {"body": text}), idempotency_key=key)


async def answers(gateway: Gateway, *requests: bytes) -> list[Answer]:
    """Send requests over one connection, each after the answer to the one before."""
    async with wired(gateway.url) as wire:
        found = []
        for one in requests:
            await wire.send(one)
            found.append(await wire.answer())
        return found


def statuses(found: list[Answer]) -> list[int]:
    return [answer.status for answer in found]


async def test_messages_with_other_keys_and_lengths(gateway: Gateway, parsed: list[bytes]) -> None:
    sent = [keyed(gateway, f"key-{'x' * number}", "Hello" * number) for number in range(1, 9)]
    found = await answers(gateway, *sent, *sent)
    assert statuses(found) == [200] * 16
    assert len(parsed) == 2
    first, again = found[:8], found[8:]
    assert [one.body for one in again] == [one.body for one in first]
    assert len({one.body for one in first}) == 8
    assert {one.headers.get("idempotent-replayed") for one in first} == {None}
    assert {one.headers.get("idempotent-replayed") for one in again} == {"true"}
    assert len({one.headers["x-request-id"] for one in found}) == 16
    for number, one in enumerate(first, 1):
        read = await gateway.call("GET", f"/api/v1/messages/{one.json()['data']['key']['id']}")
        assert read.json()["data"]["content"] == {"body": "Hello" * number}


def reporting(gateway: Gateway, status: str, signature: str = "") -> bytes:
    """A callback with the status of a message."""
    shown = {"id": "wamid.1", "status": status, "timestamp": "1763500000"}
    value = {"metadata": {"phone_number_id": NUMBER_ID}, "statuses": [shown]}
    body = msgspec.json.encode({"entry": [{"changes": [{"field": "messages", "value": value}]}]})
    return request("POST", address(gateway), {"x-hub-signature-256": signature or sign(body)}, body)


async def test_callbacks_with_other_signatures(gateway: Gateway, parsed: list[bytes]) -> None:
    sent, read = reporting(gateway, "sent"), reporting(gateway, "delivered")
    found = await answers(gateway, *[sent] * SEVERAL, reporting(gateway, "sent", POSSIBLE), read, sent)
    assert statuses(found) == [200] * SEVERAL + [401, 200, 200]
    assert len(parsed) == 2


async def test_messages_with_the_keys_of_several_channels(gateway: Gateway, parsed: list[bytes]) -> None:
    keys = [gateway.key, await gateway.new_stranger()]
    one, other = (sending(gateway).replace(gateway.key.encode(), key.encode()) for key in keys)
    unknown = one.replace(gateway.key.encode(), b"gpk_" + b"a" * 20)
    assert statuses(await answers(gateway, one, other)) == [200, 200]  # keys are looked up once
    parsed.clear()
    found = await answers(gateway, *[one, other] * SEVERAL, unknown, one)
    assert statuses(found) == [200] * 2 * SEVERAL + [401, 200]
    assert len(parsed) == 3  # the second is remembered, and the third differs from it by the key
    for number, answer in enumerate(found[: 2 * SEVERAL]):
        path = f"/api/v1/messages/{answer.json()['data']['key']['id']}"
        read = [(await gateway.call("GET", path, key=key)).status for key in keys]
        assert read == ([200, 404] if number % 2 == 0 else [404, 200])


async def test_callbacks_of_several_channels(gateway: Gateway, parsed: list[bytes]) -> None:
    """A network may use one connection for all of them."""
    own = reporting(gateway, "sent")
    unknown = own.replace(address(gateway)[-8:].encode(), b"00000000", 1)
    elsewhere = own.replace(address(gateway).encode(), b"/api/v1/labels", 1)
    found = await answers(gateway, *[own] * SEVERAL, unknown, own, elsewhere, own)
    assert statuses(found) == [200] * SEVERAL + [404, 200, 401, 200]
    assert parsed[2:] == [b"/api/v1/labels"]


async def test_a_head_of_a_refused_request_is_not_kept(gateway: Gateway, parsed: list[bytes]) -> None:
    unknown = sending(gateway).replace(gateway.key.encode(), b"gpk_" + b"a" * 20)
    assert statuses(await answers(gateway, *[unknown] * 2 * SEVERAL)) == [401] * 2 * SEVERAL
    assert len(parsed) == 2 * SEVERAL


async def test_errors(gateway: Gateway, parsed: list[bytes]) -> None:
    good, bad, malformed = sending(gateway), sending(gateway, body=b"{}"), sending(gateway, body=b"{")
    found = await answers(gateway, *[good] * SEVERAL, bad, good, malformed, good)
    assert statuses(found) == [200] * SEVERAL + [422, 200, 400, 200]
    assert len(parsed) == 2


async def test_another_head_is_parsed(gateway: Gateway, parsed: list[bytes]) -> None:
    good = sending(gateway)
    others = {
        "a key of another kind": (good.replace(b"Bearer ", b"Basic "), 401),
        "no key": (good.replace(b"authorization", b"x-authorized!"[:13]), 401),
        "another type": (good.replace(b"application/json", b"application/text"), 415),
        "another header": (sending(gateway, x_more="1"), 200),
        "a query": (good.replace(b" HTTP/", b"? HTTP/", 1), 200),
        "another route": (request("POST", "/api/v1/labels", headers_of(gateway), b'{"name":"VIP"}'), 201),
        "another method": (request("GET", "/healthz"), 200),
        "chunks": (in_chunks(good), 200),
        "the length twice": (good.replace(b"\r\n\r\n", b"\r\ncontent-length: %d\r\n\r\n" % len(BODY), 1), 400),
    }
    for name, (other, status) in others.items():
        async with wired(gateway.url) as wire:
            for _ in range(SEVERAL):
                await wire.send(good)
                assert (await wire.answer()).status == 200
            parsed.clear()
            await wire.send(other)
            assert (await wire.answer()).status == status, name
            assert len(parsed) == 1, name


async def test_a_connection_whose_heads_differ_stops_comparing(
    gateway: Gateway, parsed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each request would be compared in vain, as with a client that numbers its requests in a header."""
    compared, match = [], RepeatedHead.match

    def noting(head: RepeatedHead, whole: bytes) -> Any:
        compared.append(whole)
        return match(head, whole)

    monkeypatch.setattr(RepeatedHead, "match", noting)
    numbered = [sending(gateway, x_number=str(number)) for number in range(20)]
    assert statuses(await answers(gateway, *numbered)) == [200] * 20
    assert len(compared) < 10
    compared.clear()
    good, other = sending(gateway), sending(gateway, x_more="1")
    parsed.clear()
    assert statuses(await answers(gateway, *[good, good, good, other, other, other, good, good] * 4)) == [200] * 32
    assert len(parsed) < 20  # a head that changes now and then is learned again


async def test_requests_in_pieces_and_together(gateway: Gateway, parsed: list[bytes]) -> None:
    good = sending(gateway)
    places = random.Random(7).sample(range(1, len(good)), 12)
    async with wired(gateway.url) as wire:
        for _ in range(SEVERAL):
            await wire.send(good)
            assert (await wire.answer()).status == 200
        for place in [len(good) - len(BODY), *places]:
            await wire.send(good[:place])
            await asyncio.sleep(0.01)
            await wire.send(good[place:])
            assert (await wire.answer()).status == 200
        parsed.clear()
        await wire.send(good)
        assert (await wire.answer()).status == 200
        assert parsed == []
        await wire.send(good * 3)
        ids = {(await wire.answer()).json()["data"]["key"]["id"] for _ in range(3)}
        assert len(ids) == 3
        await wire.send(good)
        assert (await wire.answer()).json()["data"]["key"]["id"] not in ids


async def test_a_whole_request_behind_the_beginning_of_another_is_its_continuation(gateway: Gateway) -> None:
    """Else a client, or a proxy, and the gateway would not agree where a request begins."""
    good = sending(gateway)
    hidden = b"GET /healthz HTTP/1.1\r\nx-hidden: "
    for beginning, status in ((b"PO", 400), (hidden, 200), (good[:-1], 400)):
        async with wired(gateway.url) as wire:
            for _ in range(SEVERAL):
                await wire.send(good)
                assert (await wire.answer()).status == 200
            await wire.send(good + beginning)
            assert (await wire.answer()).status == 200
            await wire.send(good)
            answer = await wire.answer()
            assert (answer.status, b"PENDING" in answer.body) == (status, False), beginning


async def test_a_body_of_another_length_than_said(gateway: Gateway) -> None:
    good = sending(gateway)
    async with wired(gateway.url) as wire:
        for _ in range(SEVERAL):
            await wire.send(good)
            assert (await wire.answer()).status == 200
        await wire.send(good[:-1])
        await asyncio.sleep(0.01)
        await wire.send(good[-1:] + good)  # the rest, and one more
        assert [(await wire.answer()).status for _ in range(2)] == [200, 200]


async def test_the_last_request_of_a_connection(gateway: Gateway) -> None:
    good, last = sending(gateway), sending(gateway, connection="close")
    async with wired(gateway.url) as wire:
        for _ in range(SEVERAL):
            await wire.send(good)
            assert (await wire.answer()).status == 200
        await wire.send(last)
        assert (await wire.answer()).headers["connection"] == "close"
        assert await wire.ended() == b""


async def test_limits_on_headers_are_those_of_the_parser(parted_database_url: str, parsed: list[bytes]) -> None:
    """A request at the limit, and one above it whose head is longer only by the value of a header that may differ."""
    async with running_gateway(parted_database_url, role="api", server__header_limit=1024) as gateway:
        short, long, over = (keyed(gateway, "k" * length) for length in (1, 255, 300))
        padding = "p" * (1024 - size_of(long))
        fits, exceeds = (
            request("POST", SEND, headers_of(gateway) | {"idempotency-key": "k" * length, "x-pad": padding}, BODY)
            for length in (1, 300)
        )
        assert statuses(await answers(gateway, *[short] * SEVERAL, long)) == [200] * (SEVERAL + 1)
        assert statuses(await answers(gateway, *[short] * SEVERAL, over)) == [200] * SEVERAL + [400]
        assert statuses(await answers(gateway, *[fits] * SEVERAL, exceeds)) == [200] * SEVERAL + [431]


def size_of(whole: bytes) -> int:
    """The size of address and headers, as the limit counts them."""
    lines = whole.partition(b"\r\n\r\n")[0].split(b"\r\n")
    return len(lines[0].split()[1]) + sum(len(line.replace(b": ", b"")) for line in lines[1:]) + len("x-pad")


# -- compared with the parser -----------------------------------------------------------------------------------------


class Parsed:
    """What the parser finds in a request."""

    def __init__(self, whole: bytes) -> None:
        self.url, self.body, self.complete = b"", b"", 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.error = False
        try:
            httptools.HttpRequestParser(self).feed_data(whole)
        except httptools.HttpParserError:
            self.error = True

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete += 1


NAMES = ["content-length", "Content-Length", "idempotency-key", "traceparent", "x-hub-signature-256", "host", "accept"]
NAMES += ["authorization", "Authorization"]
LENGTHS, KEYS = ["5", "0", "05", "+5", "5, 5", "6"], ["Bearer abc", "bearer abc", "Bearer  a", "Bearer ", "Basic a"]
VALUES = st.text("abc-123 \t:;,\r\n", max_size=8) | st.sampled_from(LENGTHS + KEYS)
ADDRESSES = st.sampled_from([SEND, "/callbacks/cloud/ch_1", f"{SEND}s", "/", "//a", "/A", "/a?b", "/a b", "*", "a", ""])
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5)
BODIES = st.sampled_from(["Hello", "", "Hello!", "\r\n\r\nx", "GET /"])


def written(headers: list[tuple[str, str]], body: str, address: str = SEND) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"POST {address} HTTP/1.1\r\n{lines}\r\n{body}".encode()


@given(HEADERS, BODIES, HEADERS, BODIES, ADDRESSES, st.booleans(), st.booleans())
def test_what_is_matched_is_what_the_parser_finds(
    first: list[tuple[str, str]],
    body: str,
    second: list[tuple[str, str]],
    next_body: str,
    next_address: str,
    alike: bool,
    keys: bool,
) -> None:
    first = [("Content-Length", str(len(body))), *first]
    if alike:  # the same names, so that it is not only compared
        values = [value for _, value in second] + ["1"] * len(first)
        second = [(name, value) for (name, _), value in zip(first, values, strict=False)]
        second[0] = ("Content-Length", str(len(next_body)))
    learned, asked = written(first, body), written(second, next_body, next_address)
    before: Any = Parsed(learned)
    head = None
    if not before.error and before.complete == 1:
        head = RepeatedHead.learn(learned, before.headers, keys=keys)
    found = head.match(asked) if head is not None else None
    if found is not None:
        now = Parsed(asked)
        assert (now.error, now.complete) == (False, 1)
        assert (now.url, now.headers, now.body) == found


def test_a_usual_head_is_learned() -> None:
    """So that the test above can find something."""
    one = written([("Host", "a"), ("Content-Length", "5"), ("Authorization", "Bearer 1")], "Hello")
    other = written([("Host", "a"), ("Content-Length", "2"), ("Authorization", "Bearer 23")], "Hi", "/callbacks/x/y")
    head = RepeatedHead.learn(one, Parsed(one).headers, keys=True)
    assert head is not None
    headers = [(b"host", b"a"), (b"content-length", b"2"), (b"authorization", b"Bearer 23")]
    assert head.match(other) == (b"/callbacks/x/y", headers, b"Hi")
    assert head.match(other + b"!") is None
    assert head.match(other.replace(b"Host: a", b"Host: b")) is None
    of_one_key = RepeatedHead.learn(one, Parsed(one).headers, keys=False)
    assert of_one_key is not None
    assert of_one_key.match(one) is not None
    assert of_one_key.match(other) is None
