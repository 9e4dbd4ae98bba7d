"""The format of a template message, without looking up the template."""

from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages.fields import (
    Refused,
    as_object,
    may_text,
    need,
    need_list,
    need_object,
    need_one_of,
    need_text,
    refuse,
)
from gatepost_sandbox.messages.media import MediaRef, read_ref
from gatepost_sandbox.messages.plain import check_location

FILES = ("image", "video", "document", "gif")
_INDEX_MAX = 4  # digits
PARTS = (
    "header",
    "body",
    "footer",
    "button",
    "carousel",
    "limited_time_offer",
    "order_status",
    "tap_target_configuration",
)
SUB_TYPES = ("quick_reply", "url", "copy_code", "flow", "catalog", "mpm", "voice_call", "order_details", "spm", "app")


def check_template(content: Any) -> tuple[MediaRef, ...]:
    """Check the fields of a template message."""
    holder = as_object(content, "template")
    need_text(holder, "name", "template", "template.name")
    need_text(need_object(holder, "language", "template"), "code", "template.language")
    if holder.get("components") in (None, []):
        return ()
    return check_components(holder, "template")


def check_components(holder: dict[str, Any], path: str) -> tuple[MediaRef, ...]:
    """Check each component of a message or of a card."""
    refs: tuple[MediaRef, ...] = ()
    for index, value in enumerate(need_list(holder, "components", path)):
        place = f"{path}.components[{index}]"
        component = as_object(value, place)
        kind = need_text(component, "type", place).lower()
        if kind not in PARTS:
            refuse(f"{place}.type", f"must be one of {', '.join(PARTS)}")
        if kind == "carousel":
            refs += check_cards(component, place)
        else:
            refs += _check_component(component, kind, place)
    return refs


def check_cards(component: dict[str, Any], path: str) -> tuple[MediaRef, ...]:
    """Check the cards of a carousel."""
    refs: tuple[MediaRef, ...] = ()
    for index, value in enumerate(need_list(component, "cards", path)):
        place = f"{path}.cards[{index}]"
        card = as_object(value, place)
        if not isinstance(need(card, "card_index", place), int):
            refuse(f"{place}.card_index", "must be a whole number")
        if card.get("components") not in (None, []):
            refs += check_components(card, place)
    return refs


def _check_component(component: dict[str, Any], kind: str, path: str) -> tuple[MediaRef, ...]:
    if kind == "button":
        component["sub_type"] = str(need(component, "sub_type", path)).lower()
        need_one_of(component, "sub_type", path, SUB_TYPES)
        if button_index(component) is None:
            refuse(f"{path}.index", "must be the place of the button, counted from 0")
    refs: tuple[MediaRef, ...] = ()
    if component.get("parameters") not in (None, []):
        for index, value in enumerate(need_list(component, "parameters", path)):
            place = f"{path}.parameters[{index}]"
            refs += _check_parameter(as_object(value, place), place)
    return refs


def button_index(component: dict[str, Any]) -> int | None:
    """Return the index of the button of a component; the network accepts a number or its string."""
    index = str(component.get("index", ""))
    return int(index) if index.isascii() and index.isdigit() and len(index) <= _INDEX_MAX else None


def _check_parameter(parameter: dict[str, Any], path: str) -> tuple[MediaRef, ...]:
    kind = need_text(parameter, "type", path).lower()
    may_text(parameter, "parameter_name", path)
    if kind in FILES:
        return (read_ref(kind, need_object(parameter, kind, path), f"{path}.{kind}"),)
    if kind in ("text", "payload", "coupon_code"):
        _need_words(parameter, kind, path)
    elif kind in ("currency", "date_time"):
        need_text(need_object(parameter, kind, path), "fallback_value", f"{path}.{kind}")
    elif kind == "location":
        check_location(need_object(parameter, kind, path), f"{path}.location")
    elif kind in ("product", "action", "limited_time_offer"):
        need_object(parameter, kind, path)
    elif kind not in ("button", "carousel", "tap_target_configuration", "group_id"):
        raise Refused(Refusal(132012, details=f"Parameter '{path}.type' {kind[:64]!r} is unknown."))
    return ()


def _need_words(parameter: dict[str, Any], kind: str, path: str) -> None:
    limit = {"payload": "template.button.payload", "coupon_code": "template.button.copy_code"}.get(kind)
    need_text(parameter, kind, path, limit)
