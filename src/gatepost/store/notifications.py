"""Notifications to all nodes that are never stored: who looks at which conversation, changes of accounts, limits, and
calls over the links of phones.

Triggers of the database send those about changes of accounts that are no events (migration 0025).
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from uuid import UUID

import msgspec

from gatepost.store.pool import Database

PRESENCE = "gatepost_presence"
ACCOUNT_CHANGES = "gatepost_account"
LIMIT_COUNTS = "gatepost_limits"
LINK_CALLS, LINK_ANSWERS = "gatepost_link_calls", "gatepost_link_answers"
_PIECE = 1_500  # characters of a text in one notification
_REQUESTS, _ACTIONS = 100, 6  # in one notification: its payload may have 8,000 bytes
_ACTOR = 1_200  # bytes as JSON; nobody has a longer address

_Notice = TypeVar("_Notice")


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
        PRESENCE,
        msgspec.json.encode(presence).decode(),
    )


class AccountChange(msgspec.Struct, frozen=True):
    """Which resource has changed, of an account or of a channel."""

    resource: str
    account_id: UUID | None = None
    channel_id: UUID | None = None


class LimitedAction(msgspec.Struct, frozen=True, array_like=True):
    """An action that a limit has counted, or stopped to count."""

    limit: str
    actor: str
    given_back: bool


class LimitCounts(msgspec.Struct, frozen=True, array_like=True):
    """What one gateway has counted: requests of keys and sessions, and other actions."""

    gateway: UUID
    requests: dict[UUID, int] = {}
    actions: list[LimitedAction] = []
    part: int = 0  # PostgreSQL delivers equal notifications of a transaction only once


async def send_counts(
    db: Database, gateway: UUID, requests: Mapping[UUID, int], actions: Sequence[LimitedAction]
) -> None:
    """Send counts to all nodes."""
    keys, short = list(requests.items()), [one for one in actions if len(msgspec.json.encode(one.actor)) <= _ACTOR]
    parts = [LimitCounts(gateway, dict(keys[at : at + _REQUESTS])) for at in range(0, len(keys), _REQUESTS)]
    parts += [LimitCounts(gateway, {}, short[at : at + _ACTIONS], at) for at in range(0, len(short), _ACTIONS)]
    if parts:
        texts = [msgspec.json.encode(part).decode() for part in parts]
        await db.execute("SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text", LIMIT_COUNTS, texts)


class TextPiece(msgspec.Struct, frozen=True, array_like=True):
    """A part of a text that may be too long for one notification."""

    id: UUID
    part: int
    parts: int
    text: str


async def send_text(db: Database, name: str, id_: UUID, text: str) -> None:
    """Send a text to all nodes, in pieces."""
    parts = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
    pieces = [TextPiece(id_, part, len(parts), one) for part, one in enumerate(parts)]
    encoded = [msgspec.json.encode(piece).decode() for piece in pieces]
    await db.execute("SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text", name, encoded)


def read_notice(payload: str, type_: type[_Notice]) -> _Notice | None:
    """Parse a notification; None if it is of another version."""
    try:
        return msgspec.json.decode(payload, type=type_)
    except msgspec.MsgspecError:
        return None
