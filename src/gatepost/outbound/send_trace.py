"""The spans of sending: one for each attempt, one for its call of the network, and one for a message that expired."""

from datetime import datetime
from typing import Any

from gatepost.model.message import State
from gatepost.networks.base import Receipt, SendAccepted, SendRefused
from gatepost.store.messages.send import QueuedMessage, SendResult
from gatepost.tracing import CLIENT, Tracer

_OUTCOMES = {State.SENT: "sent", State.QUEUED: "retry", State.EXPIRED: "expired"}


def trace_call(tracer: Tracer, message: QueuedMessage, receipt: Receipt, began: datetime, now: datetime) -> None:
    """Record a call of the network."""
    shown: dict[str, Any] = {"gatepost.attempt": message.attempt}
    if isinstance(receipt, SendRefused):
        shown["gatepost.error.code"] = receipt.error.code
    failed, parent = not isinstance(receipt, SendAccepted), f"send/{message.attempt}"
    stage, name = f"network/{message.attempt}", "network send"
    tracer.record(message.id, stage, name, began, now, shown, parent=parent, kind=CLIENT, failed=failed)


def trace_attempt(
    tracer: Tracer, message: QueuedMessage, result: SendResult | None, channel_id: str, now: datetime
) -> None:
    """Record an attempt. Without a result its outcome is unknown: the network's answer was lost."""
    outcome = _OUTCOMES.get(result.state, "failed") if result else "unknown"
    code = result.error.get("code") if result and result.error else None
    shown: dict[str, Any] = {
        "gatepost.channel.id": channel_id,
        "gatepost.attempt": message.attempt,
        "gatepost.outcome": outcome,
    }
    if code is not None:
        shown["gatepost.error.code"] = code
    expired = outcome == "expired"
    stage, name = ("end", "message expiry") if expired else (f"send/{message.attempt}", "message send")
    began = now if expired or message.waits_since is None else message.waits_since
    tracer.record(message.id, stage, name, began, now, shown, failed=outcome != "sent")
