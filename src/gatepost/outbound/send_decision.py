"""What follows from the network's answer: a pure decision.

Sent ───────────────────────► End(SENT)
Refused: final ─────────────► End(FAILED) with the network's own reason
Refused: retry ─────────────► Again after a back-off; End(FAILED) after the last attempt
Refused: hold recipient ────► Again after 4^n seconds; the others go on
Refused: hold channel, Unsent► Again, and the whole channel holds
Refused: hold new ──────────► Again, and no conversation is opened for a while
Refused: break ─────────────► Again, and the channel stops, visibly, until time or a person has mended it
Unknown ────────────────────► Await a status for the time of grace
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
    """How patient and how busy sending is: the settings' section `sending`."""

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


class HoldBack(Enum):
    """What else has to wait."""

    NOTHING = 0
    CHANNEL = 1
    NEW = 2
    BROKEN = 3


class RetrySend(msgspec.Struct, frozen=True):
    wait: float
    error: dict[str, Any]
    hold: HoldBack = HoldBack.NOTHING
    hold_for: float = 0.0  # of a hold: seconds before which another try is in vain


class AwaitStatus(msgspec.Struct, frozen=True):
    grace: float
    reason: str


Next = FinalResult | RetrySend | AwaitStatus


_HOLDS = {
    ErrorReaction.HOLD_CHANNEL: HoldBack.CHANNEL,
    ErrorReaction.HOLD_NEW: HoldBack.NEW,
    ErrorReaction.BREAK: HoldBack.BROKEN,
}


def decide(
    receipt: Receipt, attempt: int, recipient_refusals: int, rules: SendRules, random: float, failing: float = 0.0
) -> Next:
    """What to do after attempt number `attempt`, with `random` drawn evenly from [0, 1).

    `failing`: for how many seconds the message has been refused in a way that is worth only so much time.
    """
    if isinstance(receipt, SendAccepted):
        return FinalResult(State.SENT, network_id=receipt.network_id, held=receipt.held, wa_id=receipt.wa_id)
    if isinstance(receipt, SendUnknown):
        return AwaitStatus(rules.unknown_grace, receipt.reason)
    if isinstance(receipt, SendNotMade):
        return RetrySend(0.0, {"code": "unreachable", "title": receipt.reason, "details": None}, HoldBack.CHANNEL)
    return _judge_refusal(receipt, attempt, recipient_refusals, rules, random, failing)


def _judge_refusal(
    refused: SendRefused, attempt: int, recipient_refusals: int, rules: SendRules, random: float, failing: float
) -> Next:
    error = error_shown(refused.error)
    if refused.reaction in _HOLDS:
        return RetrySend(0.0, error, _HOLDS[refused.reaction], refused.wait)
    if refused.reaction is ErrorReaction.HOLD_RECIPIENT:
        return RetrySend(pace.recipient_hold(recipient_refusals), error)
    if refused.reaction is ErrorReaction.RETRY and attempt < min(rules.attempts, refused.tries or rules.attempts):
        wait = max(pace.retry_delay(attempt, rules.retry_base, rules.retry_most, random), refused.wait)
        if refused.within is None or failing + wait < refused.within:
            return RetrySend(wait, error)
    return FinalResult(State.FAILED, error=error_shown(refused.error.when_over()))


def error_shown(error: NetworkError) -> dict[str, Any]:
    """A refusal as the message's trace and its events show it."""
    shown = {"code": error.own_code or error.code, "title": error.title, "details": error.details}
    return {**shown, "advice": error.advice} if error.advice else shown
