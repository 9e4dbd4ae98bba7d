"""The state of a number on the network, and the connection state of its channel."""

from typing import Any

import msgspec

CONNECTED = ("connected", "limited")  # the states of a connection that messages can be sent over
TROUBLE = "trouble"  # in a channel's state: {"because", "at"} of the last message that failed because of the number
NEW_TROUBLE = "trouble_with_new"  # the same, of the last one that failed because no conversation may be opened
TOKEN_REJECTED = "token_rejected_at"  # noqa: S105 - in a channel's state: when the network rejected its token
TOKEN_ACCEPTED = "The network accepts the access token."  # noqa: S105 - a reason, not a token

_STANDINGS: dict[str, tuple[str, str]] = {
    "BANNED": ("banned", "The network has banned this number. Appeal in the network's business manager."),
    "RESTRICTED": (
        "limited",
        "The network has restricted this number. See its messages in the network's business manager.",
    ),
    "RATE_LIMITED": ("limited", "The network limits how much this number may send."),
    "FLAGGED": ("connected", "The network has flagged this number for low quality. It may still send."),
    "DISCONNECTED": ("disconnected", "The number is no longer registered with the network."),
    "CONNECTED": ("connected", "The network accepts messages from this number."),
}


class NumberProblem(msgspec.Struct, frozen=True):
    """What keeps a part of the business account from sending, as the network reports it."""

    about: str | None
    can_send: str | None
    error: Any


class NumberHealth(msgspec.Struct, frozen=True):
    """The state of a number at the network. What the network does not report is None; a tier of 0 is no limit."""

    status: str | None
    quality: str | None
    throughput: int | None
    tier: int | None
    name: str | None
    name_status: str | None
    can_send: str | None
    problems: list[NumberProblem]


def connection_of(status: str | None) -> tuple[str, str] | None:
    """Return the connection state and its reason; None if the status does not determine it."""
    return _STANDINGS.get(status or "")


def changed_connection(before: str | None, status: str | None) -> tuple[str, str] | None:
    """Like `connection_of`, for a status that was polled: return None if it has not changed.

    A number that was never polled counts as connected, so that the first poll does not clear a sending problem.
    """
    return None if status == (before or "CONNECTED") else connection_of(status)
