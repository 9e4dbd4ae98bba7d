"""A network's news in our own words: pure translation, with the one rule of what a number's news means."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from gatepost.model import times
from gatepost.model.number_status import TROUBLE, connection_of
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
from gatepost.store.network_updates import ContactReport, LabelReport, NetworkReports, NumberReport, with_time
from gatepost.store.templates import TemplateReport

_TELL_ALL = ("user_preferences", "error")  # any other news of a number may come of more than it tells
_MARKETING = "marketing_messages"
_OPTED_OUT = {"stop": True, "resume": False, "signup": False}


def translate_update(updates: Sequence[Update], now: datetime) -> NetworkReports:
    """All news of a batch, in the order that it came."""
    return NetworkReports(
        persons=[_person(u) for u in updates if isinstance(u, ContactUpdate)]
        + [about for u in updates if isinstance(u, NumberUpdate) for about in _preferences(u, now)],
        labels=[_label(u) for u in updates if isinstance(u, LabelUpdate)],
        templates=[_template(u) for u in updates if isinstance(u, TemplateUpdate)],
        stale_templates=any(u.changed for u in updates if isinstance(u, TemplateUpdate)),
        numbers=[_number(u, now) for u in updates if isinstance(u, NumberUpdate) and u.event != "user_preferences"]
        + [
            _trouble(u, now)
            for u in updates
            if isinstance(u, StatusUpdate | NumberUpdate) and u.reaction is ErrorReaction.BREAK
        ][-1:],
        stale_number=any(u.event not in _TELL_ALL for u in updates if isinstance(u, NumberUpdate)),
    )


def _person(news: ContactUpdate) -> ContactReport:
    return ContactReport(news.person, news.at, news.old_phone)


def _preferences(news: NumberUpdate, now: datetime) -> list[ContactReport]:
    """People who want no more marketing, or want it again."""
    if news.event != "user_preferences":
        return []
    return [
        ContactReport(msgspec.convert(one["person"], type=Person), now, opted_out=_OPTED_OUT[one["value"]])
        for one in news.details.get("preferences") or ()
        if one.get("person") and one.get("category", _MARKETING) == _MARKETING and one.get("value") in _OPTED_OUT
    ]


def _label(news: LabelUpdate) -> LabelReport:
    color = str(news.color) if news.color is not None else None
    return LabelReport(news.network_id, news.action, news.name, color, news.person)


def _template(news: TemplateUpdate) -> TemplateReport:
    return TemplateReport(
        news.network_id, news.name, news.language, news.status, news.reason, news.quality, news.category
    )


def _number(news: NumberUpdate, now: datetime) -> NumberReport:
    facts: dict[str, Any] = {"quality": news.quality, "status": news.status, "last_event": news.event}
    limits: dict[str, Any] = {"throughput": news.throughput, "tier": news.tier}
    if news.tier is not None:
        facts |= {"tier_from": "network", "tier_since": times.show(now)}
    status = "BANNED" if news.banned else "CONNECTED" if news.banned is False else news.status
    connection, reason = connection_of(status) or (None, None)
    return NumberReport(with_time(_given(facts), now), _given(limits), connection, reason)


def _trouble(told: StatusUpdate | NumberUpdate, now: datetime) -> NumberReport:
    """The number itself is in trouble: a message was taken and failed for it, as more of them would, or it was told."""
    if isinstance(told, StatusUpdate):
        because, at = told.error.advice if told.error else None, told.at
    else:
        because, at = told.details.get("advice"), now
    return NumberReport({TROUBLE: {"because": because or "The number is in trouble", "at": times.show(at)}})


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
