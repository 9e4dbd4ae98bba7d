"""Passes rows from a COPY of one database to a COPY of another, with a few pieces in memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from gatepost.model.errors import Conflict

_PIECE = 256 << 10
_PIECES = 8
Pieces = asyncio.Queue[bytes | Exception | None]
Read = Callable[[Callable[[bytes], Awaitable[None]]], Awaitable[int]]
Write = Callable[[AsyncIterator[bytes]], Awaitable[int]]


async def pipe_rows(name: str, read: Read, write: Write) -> int:
    """Pass on the rows of a table, and compare how many were read and written. Return how many."""
    pieces: Pieces = asyncio.Queue(_PIECES)
    reading = asyncio.create_task(_read(read, pieces))
    try:
        written = await write(_each(pieces))
        found = await reading
    finally:
        reading.cancel()
    if found != written:
        raise Conflict(f"The table {name} has {found} rows, but {written} were written. Nothing was changed.")
    return written


async def _read(read: Read, pieces: Pieces) -> int:
    gathered = bytearray()

    async def write(piece: bytes) -> None:
        nonlocal gathered
        gathered += piece
        if len(gathered) >= _PIECE:
            await pieces.put(bytes(gathered))
            gathered = bytearray()

    try:
        rows = await read(write)
    except Exception as error:
        await pieces.put(error)
        raise
    await pieces.put(bytes(gathered))
    await pieces.put(None)
    return rows


async def _each(pieces: Pieces) -> AsyncIterator[bytes]:
    while (piece := await pieces.get()) is not None:
        if isinstance(piece, Exception):
            raise piece
        yield piece
