"""Moves a database to another server: read in one snapshot, written in one transaction, without a file between."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import msgspec

from gatepost.model.errors import Conflict
from gatepost.store.backup.archive import Progress
from gatepost.store.backup.load import DatabaseLoad, check_other, check_unused, open_load
from gatepost.store.backup.snapshot import DatabaseSnapshot, open_snapshot
from gatepost.store.backup.table_data import TableData
from gatepost.store.embedded.moved import write_moved

_PIECE = 256 << 10
_PIECES = 8


class MovedDatabase(msgspec.Struct, frozen=True):
    """What was moved."""

    tables: int
    rows: int
    migration: int


async def move_database(source: str, target: str, *, replace: bool, progress: Progress) -> MovedDatabase:
    """Copy everything to another database, and compare the numbers of rows. Messages that wait are sent from there."""
    await check_unused(source)
    await check_other(source, target)
    async with open_snapshot(source) as snapshot:
        content = snapshot.content
        if not content.migrations:
            raise Conflict("The database is empty: there is nothing to move.")
        total, done, rows = sum(table.size for table in content.tables), 0, 0
        async with open_load(target, content, replace=replace) as load:
            await load.prepare()
            for table in content.tables:
                rows += await _copy(snapshot, load, table)
                done += table.size
                progress("Database", done, total)
            await load.finish(None)
    return MovedDatabase(len(content.tables), rows, content.level)


def note_move(folder: Path, target: str, now: datetime) -> None:
    """Record that the embedded database was moved, so that no gateway uses the old one by mistake."""
    write_moved(folder, target, now)


async def _copy(snapshot: DatabaseSnapshot, load: DatabaseLoad, table: TableData) -> int:
    pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(_PIECES)
    reading = asyncio.create_task(_read(snapshot, table, pieces))
    try:
        written = await load.copy(table, _each(pieces))
        read = await reading
    finally:
        reading.cancel()
    if read != written:
        raise Conflict(f"The table {table.name} has {read} rows, but {written} were written. Nothing was changed.")
    return written


async def _read(snapshot: DatabaseSnapshot, table: TableData, pieces: "asyncio.Queue[bytes | Exception | None]") -> int:
    gathered = bytearray()

    async def write(piece: bytes) -> None:
        nonlocal gathered
        gathered += piece
        if len(gathered) >= _PIECE:
            await pieces.put(bytes(gathered))
            gathered = bytearray()

    try:
        rows = await snapshot.copy(table, write)
    except Exception as error:
        await pieces.put(error)
        raise
    await pieces.put(bytes(gathered))
    await pieces.put(None)
    return rows


async def _each(pieces: "asyncio.Queue[bytes | Exception | None]") -> AsyncIterator[bytes]:
    while (piece := await pieces.get()) is not None:
        if isinstance(piece, Exception):
            raise piece
        yield piece
