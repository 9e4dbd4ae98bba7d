"""Baselines without a server: single parts in a loop.

    direct   the gateway's own accept commit, batch after batch
    rows     the rows of complete messages, in plain tables: 9 group commits per batch of messages
    posts    POSTs by an HTTP client (pyreqwest)
    hooks    the same with an event and the headers of a webhook, with a constant number in flight
    own      the same by the gateway's own client for webhooks

Runs in its own process: `python -m bench.baseline_parts`.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count, cycle
from typing import Any
from uuid import UUID

import uvloop
from pyreqwest.client import ClientBuilder

from bench.event_writer import sample_body
from bench.load import FIRST, RECIPIENTS
from bench.processes import end_with_parent, say
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.message import check_send
from gatepost.model.send_request import SendRequest
from gatepost.outbound.send_answer import send_answer
from gatepost.store.messages.accept import accept_messages
from gatepost.store.messages.accept_plain import NotPlain, accept_plain
from gatepost.store.messages.submission import SendContext, Submission
from gatepost.store.pool import Database
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster, header_lines

Turn = Callable[[], Awaitable[int]]

_TABLES = """
CREATE TABLE IF NOT EXISTS bench_messages (id uuid PRIMARY KEY, state smallint, phone text, content text,
    network_id text, created_at timestamptz, sent_at timestamptz) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS bench_events (id uuid PRIMARY KEY, seq bigint, body text);
CREATE TABLE IF NOT EXISTS bench_deliveries (event_id uuid PRIMARY KEY, state smallint, settled_at timestamptz)
    WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS bench_attempts (event_id uuid, number smallint, at timestamptz, status smallint,
    headers text, PRIMARY KEY (event_id, number));
"""
_MESSAGES = """INSERT INTO bench_messages (id, state, phone, content, created_at)
               SELECT id, 0, phone, content, $4 FROM unnest($1::uuid[], $2::text[], $3::text[])
                 AS m (id, phone, content)"""
_STATES = """UPDATE bench_messages m SET state = $2, network_id = c.network_id, sent_at = $4
             FROM unnest($1::uuid[], $3::text[]) AS c (id, network_id) WHERE m.id = c.id"""
_EVENTS = """WITH new AS (INSERT INTO bench_events (id, seq, body)
                          SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[]) RETURNING id)
             INSERT INTO bench_deliveries (event_id, state) SELECT id, 0 FROM new"""
_ATTEMPTS = """WITH new AS (INSERT INTO bench_attempts (event_id, number, at, status, headers)
                            SELECT id, 1, $2, 200, headers FROM unnest($1::uuid[], $3::text[]) AS a (id, headers))
               UPDATE bench_deliveries d SET state = 1, settled_at = $2
               FROM unnest($1::uuid[]) AS done (id) WHERE d.event_id = done.id"""
_EACH = 25  # POSTs of a worker per turn; a turn ends when all workers are done
_EVENT_BODY, _CONTENT, _HEADERS = "x" * 500, '{"body":"Hello"}', "x" * 250


async def direct(options: argparse.Namespace) -> Turn:
    """Return a turn that accepts a batch, by one statement if the gateway does so."""
    db = await Database.connect(options.dsn, connections=1)
    channel_id, account_id = UUID(options.channel), UUID(options.account)
    ref = ChannelRef(ids.format_id("ch", channel_id), "official", "15550001111")
    sender = SendContext(ref, account_id, None, partial(send_answer, "official"))
    phones = cycle(range(FIRST, FIRST + RECIPIENTS))

    def submission(now: datetime) -> Submission:
        message = check_send(SendRequest(str(next(phones)), "Hello"), now)
        return Submission(message, sender)

    async def turn() -> int:
        now = datetime.now(UTC)
        batch = [submission(now) for _ in range(options.batch)]
        if isinstance((await accept_plain(db, {channel_id: batch}, now, wait=True))[channel_id][0], NotPlain):
            await accept_messages(db, channel_id, batch, now)
        return len(batch)

    return turn


async def rows(options: argparse.Namespace) -> Turn:
    """Return a turn that makes all writes of a batch of messages, from accept to webhook."""
    db = await Database.connect(options.dsn, connections=1)
    async with db.connection() as conn:
        await conn.execute(_TABLES)
    life = Life(db, options.batch)

    return life.live


class Life:
    """The minimum of writes for a message that is accepted, sent, delivered, read and reported by webhooks."""

    def __init__(self, db: Database, batch: int) -> None:
        self._db = db
        self._batch = batch
        self._numbers = count(1)
        self._last = ids.new_id(_now())

    async def live(self) -> int:
        messages, size = self._new_ids(), self._batch
        await self._commit((_MESSAGES, messages, [str(FIRST)] * size, [_CONTENT] * size, _now()), event=True)
        await self._commit(self._state(messages, 1))
        for state in (2, 3, 4):
            await self._commit(self._state(messages, state), event=True)
        return size

    def _state(self, messages: list[UUID], state: int) -> tuple[Any, ...]:
        return _STATES, messages, state, ["wamid." + "x" * 50] * self._batch, _now()

    async def _commit(self, statement: tuple[Any, ...], *, event: bool = False) -> None:
        sql, *values = statement
        events = self._new_ids()
        async with self._db.transaction() as conn:
            await conn.execute(sql, *values)
            if event:
                numbers = [next(self._numbers) for _ in events]
                await conn.execute(_EVENTS, events, numbers, [_EVENT_BODY] * self._batch)
        if event:
            async with self._db.transaction() as conn:
                await conn.execute(_ATTEMPTS, events, _now(), [_HEADERS] * self._batch)

    def _new_ids(self) -> list[UUID]:
        fresh = ids.next_ids(self._last, _now(), self._batch)
        self._last = fresh[-1]
        return fresh


def _now() -> datetime:
    return datetime.now(UTC)


async def posts(options: argparse.Namespace) -> Turn:
    """Return a turn that posts a batch concurrently."""
    client = ClientBuilder().http1_only().no_proxy().build()
    url, headers, body = f"http://127.0.0.1:{options.port}/", {"content-type": "application/json"}, b"x" * 500

    async def one() -> None:
        response = await client.post(url).headers(headers).body_bytes(body).build().send()
        await response.bytes()

    async def turn() -> int:
        return len(await asyncio.gather(*[one() for _ in range(options.batch)]))

    return turn


async def hooks(options: argparse.Namespace) -> Turn:
    """Return a turn that posts events. Each worker always has one POST in flight."""
    client = ClientBuilder().http1_only().no_proxy().build()
    url, body = f"{options.scheme}://127.0.0.1:{options.port}/hook", sample_body()
    headers = _hook_headers()

    async def work() -> int:
        for _ in range(_EACH):
            response = await client.post(url).headers(headers).body_bytes(body).build().send()
            await response.bytes()
        return _EACH

    async def turn() -> int:
        return sum(await asyncio.gather(*[work() for _ in range(options.batch)]))

    return turn


async def own(options: argparse.Namespace) -> Turn:
    """Return a turn that posts events as the gateway does, without reading, signing and recording them."""
    poster, body = Poster(Guard(["127.0.0.1"])), sample_body()
    url = f"{options.scheme}://127.0.0.1:{options.port}/hook"
    lines = header_lines(_hook_headers())

    async def work() -> int:
        for _ in range(_EACH):
            await poster.send(url, lines, body)
        return _EACH

    async def turn() -> int:
        return sum(await asyncio.gather(*[work() for _ in range(options.batch)]))

    return turn


def _hook_headers() -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "Gatepost", "webhook-timestamp": "1763200000"}
    return headers | {"webhook-id": "evt_" + "0" * 32, "webhook-signature": "v1," + "x" * 44}


async def repeat(options: argparse.Namespace) -> None:
    """Repeat turns for the given time, and report their number."""
    turn = await {"direct": direct, "rows": rows, "posts": posts, "hooks": hooks, "own": own}[options.kind](options)
    warm = time.perf_counter() + options.warm_up
    while time.perf_counter() < warm:
        await turn()
    say("begin")
    began, cpu, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < options.seconds:
        done += await turn()
    say("end", count=done, seconds=time.perf_counter() - began, cpu=time.process_time() - cpu)
    await asyncio.Event().wait()  # a closed connection's CPU time is lost: wait until the benchmark has read it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=("direct", "rows", "posts", "hooks", "own"), required=True)
    parser.add_argument("--dsn", default="")
    parser.add_argument("--channel", default="")
    parser.add_argument("--account", default="")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scheme", choices=("http", "https"), default="http")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--warm-up", type=float, default=0.3)
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(repeat(parser.parse_args()))


if __name__ == "__main__":
    main()
