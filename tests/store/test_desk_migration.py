"""A database of before is taken over: conversations get their newest message, labels names of their own."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg

from gatepost.model import ids
from gatepost.store.migrate import migrate, shipped
from tests.outbound.stage import NOW

CHANNEL = UUID(int=1)
MESSAGE = """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content, created_at,
                                   event_ids)
             VALUES ($1, $2, $3, true, false, 10, '49', 'text', '{}', $4, '{}')"""


async def test_what_was_there_before_is_taken_over(empty_database_url: str, tmp_path: Path) -> None:
    files = sorted(file.name for file in shipped().iterdir() if file.name.endswith(".sql"))
    for name in files[:2]:
        (tmp_path / name).write_text(shipped().joinpath(name).read_text())
    assert await migrate(empty_database_url, tmp_path) == 2
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
    assert await migrate(empty_database_url) == len(files) - 2
    newest = await conn.fetch("SELECT last_message_id FROM conversations ORDER BY contact_id")
    assert [row["last_message_id"] for row in newest] == [said[-1], None]
    names = [row["name"] for row in await conn.fetch("SELECT name FROM labels")]
    assert len({name.lower() for name in names}) == 6
    assert max(map(len, names)) == 64
    assert "other" in names
    await conn.close()
