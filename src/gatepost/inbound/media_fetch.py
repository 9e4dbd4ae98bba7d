"""Fetching the files of incoming messages before the network deletes them.

waiting ─► get it ─► whole, and its checksum right? ─► object storage ─► ready  + event media_ready
   ▲         │ no
   ├── later ┴─► after the last attempt, or at once where waiting cannot help: failed + event media_failed
   └── the account's storage is full: tried again as long as the network has the file

The owner of a channel does this. A file that was stored by an owner whose lease ended is stored again by the next one
under the same key.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.model.account import Plan
from gatepost.model.errors import GatepostError, TooLarge, Unavailable
from gatepost.model.event import ChannelRef
from gatepost.model.limits import format_size
from gatepost.networks.base import CallFailed, Network, RemoteMedia
from gatepost.store.channel_head import Lease
from gatepost.store.media.files import (
    MediaRow,
    mark_failed,
    mark_full,
    mark_ready,
    mark_retry,
    next_waiting,
    waiting_media,
)
from gatepost.store.media.objects import PIECE, ObjectStorage
from gatepost.store.media.storage import StorageAllowance, StorageReservation, plan_of_channel, room_for
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.fetch")
DELAYS = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)  # seconds; the last one is repeated
NETWORK_MEMORY = timedelta(days=7)
FULL_DELAY = 600  # seconds after which a file is tried again that did not fit into the storage
KEPT = timedelta(minutes=10)  # how long a reservation outlives the time that a file may take
MISMATCHES = 3  # attempts with a wrong checksum
_LOOK_AGAIN = 1.0  # seconds between looks for new files while others are in progress
NO_PLANS: Mapping[str, Plan] = {}
_remote = msgspec.json.Decoder(RemoteMedia)


class IncomingFile(msgspec.Struct, frozen=True):
    """A file as the network sent it."""

    content: bytes
    sha256: str


class FetchProblem(msgspec.Struct, frozen=True):
    """Why a file was not fetched, and how often it may be tried in all."""

    reason: str
    most: int | None = None  # None: as often as the settings say
    full: bool = False  # the account's storage is full, which does not count as an attempt


def next_try(attempts: int, created_at: datetime, now: datetime, most: int) -> datetime | None:
    """When to try again after that many attempts; None when there is no use in it."""
    at = now + timedelta(seconds=DELAYS[min(attempts, len(DELAYS)) - 1])
    return at if attempts < most and at < created_at + NETWORK_MEMORY else None


class MediaFetcher:
    """Fetches files for all channels of a process."""

    def __init__(
        self,
        db: Database,
        objects: ObjectStorage,
        clock: Clock,
        *,
        most: int,
        attempts: int,
        timeout: float,
        in_flight: int,
        plans: Mapping[str, Plan] = NO_PLANS,
    ) -> None:
        self._db = db
        self._objects = objects
        self._clock = clock
        self._most = most
        self._attempts = attempts
        self._timeout = timeout
        self._storage = {name: plan.storage_bytes for name, plan in plans.items() if plan.storage_bytes is not None}
        self._room = asyncio.Semaphore(in_flight)  # each file in progress is held in memory
        self._per_channel = max(1, in_flight // 4)

    async def step(self, lease: Lease, channel: ChannelRef, network: Network) -> datetime | None:
        """Fetches what is due on a channel; returns when the next file is due, which lies ahead."""
        in_flight: dict[asyncio.Task[None], UUID] = {}
        try:
            while True:
                await self._start_due(in_flight, lease, channel, network)
                if not in_flight:
                    return await next_waiting(self._db, lease.channel_id)
                done, _ = await asyncio.wait(in_flight, timeout=_LOOK_AGAIN, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del in_flight[task]
                    await task
        finally:
            for task in in_flight:
                task.cancel()
            await asyncio.gather(*in_flight, return_exceptions=True)

    async def _start_due(
        self, in_flight: dict[asyncio.Task[None], UUID], lease: Lease, channel: ChannelRef, network: Network
    ) -> None:
        room = self._per_channel - len(in_flight)
        if room > 0:
            now, known = self._clock.now(), list(in_flight.values())
            for media in await waiting_media(self._db, lease.channel_id, now, room, known):
                in_flight[asyncio.create_task(self._fetch(lease, channel, network, media))] = media.id

    async def _fetch(self, lease: Lease, channel: ChannelRef, network: Network, media: MediaRow) -> None:
        """One attempt for one file, and its result."""
        async with self._room, room_for(self._db, self._clock, await self._space(media)) as room:
            found = await self._get(network, media, room)
            kept = await self._keep(media, found) if isinstance(found, IncomingFile) else found
            now = self._clock.now()
            if isinstance(kept, FetchProblem):
                await self._give_up_or_wait(lease, channel, media, kept, now)
            else:
                await mark_ready(self._db, lease, channel, media, len(kept.content), kept.sha256, now)

    async def _space(self, media: MediaRow) -> StorageAllowance | None:
        """The storage that the account's plan allows; None: no limit."""
        found = await plan_of_channel(self._db, media.channel_id) if self._storage else None
        if found is None or found[1] not in self._storage:
            return None
        expires_at = self._clock.now() + 2 * timedelta(seconds=self._timeout) + KEPT
        return StorageAllowance(found[0], media.channel_id, media.id, self._storage[found[1]], expires_at)

    async def _get(self, network: Network, media: MediaRow, room: StorageReservation) -> IncomingFile | FetchProblem:
        """The file, if it is what the network announced."""
        try:
            remote = _remote.decode(media.source or "")
            if (remote.size or 0) > self._most:
                return _too_large(self._most)
            await room.cover(remote.size or 1)
            async with asyncio.timeout(self._timeout):
                content = await network.get_media(remote, self._most)
            await room.cover(len(content))
        except TooLarge as full:
            return FetchProblem(full.message, full=True)
        except Unavailable:  # the database
            raise
        except TimeoutError:
            return FetchProblem(f"The network did not give the file within {self._timeout:g} seconds")
        except CallFailed as failed:
            return FetchProblem(_words(failed), None if failed.retry else 1)
        except msgspec.MsgspecError:
            return FetchProblem("It is not known where the file is to be fetched", 1)
        except Exception as error:  # one file that breaks the adapter must not hold up the others
            log.exception("fetch broke", media=media.id.hex)
            return FetchProblem(f"The file could not be fetched: {type(error).__name__}")
        # In a thread: the sum over a large file takes long enough for others to notice.
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        return _checked(IncomingFile(content, sha256), remote, self._most)

    async def _keep(self, media: MediaRow, file: IncomingFile) -> IncomingFile | FetchProblem:
        try:
            await self._objects.put(media.key, _pieces(file.content))
        except GatepostError as error:
            return FetchProblem(error.message)
        return file

    async def _give_up_or_wait(
        self, lease: Lease, channel: ChannelRef, media: MediaRow, trouble: FetchProblem, now: datetime
    ) -> None:
        if trouble.full:
            await self._wait_for_room(lease, channel, media, trouble, now)
            return
        tries = media.attempts + 1
        again = next_try(tries, media.created_at, now, min(self._attempts, trouble.most or self._attempts))
        if again is not None:
            await mark_retry(self._db, lease, media, trouble.reason, again)
            return
        await self._give_up(lease, channel, media, trouble, now)

    async def _wait_for_room(
        self, lease: Lease, channel: ChannelRef, media: MediaRow, trouble: FetchProblem, now: datetime
    ) -> None:
        """The file stays at the network until it fits into the storage, or the network deletes it."""
        again = now + timedelta(seconds=FULL_DELAY)
        if again >= media.created_at + NETWORK_MEMORY:
            await self._give_up(lease, channel, media, trouble, now)
        elif await mark_full(self._db, lease, channel, media, trouble.reason, again, now):
            log.warning("storage is full, file not fetched", media=media.id.hex, reason=trouble.reason)

    async def _give_up(
        self, lease: Lease, channel: ChannelRef, media: MediaRow, trouble: FetchProblem, now: datetime
    ) -> None:
        log.warning("file not fetched", media=media.id.hex, attempts=media.attempts + 1, reason=trouble.reason)
        await mark_failed(self._db, lease, channel, media, trouble.reason, now)


def _checked(file: IncomingFile, remote: RemoteMedia, most: int) -> IncomingFile | FetchProblem:
    if len(file.content) > most:
        return _too_large(most)
    if remote.sha256 and file.sha256 != remote.sha256.lower():
        return FetchProblem("The file is not what the network announced: its checksum differs", MISMATCHES)
    return file


def _too_large(most: int) -> FetchProblem:
    return FetchProblem(f"The file has more than {format_size(most)}", 1)


def _words(failed: CallFailed) -> str:
    error = failed.error
    return f"{error.title}: {error.details}" if error.details else error.title


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    """In pieces, so that other work gets its turn between them."""
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]
