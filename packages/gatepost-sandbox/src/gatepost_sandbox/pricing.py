"""The pricing and conversation objects of statuses."""

import hashlib
from typing import Any

import msgspec

from gatepost_sandbox.numbers import WINDOW_SECONDS, Number
from gatepost_sandbox.stored_objects import StoredTemplate
from gatepost_sandbox.wire import SERVICE_PRICING


class Charge(msgspec.Struct, frozen=True, gc=False):
    """The price of one message, and its conversation where statuses include it."""

    pricing: dict[str, Any]
    conversation: dict[str, Any] | None = None
    expires: int = 0


FREE = Charge(SERVICE_PRICING)


def pricing_object(category: str, kind: str) -> dict[str, Any]:
    """Return the pricing object of a status."""
    return {"billable": kind == "regular", "pricing_model": "PMP", "type": kind, "category": category}


def charge_message(
    number: Number, person: str, template: StoredTemplate | None, wamid: str, now: float, *, service_billed: bool
) -> Charge:
    """Return what this message costs to this person now."""
    free_until = number.free_entry(person, now)
    if free_until is None and template is None and not service_billed and not number.reports_conversations:
        return FREE
    pricing, expires = _pricing(number, person, template, now, service_billed), now + WINDOW_SECONDS
    if free_until is not None:
        pricing, expires = pricing_object("referral_conversion", "free_entry_point"), free_until
    elif not number.reports_conversations:
        return Charge(pricing)
    conversation = {"id": hashlib.md5(wamid.encode(), usedforsecurity=False).hexdigest()}
    return Charge(pricing, {**conversation, "origin": {"type": pricing["category"]}}, int(expires))


def _pricing(
    number: Number, person: str, template: StoredTemplate | None, now: float, service_billed: bool
) -> dict[str, Any]:
    if template is None:
        return pricing_object("service", "regular") if service_billed else SERVICE_PRICING
    category = template.category.lower()
    free = category == "utility" and not service_billed and number.window_open(person, now)
    return pricing_object(category, "free_customer_service" if free else "regular")


def conversation_of(charge: Charge, label: str) -> dict[str, Any] | None:
    """Return the conversation object of a status; only `sent` has the expiration."""
    if charge.conversation is None or label != "sent":
        return charge.conversation
    return {
        "id": charge.conversation["id"],
        "expiration_timestamp": str(charge.expires),
        "origin": charge.conversation["origin"],
    }
