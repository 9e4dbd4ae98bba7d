"""Looking back on a long-lived channel: a page, a search and an export, against the same on a small one.

messages by the set ─► blocks of words, as an owner writes them ─► GET /messages, GET /messages/export
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
from pyreqwest.client import Client

from bench.accept import Tell
from bench.folder import write_config
from bench.gateway import Gateway, new_client, running_gateway
from bench.processes import BenchFailed
from bench.tenant import Tenant, make_tenant
from gatepost.model import ids
from gatepost.store.heads import claim_channel, release_channel
from gatepost.store.pool import Database
from gatepost.store.search import index_more

FEW, MANY = 10_000, 1_000_000
_DAYS = 90
_PEOPLE = 5_000
_CHUNK = 50_000
_TIMES = 150
_EXPORTED = 50_000
# Words as people use them, a few often and most seldom: the n-th is drawn as often as 1/n of the first.
_QUESTIONS = {
    "page, newest": "",
    "page, a month back": "to={past}",
    "page of one person": "phone=551190000{person:04}",
    "page, status FAILED (none fits)": "status=FAILED",
    "search, common word": "q=w1",
    "search, middling word": "q=w{middling}",
    "search, rare word": "q=w{rare}",
    "search, two words": "q=w3+w{middling}",
    "search, unfinished word": "q=w{prefix}",
}


class Looks(msgspec.Struct, frozen=True):
    """One question asked again and again, in seconds."""

    name: str
    p50: float
    p99: float


class Channel(msgspec.Struct, frozen=True):
    """What was found on a channel of one size."""

    messages: int
    looks: list[Looks]
    exported: float  # messages a second
    indexed: float  # messages a second


class HistoryFindings(msgspec.Struct, frozen=True):
    few: Channel
    many: Channel


async def measure_history(folder: Path, messages: int, tell: Tell) -> HistoryFindings:
    """Fills two channels of one database, and looks back on each."""
    config = write_config(folder)
    async with running_gateway(folder, config, role="api") as gateway, new_client() as client:
        few = await _measure(gateway, config, client, FEW, tell)
        many = await _measure(gateway, config, client, messages, tell)
        return HistoryFindings(few, many)


async def _measure(gateway: Gateway, config: Path, client: Client, messages: int, tell: Tell) -> Channel:
    tell(f"history: filling a channel with {messages:,} messages")
    tenant = await make_tenant(gateway, config)
    async with _database(gateway) as db:
        await _fill(db, tenant.channel_id, messages)
        took = await _index(db, tenant.channel_id)
    tell(f"history: looking back on {messages:,} messages")
    looks = [await _ask(gateway, client, tenant, name, query) for name, query in _QUESTIONS.items()]
    return Channel(messages, looks, await _export(gateway, client, tenant), messages / took)


@asynccontextmanager
async def _database(gateway: Gateway) -> AsyncIterator[Database]:
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        yield db
    finally:
        await db.close()


async def _fill(db: Database, channel_id: UUID, messages: int) -> None:
    """Messages with ten words each, spread evenly over the days."""
    now = datetime.now(UTC)
    start = now - timedelta(days=_DAYS)
    await _make_past(db, start)
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
               SELECT $1::uuid, md5($1::uuid::text || i)::uuid, '551190000' || lpad(i::text, 4, '0'), $2, $2
               FROM generate_series(0, $3 - 1) i""",
            channel_id,
            now,
            _PEOPLE,
        )
        for first in range(0, messages, _CHUNK):
            await conn.execute(
                """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, attempt, phone, type,
                                         content, network_id, created_at, event_ids)
                   SELECT $1::uuid, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
                               || '7' || lpad(to_hex(i % 4096), 3, '0') || 'a' || substr(md5(i::text), 1, 15))::uuid,
                          md5($1::uuid::text || i % $6)::uuid, i % 2 = 0, false,
                          CASE i % 2 WHEN 0 THEN 10 ELSE 4 END, 1,
                          '551190000' || lpad((i % $6)::text, 4, '0'), 'text',
                          '{"body":"' || (SELECT string_agg('w' || floor(power(50000, random()))::int, ' ')
                                          FROM generate_series(1, 10 + 0 * i)) || '"}',
                          'wamid.' || $1::uuid || i, at, '{}'
                   FROM (SELECT i, $2::timestamptz + ($3::timestamptz - $2) * (i::float8 / $7) AS at
                         FROM generate_series($4::int, $5::int) i) t""",
                channel_id,
                start,
                now,
                first,
                min(first + _CHUNK, messages) - 1,
                _PEOPLE,
                messages,
                timeout=300,
            )
        await conn.execute("ANALYZE messages", timeout=300)


async def _make_past(db: Database, start: datetime) -> None:
    """Partitions from the first day on, as they would have been made then."""
    async with db.connection() as conn:
        oldest = await conn.fetchval(
            """SELECT min(substring(c.relname FROM '_([0-9]{8})_')) FROM pg_inherits i
               JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'messages'::regclass"""
        )
        end = datetime.strptime(oldest, "%Y%m%d").replace(tzinfo=UTC)
        while end > start:
            begin = end - timedelta(days=7)
            await conn.execute(
                f"CREATE TABLE messages_{begin:%Y%m%d}_{end:%Y%m%d} PARTITION OF messages "
                f"FOR VALUES FROM ('{ids.floor_id(begin)}') TO ('{ids.floor_id(end)}') WITH (fillfactor = 45)"
            )
            end = begin


async def _index(db: Database, channel_id: UUID) -> float:
    """Writes all blocks, as the channel's owner would; returns the seconds."""
    lease = await claim_channel(db, channel_id, uuid4(), 3600)
    if lease is None:
        raise BenchFailed("The channel has an owner already.")
    began = time.perf_counter()
    while await index_more(db, lease):
        pass
    took = time.perf_counter() - began
    await release_channel(db, lease, seen_seq=None, work_at=None)
    return took


async def _ask(gateway: Gateway, client: Client, tenant: Tenant, name: str, query: str) -> Looks:
    """One after the other, with other words and people each time."""
    past = (datetime.now(UTC) - timedelta(days=30)).date()
    took = []
    for turn in range(_TIMES):
        words = {"middling": 200 + turn, "rare": 20_000 + turn, "prefix": 1000 + turn}
        asked = query.format(past=past, person=turn, **words)
        began = time.perf_counter()
        answer = await _get(gateway, client, tenant, f"/api/v1/messages?{asked}")
        took.append(time.perf_counter() - began)
        if answer[:15] != b'{"success":true':
            raise BenchFailed(f"{asked}: {answer[:300]!r}")
    return Looks(name, _quantile(took, 0.5), _quantile(took, 0.99))


async def _export(gateway: Gateway, client: Client, tenant: Tenant) -> float:
    """Messages a second, over the first ones of the file."""
    request = client.get(f"http://127.0.0.1:{gateway.port}/api/v1/messages/export?format=ndjson")
    began, lines = time.perf_counter(), 0
    async with request.headers({"authorization": f"Bearer {tenant.key}"}).build_streamed() as answer:
        while lines < _EXPORTED and (piece := await answer.body_reader.read_chunk()):
            lines += bytes(piece).count(b"\n")
    return lines / (time.perf_counter() - began)


async def _get(gateway: Gateway, client: Client, tenant: Tenant, path: str) -> bytes:
    request = client.get(f"http://127.0.0.1:{gateway.port}{path}").headers({"authorization": f"Bearer {tenant.key}"})
    answer = await request.build().send()
    return bytes(await answer.bytes())


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
