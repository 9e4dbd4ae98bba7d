"""Shipped migrations on a database with rows of an earlier version."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import msgspec

from gatepost.model import ids
from gatepost.model.event import MESSAGE as MESSAGE_TYPE
from gatepost.model.event import ChannelRef, NewEvent, render
from gatepost.model.event.endpoints import EndpointPaused
from gatepost.model.event.messages import MessageCreated
from gatepost.model.number_forms import other_form
from gatepost.store.migrate import migrate, shipped
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW
from tests.patience import PATIENCE

CHANNEL, ENDPOINT = UUID(int=1), UUID(int=2)
MESSAGE = """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content, created_at,
                                   event_ids)
             VALUES ($1, $2, $3, true, false, 10, '49', 'text', '{}', $4, '{}')"""
PHONES = [
    "553188887777",
    "5511988887777",
    "551133334444",
    "5215512345678",
    "525598765432",
    "5491123456789",
    "541198765432",
    "15550001111",
    "5521977776666",
    "552177776666",  # the other form of the one before: the two contacts are merged when the person writes
]


async def migrate_before(url: str, folder: Path, version: str) -> int:
    """Apply the migrations before this version; return how many remain."""
    files = sorted(file.name for file in shipped().iterdir() if file.name.endswith(".sql"))
    for name in files:
        if name < version:
            (folder / name).write_text(shipped().joinpath(name).read_text())
    return len(files) - await migrate(url, folder)


async def test_conversations_get_their_newest_message_and_labels_unique_names(
    empty_database_url: str, tmp_path: Path
) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0003")
    conn = await asyncpg.connect(empty_database_url)
    await conn.execute("CREATE TABLE messages_all PARTITION OF messages DEFAULT")
    said = [ids.new_id(NOW + timedelta(seconds=second)) for second in range(3)]
    for contact_id in (UUID(int=7), UUID(int=8)):
        await conn.execute("INSERT INTO conversations VALUES ($1, $2, NULL, NULL, $3)", CHANNEL, contact_id, NOW)
    for message_id in said:
        await conn.execute(MESSAGE, CHANNEL, message_id, UUID(int=7), NOW)
    for number, name in enumerate(("VIP", "vip", "Vip", "x" * 100, "x" * 99, "other")):
        await conn.execute(
            "INSERT INTO labels VALUES ($1, $2, $3, $4, '', $5, $5)", CHANNEL, ids.new_id(NOW), str(number), name, NOW
        )
    assert await migrate(empty_database_url) == remaining
    newest = await conn.fetch("SELECT last_message_id FROM conversations ORDER BY contact_id")
    assert [row["last_message_id"] for row in newest] == [said[-1], None]
    names = [row["name"] for row in await conn.fetch("SELECT name FROM labels")]
    assert len({name.lower() for name in names}) == 6
    assert max(map(len, names)) == 64
    assert "other" in names
    await conn.close()


async def test_known_numbers_get_their_other_form(empty_database_url: str, tmp_path: Path) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0012")
    conn = await asyncpg.connect(empty_database_url)
    for phone in PHONES:
        await conn.execute(
            "INSERT INTO contacts (channel_id, id, phone, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)",
            CHANNEL,
            ids.new_id(NOW),
            phone,
            NOW,
        )
    assert await migrate(empty_database_url) == remaining
    rows = await conn.fetch("SELECT phone, alias FROM contact_aliases a JOIN contacts c ON c.id = a.contact_id")
    await conn.close()
    expected = {phone: other_form(phone) for phone in PHONES if other_form(phone) not in (None, *PHONES)}
    assert {row["phone"]: row["alias"] for row in rows} == expected


async def test_renamed_tables_keep_their_rows_and_partitions(empty_database_url: str, tmp_path: Path) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0013")
    conn = await asyncpg.connect(empty_database_url)
    for table in ("messages", "events", "deliveries"):
        await conn.execute(f"CREATE TABLE {table}_20261101_20261130 PARTITION OF {table} DEFAULT")
    midnight = NOW.replace(hour=0, minute=0, second=0, microsecond=0)
    start, end = (ids.floor_id(midnight + timedelta(days=days)) for days in (-1, 1))
    await conn.execute(
        f"CREATE TABLE attempts_20261114_20261116 PARTITION OF attempts FOR VALUES FROM ('{start}') TO ('{end}')"
    )
    event_id, contact_id = ids.new_id(NOW), UUID(int=7)
    await conn.execute("INSERT INTO scheduled VALUES ($1, $2, $3)", CHANNEL, NOW, event_id)
    await conn.execute("INSERT INTO events VALUES ($1, $2, 1, 'x', '{}', $3)", CHANNEL, event_id, contact_id)
    await conn.execute(
        "INSERT INTO delivery_retries VALUES ($1, $2, $3, $4, $5)", CHANNEL, ENDPOINT, event_id, NOW, contact_id
    )
    await conn.execute(
        "INSERT INTO attempts (channel_id, endpoint_id, event_id, number, at, latency_ms, url, request_headers)"
        " VALUES ($1, $2, $3, 1, $4, 1, '', '{}')",
        CHANNEL,
        ENDPOINT,
        event_id,
        NOW,
    )
    assert await migrate(empty_database_url) == remaining
    assert await conn.fetchval("SELECT message_id FROM scheduled_messages") == event_id
    assert await conn.fetchval("SELECT conversation_id FROM events") == contact_id
    assert await conn.fetchval("SELECT conversation_id FROM delivery_retries") == contact_id
    assert await conn.fetchval("SELECT event_id FROM delivery_attempts_20261114_20261116") == event_id
    await conn.close()
    db = await Database.connect(empty_database_url, connections=2)
    made = [name for name in await make_partitions(db, NOW, 7) if name.startswith("delivery_attempts")]
    await db.close()
    assert made[0].startswith("delivery_attempts_20261116_")  # goes on where the renamed partition ends


async def test_renaming_waits_for_a_writer_and_does_not_deadlock_with_it(
    empty_database_url: str, tmp_path: Path
) -> None:
    await migrate_before(empty_database_url, tmp_path, "0013")
    writer = await asyncpg.connect(empty_database_url)
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute("SELECT 1 FROM channel_heads FOR NO KEY UPDATE")
    migration = asyncio.create_task(migrate(empty_database_url))
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'channel_heads'::regclass"
    async with asyncio.timeout(PATIENCE):
        while not await writer.fetchval(waits):
            await asyncio.sleep(0.01)
    await writer.execute("INSERT INTO delivery_retries VALUES ($1, $1, $1, now())", CHANNEL)
    await writer.execute("INSERT INTO scheduled VALUES ($1, now(), $1)", CHANNEL)
    await transaction.commit()
    assert await migration > 0
    assert await writer.fetchval("SELECT count(*) FROM scheduled_messages") == 1
    await writer.close()


async def test_events_that_are_still_to_be_counted_get_their_message(empty_database_url: str, tmp_path: Path) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0014")
    conn = await asyncpg.connect(empty_database_url)
    await conn.execute("CREATE TABLE events_20261101_20261130 PARTITION OF events DEFAULT")
    for number, counted in ((1, 1), (2, None)):  # the first event of channel 1 is counted; channel 2 is new
        channel_id = UUID(int=number)
        await conn.execute("INSERT INTO accounts VALUES ($1, '', '', false, now(), now())", channel_id)
        await conn.execute(
            "INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)"
            " VALUES ($1, $1, '', '', '', '{}', '{}', '', now())",
            channel_id,
        )
        await conn.execute(
            "INSERT INTO channel_heads (channel_id, last_event_id, last_message_id, send_floor)"
            " VALUES ($1, $2, $1, $1)",
            channel_id,
            UUID(int=3),
        )
        if counted:
            await conn.execute("INSERT INTO daily_cursors VALUES ($1, $2)", channel_id, UUID(int=counted))
        for seq in (1, 2, 3):
            type_ = "ack_notification" if seq == 3 else MESSAGE_TYPE
            data = MessageCreated.of(
                id_=UUID(int=10 + seq),
                phone="15550001111",
                contact_id=UUID(int=7),
                name='"key":',
                incoming=True,
                type_="text",
                content="{}",
                timestamp=NOW,
                reply_to=None,
                client_ref=None,
                sent_by=None,
            )
            body = render(NewEvent(UUID(int=seq), data), seq, ChannelRef("ch", "qr", "1"), NOW)
            await conn.execute(
                "INSERT INTO events VALUES ($1, $2, $3, $4, $5)", channel_id, UUID(int=seq), seq, type_, body
            )
    assert await migrate(empty_database_url) == remaining
    rows = await conn.fetch("SELECT channel_id, id, message_id FROM events WHERE message_id IS NOT NULL ORDER BY 1, 2")
    await conn.close()
    assert [tuple(value.int for value in row) for row in rows] == [(1, 2, 12), (2, 1, 11), (2, 2, 12)]


async def test_the_health_of_endpoints_becomes_system_notifications(empty_database_url: str, tmp_path: Path) -> None:
    remaining = await migrate_before(empty_database_url, tmp_path, "0024")
    conn = await asyncpg.connect(empty_database_url)
    await conn.execute("CREATE TABLE events_20261101_20261130 PARTITION OF events DEFAULT")
    await conn.execute("INSERT INTO accounts VALUES ($1, '', '', false, now(), now())", CHANNEL)
    await conn.execute(
        "INSERT INTO channels (id, account_id, kind, phone, name, network, limits, connection, created_at)"
        " VALUES ($1, $1, '', '', '', '{}', '{}', '', now())",
        CHANNEL,
    )
    old, new = "endpoint_notification", "system_notification"
    for number, events in enumerate(([MESSAGE_TYPE, old], [MESSAGE_TYPE]), 1):
        await conn.execute(
            "INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, cursor, created_at,"
            " updated_at) VALUES ($1, $2, '', $3, '{}', '', 'active', $2, now(), now())",
            CHANNEL,
            UUID(int=number),
            events,
        )
        await conn.execute(
            "INSERT INTO recoveries (channel_id, id, endpoint_id, first_id, end_id, types, position, created_at)"
            " VALUES ($1, $2, $2, $2, $2, $3, $2, now())",
            CHANNEL,
            UUID(int=number),
            events,
        )
    tricky = msgspec.structs.replace(EndpointPaused.example(), reason=f'"type":"{old}","action":"')
    wanted = render(NewEvent(UUID(int=1), tricky), 1, ChannelRef("ch", "qr", "1"), NOW)
    body = wanted.replace(f'"type":"{new}","action":"endpoint_paused"', f'"type":"{old}","action":"paused"')
    assert body != wanted
    await conn.execute("INSERT INTO events VALUES ($1, $1, 1, $2, $3)", CHANNEL, old, body)
    await conn.execute("INSERT INTO events VALUES ($1, $2, 2, $3, $4)", CHANNEL, ENDPOINT, MESSAGE_TYPE, body)
    assert await migrate(empty_database_url) == remaining
    for table, column in (("endpoints", "events"), ("recoveries", "types")):
        rows = await conn.fetch(f"SELECT {column} FROM {table} ORDER BY id")
        assert [row[column] for row in rows] == [[MESSAGE_TYPE, new], [MESSAGE_TYPE]]
    rows = await conn.fetch("SELECT type, body FROM events ORDER BY id")
    await conn.close()
    assert [tuple(row) for row in rows] == [(new, wanted), (MESSAGE_TYPE, body)]
