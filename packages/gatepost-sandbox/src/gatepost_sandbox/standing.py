"""How a number stands with the network: its tier and throughput, which rise by the rule, its quality, status and name.

write first to half a tier's people in 7 days ─► rise_after ─► next tier          (unless the quality is RED)
no limit, and 100,000 people in 24 hours ─► maintenance (131057) ─► 1,000 messages per second

Every change is told by a webhook of its own field.
"""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from gatepost_sandbox.numbers import HIGH_THROUGHPUT, Number
from gatepost_sandbox.reach import next_tier, tier_name
from gatepost_sandbox.switchboard import Switchboard

NUMBER_NEWS, CAPABILITY_NEWS = "phone_number_quality_update", "business_capability_update"
ACCOUNT_NEWS, NAME_NEWS, ALERT_NEWS = "account_update", "phone_number_name_update", "account_alerts"
RESTRICTION_SECONDS = 3 * 86_400
_NUMBERS_PER_ACCOUNT = 25
_TOLD_LIMITS = 25  # the version since which the news no longer tells the old and the new limit


def note_opening(board: Switchboard, number: Number, person: str, now: float) -> None:
    """The number wrote to a person outside of any window: count it, and see whether that earned something."""
    number.reach.note(person, now)
    consider_rise(board, number, now)
    limits = number.limits
    eager = limits.tier == 0 and limits.throughput is not None and limits.throughput < HIGH_THROUGHPUT
    if eager and _in_favour(number) and number.reach.in_day(now) >= limits.upgrade_users:
        upgrade(board, number, limits.upgrade_seconds)


def consider_rise(board: Switchboard, number: Number, now: float) -> None:
    """Plan the next tier for when it is due, if this one is half used."""
    if not number.rising and _earned(number, now):
        number.rising = True
        board.clock.at(now + number.limits.rise_after, partial(_rise, board, number))


def _earned(number: Number, now: float) -> bool:
    tier = number.limits.tier
    if not tier or next_tier(tier, number.limits.ladder) is None:
        return False
    return _in_favour(number) and 2 * number.reach.in_week(now) >= tier


def _in_favour(number: Number) -> bool:
    return number.spec.quality_rating != "RED"


def _rise(board: Switchboard, number: Number) -> None:
    number.rising = False
    step = next_tier(number.limits.tier or 0, number.limits.ladder)
    if step is not None and _earned(number, board.clock.now()):
        set_tier(board, number, step)


def set_tier(board: Switchboard, number: Number, tier: int) -> None:
    """Give a number another tier."""
    old = number.limits.tier
    _retune(board, number, limits={**number.spec.limits, "tier": tier})
    rises = old is not None and (tier == 0 or (old != 0 and tier > old))
    value: dict[str, Any] = {"event": "UPGRADE" if rises or old is None else "DOWNGRADE"}
    if _version(number) < _TOLD_LIMITS:
        value |= {"old_limit": tier_name(old), "current_limit": tier_name(tier)}
    _tell_number(board, number, value)
    capability = {
        "max_daily_conversations_per_business": tier or -1,
        "max_phone_numbers_per_waba": _NUMBERS_PER_ACCOUNT,
    }
    board.announce(number.spec.waba_id, CAPABILITY_NEWS, capability)


def upgrade(board: Switchboard, number: Number, seconds: float) -> None:
    """Raise a number's throughput; until that is done, sends are refused with 131057."""
    now = board.clock.now()
    if now < number.maintenance_until:
        return
    number.maintenance_until = now + seconds
    board.clock.at(number.maintenance_until, partial(_finish_upgrade, board, number))


def _finish_upgrade(board: Switchboard, number: Number) -> None:
    _retune(board, number, limits={**number.spec.limits, "throughput": HIGH_THROUGHPUT})
    _tell_number(board, number, {"event": "THROUGHPUT_UPGRADE"})


def rate(board: Switchboard, number: Number, rating: str, event: str | None = None) -> None:
    """Think better or worse of a number; the network tells of it when a number is flagged, or no longer is."""
    was = number.spec.quality_rating
    _retune(board, number, quality_rating=rating)
    if event is None and (was == "RED") != (rating == "RED"):
        event = "FLAGGED" if rating == "RED" else "UNFLAGGED"
    if event is not None:
        _tell_number(board, number, {"event": event})
    consider_rise(board, number, board.clock.now())


def set_status(board: Switchboard, number: Number, status: str) -> None:
    """Change a number's status, with the news that goes with it."""
    was = number.spec.status
    _retune(board, number, status=status)
    if "FLAGGED" in (was, status) and was != status:
        _tell_number(board, number, {"event": "FLAGGED" if status == "FLAGGED" else "UNFLAGGED"})
    if "BANNED" in (was, status) and was != status:
        state = "DISABLE" if status == "BANNED" else "REINSTATE"
        ban = {"waba_ban_state": state, "waba_ban_date": _day(board.clock.now())}
        board.announce(number.spec.waba_id, ACCOUNT_NEWS, {"event": "DISABLED_UPDATE", "ban_info": ban})
    if status == "RESTRICTED":
        until = int(board.clock.now()) + RESTRICTION_SECONDS
        limits = [{"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING", "expiration": until}]
        board.announce(number.spec.waba_id, ACCOUNT_NEWS, {"event": "ACCOUNT_RESTRICTION", "restriction_info": limits})


def rename(board: Switchboard, number: Number, name: str, decision: str, reason: str | None) -> None:
    """Decide about a number's new display name."""
    if decision == "APPROVED":
        _retune(board, number, name=name)
    value = {
        "display_phone_number": number.spec.phone,
        "decision": decision,
        "requested_verified_name": name,
        "rejection_reason": reason,
    }
    board.announce(number.spec.waba_id, NAME_NEWS, value)


def alert(board: Switchboard, number: Number, info: dict[str, Any]) -> None:
    """Warn an account about one of its numbers."""
    value = {"entity_type": "PHONE_NUMBER", "entity_id": number.id, "alert_info": info}
    board.announce(number.spec.waba_id, ALERT_NEWS, value)


def _retune(board: Switchboard, number: Number, **changes: Any) -> None:
    number.tune(msgspec.structs.replace(number.spec, **changes), board.settings)


def _tell_number(board: Switchboard, number: Number, value: dict[str, Any]) -> None:
    tier = tier_name(number.limits.tier)
    told = {"display_phone_number": number.spec.phone, **value, "max_daily_conversations_per_business": tier}
    board.announce(number.spec.waba_id, NUMBER_NEWS, told)


def _version(number: Number) -> int:
    return int(number.callbacks.version[1:].partition(".")[0])


def _day(now: float) -> str:
    moment = datetime.fromtimestamp(now, UTC)
    return f"{moment:%B} {moment.day}, {moment.year}"
