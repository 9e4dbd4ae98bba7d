"""Whom a read mark or a typing sign is shown to: the newest message of a conversation's person."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.pool import Connection, Database

# What is about another message rather than one of its own.
_ABOUT_OTHERS = ("reaction", "edit", "revoke", "system")


class LastIncoming(msgspec.Struct, frozen=True):
    """Something that a person wrote; None where nothing was heard since."""

    network_id: str | None
    address: str | None


async def newest_heard(db: Database, channel_id: UUID, contact_id: UUID, since: datetime) -> LastIncoming | None:
    """The newest message of a conversation's person; None when the channel has no such conversation."""
    async with db.connection() as conn:
        return await find_heard(conn, channel_id, contact_id, since)


async def find_heard(
    conn: "Connection[Any]", channel_id: UUID, contact_id: UUID, since: datetime
) -> LastIncoming | None:
    """The same inside of somebody's transaction."""
    row = await conn.fetchrow(
        """SELECT m.network_id, m.phone FROM conversations c LEFT JOIN LATERAL (
               SELECT network_id, phone FROM messages
               WHERE channel_id = $1 AND contact_id = $2 AND id > $3
                 AND incoming AND network_id IS NOT NULL AND type <> ALL ($4::text[])
               ORDER BY id DESC LIMIT 1) m ON true
           WHERE c.channel_id = $1 AND c.contact_id = $2""",
        channel_id,
        contact_id,
        ids.floor_id(since),
        list(_ABOUT_OTHERS),
    )
    return LastIncoming(row["network_id"], row["phone"]) if row else None
