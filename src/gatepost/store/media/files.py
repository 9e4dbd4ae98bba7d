"""Files, and the commits of fetching one: it is ready, is retried, or has failed. Each is fenced by the owner's epoch.

The bytes are in `objects.py`, under the key `<channel>/<id>`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.event.messages import MessageUpdated
from gatepost.model.message import State
from gatepost.store.channel_head import Lease, lock_channel, no_such_channel, owner_transaction, with_events
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import json_text

_CHUNK = 500
_EVER = datetime.max.replace(tzinfo=UTC)


class MediaRow(msgspec.Struct, frozen=True):
    """A file: ready, waiting to be fetched, or failed."""

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
    """Return the key of a file in the object storage."""
    return f"{channel_id.hex}/{media_id.hex}"


def read_key(key: str) -> tuple[UUID, UUID] | None:
    """Return the channel and file of a key; None if it is not one of ours."""
    channel, _, media = key.partition("/")
    channel_id, media_id = ids.parse_id("", channel), ids.parse_id("", media)
    return (channel_id, media_id) if channel_id and media_id else None


async def insert_media(db: Database, media: MediaRow, once: IdempotentRequest[MediaRow]) -> None:
    """Write the row of a complete file."""
    async with db.transaction() as conn:
        if await conn.fetchval("SELECT 1 FROM channels WHERE id = $1 FOR KEY SHARE", media.channel_id) is None:
            raise no_such_channel()
        await once.keep_unlocked(conn, media, media.created_at)
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


async def get_media(db: Database, channel_id: UUID, media_id: UUID) -> MediaRow | None:
    """Return a file of a channel."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM media WHERE channel_id = $1 AND id = $2", channel_id, media_id)
    return _media(row) if row else None


async def delete_media(db: Database, channel_id: UUID, media_id: UUID) -> bool:
    """Delete a file. Return False if there is none."""
    return await db.changes("DELETE FROM media WHERE channel_id = $1 AND id = $2 RETURNING 1", channel_id, media_id)


async def save_network_id(
    db: Database, channel_id: UUID, media_id: UUID, network_id: str | None, until: datetime | None
) -> None:
    """Save the network's id of a file for as long as the network keeps it; None removes it."""
    await db.execute(
        "UPDATE media SET network_id = $3, network_until = $4 WHERE channel_id = $1 AND id = $2",
        channel_id,
        media_id,
        network_id,
        until,
    )


async def waiting_media(
    db: Database, channel_id: UUID, now: datetime, limit: int, without: Sequence[UUID] = ()
) -> list[MediaRow]:
    """Return files that are due to be fetched, those waiting longest first, without those in progress."""
    rows = await db.fetch(
        f"""SELECT {_COLUMNS} FROM media
            WHERE channel_id = $1 AND state = 'waiting' AND next_at <= $2 AND id <> ALL ($4::uuid[])
            ORDER BY next_at LIMIT $3""",
        channel_id,
        now,
        limit,
        list(without),
    )
    return [_media(row) for row in rows]


async def next_waiting(db: Database, channel_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """Return when the next file of each channel is due to be fetched. Channels that have none are left out."""
    rows = await db.fetch(
        """SELECT k.channel_id, m.next_at FROM unnest($1::uuid[]) AS k (channel_id) CROSS JOIN LATERAL (
               SELECT next_at FROM media
               WHERE channel_id = k.channel_id AND state = 'waiting' AND next_at IS NOT NULL
               ORDER BY next_at LIMIT 1) m""",
        list(channel_ids),
    )
    return {row["channel_id"]: row["next_at"] for row in rows}


async def next_channel(db: Database, after: UUID) -> tuple[UUID, bool] | None:
    """Return the next channel that has files, in the order of ids, and whether it still exists.

    The rows of an account that moves to another cell come before its channels, and are deleted after them.
    """
    row = await db.fetchrow(
        """SELECT channel_id, EXISTS (SELECT 1 FROM channels c WHERE c.id = channel_id)
                              OR EXISTS (SELECT 1 FROM account_moves a WHERE channel_id = ANY (a.channels)) AS alive
           FROM media WHERE channel_id > $1 ORDER BY channel_id LIMIT 1""",
        after,
    )
    return (row["channel_id"], row["alive"]) if row else None


async def forget_media(db: Database, channel_id: UUID, before: datetime | None) -> list[UUID]:
    """Delete some files of a channel that are older than that (None: all), and return them."""
    before = before or _EVER
    rows = await db.fetch(
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
    """Return which of these files (channel, id) exist."""
    rows = await db.fetch(
        """SELECT m.* FROM unnest($1::uuid[], $2::uuid[]) AS asked (channel_id, id) CROSS JOIN LATERAL (
               SELECT channel_id, id FROM media
               WHERE channel_id = asked.channel_id AND id = asked.id LIMIT 1) m""",
        [channel_id for channel_id, _ in keys],
        [media_id for _, media_id in keys],
    )
    return {(row["channel_id"], row["id"]) for row in rows}


def _media(row: Any) -> MediaRow:
    return MediaRow(**row)


# The condition is negated on purpose: "state = 'waiting'" would lead a planner without statistics to the index of all
# waiting files, and past each of them to the one that is meant.
_WAITS = "state NOT IN ('ready', 'failed')"


async def mark_ready(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, size: int, sha256: str, now: datetime
) -> bool:
    """Mark a stored file as ready, and emit an event. Return False if it was not waiting."""
    found = {"id": ids.format_id("med", media.id), "mime_type": media.mime_type, "size": size, "sha256": sha256}
    change = f"""UPDATE media SET state = 'ready', size = $3, sha256 = $4, next_at = NULL, error = NULL
                WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    event = {"change": "media_ready"}
    return await _settle(db, lease, channel, media, change, (size, sha256), event, found, now)


async def mark_failed(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, reason: str, now: datetime
) -> bool:
    """Mark a file as failed, and emit an event. Return False if it was not waiting."""
    change = f"""UPDATE media SET state = 'failed', error = $3, attempts = attempts + 1, next_at = NULL
                WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    event, found = {"change": "media_failed", "reason": reason}, {"id": ids.format_id("med", media.id)}
    return await _settle(db, lease, channel, media, change, (reason,), event, found, now)


async def mark_full(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, reason: str, next_at: datetime, now: datetime
) -> bool:
    """Let a file wait for storage space, which is no attempt, and emit an event the first time."""
    change = f"""UPDATE media SET error = $3, next_at = $4 WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    if media.error == reason:
        async with owner_transaction(db, lease) as conn:
            await conn.execute(change, media.channel_id, media.id, reason, next_at)
        return False
    event = {"change": "media_waiting", "reason": reason}
    found = {"id": ids.format_id("med", media.id)}
    return await _settle(db, lease, channel, media, change, (reason, next_at), event, found, now)


async def mark_retry(db: Database, lease: Lease, media: MediaRow, reason: str, next_at: datetime) -> None:
    """Save a failed attempt; the next one is at `next_at`."""
    async with owner_transaction(db, lease) as conn:
        await conn.execute(
            f"""UPDATE media SET attempts = attempts + 1, error = $3, next_at = $4
               WHERE channel_id = $1 AND id = $2 AND {_WAITS}""",
            media.channel_id,
            media.id,
            reason,
            next_at,
        )


async def _settle(
    db: Database,
    lease: Lease,
    channel: ChannelRef,
    media: MediaRow,
    change: str,
    arguments: tuple[Any, ...],
    event: dict[str, Any],
    found: dict[str, Any],
    now: datetime,
) -> bool:
    async with db.transaction() as conn:
        transaction = await lock_channel(conn, channel, lease.channel_id, now, lease.epoch)
        if await conn.fetchval(change, media.channel_id, media.id, *arguments) is None:
            return False
        message = await _message(conn, media)
        if message is not None:
            data = _data(message, event, found)
            event_id = transaction.event_buffer.add(data, message["contact_id"], message["id"])
            await transaction.write(_ADD_EVENT, message_id=message["id"], event_id=event_id)
    db.notify(lease.channel_id, sending=False)
    return True


async def _message(conn: "Connection[Any]", media: MediaRow) -> Any:
    if media.message_id is None:
        return None
    return await conn.fetchrow(
        """SELECT m.id, m.contact_id, m.incoming, m.state, m.type, m.content, m.created_at, m.sent_at, m.reply_to,
                  m.client_ref, m.sent_by, m.context, coalesce(c.phone, m.phone) AS phone, c.name
           FROM messages m LEFT JOIN LATERAL (
               SELECT phone, coalesce(given_name, name) AS name FROM contacts
               WHERE channel_id = $1 AND id = m.contact_id LIMIT 1) c ON true
           WHERE m.channel_id = $1 AND m.id = $2""",
        media.channel_id,
        media.message_id,
    )


def _data(message: Any, change: dict[str, Any], found: dict[str, Any]) -> MessageUpdated:
    """Return the message as in its first event, with the current state of the file."""
    content: dict[str, Any] = msgspec.json.decode(message["content"])
    content["media"] = {**(content.get("media") or {}), **found}
    return MessageUpdated.of(
        id_=message["id"],
        phone=message["phone"],
        contact_id=message["contact_id"],
        name=message["name"],
        incoming=message["incoming"],
        type_=message["type"],
        content=json_text(content),
        timestamp=message["sent_at"] or message["created_at"],
        reply_to=message["reply_to"],
        client_ref=message["client_ref"],
        sent_by=message["sent_by"],
        status=State(message["state"]),
        context=msgspec.json.decode(message["context"]) if message["context"] else None,
        **change,
    )


_ADD_EVENT = with_events(
    "UPDATE messages SET event_ids = event_ids || :event_id::uuid WHERE channel_id = :channel_id AND id = :message_id"
)
