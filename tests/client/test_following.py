"""Following events: the feed that waits, and the stream; after a cut neither misses an event nor gives one twice."""

import asyncio
from itertools import islice
from typing import Any

import pytest

from gatepost_client import AsyncGatepost, Gatepost
from gatepost_client.errors import BadAnswer, BadKey, NoAnswer, Unavailable
from gatepost_client.retry import NEVER
from gatepost_client.stream import EventReader
from tests.client.driver import Kind, Naps, driving
from tests.conftest import Answer, Received, Receiver
from tests.gateway.checks import TEXT
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

BODY = (
    b'{"id":"evt_%d","type":"t","action":"a","timestamp":"2026-11-15T10:00:00Z","sequence":%d,'
    b'"channel":{"id":"ch_1","kind":"qr","phone":"1"},"data":{}}'
)


def block(number: int) -> bytes:
    return b"id: evt_%d\nevent: t\ndata: %b\n\n" % (number, BODY % (number, number))


async def take(client: Gatepost | AsyncGatepost, count: int, name: str, **given: Any) -> list[Any]:
    """The first of what has no end."""
    events = getattr(client, name)(**given)
    if isinstance(client, Gatepost):
        return await asyncio.to_thread(lambda: list(islice(events, count)))
    found: list[Any] = []
    async for event in events:
        found.append(event)
        if len(found) == count:
            await events.aclose()
            return found
    return found


@pytest.mark.parametrize(("name", "given"), [("stream", {}), ("events", {"follow": True})])
async def test_what_happens_while_one_listens(gateway: Gateway, kind: Kind, name: str, given: dict[str, Any]) -> None:
    last = (await gateway.send(**TEXT)) and await _newest(gateway)
    async with driving(kind, gateway.url, gateway.key) as driver:
        listening = asyncio.create_task(take(driver.client, 4, name, after=last, **given))
        await asyncio.sleep(0.1)
        await gateway.send(**TEXT)
        received = await asyncio.wait_for(listening, PATIENCE)
    assert [event.sequence for event in received] == list(range(received[0].sequence, received[0].sequence + 4))


async def _newest(gateway: Gateway) -> str:
    newest: str = (await gateway.call("GET", "/api/v1/events?limit=100")).json()["paging"]["next"]
    return newest


async def test_a_stream_that_is_cut_goes_on_behind_the_last_event(kind: Kind, receiver: Receiver) -> None:
    begin = b"retry: 30\nid: evt_0\n\n"
    answers = {
        "": begin + block(1) + b":\n\n" + block(2)[:-5],
        "after=evt_1": begin.replace(b"evt_0", b"evt_1") + block(2) + b":\nid: evt_5\n\n",
        "after=evt_5": begin.replace(b"evt_0", b"evt_5") + block(6),
    }

    def answer(request: Received) -> Answer:
        return Answer(200, {"content-type": "text/event-stream"}, answers[request.query])

    receiver.answer, naps = answer, Naps()
    async with driving(kind, receiver.url, "gpk_x", naps) as driver:
        assert [event.id for event in await take(driver.client, 3, "stream")] == ["evt_1", "evt_2", "evt_6"]
    assert [request.query for request in receiver.requests] == ["", "after=evt_1", "after=evt_5"]
    assert naps.taken == [0.03, 0.03]


async def test_a_stream_goes_on_after_a_long_outage(kind: Kind, receiver: Receiver) -> None:
    begun = Answer(200, {"content-type": "text/event-stream"}, b"retry: 30\nid: evt_0\n\n" + block(1))
    full = b'{"success":false,"message":"m","error":{"code":"too_many_requests","retryable":true}}'
    key = b'{"success":false,"message":"m","error":{"code":"invalid_key","retryable":false}}'
    answers = iter(
        [
            begun,
            *[Answer(503)] * 12,
            Answer(429, {"retry-after": "90"}, full),
            Answer(200, {"content-type": "text/event-stream"}, block(2)),
            Answer(401, {}, key),
        ]
    )
    receiver.answer, naps = (lambda _: next(answers)), Naps()
    async with driving(kind, receiver.url, "gpk_x", naps) as driver:
        with pytest.raises(BadKey):
            await take(driver.client, 3, "stream")
    assert [request.query for request in receiver.requests] == ["", *["after=evt_1"] * 14, "after=evt_2"]
    assert 90 in naps.taken


async def test_a_feed_that_waits_asks_again(kind: Kind, receiver: Receiver) -> None:
    pages = iter(
        [b'{"data":[],"paging":{"next":null}}', b'{"data":[%b],"paging":{"next":"evt_1"}}' % (BODY % (1, 1))] * 2
    )
    receiver.answer = lambda _: Answer(200, body=next(pages))
    async with driving(kind, receiver.url, "gpk_x") as driver:
        assert [event.id for event in await take(driver.client, 2, "events", follow=True)] == ["evt_1", "evt_1"]
    waits = "limit=100&wait=15"
    assert [r.query for r in receiver.requests] == [waits, waits, waits + "&after=evt_1", waits + "&after=evt_1"]


async def test_a_feed_that_waits_goes_on_after_a_long_outage(kind: Kind, receiver: Receiver) -> None:
    full = b'{"success":false,"message":"m","error":{"code":"too_many_requests","retryable":true}}'
    key = b'{"success":false,"message":"m","error":{"code":"invalid_key","retryable":false}}'
    pages = [Answer(200, body=b'{"data":[%b],"paging":{"next":"evt_%d"}}' % (BODY % (n, n), n)) for n in (1, 2)]
    away = [*[Answer(503)] * 12, Answer(200, body=b"<p>Back soon</p>"), Answer(429, {"retry-after": "90"}, full)]
    answers = iter([pages[0], *away, pages[1], Answer(401, {}, key)])
    receiver.answer, naps = (lambda _: next(answers)), Naps()
    async with driving(kind, receiver.url, "gpk_x", naps) as driver:
        with pytest.raises(BadKey):
            await take(driver.client, 3, "events", follow=True)
    waits = "limit=100&wait=15"
    queries = [waits, *[f"{waits}&after=evt_1"] * (len(away) + 1), f"{waits}&after=evt_2"]
    assert [request.query for request in receiver.requests] == queries
    assert 90 in naps.taken
    receiver.answer = lambda _: Answer(503)
    async with driving(kind, receiver.url, "gpk_x", Naps()) as driver:
        with pytest.raises(Unavailable):  # it never worked: the program should see that
            await take(driver.client, 1, "events", follow=True)


async def test_a_stream_that_cannot_be_opened(gateway: Gateway, kind: Kind) -> None:
    async with driving(kind, gateway.url, "gpk_wrong") as driver:
        with pytest.raises(BadKey):
            await take(driver.client, 1, "stream")
    async with driving(kind, "http://127.0.0.1:1", "gpk_x", retry=NEVER) as driver:
        with pytest.raises(NoAnswer):
            await take(driver.client, 1, "stream")


async def test_an_answer_that_is_no_stream(kind: Kind, receiver: Receiver) -> None:
    pages = iter([Answer(200, {"content-type": "text/html"}, b"<p>Welcome</p>")])
    receiver.answer = lambda _: next(pages, Answer(401))
    async with driving(kind, receiver.url, "gpk_x", Naps()) as driver:
        with pytest.raises(BadAnswer):
            await take(driver.client, 1, "stream")


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pieces_may_be_cut_anywhere(size: int) -> None:
    text = b"retry: 500\nid: evt_0\n\n" + block(1) + b": words\n\n" + block(2) + b":\nid: evt_9\n\n"
    reader = EventReader()
    found = [event.id for at in range(0, len(text), size) for event in reader.read(text[at : at + size])]
    assert (found, reader.last, reader.retry) == (["evt_1", "evt_2"], "evt_9", 0.5)
