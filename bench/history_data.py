"""Generates the history of a channel: people, conversations, labels, messages of three months, and the search index.

    texts of a thousand blocks ─► messages, which repeat these texts
                           └────► search blocks: the words of those thousand, repeated with new ids,
                                  except the newest, which are written like by a channel's owner

All rows are written by set-based statements, so that ten million messages take minutes. Word frequencies follow Zipf's
law: the n-th word is 1/n as frequent as the first.
"""

import contextlib
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import msgspec

from bench.load import FIRST
from bench.processes import BenchFailed
from gatepost.model import ids
from gatepost.model.search_words import words_of
from gatepost.services.search_indexing import index_more
from gatepost.store.leases import claim_channel, release_channel
from gatepost.store.pool import Database
from gatepost.store.search.index import BLOCK, places_of

DAYS = 90
_TO_EACH = 50  # messages per conversation
_LABELLED = 20  # one of 20 conversations has the label, or more, so that a page of 100 is full
_UNREAD = 10
_PERIOD = 1024 * BLOCK
_LIVE = 64 * BLOCK  # messages whose blocks are written like by an owner
_LONG = 3600.0


class Past(msgspec.Struct, frozen=True):
    """A filled channel."""

    messages: int
    people: int
    label: str
    indexed: float  # messages per second that an owner indexes


async def fill_past(dsn: str, channel_id: UUID, messages: int) -> Past:
    """Fill a channel. Half a block of messages is left unindexed, as on average."""
    messages = messages // BLOCK * BLOCK + BLOCK // 2
    people = max(1, messages // _TO_EACH)
    conn = await asyncpg.connect(dsn, server_settings={"synchronous_commit": "off", "timezone": "UTC", "jit": "off"})
    try:
        await _make_partitions(conn)
        await _add_people(conn, channel_id, people)
        await _add_texts(conn, min(messages, _PERIOD))
        await _add_messages(conn, channel_id, messages, people)
        label = await _add_conversations(conn, channel_id, people)
        await _add_blocks(conn, channel_id, max(0, messages - _LIVE) // BLOCK)
        indexed = await _index(dsn, channel_id)
        await conn.execute("DROP TABLE bench_texts")
        await conn.execute("VACUUM (ANALYZE)", timeout=_LONG)
        with contextlib.suppress(asyncpg.InsufficientPrivilegeError):  # the gateway's role of the embedded database
            await conn.execute("CHECKPOINT", timeout=_LONG)
    finally:
        await conn.close()
    return Past(messages, people, label, indexed)


async def _make_partitions(conn: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Create the partitions from the first day on."""
    oldest = await conn.fetchval(
        """SELECT min(substring(c.relname FROM '_([0-9]{8})_')) FROM pg_inherits i
           JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'messages'::regclass"""
    )
    end = datetime.strptime(oldest, "%Y%m%d").replace(tzinfo=UTC)
    while end > datetime.now(UTC) - timedelta(days=DAYS):
        begin = end - timedelta(days=7)
        await conn.execute(
            f"CREATE TABLE messages_{begin:%Y%m%d}_{end:%Y%m%d} PARTITION OF messages "
            f"FOR VALUES FROM ('{ids.floor_id(begin)}') TO ('{ids.floor_id(end)}') WITH (fillfactor = 45)"
        )
        end = begin


async def _add_people(conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID, people: int) -> None:
    await conn.execute(
        """INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
           SELECT $1::uuid, md5($1::uuid::text || i)::uuid, ($2::bigint + i)::text,
                  (ARRAY['Ana','Bruno','Carla','Diego','Elisa','Felipe','Gabriela','Hugo','Ines','Joao'])[1 + i % 10]
                  || ' ' || chr(65 + i / 10 % 26) || substr(md5(i::text), 1, 6), now(), now()
           FROM generate_series(0, $3::int - 1) i""",
        channel_id,
        FIRST,
        people,
        timeout=_LONG,
    )


async def _add_texts(conn: "asyncpg.Connection[asyncpg.Record]", count: int) -> None:
    """Add texts of ten words each."""
    await conn.execute("CREATE UNLOGGED TABLE bench_texts (n int PRIMARY KEY, content text)")
    await conn.execute(
        """INSERT INTO bench_texts
           SELECT i, '{"body":"' || (SELECT string_agg('w' || floor(power(50000, random()))::int, ' ')
                                     FROM generate_series(1, 10 + 0 * i)) || '"}'
           FROM generate_series(0, $1::int - 1) i""",
        count,
        timeout=_LONG,
    )
    await conn.execute("ANALYZE bench_texts")


async def _add_messages(
    conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID, messages: int, people: int
) -> None:
    """Add messages, spread evenly over the days, people and directions."""
    end = datetime.now(UTC)
    for first in range(0, messages, _PERIOD):
        await conn.execute(
            """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, attempt, phone, type, content,
                                     network_id, created_at, event_ids)
               SELECT $1::uuid, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
                           || '7' || lpad(to_hex(i % 4096), 3, '0') || 'a' || substr(md5(i::text), 1, 15))::uuid,
                      md5($1::uuid::text || i % $6)::uuid, i % 2 = 0, false, CASE i % 2 WHEN 0 THEN 10 ELSE 4 END, 1,
                      ($9::bigint + i % $6)::text, 'text', content, 'wamid.' || $1::uuid || i, at, '{}'
               FROM (SELECT i, $2::timestamptz + ($3::timestamptz - $2) * (i::float8 / $7) AS at
                     FROM generate_series($4::int, $5::int) i) t JOIN bench_texts ON n = i % $8::int""",
            channel_id,
            end - timedelta(days=DAYS),
            end,
            first,
            min(first + _PERIOD, messages) - 1,
            people,
            messages,
            _PERIOD,
            FIRST,
            timeout=_LONG,
        )


async def _add_conversations(conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID, people: int) -> str:
    """Add a conversation with each person; return the id of the label that some of them have."""
    await conn.execute(
        """INSERT INTO conversations (channel_id, contact_id, last_in_at, created_at, unread, last_message_id)
           SELECT $1, contact_id, now(), now(), (n % $3 = 0)::int, id
           FROM (SELECT contact_id, id, row_number() OVER (ORDER BY id) AS n
                 FROM (SELECT contact_id, id FROM messages WHERE channel_id = $1 ORDER BY id DESC LIMIT $2) newest) v
           ON CONFLICT DO NOTHING""",
        channel_id,
        people,
        _UNREAD,
        timeout=_LONG,
    )
    label = ids.new_id(datetime.now(UTC))
    await conn.execute(
        """INSERT INTO labels (channel_id, id, name, color, created_at, updated_at)
           VALUES ($1, $2, 'Waiting', '#ff0000', now(), now())""",
        channel_id,
        label,
    )
    await conn.execute(
        """INSERT INTO label_uses (channel_id, label_id, target, contact_id, created_at)
           SELECT $1, $2, 'conversation', contact_id, now()
           FROM (SELECT contact_id, row_number() OVER (ORDER BY last_message_id) AS n
                 FROM conversations WHERE channel_id = $1) v WHERE n % $3 = 0""",
        channel_id,
        label,
        max(1, min(_LABELLED, people // 100)),
        timeout=_LONG,
    )
    return ids.format_id("lb", label)


# -- blocks -----------------------------------------------------------------------------------------------------------


async def _add_blocks(conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID, blocks: int) -> None:
    """Add the oldest blocks. The index of words is created afterwards, which is much faster."""
    if not blocks:
        return
    await _add_words(conn, channel_id, min(blocks * BLOCK, _PERIOD))
    index = await conn.fetchval("SELECT pg_get_indexdef('search_blocks_words'::regclass)")
    await conn.execute("DROP INDEX search_blocks_words")
    last = ids.ZERO
    for first in range(0, blocks, _PERIOD // BLOCK):
        last = await conn.fetchval(
            """WITH run AS (
                   SELECT id, (row_number() OVER (ORDER BY id) - 1) / $4 AS k FROM (
                       SELECT id FROM messages WHERE channel_id = $1 AND id > $2 ORDER BY id LIMIT $3) m
               ), block AS (SELECT k, array_agg(id ORDER BY id) AS ids FROM run GROUP BY k), new AS (
                   INSERT INTO search_blocks (channel_id, last_id, first_id, ids, words, places)
                   SELECT $1, ids[$4], ids[1], ids, words, places FROM block JOIN bench_words USING (k)
                   RETURNING last_id)
               SELECT last_id FROM new ORDER BY last_id DESC LIMIT 1""",
            channel_id,
            last,
            min(_PERIOD, (blocks - first) * BLOCK),
            BLOCK,
            timeout=_LONG,
        )
    await conn.execute(index, timeout=_LONG)
    await conn.execute(
        "INSERT INTO search_progress (channel_id, closed, seen) VALUES ($1, $2, $3)", channel_id, last, ids.ZERO
    )
    await conn.execute("DROP TABLE bench_words")


async def _add_words(conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID, texts: int) -> None:
    """Add the content of the blocks of one period, in the format of `store/search/index.py`."""
    await conn.execute(
        "CREATE UNLOGGED TABLE bench_words (k bigint PRIMARY KEY, words tsvector, places text STORAGE EXTERNAL)"
    )
    mark = f"{channel_id.hex[-10:]}:"
    for first in range(0, texts, BLOCK):
        rows = await conn.fetch(
            "SELECT content FROM bench_texts WHERE n >= $1 AND n < $2 ORDER BY n", first, first + BLOCK
        )
        places = places_of(words_of(row["content"]) for row in rows)
        await conn.execute(
            "INSERT INTO bench_words VALUES ($1, array_to_tsvector($2::text[]), $3)",
            first // BLOCK,
            [mark + word for word in places],
            "\n" + "".join(f"{word}:{','.join(at)}\n" for word, at in places.items()),
        )
    await conn.execute("ANALYZE bench_words")


async def _index(dsn: str, channel_id: UUID) -> float:
    """Write the newest blocks like the channel's owner; return the messages per second."""
    db = await Database.connect(dsn, connections=1)
    try:
        lease = await claim_channel(db, channel_id, uuid4(), 3600)
        if lease is None:
            raise BenchFailed("The channel has an owner already.")
        began, blocks = time.perf_counter(), 0
        while await index_more(db, lease):
            blocks += 1
        took = time.perf_counter() - began
        await release_channel(db, lease, seen=None, work_at=None)
    finally:
        await db.close()
    return blocks * BLOCK / took
