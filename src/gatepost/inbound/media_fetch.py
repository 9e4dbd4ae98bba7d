"""Fetching the files of incoming messages before the network deletes them.

waiting ─► get it ─► whole, and its checksum right? ─► object storage ─► ready  + event media_ready
   ▲         │ no
   ├── later ┴─► after the last attempt, or at once where waiting cannot help: failed + event media_failed
   └── the account's storage is full: tried again as long as the network has the file

The owner of a channel does this. The next owner fetches again what was in progress, under the same key.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import structlog

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.model.account import Plan
from gatepost.model.errors import GatepostError, TooLarge, Unavailable
from gatepost.model.limits import format_size
from gatepost.networks.base import CallFailed, ErrorReaction, Network, RemoteMedia
from gatepost.store.media.files import (
    MediaRow,
    mark_failed,
    mark_full,
    mark_ready,
    mark_retry,
    waiting_media,
)
from gatepost.store.media.objects import PIECE, ObjectStorage
from gatepost.store.media.storage import StorageAllowance, StorageReservation, plan_of_channel, room_for

log = structlog.get_logger("gatepost.fetch")
DELAYS = (5, 30, 120, 600, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)  # seconds; the last one is repeated
NETWORK_MEMORY = timedelta(days=7)
FULL_DELAY = 600  # seconds after which a file is tried again that did not fit into the storage
KEPT = timedelta(minutes=10)  # how long a reservation outlives the time that a file may take
MISMATCHES = 3  # attempts with a wrong checksum
_LOOK_AGAIN = 1.0  # seconds between looks for new files while others are in progress
NO_PLANS: Mapping[str, Plan] = {}
_remote = msgspec.json.Decoder(RemoteMedia)


class FetchProblem(Exception):
    """A file was not fetched. `attempts` is the maximum number of attempts, if fewer than the settings allow."""

    def __init__(self, reason: str, attempts: int | None = None, *, full: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.attempts = attempts
        self.full = full  # the account's storage is full, which does not count as an attempt


def next_try(attempts: int, created_at: datetime, now: datetime, limit: int) -> datetime | None:
    """Return the time of the next attempt after that many; None if there is none."""
    at = now + timedelta(seconds=DELAYS[min(attempts, len(DELAYS)) - 1])
    return at if attempts < limit and at < created_at + NETWORK_MEMORY else None


class MediaFetchContext:
    """What the tasks of all channels share: the storage, the limits, and the number of files in progress."""

    def __init__(
        self,
        objects: ObjectStorage,
        *,
        most: int,
        attempts: int,
        timeout: float,
        in_flight: int,
        plans: Mapping[str, Plan] = NO_PLANS,
    ) -> None:
        self.objects = objects
        self.most = most
        self.attempts = attempts
        self.timeout = timeout
        self.storage = {name: plan.storage_bytes for name, plan in plans.items() if plan.storage_bytes is not None}
        self.room = asyncio.Semaphore(in_flight)  # each file in progress is held in memory
        self.per_channel = max(1, in_flight // 4)


class MediaFetchTask(ChannelTask):
    """Fetches a channel's files as they come due."""

    name = "fetching of files"
    gather = 0.25  # every event of a channel wakes this task, and few bring a file

    def __init__(
        self,
        context: ChannelContext,
        shared: MediaFetchContext,
        network: Network | None,
        find: Callable[[UUID], Awaitable[datetime | None]],
    ) -> None:
        super().__init__(context)
        self._shared = shared
        self._network = network
        self._find = find

    def adjust(self, network: Network | None) -> None:
        """Use another connection to the network; None: there is none at the moment."""
        if self._network is None and network is not None:
            self._wakeup.set()
        self._network = network

    async def work(self) -> float | None:
        if self._network is None:
            return None
        self._next_work = await self._find(self._lease.channel_id)
        if self._next_work is not None and self._next_work <= self._clock.now():
            self._next_work = await self.step()
        if self._next_work is None:
            return None
        return max(0.0, (self._next_work - self._clock.now()).total_seconds())

    async def step(self) -> datetime | None:
        """Fetch the files that are due; return the time when the next one is."""
        in_flight: dict[asyncio.Task[None], UUID] = {}
        try:
            while True:
                await self._start_due(in_flight)
                if not in_flight:
                    return await self._find(self._lease.channel_id)
                done, _ = await asyncio.wait(in_flight, timeout=_LOOK_AGAIN, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del in_flight[task]
                    await task
        finally:
            for task in in_flight:
                task.cancel()
            await asyncio.gather(*in_flight, return_exceptions=True)

    async def _start_due(self, in_flight: dict[asyncio.Task[None], UUID]) -> None:
        room, network = self._shared.per_channel - len(in_flight), self._network
        if room > 0 and network is not None:  # without a connection, files wait, which is no attempt
            now, known = self._clock.now(), list(in_flight.values())
            for media in await waiting_media(self._db, self._lease.channel_id, now, room, known):
                in_flight[asyncio.create_task(self._fetch(network, media))] = media.id

    async def _fetch(self, network: Network, media: MediaRow) -> None:
        """Make one attempt for one file, and store its result."""
        async with self._shared.room, room_for(self._db, self._clock, await self._space(media)) as room:
            try:
                content, sha256 = await self._get(network, media, room)
                await self._store(media, content)
            except FetchProblem as problem:
                await self._note_problem(media, problem, self._clock.now())
                return
            now = self._clock.now()
            await mark_ready(self._db, self._lease, self._channel, media, len(content), sha256, now)

    async def _space(self, media: MediaRow) -> StorageAllowance | None:
        """Return the storage that the account's plan allows; None: no limit."""
        storage = self._shared.storage
        found = await plan_of_channel(self._db, media.channel_id) if storage else None
        if found is None or found[1] not in storage:
            return None
        expires_at = self._clock.now() + 2 * timedelta(seconds=self._shared.timeout) + KEPT
        return StorageAllowance(found[0], media.channel_id, media.id, storage[found[1]], expires_at)

    async def _get(self, network: Network, media: MediaRow, room: StorageReservation) -> tuple[bytes, str]:
        """Return the file and its checksum, if it is what the network announced."""
        limit, timeout = self._shared.most, self._shared.timeout
        try:
            remote = _remote.decode(media.source or "")
            _check_size(remote.size or 0, limit)
            await room.cover(remote.size or 1)
            async with asyncio.timeout(timeout):
                content = await network.get_media(remote, limit)
            await room.cover(len(content))
        except (FetchProblem, Unavailable):  # the database is unavailable
            raise
        except TooLarge as full:
            raise FetchProblem(full.message, full=True) from None
        except TimeoutError:
            raise FetchProblem(f"The network did not give the file within {timeout:g} seconds") from None
        except CallFailed as failed:
            final = failed.reaction is ErrorReaction.FINAL  # else the number has a problem, such as its token
            raise FetchProblem(_text_of(failed), 1 if final else None) from None
        except msgspec.MsgspecError:
            raise FetchProblem("It is not known where the file is to be fetched", 1) from None
        except Exception as error:  # one file that breaks the adapter must not block the others
            log.exception("fetch broke", media=media.id.hex)
            raise FetchProblem(f"The file could not be fetched: {type(error).__name__}") from None
        _check_size(len(content), limit)
        # In a thread: the checksum of a large file takes long enough to delay other requests.
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        if remote.sha256 and sha256 != remote.sha256.lower():
            raise FetchProblem("The file is not what the network announced: its checksum differs", MISMATCHES)
        return content, sha256

    async def _store(self, media: MediaRow, content: bytes) -> None:
        try:
            await self._shared.objects.put(media.key, _pieces(content))
        except GatepostError as error:
            raise FetchProblem(error.message) from None

    async def _note_problem(self, media: MediaRow, problem: FetchProblem, now: datetime) -> None:
        """Store when the file is tried again, or that it has failed."""
        lease, channel, reason = self._lease, self._channel, problem.reason
        if problem.full:  # the file stays at the network until it fits, or until the network deletes it
            later = now + timedelta(seconds=FULL_DELAY)
            again = later if later < media.created_at + NETWORK_MEMORY else None
        else:
            limit = min(self._shared.attempts, problem.attempts or self._shared.attempts)
            again = next_try(media.attempts + 1, media.created_at, now, limit)
        if again is None:
            log.warning("file not fetched", media=media.id.hex, attempts=media.attempts + 1, reason=reason)
            await mark_failed(self._db, lease, channel, media, reason, now)
        elif not problem.full:
            await mark_retry(self._db, lease, media, reason, again)
        elif await mark_full(self._db, lease, channel, media, reason, again, now):
            log.warning("storage is full, file not fetched", media=media.id.hex, reason=reason)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise FetchProblem(f"The file has more than {format_size(limit)}", 1)


def _text_of(failed: CallFailed) -> str:
    error = failed.error
    return f"{error.title}: {error.details}" if error.details else error.title


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    """Yield the content in pieces, so that other work runs between them."""
    for start in range(0, len(content), PIECE):
        yield content[start : start + PIECE]
