"""Changes of an account that are no events. Triggers of the database notify all nodes (migration 0025)."""

from uuid import UUID

import msgspec

NOTIFICATION = "gatepost_account"


class AccountChange(msgspec.Struct, frozen=True):
    """Which resource has changed, of an account or of a channel."""

    resource: str
    account_id: UUID | None = None
    channel_id: UUID | None = None


def read_change(payload: str) -> AccountChange | None:
    """Parse a notification; None if it is of another version."""
    try:
        return msgspec.json.decode(payload, type=AccountChange)
    except msgspec.MsgspecError:
        return None
