"""Files: what is known of them. Their bytes are in `objects.py`, under the key `<channel>/<id>`."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.errors import Invalid
from gatepost.store.channel_head import no_such_channel
from gatepost.store.idempotency import IdempotencyKey
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.pool import Connection, Database

_CHUNK = 500
_EVER = datetime.max.replace(tzinfo=UTC)


class MediaRow(msgspec.Struct, frozen=True):
    """A file as it stands: ready, waiting to be fetched, or failed."""

    channel_id: UUID
    id: UUID
    state: str
    mime_type: str
    created_at: datetime
    size: int | None = None
    sha256: str | None = None
    filename: str | None = None
    source: str | None = None
    message_id: UUID | None = None
    network_id: str | None = None
    network_until: datetime | None = None
    attempts: int = 0
    next_at: datetime | None = None
    error: str | None = None

    @property
    def key(self) -> str:
        return object_key(self.channel_id, self.id)


_COLUMNS = ", ".join(MediaRow.__struct_fields__)


def object_key(channel_id: UUID, media_id: UUID) -> str:
    """Where the bytes of a file lie."""
    return f"{channel_id.hex}/{media_id.hex}"


def read_key(key: str) -> tuple[UUID, UUID] | None:
    """The channel and file behind a key; None when it is not one of ours."""
    channel, _, media = key.partition("/")
    channel_id, media_id = ids.read("", channel), ids.read("", media)
    return (channel_id, media_id) if channel_id and media_id else None


async def insert_media(db: Database, media: MediaRow, key: IdempotencyKey | None, answer: bytes) -> AcceptResult:
    """Notes a file that is whole. With a key that was used before, the first answer is given and nothing is noted."""
    async with db.transaction() as conn:
        if await conn.fetchval("SELECT 1 FROM channels WHERE id = $1 FOR KEY SHARE", media.channel_id) is None:
            raise no_such_channel()
        replayed = await _use_key(conn, media, key, answer) if key else None
        if replayed is None:
            await conn.execute(
                """INSERT INTO media (channel_id, id, state, mime_type, size, sha256, filename, created_at)
                   VALUES ($1, $2, 'ready', $3, $4, $5, $6, $7)""",
                media.channel_id,
                media.id,
                media.mime_type,
                media.size,
                media.sha256,
                media.filename,
                media.created_at,
            )
    return AcceptResult(answer) if replayed is None else AcceptResult(replayed, replayed=True)


async def _use_key(conn: "Connection[Any]", media: MediaRow, key: IdempotencyKey, answer: bytes) -> bytes | None:
    """The answer that was given under the key before; None when it is new. Two at once wait for one another here."""
    new = await conn.fetchval(
        """INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
           VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING 1""",
        media.channel_id,
        key.route,
        key.key,
        key.body_hash,
        answer,
        media.created_at,
    )
    if new is not None:
        return None
    row = await conn.fetchrow(
        "SELECT body_hash, answer FROM idempotency_keys WHERE channel_id = $1 AND route = $2 AND key = $3",
        media.channel_id,
        key.route,
        key.key,
    )
    if row is None or row["body_hash"] != key.body_hash:
        raise Invalid(
            "This Idempotency-Key was used before with another file. Use a new key for a new file.",
            "idempotency_key_reused",
        )
    before: bytes = row["answer"]
    return before


async def get_media(db: Database, channel_id: UUID, media_id: UUID) -> MediaRow | None:
    """One file of a channel."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            f"SELECT {_COLUMNS} FROM media WHERE channel_id = $1 AND id = $2", channel_id, media_id
        )
    return _media(row) if row else None


async def delete_media(db: Database, channel_id: UUID, media_id: UUID) -> bool:
    """Forgets a file; False when there is none."""
    async with db.connection() as conn:
        found = await conn.fetchval(
            "DELETE FROM media WHERE channel_id = $1 AND id = $2 RETURNING 1", channel_id, media_id
        )
    return found is not None


async def note_network_id(
    db: Database, channel_id: UUID, media_id: UUID, network_id: str | None, until: datetime | None
) -> None:
    """Keeps the network's name of a file for as long as the network knows it; None: it knows it no more."""
    async with db.connection() as conn:
        await conn.execute(
            "UPDATE media SET network_id = $3, network_until = $4 WHERE channel_id = $1 AND id = $2",
            channel_id,
            media_id,
            network_id,
            until,
        )


async def waiting_media(
    db: Database, channel_id: UUID, now: datetime, most: int, without: Sequence[UUID] = ()
) -> list[MediaRow]:
    """Files of a channel that are due to be fetched, the longest due first, without those that are under way."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            f"""SELECT {_COLUMNS} FROM media
                WHERE channel_id = $1 AND state = 'waiting' AND next_at <= $2 AND id <> ALL ($4::uuid[])
                ORDER BY next_at LIMIT $3""",
            channel_id,
            now,
            most,
            list(without),
        )
    return [_media(row) for row in rows]


async def next_waiting(db: Database, channel_id: UUID) -> datetime | None:
    """When the next file of a channel is due to be fetched."""
    async with db.connection() as conn:
        at: datetime | None = await conn.fetchval(
            """SELECT next_at FROM media WHERE channel_id = $1 AND state = 'waiting' AND next_at IS NOT NULL
               ORDER BY next_at LIMIT 1""",
            channel_id,
        )
    return at


async def next_channel(db: Database, after: UUID) -> tuple[UUID, bool] | None:
    """The next channel that has files, in the order of ids, and whether it still exists."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            """SELECT channel_id, EXISTS (SELECT 1 FROM channels c WHERE c.id = channel_id) AS alive FROM media
               WHERE channel_id > $1 ORDER BY channel_id LIMIT 1""",
            after,
        )
    return (row["channel_id"], row["alive"]) if row else None


async def forget_media(db: Database, channel_id: UUID, before: datetime | None) -> list[UUID]:
    """Forgets some files of a channel that are older than that (None: whatever their age); returns which."""
    before = before or _EVER
    async with db.connection() as conn:
        rows = await conn.fetch(
            """DELETE FROM media WHERE channel_id = $1 AND id = ANY (ARRAY(
                   SELECT id FROM media WHERE channel_id = $1 AND id < $2 AND created_at < $3 ORDER BY id LIMIT $4))
               RETURNING id""",
            channel_id,
            ids.floor_id(before),
            before,
            _CHUNK,
        )
    return [row["id"] for row in rows]


async def known_media(db: Database, keys: Sequence[tuple[UUID, UUID]]) -> set[tuple[UUID, UUID]]:
    """Which of these files (channel, id) there are."""
    async with db.connection() as conn:
        rows = await conn.fetch(
            """SELECT m.* FROM unnest($1::uuid[], $2::uuid[]) AS asked (channel_id, id) CROSS JOIN LATERAL (
                   SELECT channel_id, id FROM media
                   WHERE channel_id = asked.channel_id AND id = asked.id LIMIT 1) m""",
            [channel_id for channel_id, _ in keys],
            [media_id for _, media_id in keys],
        )
    return {(row["channel_id"], row["id"]) for row in rows}


def _media(row: Any) -> MediaRow:
    return MediaRow(**dict(row.items()))
