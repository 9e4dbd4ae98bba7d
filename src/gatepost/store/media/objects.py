"""The object storage for the bytes of files: a local folder by default, S3 and similar services by setting.

put(key, chunks) ─► up to 256 KiB: at once
                    more, into a folder: chunk by chunk
                    more, elsewhere: to a temporary file and, when it is complete, in parts of 5 MiB
                 ─► the whole object, or nothing
read(key) ────────► its size and its chunks

A key always names a complete object: parts become visible only with the last of them. A slow upload holds at most two
chunks in memory; parts are held only while they are transferred, a few objects at a time.
"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

import msgspec
import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from gatepost.model.databases import MAIN
from gatepost.model.errors import GatepostError, NotFound, Unavailable

PART = 5 << 20  # the smallest part that S3 takes
PIECE = 256 << 10
_AT_ONCE = 2
_TRANSFERS = 4  # objects that are transferred in parts at once
_LISTED = 500
# A request waits for the storage: it fails after seconds. The library's own limit is three minutes.
_REMOTE: dict[str, Any] = {
    "retry_config": {
        "max_retries": 3,
        "retry_timeout": timedelta(seconds=10),
        "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=1), "base": 2},
    },
}


class StorageSetupError(OSError):
    """The address of the storage, or a variable for it, is invalid."""


class StoredObject(msgspec.Struct, frozen=True):
    """An object as the storage lists it."""

    key: str
    at: datetime


def media_place(url: str, data_folder: Path, cell: str) -> tuple[str, Path]:
    """Return the URL and the local folder of a cell's objects: a cell deletes objects that it does not know."""
    folder = data_folder / "media"
    if cell == MAIN:
        return url, folder
    return f"{url.rstrip('/')}/cells/{cell}" if url else "", folder / "cells" / cell


class ObjectStorage:
    """One storage for objects."""

    def __init__(self, store: ObjectStore, folder: Path | None = None, spool: Path | None = None) -> None:
        self._store = store
        self._folder = folder
        self._spool = spool  # the folder of temporary files; None: the system's
        self._transfers = asyncio.Semaphore(_TRANSFERS)

    @classmethod
    def open(cls, url: str, folder: Path) -> "ObjectStorage":
        """Open the storage at a URL (s3://bucket/path, file:///path, memory:///), or the local folder."""
        if url:
            remote = not url.startswith(("file:", "memory:"))
            try:
                return cls(from_url(url, **(_REMOTE if remote else {})), spool=folder)
            except (BaseError, ValueError) as error:
                raise StorageSetupError(f"media.url cannot be used ({url}): {error}") from None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(folder), folder)

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """Store an object chunk by chunk. If the chunks end with an error, store nothing and raise the error."""
        with _in_our_words():
            first, ended = await _begin(pieces)
            if ended:
                await obstore.put_async(self._store, key, first, use_multipart=False)
            elif isinstance(self._store, LocalStore):
                whole = _joined(first, pieces)
                await obstore.put_async(self._store, key, whole, chunk_size=PIECE, max_concurrency=1)
            else:
                await self._put_spooled(key, _joined(first, pieces))

    async def _put_spooled(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """Store through a temporary file: parts are large and the sender may be slow, so that none waits in memory."""
        if self._spool is not None:
            self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._spool, buffering=0) as file:
            async for piece in pieces:
                await asyncio.to_thread(_write_all, file, piece)
            file.seek(0)
            async with self._transfers:
                await obstore.put_async(self._store, key, _read_pieces(file), chunk_size=PART, max_concurrency=_AT_ONCE)

    async def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Return the chunks of an object, or of its bytes from `start` up to `end`. Raise at once if there is none."""
        with _in_our_words():
            if end is None:
                found = await obstore.get_async(self._store, key)
            else:
                found = await obstore.get_async(self._store, key, options={"range": (start, end)})
        return _pieces(found.stream(min_chunk_size=PIECE))

    async def read_all(self, key: str) -> bytes:
        """Return a whole object."""
        with _in_our_words():
            return bytes(await (await obstore.get_async(self._store, key)).bytes_async())

    async def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; missing ones are ignored."""
        for key in keys:
            with contextlib.suppress(NotFound), _in_our_words():
                await obstore.delete_async(self._store, key)

    async def listed(self) -> AsyncIterator[list[StoredObject]]:
        """Return all objects, some hundred at a time."""
        with _in_our_words():
            async for some in obstore.list(self._store, chunk_size=_LISTED):
                yield [StoredObject(one["path"], one["last_modified"]) for one in some]

    async def forget_parts(self, before: datetime) -> int:
        """Remove what killed processes left incomplete in the local folder. Return how many."""
        return await asyncio.to_thread(_remove_parts, self._folder, before.timestamp()) if self._folder else 0


async def _begin(pieces: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes, and whether they are all: most files are small, and one request is faster than three."""
    gathered = bytearray()
    async for piece in pieces:
        gathered += piece
        if len(gathered) > PIECE:
            return bytes(gathered), False
    return bytes(gathered), True


def _write_all(file: IO[bytes], piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[file.write(rest) :]


async def _read_pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece


async def _joined(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    del first
    async for piece in pieces:
        yield piece


async def _pieces(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    with _in_our_words():
        async for piece in stream:
            yield piece


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except GatepostError:  # raised by the source of the chunks
        raise
    except (NotFoundError, FileNotFoundError) as error:
        if "NoSuchBucket" in str(error):  # the same class of error as for a missing object
            raise _unavailable() from error
        raise NotFound("The bytes of this file are gone from the storage.") from None
    except (BaseError, OSError) as error:
        raise _unavailable() from error


def _unavailable() -> Unavailable:
    return Unavailable(
        "The storage of files cannot be reached. Nothing was changed; try again shortly.",
        "storage_unavailable",
        retry_after=5,
    )


def _remove_parts(folder: Path, before: float) -> int:
    """Remove parts: the library writes a local object next to its place, under its name with # and a number."""
    removed = 0
    for path in folder.rglob("*#*"):
        with contextlib.suppress(OSError):
            if path.is_file() and os.stat(path).st_mtime < before:
                path.unlink()
                removed += 1
    return removed
