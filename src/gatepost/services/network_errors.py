"""Calls to the network on behalf of a caller: its errors become ours, with the network's own text."""

from collections.abc import Iterator
from contextlib import contextmanager

from gatepost.model.errors import GatepostError, NetworkAway, NetworkRefused, NetworkWords
from gatepost.networks.base import CallFailed

_AGAIN = 5  # seconds: long enough for a hiccup to pass, short enough to wait for


@contextmanager
def network_call() -> Iterator[None]:
    """Translates what the network refuses inside."""
    try:
        yield
    except CallFailed as failed:
        raise refusal(failed) from failed


def refusal(failed: CallFailed) -> GatepostError:
    """A no about the request, or one that may pass by itself."""
    error = failed.error
    words = NetworkWords(error.code, error.title, error.details)
    said = " ".join(_sentence(part) for part in (error.title, error.details, error.advice) if part)
    if failed.retry:
        return NetworkAway(f"The network cannot do this at the moment: {said}", retry_after=_AGAIN, network=words)
    return NetworkRefused(f"The network refused: {said}", network=words)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."
