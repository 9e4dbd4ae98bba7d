"""A network's news in our own words: pure translation, with the one rule of what a number's news means."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from gatepost.model import times
from gatepost.model.person import Person
from gatepost.model.standing import TROUBLE, connection_of
from gatepost.networks.base import ContactNews, LabelNews, NumberNews, Reaction, Status, TemplateNews, Update
from gatepost.store.news import AboutLabel, AboutNumber, AboutPerson, News, stamped
from gatepost.store.templates import TemplateChange

_TELL_ALL = ("user_preferences", "error")  # any other news of a number may come of more than it tells
_MARKETING = "marketing_messages"
_OPTED_OUT = {"stop": True, "resume": False, "signup": False}


def read_news(updates: Sequence[Update], now: datetime) -> News:
    """All news of a batch, in the order that it came."""
    return News(
        persons=[_person(u) for u in updates if isinstance(u, ContactNews)]
        + [about for u in updates if isinstance(u, NumberNews) for about in _preferences(u, now)],
        labels=[_label(u) for u in updates if isinstance(u, LabelNews)],
        templates=[_template(u) for u in updates if isinstance(u, TemplateNews)],
        stale_templates=any(u.changed for u in updates if isinstance(u, TemplateNews)),
        numbers=[_number(u, now) for u in updates if isinstance(u, NumberNews) and u.event != "user_preferences"]
        + [_trouble(u, now) for u in updates if isinstance(u, Status | NumberNews) and u.reaction is Reaction.BREAK][
            -1:
        ],
        stale_number=any(u.event not in _TELL_ALL for u in updates if isinstance(u, NumberNews)),
    )


def _person(news: ContactNews) -> AboutPerson:
    return AboutPerson(news.person, news.at, news.old_phone)


def _preferences(news: NumberNews, now: datetime) -> list[AboutPerson]:
    """People who want no more marketing, or want it again."""
    if news.event != "user_preferences":
        return []
    return [
        AboutPerson(msgspec.convert(one["person"], type=Person), now, opted_out=_OPTED_OUT[one["value"]])
        for one in news.details.get("preferences") or ()
        if one.get("person") and one.get("category", _MARKETING) == _MARKETING and one.get("value") in _OPTED_OUT
    ]


def _label(news: LabelNews) -> AboutLabel:
    color = str(news.color) if news.color is not None else None
    return AboutLabel(news.network_id, news.action, news.name, color, news.person)


def _template(news: TemplateNews) -> TemplateChange:
    return TemplateChange(
        news.network_id, news.name, news.language, news.status, news.reason, news.quality, news.category
    )


def _number(news: NumberNews, now: datetime) -> AboutNumber:
    facts: dict[str, Any] = {"quality": news.quality, "status": news.status, "last_event": news.event}
    limits: dict[str, Any] = {"throughput": news.throughput, "tier": news.tier}
    if news.tier is not None:
        facts |= {"tier_from": "network", "tier_since": times.show(now)}
    status = "BANNED" if news.banned else "CONNECTED" if news.banned is False else news.status
    connection, reason = connection_of(status) or (None, None)
    return AboutNumber(stamped(_given(facts), now), _given(limits), connection, reason)


def _trouble(told: Status | NumberNews, now: datetime) -> AboutNumber:
    """The number itself is in trouble: a message was taken and failed for it, as more of them would, or it was told."""
    if isinstance(told, Status):
        because, at = told.error.advice if told.error else None, told.at
    else:
        because, at = told.details.get("advice"), now
    return AboutNumber({TROUBLE: {"because": because or "The number is in trouble", "at": times.show(at)}})


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
