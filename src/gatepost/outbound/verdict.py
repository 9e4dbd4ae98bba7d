"""What follows from the network's answer: a pure decision.

Sent ───────────────────────► End(SENT)
Refused: final ─────────────► End(FAILED) with the network's own reason
Refused: retry ─────────────► Again after a back-off; End(FAILED) after the last attempt
Refused: hold recipient ────► Again after 4^n seconds; the others go on
Refused: hold channel, Unsent► Again, and the whole channel holds
Unknown ────────────────────► Await a status for the time of grace
"""

from typing import Any

import msgspec

from gatepost.model.message import State
from gatepost.networks.base import Reaction, Receipt, Refused, Sent, Unknown, Unsent
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


class Again(msgspec.Struct, frozen=True):
    wait: float
    error: dict[str, Any]
    hold_channel: bool = False


class Await(msgspec.Struct, frozen=True):
    grace: float
    reason: str


Next = End | Again | Await


def judge(receipt: Receipt, attempt: int, recipient_refusals: int, rules: Rules, random: float) -> Next:
    """What to do after attempt number `attempt`, with `random` drawn evenly from [0, 1)."""
    if isinstance(receipt, Sent):
        return End(State.SENT, network_id=receipt.network_id)
    if isinstance(receipt, Unknown):
        return Await(rules.unknown_grace, receipt.reason)
    if isinstance(receipt, Unsent):
        return Again(0.0, {"code": "unreachable", "title": receipt.reason, "details": None}, hold_channel=True)
    return _judge_refusal(receipt, attempt, recipient_refusals, rules, random)


def _judge_refusal(refused: Refused, attempt: int, recipient_refusals: int, rules: Rules, random: float) -> Next:
    error = {"code": refused.error.code, "title": refused.error.title, "details": refused.error.details}
    if refused.reaction is Reaction.HOLD_CHANNEL:
        return Again(0.0, error, hold_channel=True)
    if refused.reaction is Reaction.HOLD_RECIPIENT:
        return Again(pace.recipient_hold(recipient_refusals), error)
    if refused.reaction is Reaction.RETRY and attempt < rules.attempts:
        return Again(pace.retry_delay(attempt, rules.retry_base, rules.retry_most, random), error)
    return End(State.FAILED, error=error)
