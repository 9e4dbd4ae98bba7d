"""Changes that the business makes to a message it has sent: edited, or deleted for everyone."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model.event import ChannelRef
from gatepost.store.channel_head import NOTHING, EventBuffer, WriteClause, append_events, lock_head
from gatepost.store.contacts.rows import KnownContact
from gatepost.store.messages.amend import Amendment, apply_amendment, get_known, may_amend
from gatepost.store.pool import Database


async def amend_own(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    message_id: UUID,
    type_: str,
    content: dict[str, Any],
    now: datetime,
) -> bool:
    """Notes an edit or a revoke of an outgoing message, and tells of it; False when there is nothing to change."""
    async with db.transaction(wakes=channel_id) as conn:
        head = await lock_head(conn, channel_id)
        target = await get_known(conn, channel_id, message_id)
        if target is None:
            return False
        row = await conn.fetchrow(
            "SELECT id, phone, name, given_name FROM contacts WHERE channel_id = $1 AND id = $2",
            channel_id,
            target.contact_id,
        )
        contact = KnownContact(**dict(row.items())) if row else KnownContact(target.contact_id, target.phone, None)
        touch, event_buffer = Amendment(type_, content, contact, True, now), EventBuffer(head, now)
        if not may_amend(touch, target):
            return False
        await apply_amendment(conn, channel_id, touch, target, event_buffer)
        await append_events(conn, head, channel, event_buffer.told, now, with_change=WriteClause(NOTHING, ()))
    return True
