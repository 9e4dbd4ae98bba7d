"""The decision that follows from the network's answer: a pure function.

accepted ───────────────────────► FinalResult(SENT)
refused: final ─────────────────► FinalResult(FAILED) with the network's own reason
refused: retry ─────────────────► RetrySend after a back-off; FinalResult(FAILED) after the last attempt
refused: hold recipient ────────► RetrySend after 4^n seconds; other recipients are not affected
refused: hold channel, not made ► RetrySend, and a back-off of the whole channel
refused: hold new ──────────────► RetrySend, and a back-off of new conversations
refused: break ─────────────────► RetrySend, and the channel is shown as limited until a message is accepted again
unknown ────────────────────────► AwaitStatus for the grace period
"""

from enum import Enum
from typing import Any

import msgspec

from gatepost.model.message import State
from gatepost.networks.base import (
    ErrorReaction,
    NetworkError,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from gatepost.outbound import pace


class SendRules(msgspec.Struct, frozen=True):
    """The section `sending` of the settings."""

    in_flight: int
    read_ahead: int
    unknown_grace: float
    retry_base: float
    retry_most: float
    attempts: int


UNKNOWN_OUTCOME = {
    "code": "unknown_outcome",
    "title": "The network's answer was lost, and no status came",
    "details": "It may or may not have been sent; it was not tried again.",
}


class FinalResult(msgspec.Struct, frozen=True):
    state: State
    network_id: str | None = None
    error: dict[str, Any] | None = None
    held: bool = False
    wa_id: str | None = None


class BackoffScope(Enum):
    """What has to wait besides the message."""

    NOTHING = 0
    CHANNEL = 1
    NEW = 2
    BROKEN = 3


class RetrySend(msgspec.Struct, frozen=True):
    wait: float
    error: dict[str, Any]
    scope: BackoffScope = BackoffScope.NOTHING
    at_least: float = 0.0  # seconds of back-off before which another try is useless
    token_rejected: bool = False


class AwaitStatus(msgspec.Struct, frozen=True):
    grace: float
    reason: str


Next = FinalResult | RetrySend | AwaitStatus


_SCOPES = {
    ErrorReaction.HOLD_CHANNEL: BackoffScope.CHANNEL,
    ErrorReaction.HOLD_NEW: BackoffScope.NEW,
    ErrorReaction.BREAK: BackoffScope.BROKEN,
}


def decide(
    receipt: Receipt, tries: int, recipient_refusals: int, rules: SendRules, random: float, failing: float = 0.0
) -> Next:
    """Decide what follows after so many tries, this one included, with `random` drawn evenly from [0, 1).

    `failing`: seconds since the first refusal of a kind that is retried for a limited time only.
    """
    if isinstance(receipt, SendAccepted):
        return FinalResult(State.SENT, network_id=receipt.network_id, held=receipt.held, wa_id=receipt.wa_id)
    if isinstance(receipt, SendUnknown):
        return AwaitStatus(rules.unknown_grace, receipt.reason)
    if isinstance(receipt, SendNotMade):
        return RetrySend(0.0, {"code": "unreachable", "title": receipt.reason, "details": None}, BackoffScope.CHANNEL)
    return _decide_refusal(receipt, tries, recipient_refusals, rules, random, failing)


def _decide_refusal(
    refused: SendRefused, tries: int, recipient_refusals: int, rules: SendRules, random: float, failing: float
) -> Next:
    error = error_shown(refused.error)
    if refused.reaction in _SCOPES:
        return RetrySend(0.0, error, _SCOPES[refused.reaction], refused.wait, refused.error.token_rejected)
    if refused.reaction is ErrorReaction.HOLD_RECIPIENT:
        return RetrySend(pace.recipient_backoff(recipient_refusals), error)
    if refused.reaction is ErrorReaction.RETRY and tries < min(rules.attempts, refused.tries or rules.attempts):
        wait = max(pace.retry_delay(tries, rules.retry_base, rules.retry_most, random), refused.wait)
        if refused.within is None or failing + wait < refused.within:
            return RetrySend(wait, error)
    return FinalResult(State.FAILED, error=error_shown(refused.error.as_final()))


def error_shown(error: NetworkError) -> dict[str, Any]:
    """Return a refusal as the message's trace and its events show it."""
    shown = {"code": error.own_code or error.code, "title": error.title, "details": error.details}
    return {**shown, "advice": error.advice} if error.advice else shown
