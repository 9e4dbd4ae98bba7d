"""The log of an account: who did what."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids


class Actor(msgspec.Struct, frozen=True):
    """The one who did something. The label is shown: an e-mail address, or the name of a key."""

    kind: Literal["user", "key", "operator"]
    id: UUID | None
    label: str


OPERATOR = Actor("operator", None, "operator")


class LogEntry(msgspec.Struct, frozen=True):
    """One action in an account."""

    id: UUID
    account_id: UUID
    at: datetime
    actor: Actor
    action: str
    target: str
    details: Mapping[str, Any]


def new_entry(
    account_id: UUID,
    actor: Actor,
    action: str,
    now: datetime,
    *,
    target: str = "",
    details: Mapping[str, Any] | None = None,
) -> LogEntry:
    """Return an entry of now."""
    return LogEntry(ids.new_id(now), account_id, now, actor, action, target, details or {})
