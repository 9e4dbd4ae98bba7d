"""Two contacts that turn out to be one person: everything of the second goes to the first, and nothing is lost.

Rows of these two contacts are touched and no others. Messages come before conversations, as in every commit: an owner
notes its intents without the channel's lock, in that order too.
"""

from typing import Any
from uuid import UUID

from gatepost.model import ids
from gatepost.store.pool import Connection


async def join_contacts(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID, address: str) -> None:
    """Makes one person of two; `address` is what the second went by. The caller holds the channel's head."""
    await _join_messages(conn, channel_id, stays, goes)
    await _join_conversations(conn, channel_id, stays, goes)
    await _join_belongings(conn, channel_id, stays, goes)
    await _join_names(conn, channel_id, stays, goes, address)
    await conn.execute("UPDATE channel_heads SET joined = joined + 1 WHERE channel_id = $1", channel_id)


async def _join_messages(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Their history, and under which id they reacted in it."""
    marks = (ids.show("ct", stays), ids.show("ct", goes))
    await conn.execute(
        """UPDATE messages SET contact_id = $2, reactions = replace(reactions, $5, $4)
           WHERE channel_id = $1 AND contact_id = $3""",
        channel_id,
        stays,
        goes,
        *marks,
    )
    await conn.execute(
        """UPDATE messages SET reactions = replace(reactions, $4, $3)
           WHERE channel_id = $1 AND contact_id = $2 AND strpos(reactions, $4) > 0""",
        channel_id,
        stays,
        *marks,
    )


async def _join_conversations(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Whatever asks for attention wins: unread adds up, open before closed, shown before archived or muted."""
    await conn.execute(
        """UPDATE conversations v SET last_in_at = GREATEST(v.last_in_at, o.last_in_at),
               opened_at = GREATEST(v.opened_at, o.opened_at), created_at = LEAST(v.created_at, o.created_at),
               unread = v.unread + o.unread, last_message_id = GREATEST(v.last_message_id, o.last_message_id),
               status = CASE WHEN 'open' IN (v.status, o.status) THEN 'open' ELSE v.status END,
               archived = v.archived AND o.archived, muted = v.muted AND o.muted,
               note = COALESCE(v.note, o.note), assignee = COALESCE(v.assignee, o.assignee),
               updated_at = GREATEST(v.updated_at, o.updated_at)
           FROM (SELECT last_in_at, opened_at, created_at, unread, last_message_id, status, archived, muted, note,
                        assignee, updated_at
                 FROM conversations WHERE channel_id = $1 AND contact_id = $3 LIMIT 1) o
           WHERE v.channel_id = $1 AND v.contact_id = $2""",
        channel_id,
        stays,
        goes,
    )
    await conn.execute("DELETE FROM conversations WHERE channel_id = $1 AND contact_id = $2", channel_id, goes)


async def _join_belongings(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID) -> None:
    """Orders and labels."""
    keys = (channel_id, stays, goes)
    await conn.execute("UPDATE orders SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute(
        """INSERT INTO label_uses (channel_id, label_id, target, contact_id, created_at)
           SELECT channel_id, label_id, target, $2, created_at FROM label_uses
           WHERE channel_id = $1 AND contact_id = $3 ON CONFLICT DO NOTHING""",
        *keys,
    )
    await conn.execute("DELETE FROM label_uses WHERE channel_id = $1 AND contact_id = $2", channel_id, goes)


async def _join_names(conn: "Connection[Any]", channel_id: UUID, stays: UUID, goes: UUID, address: str) -> None:
    """What they are called and wish; the address of the second becomes one more of the first."""
    keys = (channel_id, stays, goes)
    await conn.execute(
        """UPDATE contacts c SET name = COALESCE(c.name, o.name), username = COALESCE(c.username, o.username),
               given_name = COALESCE(c.given_name, o.given_name), custom = o.custom || c.custom,
               opted_out = GREATEST(c.opted_out, o.opted_out), created_at = LEAST(c.created_at, o.created_at),
               updated_at = GREATEST(c.updated_at, o.updated_at)
           FROM (SELECT name, username, given_name, custom, opted_out, created_at, updated_at FROM contacts
                 WHERE channel_id = $1 AND id = $3 LIMIT 1) o
           WHERE c.channel_id = $1 AND c.id = $2""",
        *keys,
    )
    await conn.execute("DELETE FROM contacts WHERE channel_id = $1 AND id = $2", channel_id, goes)
    await conn.execute("UPDATE contact_aliases SET contact_id = $2 WHERE channel_id = $1 AND contact_id = $3", *keys)
    await conn.execute(
        """INSERT INTO contact_aliases (channel_id, alias, contact_id) VALUES ($1, $2, $3)
           ON CONFLICT (channel_id, alias) DO UPDATE SET contact_id = excluded.contact_id""",
        channel_id,
        address,
        stays,
    )
