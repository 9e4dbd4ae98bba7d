"""The connection state of a channel by the number's status on the network."""

TROUBLE = "trouble"  # in a channel's state: {"because", "at"} of the last message that failed because of the number

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


def connection_of(status: str | None) -> tuple[str, str] | None:
    """Return the connection state and its reason; None if the status does not determine it."""
    return _STANDINGS.get(status or "")


def changed_connection(before: str | None, status: str | None) -> tuple[str, str] | None:
    """Like `connection_of`, for a status that was polled: return None if it has not changed.

    A number that was never polled counts as connected, so that the first poll does not clear a sending problem.
    """
    return None if status == (before or "CONNECTED") else connection_of(status)
