"""Changes that the business makes to a message it has sent: edited, or deleted for everyone."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gatepost.model.event import ChannelRef
from gatepost.store.contacts import Contact
from gatepost.store.heads import NOTHING, Clause, Scribe, append_events, lock_head
from gatepost.store.pool import Database
from gatepost.store.targets import Touch, apply_touch, get_known, may_touch


async def touch_own(
    db: Database,
    channel: ChannelRef,
    channel_id: UUID,
    message_id: UUID,
    type_: str,
    content: dict[str, Any],
    now: datetime,
) -> bool:
    """Notes an edit or a revoke of an outgoing message, and tells of it; False when there is nothing to change."""
    async with db.transaction() as conn:
        head = await lock_head(conn, channel_id)
        target = await get_known(conn, channel_id, message_id)
        if target is None:
            return False
        row = await conn.fetchrow(
            "SELECT id, phone, name, given_name FROM contacts WHERE channel_id = $1 AND id = $2",
            channel_id,
            target.contact_id,
        )
        contact = Contact(**dict(row.items())) if row else Contact(target.contact_id, target.phone, None)
        touch, scribe = Touch(type_, content, contact, True, now), Scribe(head, now)
        if not may_touch(touch, target):
            return False
        await apply_touch(conn, channel_id, touch, target, scribe)
        await append_events(conn, head, channel, scribe.told, now, with_change=Clause(NOTHING, ()))
    return True
