"""Translates errors of network calls into API errors that include the network's own text."""

from collections.abc import Iterator
from contextlib import contextmanager

from gatepost.model.errors import GatepostError, NetworkAway, NetworkProblem, NetworkRefused
from gatepost.networks.base import CallFailed

_AGAIN = 5  # seconds: long enough for a brief outage, short enough to wait


@contextmanager
def network_call() -> Iterator[None]:
    """Translate the errors of network calls in the block."""
    try:
        yield
    except CallFailed as failed:
        raise refusal(failed) from failed


def refusal(failed: CallFailed) -> GatepostError:
    """Return the API error: temporary if the call may be retried, otherwise a rejection of the request."""
    error = failed.error
    words = NetworkProblem(error.code, error.title, error.details)
    said = " ".join(_sentence(part) for part in (error.title, error.details, error.advice) if part)
    if failed.retry:
        return NetworkAway(f"The network cannot do this at the moment: {said}", retry_after=_AGAIN, network=words)
    return NetworkRefused(f"The network refused: {said}", network=words)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
