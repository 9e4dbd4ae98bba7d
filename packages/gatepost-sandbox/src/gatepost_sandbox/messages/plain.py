"""Simple types: text, location, reaction and contacts."""

import re
from typing import Any

from gatepost_sandbox.errors import invalid, missing, parameter
from gatepost_sandbox.messages.fields import (
    Refused,
    as_list,
    as_object,
    may_text,
    need,
    need_object,
    need_text,
    only_keys,
    refuse,
)
from gatepost_sandbox.messages.limits import LIMITS

_TEXT_MAX = LIMITS["text.body"]
_BIRTHDAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_NAME = ("formatted_name", "first_name", "last_name", "middle_name", "prefix", "suffix")
_CARD = ("name", "phones", "emails", "urls", "addresses", "org", "birthday")
# The lists of a contact card: the allowed fields of each item, and the required one.
_LISTS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "phones": (("phone", "type", "wa_id", "user_id"), None),
    "emails": (("email", "type"), "email"),
    "urls": (("url", "type"), "url"),
    "addresses": (("street", "city", "state", "zip", "country", "country_code", "type"), None),
}
_EMOJI_MAX = 32  # code points: families and flags consist of many


def check_text(content: Any) -> tuple[()]:
    """Check a text message's own fields."""
    if not isinstance(content, dict):
        raise Refused(parameter("Param text must be a JSON object."))
    for name in content:
        if name not in ("body", "preview_url"):
            raise Refused(parameter(f'Unexpected key "{name}" on param "text".'))
    body = content.get("body")
    if body is None:
        raise Refused(missing("text.body"))
    if not isinstance(body, str):
        raise Refused(parameter("Param text['body'] must be a string."))
    if len(body) > _TEXT_MAX:
        raise Refused(parameter(f"Param text['body'] must be at most {_TEXT_MAX} characters long."))
    if not body.strip():
        raise Refused(invalid("text.body", "must not be empty"))
    if not isinstance(content.get("preview_url", False), bool):
        raise Refused(invalid("text.preview_url", "must be a boolean"))
    return ()


def check_location(content: Any, path: str = "location") -> tuple[()]:
    """Check a place on earth."""
    holder = as_object(content, path)
    only_keys(holder, ("latitude", "longitude", "name", "address"), path)
    for name, most in (("latitude", 90.0), ("longitude", 180.0)):
        degrees = _number(need(holder, name, path))
        if degrees is None or not -most <= degrees <= most:
            refuse(f"{path}.{name}", f"must be a number from -{most:g} to {most:g}")
    may_text(holder, "name", path)
    may_text(holder, "address", path)
    return ()


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def check_reaction(content: Any) -> tuple[()]:
    """Check a reaction; an empty emoji removes it."""
    holder = as_object(content, "reaction")
    only_keys(holder, ("message_id", "emoji"), "reaction")
    need_text(holder, "message_id", "reaction")
    emoji = need(holder, "emoji", "reaction")
    if not isinstance(emoji, str):
        raise Refused(parameter("Param reaction.emoji must be a string."))
    if emoji and (len(emoji) > _EMOJI_MAX or max(emoji) < "\u00a9" or any(letter.isalpha() for letter in emoji)):
        refuse("reaction.emoji", "must be one emoji")
    return ()


def check_contacts(content: Any) -> tuple[()]:
    """Check contact cards."""
    cards = as_list(content, "contacts")
    if len(cards) > LIMITS["contacts"]:
        refuse("contacts", f"must have at most {LIMITS['contacts']} items")
    for index, card in enumerate(cards):
        _check_card(as_object(card, f"contacts[{index}]"), f"contacts[{index}]")
    return ()


def _check_card(card: dict[str, Any], path: str) -> None:
    only_keys(card, _CARD, path)
    name = need_object(card, "name", path)
    only_keys(name, _NAME, f"{path}.name")
    need_text(name, "formatted_name", f"{path}.name")
    for part in _NAME[1:]:
        may_text(name, part, f"{path}.name")
    for list_name in _LISTS:
        if card.get(list_name) is not None:
            _check_items(card[list_name], list_name, f"{path}.{list_name}")
    if card.get("org") is not None:
        only_keys(as_object(card["org"], f"{path}.org"), ("company", "department", "title"), f"{path}.org")
    birthday = may_text(card, "birthday", path)
    if birthday is not None and not _BIRTHDAY.match(birthday):
        refuse(f"{path}.birthday", "must be written YYYY-MM-DD")


def _check_items(value: Any, list_name: str, path: str) -> None:
    allowed, required = _LISTS[list_name]
    if not isinstance(value, list):
        raise Refused(parameter(f"Param {path} must be an array."))
    for index, item in enumerate(value):
        place = f"{path}[{index}]"
        holder = as_object(item, place)
        only_keys(holder, allowed, place)
        if required is not None:
            need_text(holder, required, place)
        for name in allowed:
            may_text(holder, name, place)
