"""The commits of a fetch: a file of an incoming message is there, is to be tried again, or will not come.

Each is fenced by the owner's epoch, and changes a file only while it still waits.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import event as events
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.store.channel_head import EventBuffer, Lease, WriteClause, append_events, hold_epoch, lock_head
from gatepost.store.media.rows import MediaRow
from gatepost.store.pool import Connection, Database

# Said this way round on purpose: "state = 'waiting'" would lead a planner without statistics to the index of all files
# that wait, and from there past each of them to the one that is meant.
_WAITS = "state NOT IN ('ready', 'failed')"


async def mark_ready(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, size: int, sha256: str, now: datetime
) -> bool:
    """The bytes are stored: the file is ready, and whoever listens hears it. False: it no longer waited."""
    found = {"id": ids.show("med", media.id), "mime_type": media.mime_type, "size": size, "sha256": sha256}
    change = f"""UPDATE media SET state = 'ready', size = $3, sha256 = $4, next_at = NULL, error = NULL
                WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    return await _settle(
        db, lease, channel, media, (change, size, sha256), events.change_data("media_ready"), found, now
    )


async def mark_failed(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, reason: str, now: datetime
) -> bool:
    """The file will not come, and whoever listens hears why. False: it no longer waited."""
    change = f"""UPDATE media SET state = 'failed', error = $3, attempts = attempts + 1, next_at = NULL
                WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    told = events.change_data("media_failed", reason=reason)
    return await _settle(db, lease, channel, media, (change, reason), told, {"id": ids.show("med", media.id)}, now)


async def mark_full(
    db: Database, lease: Lease, channel: ChannelRef, media: MediaRow, reason: str, next_at: datetime, now: datetime
) -> bool:
    """There is no room for the file: it waits, which is no attempt, and whoever listens hears of it the first time."""
    change = f"""UPDATE media SET error = $3, next_at = $4 WHERE channel_id = $1 AND id = $2 AND {_WAITS} RETURNING 1"""
    if media.error == reason:
        async with db.transaction() as conn:
            await hold_epoch(conn, lease.channel_id, lease.epoch)
            await conn.execute(change, media.channel_id, media.id, reason, next_at)
        return False
    told = events.change_data("media_waiting", reason=reason)
    found = {"id": ids.show("med", media.id)}
    return await _settle(db, lease, channel, media, (change, reason, next_at), told, found, now)


async def mark_again(db: Database, lease: Lease, media: MediaRow, reason: str, next_at: datetime) -> None:
    """An attempt failed; the next one is at `next_at`."""
    async with db.transaction() as conn:
        await hold_epoch(conn, lease.channel_id, lease.epoch)
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
    change: tuple[Any, ...],
    told: dict[str, Any],
    found: dict[str, Any],
    now: datetime,
) -> bool:
    sql, *arguments = change
    async with db.transaction() as conn:
        head = await lock_head(conn, lease.channel_id, lease.epoch)
        if await conn.fetchval(sql, media.channel_id, media.id, *arguments) is None:
            return False
        message = await _message(conn, media)
        if message is not None:
            event_buffer = EventBuffer(head, now)
            event_id = event_buffer.add(
                events.MESSAGE, "updated", {**told, **_data(message, found)}, message["contact_id"]
            )
            await append_events(
                conn, head, channel, event_buffer.told, now, with_change=_add_event(message["id"], event_id)
            )
    db.notify(lease.channel_id, sending=False)
    return True


async def _message(conn: "Connection[Any]", media: MediaRow) -> Any:
    if media.message_id is None:
        return None
    return await conn.fetchrow(
        """SELECT m.id, m.contact_id, m.incoming, m.state, m.type, m.content, m.created_at, m.sent_at, m.reply_to,
                  m.client_ref, m.context, coalesce(c.phone, m.phone) AS phone, c.name
           FROM messages m LEFT JOIN LATERAL (
               SELECT phone, coalesce(given_name, name) AS name FROM contacts
               WHERE channel_id = $1 AND id = m.contact_id LIMIT 1) c ON true
           WHERE m.channel_id = $1 AND m.id = $2""",
        media.channel_id,
        media.message_id,
    )


def _data(message: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The message as its first event told it, with what is known of the file by now."""
    content: dict[str, Any] = msgspec.json.decode(message["content"])
    content["media"] = {**(content.get("media") or {}), **found}
    return events.message_data(
        id_=message["id"],
        phone=message["phone"],
        contact_id=message["contact_id"],
        name=message["name"],
        incoming=message["incoming"],
        type_=message["type"],
        content=msgspec.json.encode(content).decode(),
        timestamp=message["sent_at"] or message["created_at"],
        reply_to=message["reply_to"],
        client_ref=message["client_ref"],
        status=State(message["state"]),
        context=msgspec.json.decode(message["context"]) if message["context"] else None,
    )


def _add_event(message_id: UUID, event_id: UUID) -> WriteClause:
    return WriteClause(
        "UPDATE messages SET event_ids = event_ids || $12::uuid WHERE channel_id = $1 AND id = $11",
        (message_id, event_id),
    )
