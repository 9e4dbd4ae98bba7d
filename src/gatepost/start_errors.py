"""Errors with which a gateway ends: it cannot start, or cannot go on."""


class CannotStart(Exception):
    """The gateway cannot start, because of something outside it (such as a port in use)."""


class CannotGoOn(Exception):
    """An essential part of the gateway has ended. The process exits so that it can be restarted."""


def cannot_listen(host: str, port: int, error: OSError) -> CannotStart:
    """Return the error of a port that cannot be opened."""
    return CannotStart(f"Cannot listen on {host}:{port}: {error.strerror}.")
