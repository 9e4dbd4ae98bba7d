"""The spans of deliveries: one for each POST, and one for each event and endpoint when its deliveries have ended."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.deliveries.queue import DueDelivery
from gatepost.tracing import ACCEPT, CLIENT, Tracer
from gatepost.webhooks.delivery_request import DeliveryResult
from gatepost.webhooks.retry import Fate


class _Key(msgspec.Struct, rename="camel"):
    id: str
    from_me: bool = False


class _Data(msgspec.Struct):
    key: _Key
    status: str | None = None


class _Event(msgspec.Struct):
    type: str
    action: str
    data: _Data


def trace_delivery(tracer: Tracer, sent: DeliveryResult, now: datetime) -> None:
    """Record the spans of a POST: one for each of its events that is about a message."""
    for item, decision in zip(sent.unit.items, sent.decisions, strict=True):
        try:
            event = msgspec.json.decode(item.body, type=_Event)
        except msgspec.DecodeError:  # about a contact or a label, for example
            continue
        message_id = ids.parse_id("", event.data.key.id)
        if message_id is not None:
            _record(tracer, message_id, event, item, sent, decision.fate, now)


def _record(
    tracer: Tracer, message_id: UUID, event: _Event, item: DueDelivery, sent: DeliveryResult, fate: Fate, now: datetime
) -> None:
    endpoint, delivery = sent.target.id, f"delivery/{item.event_id.hex}/{sent.target.id.hex}"
    shown: dict[str, Any] = {
        "gatepost.event.id": ids.format_id("evt", item.event_id),
        "gatepost.event.type": event.type,
        "gatepost.event.action": event.action,
        "gatepost.message.status": event.data.status,
        "gatepost.endpoint.id": ids.format_id("we", endpoint),
    }
    post = {"gatepost.attempt": item.attempts + 1, "http.response.status_code": sent.response.status}
    failed = fate != "delivered"
    place = f"{delivery}/{item.attempts + 1}"
    tracer.record(
        message_id, place, "webhook POST", sent.at, now, shown | post, parent=delivery, kind=CLIENT, failed=failed
    )
    if fate != "retry":
        parent = ACCEPT if event.data.key.from_me else None  # a person's message has no acceptance
        began = ids.time_of(item.event_id)
        shown["gatepost.delivery.outcome"] = fate
        tracer.record(message_id, delivery, "event delivery", began, now, shown, parent=parent, failed=failed)
