"""Who looks at which conversation: sent to all nodes by notification, and never stored."""

from uuid import UUID

import msgspec

from gatepost.store.pool import Database

NOTIFICATION = "gatepost_presence"


class Presence(msgspec.Struct, frozen=True):
    """A person, and the conversation that the person looks at or types in."""

    account_id: UUID
    user_id: UUID
    name: str
    channel_id: UUID
    contact_id: UUID
    state: str


async def announce(db: Database, presence: Presence) -> bool:
    """Tell all nodes. Return False if the account has no such conversation."""
    return await db.changes(
        """SELECT 1, pg_notify($4, $5) FROM channels c JOIN conversations v ON v.channel_id = c.id
           WHERE c.account_id = $1 AND c.id = $2 AND v.contact_id = $3""",
        presence.account_id,
        presence.channel_id,
        presence.contact_id,
        NOTIFICATION,
        msgspec.json.encode(presence).decode(),
    )


def read_presence(payload: str) -> Presence | None:
    """Parse a notification; None if it is of another version."""
    try:
        return msgspec.json.decode(payload, type=Presence)
    except msgspec.MsgspecError:
        return None
