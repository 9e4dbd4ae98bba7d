"""Files: upload, get and delete.

chunks ─► sha256, check of the size ─► complete object in the storage ─► row in `media` ─► med_…
            │ too large, aborted, too slow: neither object nor row is kept
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.errors import BadRequest, Conflict, GatepostError, Invalid, NotFound, invalid_field
from gatepost.model.file import too_large
from gatepost.services.lookup import existing, read_id
from gatepost.store.checks import identity
from gatepost.store.idempotency import IdempotencyKey, IdempotentRequest, Replay, was_used
from gatepost.store.media import files as store
from gatepost.store.media.files import MediaRow, object_key
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.media.storage import StorageAllowance, StorageReservation, room_for
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.media")
STORING = timedelta(minutes=10)  # how long a file keeps its reserved space after its last byte
ORPHAN_AGE = timedelta(days=1)  # no upload takes that long
OWNER = "database.id"  # the object that names the database whose files these are
NOT_OWN = (
    "If no other gateway uses this storage, for example because the database was upgraded with pg_upgrade or has moved "
    f"to another server, delete the object {OWNER} in it."
)
_encode = msgspec.json.Encoder().encode


class NewFile(msgspec.Struct, frozen=True):
    """The properties of a file that are known before its bytes arrive."""

    channel_id: UUID
    mime_type: str
    limit: int
    filename: str | None = None
    key: IdempotencyKey | None = None
    answer: Callable[[MediaRow], bytes] = lambda _: b""  # the response, which is stored with the key
    account_id: UUID | None = None
    storage: int | None = None  # maximum bytes of the account's files; None: no limit
    least: int = 0  # minimum size in bytes, as announced
    announced: int = 0  # maximum size in bytes, as announced; 0: unknown


class MediaService:
    """The files of all channels: rows in the database, bytes in the object storage."""

    def __init__(self, db: Database, objects: ObjectStorage, clock: Clock, *, most: int, timeout: float) -> None:
        self._db = db
        self._objects = objects
        self._clock = clock
        self._most = most
        self._timeout = timeout

    async def upload(self, new: NewFile, chunks: AsyncIterator[bytes]) -> AcceptResult:
        """Store a file as its chunks arrive. The response is new or replayed."""
        now = self._clock.now()
        media = MediaRow(new.channel_id, ids.new_id(now), "ready", new.mime_type, now, filename=new.filename)
        limit = min(new.limit, self._most)
        async with room_for(self._db, self._clock, await self._space(new, media)) as space:
            await space.cover(max(1, min(new.least, limit)), min(new.announced, limit))
            tally = _Tally(_in_time(chunks, self._timeout), limit, new.mime_type, space)
            await self._objects.put(media.key, tally.chunks())
            media = msgspec.structs.replace(media, size=tally.size, sha256=tally.sha256)
            return await self._insert(media, new)

    async def _space(self, new: NewFile, media: MediaRow) -> StorageAllowance | None:
        """Return the space that a file needs. One with a key that was used before is not kept: it needs none."""
        if new.account_id is None or new.storage is None:
            return None
        if new.key is not None and await was_used(self._db, new.channel_id, new.key):
            return None
        expires_at = media.created_at + timedelta(seconds=self._timeout) + STORING
        return StorageAllowance(new.account_id, new.channel_id, media.id, new.storage, expires_at)

    async def _insert(self, media: MediaRow, new: NewFile) -> AcceptResult:
        """Insert the row of a file. If it is rejected or a replay, delete the file's bytes."""
        key, answer = new.key, new.answer(media)
        if key is not None:
            key = msgspec.structs.replace(key, body_hash=_fingerprint(media))
        once = IdempotentRequest[MediaRow](media.channel_id, key, lambda _: answer)
        try:
            await store.insert_media(self._db, media, once)
        except Replay as before:
            await self._drop(media)
            return AcceptResult(before.answer, replayed=True)
        except (Conflict, Invalid, NotFound):
            await self._drop(media)
            raise
        return AcceptResult(answer)

    async def _drop(self, media: MediaRow) -> None:
        """Delete the bytes of a file that certainly has no row. If that fails, the sweep of orphans deletes them."""
        with contextlib.suppress(GatepostError):
            await self._objects.delete([media.key])

    async def access(self, channel_id: UUID, text: str) -> MediaRow:
        """Return the file with this id, if it belongs to the channel."""
        return existing("med", await store.get_media(self._db, channel_id, read_id("med", text)))

    async def content(self, media: MediaRow, start: int, end: int) -> AsyncIterator[bytes]:
        """Return the bytes of a ready file, from `start` to `end`."""
        return await self._objects.read(media.key, start, end) if end > start else _nothing()

    async def delete(self, channel_id: UUID, text: str) -> None:
        """Delete a file. The row is deleted first: the sweep finds bytes without a row, but not a row without bytes."""
        media = await self.access(channel_id, text)
        await store.delete_media(self._db, channel_id, media.id)
        await self._drop(media)


class _Tally:
    """Counts and hashes the chunks of a file."""

    def __init__(self, chunks: AsyncIterator[bytes], limit: int, mime_type: str, space: StorageReservation) -> None:
        self.size = 0
        self._chunks = chunks
        self._limit = limit
        self._mime_type = mime_type
        self._room = space
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            self.size += len(chunk)
            if self.size > self._limit:
                raise too_large(self._limit, f"A file of type {self._mime_type}")
            await self._room.cover(self.size)
            self._hash.update(chunk)
            yield chunk
        if not self.size:
            raise invalid_field("file", "is empty")


async def _in_time(chunks: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """Yield the chunks until the deadline, then raise. Unlike a cancellation, this error ends the upload cleanly."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise BadRequest(
                f"The upload took longer than {seconds:g} seconds. Nothing was kept.", "malformed_upload"
            ) from None
        yield chunk


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def check_ready(media: MediaRow, now: datetime) -> int:
    """Return the size of a stored file. Raise an error that says why it is missing, and when to try again."""
    if media.state == "waiting":
        wait = max(1.0, ((media.next_at or now) - now).total_seconds())
        reason = f" {media.error.rstrip('.')}." if media.error else ""
        text = f"The file is not fetched from the network yet.{reason} Try again later."
        raise Conflict(text, retry_after=wait)
    if media.state == "failed":
        raise NotFound(f"The file could not be fetched from the network: {(media.error or '').rstrip('.')}.")
    return media.size or 0


def _fingerprint(media: MediaRow) -> bytes:
    """Return a hash that is the same for equal uploads: same bytes, type and name."""
    return hashlib.sha256(_encode([media.sha256, media.mime_type, media.filename])).digest()


async def forget_old_media(db: Database, objects: ObjectStorage, now: datetime, days: int) -> int:
    """Delete the files of deleted channels, and those older than `days` (0: none). Return how many."""
    total, channel = 0, await store.next_channel(db, ids.ZERO)
    while channel is not None:
        channel_id, alive = channel
        before = now - timedelta(days=days) if alive else None
        while days or not alive:
            gone = await store.forget_media(db, channel_id, before)
            await objects.delete([object_key(channel_id, id_) for id_ in gone])
            total += len(gone)
            if not gone:
                break
        channel = await store.next_channel(db, channel_id)
    return total


async def sweep_orphans(db: Database, objects: ObjectStorage, now: datetime) -> int:
    """Delete bytes without a row, as a crash leaves them, if they are older than a day. Return how many."""
    if not await _are_own(db, objects):
        return 0
    total = await objects.forget_parts(now - ORPHAN_AGE)
    async for some in objects.listed():
        old = {
            stored.key: key for stored in some if stored.at < now - ORPHAN_AGE and (key := store.read_key(stored.key))
        }
        known = await store.known_media(db, list(old.values())) if old else set()
        orphans = [text for text, key in old.items() if key not in known]
        await objects.delete(orphans)
        total += len(orphans)
    return total


async def _are_own(db: Database, objects: ObjectStorage) -> bool:
    """Return whether this database was the first one to look at these objects. Another one does not know them."""
    own, first = await identity(db), await read_owner(objects)
    if first is None:
        await objects.put(OWNER, _once(own.encode()))
    elif first != own:
        log.error("orphaned files are kept: the storage belongs to another database", found=first, own=own, fix=NOT_OWN)
    return first in (None, own)


async def read_owner(objects: ObjectStorage) -> str | None:
    """Return the identity of the database that used a storage first."""
    try:
        return (await objects.read_all(OWNER)).decode("utf-8", "replace")
    except NotFound:
        return None


async def _once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece
