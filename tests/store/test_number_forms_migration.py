"""The migration and the table of number forms agree: every known number gets its other form as an alias."""

from pathlib import Path
from uuid import UUID

import asyncpg

from gatepost.model import ids
from gatepost.model.number_forms import other_form
from gatepost.store.migrate import migrate, shipped
from tests.outbound.stage import NOW

CHANNEL = UUID(int=1)
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
    "552177776666",  # somebody goes by the other form already: they are joined when they write
]


async def test_known_numbers_get_their_other_form(empty_database_url: str, tmp_path: Path) -> None:
    files = sorted(file.name for file in shipped().iterdir() if file.name.endswith(".sql"))
    before = [name for name in files if name < "0012"]
    for name in before:
        (tmp_path / name).write_text(shipped().joinpath(name).read_text())
    await migrate(empty_database_url, tmp_path)
    conn = await asyncpg.connect(empty_database_url)
    for phone in PHONES:
        await conn.execute(
            "INSERT INTO contacts (channel_id, id, phone, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)",
            CHANNEL,
            ids.new_id(NOW),
            phone,
            NOW,
        )
    assert await migrate(empty_database_url) == len(files) - len(before)
    rows = await conn.fetch("SELECT phone, alias FROM contact_aliases a JOIN contacts c ON c.id = a.contact_id")
    await conn.close()
    expected = {phone: other_form(phone) for phone in PHONES if other_form(phone) not in (None, *PHONES)}
    assert {row["phone"]: row["alias"] for row in rows} == expected
