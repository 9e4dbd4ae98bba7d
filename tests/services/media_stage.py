"""The files of one channel: a real database, a real folder, a clock that the test moves, a network of its own.

media_stage = await make_media_stage(db, tmp_path)
media = await media_stage.store(b"bytes", "image/png")       an uploaded file
media = await media_stage.expect(b"bytes")                   a file of an incoming message that is to be fetched
media_stage.bytes_kept()                                     the content of the folder, by file
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from inspect import isawaitable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec

from gatepost.admin import accounts, channels
from gatepost.api.contract.media import Media
from gatepost.api.responses import envelope
from gatepost.model import ids
from gatepost.model.account import Plan
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.networks.base import (
    CallFailed,
    ErrorReaction,
    NetworkError,
    Outgoing,
    Person,
    Receipt,
    RemoteMedia,
    SendNotMade,
)
from gatepost.services.media import MediaService, NewFile
from gatepost.store.channel_head import Lease
from gatepost.store.leases import claim_channel
from gatepost.store.media.files import MediaRow, get_media
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
MOST = 1000


class FileNetwork:
    """A network whose uploads and downloads the test controls."""

    editor = number_check = None

    def __init__(self) -> None:
        self.put: list[tuple[bytes, str, str | None]] = []
        self.asked: list[RemoteMedia] = []
        self.on_put: Callable[[int], str | Awaitable[str]] = lambda number: f"network-{number}"
        self.on_get: Callable[[RemoteMedia], bytes | Awaitable[bytes]] = lambda _: b""

    async def send(self, message: Outgoing) -> Receipt:
        return SendNotMade("This network takes files only")

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Do nothing."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        self.put.append((content, mime_type, filename))
        name = self.on_put(len(self.put))
        return await name if isawaitable(name) else name

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        self.asked.append(media)
        content = self.on_get(media)
        return await content if isawaitable(content) else content

    async def close(self) -> None:
        """Do nothing."""


def failing(
    *, retry: bool, status: int = 500, details: str | None = None, reaction: ErrorReaction | None = None
) -> Callable[[Any], Any]:
    """Return a callback that fails like a call to the network."""

    def fail(_: Any) -> Any:
        error = NetworkError(131, "The network said no", details)
        raise CallFailed(error, retry=retry, status=status, reaction=reaction)

    return fail


class MediaStage:
    """The files of one channel, and methods to use them."""

    def __init__(self, db: Database, folder: Path, clock: MovableClock, account_id: UUID, channel_id: UUID) -> None:
        self.db = db
        self.folder = folder
        self.clock = clock
        self.account_id = account_id
        self.channel_id = channel_id
        self.ref = ChannelRef(ids.format_id("ch", channel_id), "official", "15550001111")
        self.objects = ObjectStorage.open("", folder)
        self.files = MediaService(db, self.objects, clock, most=MOST, timeout=PATIENCE)
        self.network = FileNetwork()

    async def own(self, ttl: float = 3600) -> Lease:
        lease = await claim_channel(self.db, self.channel_id, uuid4(), ttl)
        assert lease is not None
        return lease

    async def store(self, content: bytes, mime_type: str = "image/png", filename: str | None = None) -> MediaRow:
        """Upload a file; return its row."""
        stored = await self.files.upload(self.new(mime_type, filename), body_of([content]))
        return await self.get(msgspec.json.decode(stored.answer)["data"]["id"])

    def new(self, mime_type: str = "image/png", filename: str | None = None, **more: Any) -> NewFile:
        answer = more.pop("answer", lambda row: envelope(Media.of(row), "File stored"))
        return NewFile(self.channel_id, mime_type, MOST, filename, answer=answer, **more)

    async def get(self, id_: str | UUID) -> MediaRow:
        media_id = ids.parse_id("med", id_) if isinstance(id_, str) else id_
        media = await get_media(self.db, self.channel_id, media_id) if media_id else None
        assert media is not None
        return media

    async def expect(self, content: bytes, *, sha256: str | None = "", message: bool = True, **fields: Any) -> MediaRow:
        """Add a file of an incoming message that is to be fetched. Its checksum is right unless given."""
        sum_ = hashlib.sha256(content).hexdigest() if sha256 == "" else sha256
        remote = RemoteMedia("handle", "image/jpeg", sum_, len(content), "photo.jpg")
        remote = msgspec.structs.replace(remote, **fields)
        now = self.clock.now()
        media_id, message_id = ids.new_id(now), ids.new_id(now)
        if message:
            await self._write_message(message_id, media_id)
        await self.write(
            """INSERT INTO media (channel_id, id, state, mime_type, size, sha256, filename, source, message_id,
                                  next_at, created_at)
               VALUES ($1, $2, 'waiting', $3, $4, $5, $6, $7, $8, $9, $9)""",
            media_id,
            remote.mime_type,
            remote.size,
            remote.sha256,
            remote.filename,
            msgspec.json.encode(remote).decode(),
            message_id if message else None,
            now,
        )
        return await self.get(media_id)

    async def _write_message(self, message_id: UUID, media_id: UUID) -> None:
        now, contact_id = self.clock.now(), uuid4()
        await self.write(
            """INSERT INTO contacts (channel_id, id, phone, name, created_at, updated_at)
               VALUES ($1, $2, $3, 'Ana', $4, $4)""",
            contact_id,
            f"5511{contact_id.int % 10**9:09d}",
            now,
        )
        content = msgspec.json.encode({"media": {"id": ids.format_id("med", media_id)}, "caption": "Look"}).decode()
        await self.write(
            """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, attempt, phone, type, content,
                                     network_id, created_at, sent_at, media_id, event_ids)
               VALUES ($1, $2, $3, true, false, $8, 0, '5511999998888', 'image', $4, $5, $6, $6, $7, '{}')""",
            message_id,
            contact_id,
            content,
            f"wamid.{message_id.hex}",
            now,
            media_id,
            State.RECEIVED,
        )

    async def write(self, statement: str, *arguments: Any) -> None:
        async with self.db.connection() as conn:
            await conn.execute(statement, self.channel_id, *arguments)

    async def events(self) -> list[dict[str, Any]]:
        async with self.db.connection() as conn:
            rows = await conn.fetch("SELECT body FROM events WHERE channel_id = $1 ORDER BY seq", self.channel_id)
        return [msgspec.json.decode(row["body"]) for row in rows]

    def bytes_kept(self) -> dict[str, bytes]:
        """Return all files in the folder, complete or not, except the name of the database."""
        found = {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        return {name: content for name, content in found.items() if name != "database.id"}


async def make_media_stage(db: Database, folder: Path, clock: MovableClock | None = None) -> MediaStage:
    """Create an account with one channel and an empty folder."""
    plans = {"unlimited": Plan("Unlimited")}
    account = await accounts.create_account(db, "Test", "unlimited", plans=plans, trial_days=14, now=NOW)
    phone = f"1555{uuid4().int % 10**7:07d}"
    channel = await channels.create_qr(db, account.id, phone=phone, name="Test", limits={}, now=NOW)
    return MediaStage(db, folder, clock or MovableClock(NOW), account.id, channel.id)


async def body_of(given: Sequence[bytes | Exception]) -> AsyncIterator[bytes]:
    """Yield the chunks of a body, and raise the errors among them."""
    for piece in given:
        if isinstance(piece, Exception):
            raise piece
        yield piece
