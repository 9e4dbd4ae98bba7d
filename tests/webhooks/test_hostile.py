"""Hostile endpoints beside a healthy one: deadlines hold, little is read, memory stays flat."""

import asyncio
import gzip
import tracemalloc
from contextlib import AsyncExitStack

import asyncpg
import msgspec
import psutil
import pytest

from gatepost.api.contract.deliveries import GivenAnswer
from gatepost.store.deliveries.log import list_attempts
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import BODY_LIMIT, Poster
from tests.conftest import Answer
from tests.webhooks.stage import ANA, Stage, event_ids
from tests.webhooks.test_http_post import OK, receiving, repeats, says, says_and_waits, until

_BOMB = gzip.compress(b"\0" * 50_000_000)
HOSTILE = {
    "never answers": (says_and_waits(b""), "timeout"),
    "drips a byte at a time": (repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z", 0.02), "timeout"),
    "streams without end": (repeats(b"HTTP/1.1 200 OK\r\n\r\n", b"z" * 65536), None),
    "sends a bomb": (
        says(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(_BOMB) + _BOMB),
        None,
    ),
    "sends a megabyte of headers": (
        says(b"HTTP/1.1 200 OK\r\n" + (b"x-a: " + b"v" * 10_000 + b"\r\n") * 100 + b"\r\n"),
        "protocol",
    ),
}


async def test_a_healthy_endpoint_among_hostile_ones(stage: Stage) -> None:
    stage.poster = Poster(Guard(("127.0.0.0/8",)), deadline=0.8)
    async with AsyncExitStack() as stack:
        hooks = {}
        for name, (script, _) in HOSTILE.items():
            receiver = await stack.enter_async_context(receiving(script))
            hooks[await stage.add(url=receiver.url)] = name
        await stage.add("/healthy")
        before = psutil.Process().memory_info().rss
        await stage.take_over(context=stage.new_context(), in_flight=5)
        emitted = await stage.emit(5)
        for _ in range(2):
            await stage.settle()
            stage.clock.advance(100)
            stage.wake()
        grown = psutil.Process().memory_info().rss - before
        assert sorted(set(stage.events_at("/healthy"))) == event_ids(emitted)
        log = [row for row in await stage.rows("delivery_attempts") if row["endpoint_id"] in hooks]
        assert {hooks[row["endpoint_id"]] for row in log} == set(HOSTILE)
        for row in log:
            _, kind = HOSTILE[hooks[row["endpoint_id"]]]
            assert (row["status"] is None) == (kind is not None), hooks[row["endpoint_id"]]
            assert len(row["answer_body"] or b"") <= BODY_LIMIT
            assert len(row["answer_headers"] or "") < 32_000
        assert grown < 60_000_000
    await stage.poster.close()


async def test_a_header_that_looks_like_an_escape_is_logged_as_it_came(stage: Stage) -> None:
    hook = await stage.add()
    odd = "\\u0000 and \\"
    stage.receiver.answer = Answer(headers={"x-odd": odd})
    await stage.take_over()
    await stage.emit(1)
    await stage.settle()
    (attempt,) = await list_attempts(stage.db, stage.channel_id, hook, None, 10)
    answer = GivenAnswer.of(attempt.answer_headers, attempt.answer_body)
    assert dict(answer.headers)["x-odd"] == odd


@pytest.mark.parametrize(("status", "kept"), [(200, 1024), (204, 0), (500, 5000), (410, 5000)])
async def test_of_a_success_only_the_beginning_of_the_answer_is_kept(stage: Stage, status: int, kept: int) -> None:
    body = b"" if status == 204 else bytes(range(250)) * 20
    hook = await stage.add()
    stage.receiver.answer = Answer(status, {}, body)
    await stage.take_over()
    await stage.emit(1)
    await stage.settle()
    (attempt, *_) = await list_attempts(stage.db, stage.channel_id, hook, None, 10)
    assert (attempt.answer_body or b"") == body[:kept]


@pytest.mark.parametrize("size", [1023, 1024, 1025])
async def test_of_a_success_one_kib_is_kept(stage: Stage, size: int) -> None:
    hook = await stage.add()
    stage.receiver.answer = Answer(200, {}, b"x" * size)
    await stage.take_over()
    await stage.emit(1)
    await stage.settle()
    (attempt,) = await list_attempts(stage.db, stage.channel_id, hook, None, 10)
    assert len(attempt.answer_body or b"") == min(size, 1024)


@pytest.mark.parametrize("batch", [1, 2])
async def test_an_endpoint_that_closes_a_used_connection_at_the_next_post_gets_it_again(
    stage: Stage, batch: int
) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(receiver.requests) == 2:
            raise ConnectionError  # closes the connection
        writer.write(OK)

    async with receiving(script) as receiver:
        await stage.add(url=receiver.url, ordered=True, batch=batch)
        await stage.take_over(in_flight=1)
        emitted = [await stage.emit(batch, ANA) for _ in range(3)]
        await stage.drive(60)
        sent = [event["id"] for _, body in receiver.requests for event in events_of(body)]
        first, second, third = (event_ids(group) for group in emitted)
        assert sent == [*first, *second, *second, *third]
        assert receiver.opened == 2
        rows = await stage.rows("delivery_attempts", "ORDER BY event_id, number")
        again = [row for row in rows if row["event_id"] in emitted[1]]
        assert [(row["number"], row["status"], row["error"] is None) for row in again] == [
            (1, None, False),
            (2, 200, True),
        ] * batch
        assert {row["state"] for row in await stage.rows("deliveries")} == {1}


def events_of(body: bytes) -> list[dict[str, str]]:
    """Return the events of a POST: a single one, or those of a batch."""
    decoded = msgspec.json.decode(body)
    return decoded.get("events", [decoded])  # type: ignore[no-any-return]


async def test_large_answers_are_not_held_until_the_database_has_recorded_them(stage: Stage, common_url: str) -> None:
    hook = await stage.add()
    stage.receiver.answer = Answer(200, {}, b"x" * BODY_LIMIT)
    await stage.take_over()
    await stage.emit(150)
    conn = await asyncpg.connect(common_url)
    tracemalloc.start()
    try:
        async with conn.transaction():
            await conn.execute("LOCK TABLE deliveries IN SHARE ROW EXCLUSIVE MODE")
            await stage.deliverers[hook].step()
            await until(lambda: len(stage.received()) == 150 and not stage.context.pool.used)
            held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        await conn.close()
    await stage.settle()
    assert held < 150 * BODY_LIMIT / 2
