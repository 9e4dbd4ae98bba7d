"""The index of a contact's messages is rebuilt under a running gateway: reads continue, and one index is left."""

import asyncio
from pathlib import Path

import asyncpg

from gatepost.store.migrate import migrate, shipped
from tests.patience import PATIENCE

FILES = sorted(file.name for file in shipped().iterdir() if file.name.endswith(".sql"))


def of_before(folder: Path, count: int) -> Path:
    """The first migrations as they are shipped."""
    for name in FILES[:count]:
        (folder / name).write_text(shipped().joinpath(name).read_text())
    return folder


async def contact_indexes(url: str) -> list[tuple[str, str]]:
    """The indexes on a contact's messages: name, and what they are by."""
    conn = await asyncpg.connect(url)
    rows = await conn.fetch(
        """SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'messages' AND indexdef LIKE '%contact_id%'"""
    )
    await conn.close()
    return [(row["indexname"], row["indexdef"].split(" USING btree ")[1]) for row in rows]


async def test_reading_messages_does_not_wait_while_it_is_built(empty_database_url: str, tmp_path: Path) -> None:
    assert await migrate(empty_database_url, of_before(tmp_path, 4)) == 4
    reader = await asyncpg.connect(empty_database_url)
    async with reader.transaction():
        await reader.fetch("SELECT 1 FROM messages LIMIT 1")  # holds what every reader holds
        async with asyncio.timeout(PATIENCE):
            assert await migrate(empty_database_url, of_before(tmp_path, 5)) == 1
    await reader.close()
    assert await migrate(empty_database_url) == len(FILES) - 5


async def test_one_index_is_left(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    assert await contact_indexes(empty_database_url) == [("messages_person", "(contact_id, channel_id, id)")]
