"""What the network's word for a number's status means for the connection of its channel."""

TROUBLE = "trouble"  # in a channel's state: {"because", "at"} of the last message that failed for the number's sake

_STANDINGS: dict[str, tuple[str, str]] = {
    "BANNED": ("banned", "The network has banned this number. Appeal in the network's business manager."),
    "RESTRICTED": ("limited", "The network restricts this number: see its messages in the business manager."),
    "RATE_LIMITED": ("limited", "The network limits how much this number may send."),
    "FLAGGED": ("connected", "The network has flagged this number for low quality. It may still send."),
    "DISCONNECTED": ("disconnected", "The number is no longer registered with the network."),
    "CONNECTED": ("connected", "The network accepts messages from this number."),
}


def connection_of(status: str | None) -> tuple[str, str] | None:
    """The state of the connection and its reason; None where the status says nothing about it."""
    return _STANDINGS.get(status or "")


def changed_connection(before: str | None, status: str | None) -> tuple[str, str] | None:
    """The same for a status that was read, not told: what has not changed since is no news.

    A number that was never looked at is taken to be connected: troubles of sending must not be read away.
    """
    return None if status == (before or "CONNECTED") else connection_of(status)
