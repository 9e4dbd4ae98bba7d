"""Translates a network's updates about contacts, labels, templates and the number into reports for the store."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from gatepost.model import times
from gatepost.model.number_status import NEW_TROUBLE, TROUBLE, connection_of
from gatepost.model.person import Person
from gatepost.networks.base import (
    ContactUpdate,
    ErrorReaction,
    LabelUpdate,
    NumberUpdate,
    StatusUpdate,
    TemplateUpdate,
    Update,
)
from gatepost.store.network_updates import NetworkReports, NumberReport, with_time

_COMPLETE = (
    "user_preferences",
    "error",
)  # complete updates; after any other one the number is read again
_TROUBLES = {ErrorReaction.BREAK: TROUBLE, ErrorReaction.HOLD_NEW: NEW_TROUBLE}
_MARKETING = "marketing_messages"
_OPTED_OUT = {"stop": True, "resume": False, "signup": False}


def translate_update(updates: Sequence[Update], now: datetime) -> NetworkReports:
    """Return the reports of a batch, in order."""
    return NetworkReports(
        persons=[u for u in updates if isinstance(u, ContactUpdate)]
        + [about for u in updates if isinstance(u, NumberUpdate) for about in _preferences(u, now)],
        labels=[u for u in updates if isinstance(u, LabelUpdate)],
        templates=[u for u in updates if isinstance(u, TemplateUpdate)],
        stale_templates=any(u.changed for u in updates if isinstance(u, TemplateUpdate)),
        numbers=[_number(u, now) for u in updates if isinstance(u, NumberUpdate) and u.event != "user_preferences"]
        + _troubles(updates, now),
        stale_number=any(u.event not in _COMPLETE for u in updates if isinstance(u, NumberUpdate)),
    )


def _preferences(update: NumberUpdate, now: datetime) -> list[ContactUpdate]:
    """Return the people who opted out of marketing, or in again."""
    if update.event != "user_preferences":
        return []
    return [
        ContactUpdate(
            msgspec.convert(one["person"], type=Person), _stated_at(one, now), opted_out=_OPTED_OUT[one["value"]]
        )
        for one in update.details.get("preferences") or ()
        if one.get("person") and one.get("category", _MARKETING) == _MARKETING and one.get("value") in _OPTED_OUT
    ]


def _stated_at(preference: Mapping[str, Any], now: datetime) -> datetime:
    """Return when a preference was set. The last report may not be the newest: some arrive late, or twice."""
    seconds = preference.get("timestamp")
    if not isinstance(seconds, int | float) or not 0 < seconds < now.timestamp():
        return now
    return datetime.fromtimestamp(seconds, UTC)


def _number(update: NumberUpdate, now: datetime) -> NumberReport:
    facts: dict[str, Any] = {"quality": update.quality, "status": update.status, "last_event": update.event}
    limits: dict[str, Any] = {"throughput": update.throughput, "tier": update.tier}
    if update.tier is not None:
        facts |= {"tier_from": "network", "tier_since": times.format_time(now)}
    status = "BANNED" if update.banned else "CONNECTED" if update.banned is False else update.status
    connection, reason = connection_of(status) or (None, None)
    return NumberReport(with_time(_given(facts), now), _given(limits), connection, reason)


def _troubles(updates: Sequence[Update], now: datetime) -> list[NumberReport]:
    """Report problems of the number itself: the network reported them, or they made accepted messages fail."""
    found = [u for u in updates if isinstance(u, StatusUpdate | NumberUpdate) and u.reaction in _TROUBLES]
    last = {u.reaction: u for u in found if not _is_over(u, now)}
    return [_trouble(update, _TROUBLES[reaction], now) for reaction, update in last.items() if reaction is not None]


def _is_over(update: StatusUpdate | NumberUpdate, now: datetime) -> bool:
    """Whether a restriction has ended: its report may arrive days later."""
    return isinstance(update, NumberUpdate) and update.until is not None and update.until <= now


def _trouble(update: StatusUpdate | NumberUpdate, name: str, now: datetime) -> NumberReport:
    if isinstance(update, StatusUpdate):
        because, at = update.error.advice if update.error else None, min(update.at, now)
    else:
        because, at = update.details.get("advice"), now
    return NumberReport({name: {"because": because or "The number has a problem", "at": times.format_time(at)}})


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
