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
from gatepost.networks.base import NetworkError, Reaction, Receipt, Refused, Sent, Unknown, Unsent
from gatepost.outbound import pace


class Rules(msgspec.Struct, frozen=True):
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


class End(msgspec.Struct, frozen=True):
    state: State
    network_id: str | None = None
    error: dict[str, Any] | None = None
    held: bool = False
    wa_id: str | None = None


class Hold(Enum):
    """What else has to wait."""

    NOTHING = 0
    CHANNEL = 1
    NEW = 2
    BROKEN = 3


class Again(msgspec.Struct, frozen=True):
    wait: float
    error: dict[str, Any]
    hold: Hold = Hold.NOTHING
    hold_for: float = 0.0  # of a hold: seconds before which another try is in vain


class Await(msgspec.Struct, frozen=True):
    grace: float
    reason: str


Next = End | Again | Await


_HOLDS = {Reaction.HOLD_CHANNEL: Hold.CHANNEL, Reaction.HOLD_NEW: Hold.NEW, Reaction.BREAK: Hold.BROKEN}


def judge(
    receipt: Receipt, attempt: int, recipient_refusals: int, rules: Rules, random: float, failing: float = 0.0
) -> Next:
    """What to do after attempt number `attempt`, with `random` drawn evenly from [0, 1).

    `failing`: for how many seconds the message has been refused in a way that is worth only so much time.
    """
    if isinstance(receipt, Sent):
        return End(State.SENT, network_id=receipt.network_id, held=receipt.held, wa_id=receipt.wa_id)
    if isinstance(receipt, Unknown):
        return Await(rules.unknown_grace, receipt.reason)
    if isinstance(receipt, Unsent):
        return Again(0.0, {"code": "unreachable", "title": receipt.reason, "details": None}, Hold.CHANNEL)
    return _judge_refusal(receipt, attempt, recipient_refusals, rules, random, failing)


def _judge_refusal(
    refused: Refused, attempt: int, recipient_refusals: int, rules: Rules, random: float, failing: float
) -> Next:
    error = error_shown(refused.error)
    if refused.reaction in _HOLDS:
        return Again(0.0, error, _HOLDS[refused.reaction], refused.wait)
    if refused.reaction is Reaction.HOLD_RECIPIENT:
        return Again(pace.recipient_hold(recipient_refusals), error)
    if refused.reaction is Reaction.RETRY and attempt < min(rules.attempts, refused.tries or rules.attempts):
        wait = max(pace.retry_delay(attempt, rules.retry_base, rules.retry_most, random), refused.wait)
        if refused.within is None or failing + wait < refused.within:
            return Again(wait, error)
    return End(State.FAILED, error=error_shown(refused.error.when_over()))


def error_shown(error: NetworkError) -> dict[str, Any]:
    """A refusal as the message's trace and its events show it."""
    shown = {"code": error.own_code or error.code, "title": error.title, "details": error.details}
    return {**shown, "advice": error.advice} if error.advice else shown
