"""Attaching files: each file is uploaded to the network once, and messages refer to it by the network's own name.

content ─► med_… ids ─► name still known there? ─────────────────────────────► {"med_…": "<name>"}
             │ no                                                              ▲
             └─► one upload per file, shared by all who need it meanwhile ─────┘  refused for it? uploaded again
                     │ gone, refused, unreachable: a Receipt, as if the send itself had ended so
links   ─► where the network cannot fetch links itself: fetched through the guard, uploaded, not stored; one
           that fails for `link_seconds` fails its message, and links use at most half of the places
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.model.errors import GatepostError, NotFound, Unavailable
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.networks.base import CallFailed, ErrorReaction, Network, NetworkError, Receipt, SendNotMade, SendRefused
from gatepost.store.media.files import MediaRow, get_media, save_network_id
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database

OFFICIAL_KEEP = timedelta(days=29)  # the network forgets an upload after 30 days
FRESH = timedelta(minutes=5)  # what was uploaded this recently is known there, whatever else is wrong
SLOW = 15.0  # seconds: longer than any attempt to connect. An upload that fails later failed because of its size
_SESSION_FILES = 1000
# Fields that may hold a file: our own, and the network's own inside raw template components.
_PLACES = frozenset({"media", "image", "video", "gif", "audio", "document", "sticker"})

LINK_FAILED = "link_failed"
_MAJOR = {"image": "image/", "sticker": "image/", "video": "video/", "audio": "audio/"}  # a document may be anything
_UNTYPED = "application/octet-stream"  # what a server answers that does not know the type

Fetch = Callable[[str, int, UUID], Awaitable[FetchedFile | FetchFailure]]  # a link, most bytes, whose channel


def media_ids(content: str) -> tuple[UUID, ...]:
    """Our files that a message names. Most messages name none, and are not even parsed."""
    if "med_" not in content:
        return ()
    found = (ids.parse_id("med", file["id"]) for file in _files(msgspec.json.decode(content)) if _text(file, "id"))
    return tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))


def media_links(content: str) -> tuple[str, ...]:
    """The links to files that a message names."""
    if '"link"' not in content:
        return ()
    return tuple(dict.fromkeys(file["link"] for file in _files(msgspec.json.decode(content)) if _text(file, "link")))


def _files(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name in _PLACES and isinstance(part, dict):
                yield part
            yield from _files(part)
    elif isinstance(value, list):
        for part in value:
            yield from _files(part)


def _text(file: dict[str, Any], name: str) -> bool:
    return isinstance(file.get(name), str)


class AttachmentUploader:
    """Uploads files to networks, for all channels of a process."""

    def __init__(
        self,
        db: Database,
        objects: ObjectStorage,
        clock: Clock,
        fetch: Fetch,
        *,
        most: int,
        in_flight: int,
        link_seconds: float = 30.0,
    ) -> None:
        self._db = db
        self._objects = objects
        self._clock = clock
        self._fetch = fetch
        self._most = most
        self._room = asyncio.Semaphore(in_flight)  # each file in progress is held in memory
        self._shares: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._share = max(1, in_flight // 4)
        self._link_room = asyncio.Semaphore(max(1, in_flight // 2))
        self._link_shares: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._link_seconds = link_seconds
        self._links: dict[tuple[UUID, str], asyncio.Future[FetchFailure | None]] = {}
        self._uploads: dict[tuple[UUID, UUID], asyncio.Task[str | Receipt]] = {}
        self._sessions: dict[UUID, tuple[object, dict[UUID, str]]] = {}

    async def attach(
        self,
        channel_id: UUID,
        network: Network,
        content: str,
        *,
        keep: timedelta = OFFICIAL_KEEP,
        session: object | None = None,
        links: bool = True,
        type_: str = "document",
    ) -> dict[str, str] | Receipt:
        """Return the network's name of each file in a message, or how the attempt ended.

        With a `session` (the link itself, say), names are valid only as long as it lasts, and are kept in memory.
        Without `links`, the network cannot fetch links itself: they are fetched here.
        """
        names: dict[str, str] = {}
        for media_id in media_ids(content):
            name = await self._name(channel_id, media_id, network, keep, session)
            if not isinstance(name, str):
                return name
            names[ids.format_id("med", media_id)] = name
        for link in () if links else media_links(content):
            name = await self._upload_link(channel_id, network, link, type_)
            if not isinstance(name, str):
                return name
            names[link] = name
        return names

    async def forget(self, channel_id: UUID, names: Mapping[str, str], *, keep: timedelta = OFFICIAL_KEEP) -> bool:
        """Forget names that the network may no longer know. True if another attempt may succeed."""
        try:
            return any([await self._forget(channel_id, shown, name, keep) for shown, name in names.items()])
        except Unavailable:  # if the network refuses them again, they are forgotten then
            return True

    async def _forget(self, channel_id: UUID, shown: str, name: str, keep: timedelta) -> bool:
        media_id = ids.parse_id("med", shown)
        media = await get_media(self._db, channel_id, media_id) if media_id else None
        if media_id is None or media is None or media.network_id != name:
            return media is not None  # another message did this before
        if media.network_until and media.network_until > self._clock.now() + keep - FRESH:
            return False
        await save_network_id(self._db, channel_id, media_id, None, None)
        return True

    async def _name(
        self, channel_id: UUID, media_id: UUID, network: Network, keep: timedelta, session: object | None
    ) -> str | Receipt:
        key = (channel_id, media_id)
        task = self._uploads.get(key)
        if task is None:
            task = self._uploads[key] = asyncio.create_task(self._find(channel_id, media_id, network, keep, session))
            task.add_done_callback(lambda _: self._uploads.pop(key, None))
        return await asyncio.shield(task)  # a message that is cancelled does not cancel the upload for others

    async def _find(
        self, channel_id: UUID, media_id: UUID, network: Network, keep: timedelta, session: object | None
    ) -> str | Receipt:
        known = self._session_names(channel_id, session) if session is not None else {}
        try:
            media = await get_media(self._db, channel_id, media_id)
            if media is None or media.state != "ready":
                return _not_there(media_id, media)
            if media_id in known:
                return known[media_id]
            if session is None and media.network_id and media.network_until and media.network_until > self._clock.now():
                return media.network_id
            async with self._place(channel_id):
                name = await self._put(
                    network, await self._objects.read_all(media.key), media.mime_type, media.filename
                )
            if isinstance(name, str) and session is None:
                await save_network_id(self._db, channel_id, media_id, name, self._clock.now() + keep)
        except NotFound:
            return _gone(media_id)
        except GatepostError as error:  # the database or the storage is unavailable: only this conversation waits
            return SendRefused(NetworkError(0, error.message), ErrorReaction.HOLD_RECIPIENT)
        if isinstance(name, str):
            known[media_id] = name
        return name

    def _session_names(self, channel_id: UUID, session: object) -> dict[UUID, str]:
        """The names of a session; those of an earlier session are dropped."""
        before, names = self._sessions.get(channel_id, (None, {}))
        if before != session or len(names) >= _SESSION_FILES:
            names = {}
            self._sessions[channel_id] = (session, names)
        return names

    @asynccontextmanager
    async def _place(self, channel_id: UUID) -> AsyncIterator[None]:
        """A place for one file. One channel with slow files cannot use all places."""
        share = self._shares.setdefault(channel_id, asyncio.Semaphore(self._share))
        async with share, self._room:
            yield

    async def _upload_link(self, channel_id: UUID, network: Network, link: str, type_: str) -> str | Receipt:
        """Fetches and uploads. Messages with a link that is being fetched share its failure."""
        key = (channel_id, link)
        trying = self._links.get(key)
        failed = await asyncio.shield(trying) if trying is not None else None
        if failed is not None:
            return self._unfetched(failed)
        outcome: asyncio.Future[FetchFailure | None] = asyncio.get_running_loop().create_future()
        self._links.setdefault(key, outcome)
        found: FetchedFile | FetchFailure | None = None
        try:
            async with self._link_place(channel_id), self._place(channel_id):
                found = _checked(await self._fetch(link, self._most, channel_id), type_)
                if isinstance(found, FetchFailure):
                    return self._unfetched(found)
                return await self._put(network, found.content, found.mime_type, None)
        finally:
            outcome.set_result(found if isinstance(found, FetchFailure) else None)
            if self._links.get(key) is outcome:
                del self._links[key]

    def _unfetched(self, failed: FetchFailure) -> Receipt:
        error = NetworkError(0, "The file behind the link could not be fetched", failed.reason, own_code=LINK_FAILED)
        if not failed.retry:
            return SendRefused(error, ErrorReaction.FINAL)
        return SendRefused(error, ErrorReaction.RETRY, within=self._link_seconds)

    @asynccontextmanager
    async def _link_place(self, channel_id: UUID) -> AsyncIterator[None]:
        """Links that hang leave half of the places, and half of the channel's, to files."""
        share = self._link_shares.setdefault(channel_id, asyncio.Semaphore(max(1, self._share // 2)))
        async with share, self._link_room:
            yield

    async def _put(self, network: Network, content: bytes, mime_type: str, filename: str | None) -> str | Receipt:
        began = self._clock.monotonic()
        try:
            return await network.put_media(content, mime_type, filename)
        except CallFailed as failed:
            return _receipt(failed, self._clock.monotonic() - began)


def _checked(found: FetchedFile | FetchFailure, type_: str) -> FetchedFile | FetchFailure:
    """Refuse a file of another type than the message's: fetching it again would not change it."""
    major = _MAJOR.get(type_, "")
    if isinstance(found, FetchedFile) and found.mime_type != _UNTYPED and not found.mime_type.startswith(major):
        return FetchFailure(
            f"The link gave a file of type {found.mime_type}, which cannot be sent as {type_}.", retry=False
        )
    return found


def link_failed_at(history: Sequence[str] | None) -> datetime | None:
    """When a message's link failed first, according to its failed attempts."""
    for text in history or ():
        failed = msgspec.json.decode(text)
        if (failed["error"] or {}).get("code") == LINK_FAILED:
            return datetime.fromisoformat(failed["at"])
    return None


def _receipt(failed: CallFailed, seconds: float) -> Receipt:
    """An upload can be repeated without harm, so a lost answer counts as no answer.

    A network that cannot be reached delays the whole channel; a file that is too slow delays only its message.
    """
    if failed.retry and failed.status == 0 and seconds < SLOW:
        return SendNotMade(failed.error.title)
    return SendRefused(failed.error, failed.reaction)


def _not_there(media_id: UUID, media: MediaRow | None) -> Receipt:
    if media is None:
        return _gone(media_id)
    shown = ids.format_id("med", media_id)
    if media.state == "waiting":
        error = NetworkError(0, f"The file {shown} is still being fetched from the network")
        return SendRefused(error, ErrorReaction.RETRY)
    return SendRefused(
        NetworkError(0, f"The file {shown} could not be fetched from the network", media.error), ErrorReaction.FINAL
    )


def _gone(media_id: UUID) -> Receipt:
    shown = ids.format_id("med", media_id)
    return SendRefused(
        NetworkError(0, f"The file {shown} is gone", "It was deleted, or its retention time is over. Upload it again."),
        ErrorReaction.FINAL,
    )
