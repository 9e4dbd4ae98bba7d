"""What a message costs, and the conversation it belongs to: the part of a status that is about money."""

import hashlib
from typing import Any

import msgspec

from gatepost_sandbox.numbers import WINDOW_SECONDS, Number
from gatepost_sandbox.shelves import StoredTemplate
from gatepost_sandbox.wire import SERVICE_PRICING


class Terms(msgspec.Struct, frozen=True, gc=False):
    """The price of one message; the conversation only where statuses tell of it."""

    pricing: dict[str, Any]
    conversation: dict[str, Any] | None = None
    expires: int = 0


FREE = Terms(SERVICE_PRICING)


def price(category: str, kind: str) -> dict[str, Any]:
    """The pricing object of a status."""
    return {"billable": kind == "regular", "pricing_model": "PMP", "type": kind, "category": category}


def agree_terms(
    number: Number, person: str, template: StoredTemplate | None, wamid: str, now: float, *, service_billed: bool
) -> Terms:
    """What this message costs to this person now."""
    free_until = number.free_entry(person, now)
    if free_until is None and template is None and not service_billed and not number.tells_conversations:
        return FREE
    pricing, expires = _pricing(number, person, template, now, service_billed), now + WINDOW_SECONDS
    if free_until is not None:
        pricing, expires = price("referral_conversion", "free_entry_point"), free_until
    elif not number.tells_conversations:
        return Terms(pricing)
    conversation = {"id": hashlib.md5(wamid.encode(), usedforsecurity=False).hexdigest()}
    return Terms(pricing, {**conversation, "origin": {"type": pricing["category"]}}, int(expires))


def _pricing(
    number: Number, person: str, template: StoredTemplate | None, now: float, service_billed: bool
) -> dict[str, Any]:
    if template is None:
        return price("service", "regular") if service_billed else SERVICE_PRICING
    category = template.category.lower()
    free = category == "utility" and not service_billed and number.window_open(person, now)
    return price(category, "free_customer_service" if free else "regular")


def conversation_of(terms: Terms, label: str) -> dict[str, Any] | None:
    """The conversation as a status shows it: only `sent` tells when it ends."""
    if terms.conversation is None or label != "sent":
        return terms.conversation
    return {
        "id": terms.conversation["id"],
        "expiration_timestamp": str(terms.expires),
        "origin": terms.conversation["origin"],
    }
