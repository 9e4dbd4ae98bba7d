"""The status of a number: tier and throughput, which rise by rules, and quality, status and name.

write first to half a tier's people in 7 days ─► rise_after ─► next tier          (unless the quality is RED)
no limit, and 100,000 people in 24 hours ─► maintenance (131057) ─► 1,000 messages per second

Every change is reported by a webhook with its own field.
"""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from gatepost_sandbox.conversation_tier import next_tier, tier_name
from gatepost_sandbox.network_state import NetworkState
from gatepost_sandbox.numbers import HIGH_THROUGHPUT, Number

NUMBER_NEWS, CAPABILITY_NEWS = "phone_number_quality_update", "business_capability_update"
ACCOUNT_NEWS, NAME_NEWS, ALERT_NEWS = "account_update", "phone_number_name_update", "account_alerts"
RESTRICTION_SECONDS = 3 * 86_400
_NUMBERS_PER_ACCOUNT = 25
_TOLD_LIMITS = 25  # since this version the webhook no longer has the old and the new limit


def note_opening(network: NetworkState, number: Number, person: str, now: float) -> None:
    """Count a conversation that the number opened, and raise its tier or throughput if due."""
    number.opened.note(person, now)
    plan_tier_rise(network, number, now)
    limits = number.limits
    eager = limits.tier == 0 and limits.throughput is not None and limits.throughput < HIGH_THROUGHPUT
    if eager and _in_favour(number) and number.opened.in_day(now) >= limits.upgrade_users:
        upgrade(network, number, limits.upgrade_seconds)


def plan_tier_rise(network: NetworkState, number: Number, now: float) -> None:
    """Schedule the next tier, if half of the present one is used."""
    if not number.rising and _earned(number, now):
        number.rising = True
        network.clock.at(now + number.limits.rise_after, partial(_rise, network, number))


def _earned(number: Number, now: float) -> bool:
    tier = number.limits.tier
    if not tier or next_tier(tier, number.limits.ladder) is None:
        return False
    return _in_favour(number) and 2 * number.opened.in_week(now) >= tier


def _in_favour(number: Number) -> bool:
    return number.spec.quality_rating != "RED"


def _rise(network: NetworkState, number: Number) -> None:
    number.rising = False
    step = next_tier(number.limits.tier or 0, number.limits.ladder)
    if step is not None and _earned(number, network.clock.now()):
        set_tier(network, number, step)


def set_tier(network: NetworkState, number: Number, tier: int) -> None:
    """Set the tier of a number."""
    old = number.limits.tier
    _retune(network, number, limits={**number.spec.limits, "tier": tier})
    rises = old is not None and (tier == 0 or (old != 0 and tier > old))
    value: dict[str, Any] = {"event": "UPGRADE" if rises or old is None else "DOWNGRADE"}
    if _version(number) < _TOLD_LIMITS:
        value |= {"old_limit": tier_name(old), "current_limit": tier_name(tier)}
    _report_number(network, number, value)
    capability = {
        "max_daily_conversations_per_business": tier or -1,
        "max_phone_numbers_per_waba": _NUMBERS_PER_ACCOUNT,
    }
    network.announce(number.spec.waba_id, CAPABILITY_NEWS, capability)


def upgrade(network: NetworkState, number: Number, seconds: float) -> None:
    """Raise a number's throughput after a maintenance time in which sends are refused with 131057."""
    now = network.clock.now()
    if now < number.maintenance_until:
        return
    number.maintenance_until = now + seconds
    network.clock.at(number.maintenance_until, partial(_finish_upgrade, network, number))


def _finish_upgrade(network: NetworkState, number: Number) -> None:
    _retune(network, number, limits={**number.spec.limits, "throughput": HIGH_THROUGHPUT})
    _report_number(network, number, {"event": "THROUGHPUT_UPGRADE"})


def set_quality(network: NetworkState, number: Number, rating: str, event: str | None = None) -> None:
    """Set a number's quality; a webhook reports when the number is flagged, or no longer is."""
    was = number.spec.quality_rating
    _retune(network, number, quality_rating=rating)
    if event is None and (was == "RED") != (rating == "RED"):
        event = "FLAGGED" if rating == "RED" else "UNFLAGGED"
    if event is not None:
        _report_number(network, number, {"event": event})
    plan_tier_rise(network, number, network.clock.now())


def lower_quality(network: NetworkState, number: Number) -> None:
    """Lower a number's quality by one step, because a person reported it."""
    set_quality(network, number, "RED" if number.spec.quality_rating in ("YELLOW", "RED") else "YELLOW")


def set_status(network: NetworkState, number: Number, status: str) -> None:
    """Change a number's status and send the webhooks for it."""
    was = number.spec.status
    _retune(network, number, status=status)
    if "FLAGGED" in (was, status) and was != status:
        _report_number(network, number, {"event": "FLAGGED" if status == "FLAGGED" else "UNFLAGGED"})
    if "BANNED" in (was, status) and was != status:
        state = "DISABLE" if status == "BANNED" else "REINSTATE"
        ban = {"waba_ban_state": state, "waba_ban_date": _day(network.clock.now())}
        network.announce(number.spec.waba_id, ACCOUNT_NEWS, {"event": "DISABLED_UPDATE", "ban_info": ban})
    if status == "RESTRICTED":
        until = int(network.clock.now()) + RESTRICTION_SECONDS
        limits = [{"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": until}]
        network.announce(
            number.spec.waba_id, ACCOUNT_NEWS, {"event": "ACCOUNT_RESTRICTION", "restriction_info": limits}
        )


def rename(network: NetworkState, number: Number, name: str, decision: str, reason: str | None) -> None:
    """Decide about a number's new display name."""
    if decision == "APPROVED":
        _retune(network, number, name=name)
    value = {
        "display_phone_number": number.spec.phone,
        "decision": decision,
        "requested_verified_name": name,
        "rejection_reason": reason,
    }
    network.announce(number.spec.waba_id, NAME_NEWS, value)


def alert(network: NetworkState, number: Number, info: dict[str, Any]) -> None:
    """Send an alert about a number."""
    value = {"entity_type": "PHONE_NUMBER", "entity_id": number.id, "alert_info": info}
    network.announce(number.spec.waba_id, ALERT_NEWS, value)


def _retune(network: NetworkState, number: Number, **changes: Any) -> None:
    number.configure(msgspec.structs.replace(number.spec, **changes), network.settings)


def _report_number(network: NetworkState, number: Number, value: dict[str, Any]) -> None:
    tier = tier_name(number.limits.tier)
    update = {"display_phone_number": number.spec.phone, **value, "max_daily_conversations_per_business": tier}
    network.announce(number.spec.waba_id, NUMBER_NEWS, update)


def _version(number: Number) -> int:
    return int(number.callbacks.version[1:].partition(".")[0])


def _day(now: float) -> str:
    moment = datetime.fromtimestamp(now, UTC)
    return f"{moment:%B} {moment.day}, {moment.year}"
