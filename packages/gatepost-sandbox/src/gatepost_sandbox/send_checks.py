"""Why a valid message is refused now, or fails after it was accepted."""

from typing import Any

from gatepost_sandbox.errors import OUTSIDE_WINDOW, UNDELIVERABLE, Refusal, invalid, status_error
from gatepost_sandbox.messages import Send
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.people import Character, Person
from gatepost_sandbox.stored_objects import StoredTemplate

_MAINTENANCE = Refusal(131057, details="The phone number is being moved to a higher throughput.")
_OUTSIDE = Refusal(131047, details=OUTSIDE_WINDOW)
_RESTRICTED = Refusal(368, details="This number may not open conversations for a while.")
_TIER_REACHED = "The number has opened conversations with as many people in 24 hours as its limit allows."


def check_sendable(number: Number, send: Send, now: float) -> Refusal | None:
    """Return why this number cannot send this now, or None."""
    if number.closed is not None:
        return number.closed
    if now < number.maintenance_until:
        return _MAINTENANCE
    if number.checks_openings and not number.window_open(send.to, now):
        refusal = _check_opening(number, send, now)
        if refusal is not None:
            return refusal
    if (
        send.context is None
        or number.limits.unknown_context != "refuse"
        or number.recent_messages.knows(send.context, now)
    ):
        return None
    return invalid("context.message_id", "is not a message of the last 30 days")


def _check_opening(number: Number, send: Send, now: float) -> Refusal | None:
    """Return why the number may not write to a person outside of the 24-hour window, or None."""
    if number.limits.window == "sync" and send.type != "template":
        return _OUTSIDE
    if number.restricted:
        return _RESTRICTED
    tier = number.limits.tier
    if tier is not None and not number.opened.may_open(send.to, now, tier):
        return Refusal(number.limits.tier_code, details=_TIER_REACHED)
    return None


def find_failure(
    person: Person | None,
    character: Character,
    number: Number,
    send: Send,
    template: StoredTemplate | None,
    now: float,
) -> dict[str, Any] | None:
    """Return the error of a message that was accepted and cannot arrive, or None."""
    limits = number.limits
    stranger = send.user_id is not None and person is None  # an unknown user id
    if stranger or not character.reachable:
        return status_error(131026, UNDELIVERABLE)
    if template is None and limits.window in (True, "async") and not number.window_open(send.to, now):
        return status_error(131047, OUTSIDE_WINDOW)
    if send.identity_hash is not None and person is not None and person.identity_hash not in (None, send.identity_hash):
        return status_error(137000, "The identity of this person is not the one the business knows.")
    if send.type == "reaction" and not number.recent_messages.knows(send.content["message_id"], now):
        return status_error(131009, "There is no message of the last 30 days to react to.")
    if template is not None and template.category == "MARKETING" and send.to in number.stopped:
        return status_error(131050, "This person has stopped marketing messages from this business.")
    if (
        send.context is not None
        and limits.unknown_context == "fail"
        and not number.recent_messages.knows(send.context, now)
    ):
        return status_error(131009, "There is no message of the last 30 days to answer to.")
    return None


def take_marketing(number: Number, send: Send, template: StoredTemplate | None, now: float) -> dict[str, Any] | None:
    """Count a message that can arrive; return the error of a marketing template that is one too many, or None."""
    most = number.limits.marketing
    if most is None or template is None or template.category != "MARKETING":
        return None
    if number.recent_marketing.take(send.to, now, most):
        return None
    return status_error(131049, "This message was not delivered to maintain healthy ecosystem engagement.")
