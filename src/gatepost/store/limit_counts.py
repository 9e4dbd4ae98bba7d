"""What limits have counted: sent to all nodes by notification, and never stored."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from gatepost.store.pool import Database

NOTIFICATION = "gatepost_limits"
_REQUESTS, _ACTIONS = 100, 6  # in one notification: its payload may have 8,000 bytes
_ACTOR = 1_200  # bytes as JSON; nobody has a longer address


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
        await db.execute("SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text", NOTIFICATION, texts)


def read_counts(payload: str) -> LimitCounts | None:
    """Parse a notification; None if it is of another version."""
    try:
        return msgspec.json.decode(payload, type=LimitCounts)
    except msgspec.MsgspecError:
        return None
