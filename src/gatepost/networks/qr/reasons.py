"""The reasons of a link's state, and the reactions to errors. The table is `reasons.toml`."""

import tomllib
from enum import Enum
from importlib import resources
from typing import Any

import msgspec

from gatepost.networks.base import ErrorReaction, NetworkError, SendRefused


class NextStep(Enum):
    """The next step of the link keeper."""

    GO_ON = "go_on"
    RECONNECT = "reconnect"
    BACK_OFF = "back_off"
    STOP = "stop"


class Reason(msgspec.Struct, frozen=True):
    state: str
    text: str
    then: NextStep


class LinkRefusal(msgspec.Struct, frozen=True):
    title: str
    reaction: ErrorReaction
    advice: str


def _load() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("reasons.toml").read_text("utf-8"))


_TABLE = _load()
REASONS: dict[str, Reason] = msgspec.convert(_TABLE["reasons"], dict[str, Reason])
REFUSALS: dict[int, LinkRefusal] = msgspec.convert(_TABLE["refusals"], dict[int, LinkRefusal], strict=False)
_NETWORK_FAULT = range(500, 600)


def reason_of(name: str | None) -> Reason:
    """Return the entry of a reason; an unknown one means that the link is opened again."""
    return REASONS.get(name or "unknown", REASONS["unknown"])


def refused(code: int, title: str, details: str | None = None) -> SendRefused:
    """Return a rejection with the reaction to it. A code that is not in the table is retried if it is 0 or 5xx."""
    known = REFUSALS.get(code)
    if known:
        return SendRefused(NetworkError(code, title or known.title, details, known.advice), known.reaction)
    again = code == 0 or code in _NETWORK_FAULT
    advice = (
        "The message is retried automatically."
        if again
        else "The network gave an unknown error code. Check the details before you send the message again."
    )
    error = NetworkError(code, title or "Rejected by the network", details, advice)
    return SendRefused(error, ErrorReaction.RETRY if again else ErrorReaction.FINAL)
