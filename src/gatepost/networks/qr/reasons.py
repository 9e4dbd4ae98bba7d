"""The table of reasons and refusals, read once: what a link's state means, and what a refusal asks for."""

import tomllib
from enum import Enum
from importlib import resources
from typing import Any

import msgspec

from gatepost.networks.base import ErrorReaction, NetworkError, SendRefused


class NextStep(Enum):
    """What the keeper of a link does next."""

    GO_ON = "go_on"
    RECONNECT = "reconnect"
    BACK_OFF = "back_off"
    STOP = "stop"


class Reason(msgspec.Struct, frozen=True):
    state: str
    says: str
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
_OWN_FAULT = range(500, 600)


def reason_of(word: str | None) -> Reason:
    """What a reason means; words that are not in the table mean "try again"."""
    return REASONS.get(word or "unknown", REASONS["unknown"])


def refused(code: int, title: str, details: str | None = None) -> SendRefused:
    """A refusal with what it asks for: from the table, or by the safe rule for codes that are not in it."""
    known = REFUSALS.get(code)
    if known:
        return SendRefused(NetworkError(code, title or known.title, details, known.advice), known.reaction)
    again = code == 0 or code in _OWN_FAULT
    advice = (
        "The message is tried again by itself."
        if again
        else "The network gave no reason that is known here. Look at the details before another try."
    )
    error = NetworkError(code, title or "Refused by the network", details, advice)
    return SendRefused(error, ErrorReaction.RETRY if again else ErrorReaction.FINAL)
