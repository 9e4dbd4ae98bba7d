"""The rules of special templates: authentication codes, limited-time offers, carousels."""

from typing import Any

from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import place, read_choice, read_flag, read_list, read_number, read_object, read_text
from gatepost.model.template.buttons import check_buttons
from gatepost.model.template.parts import CARD_HEADERS, check_body, check_header
from gatepost.model.template.values import buttons_of, find_component, word

_OTP = ("COPY_CODE", "ONE_TAP", "ZERO_TAP")
_CARD = ("HEADER", "BODY", "BUTTONS")


def check_code_body(path: str, value: Any) -> dict[str, Any]:
    """Check the body of an authentication template. The network writes its text."""
    body = read_object(path, value, ("type",), ("add_security_recommendation",))
    if "add_security_recommendation" in body:
        read_flag(place(path, "add_security_recommendation"), body["add_security_recommendation"])
    return body


def check_code_footer(path: str, value: Any) -> dict[str, Any]:
    """Check the footer of an authentication template: how long the code is valid."""
    footer = read_object(path, value, ("type", "code_expiration_minutes"))
    read_number(place(path, "code_expiration_minutes"), footer["code_expiration_minutes"], "template.code_expiration")
    return footer


def check_code_buttons(path: str, buttons: list[dict[str, Any]]) -> None:
    """Check that an authentication template has one button, for the code."""
    if [button["type"] for button in buttons] != ["OTP"]:
        raise invalid_field(path, "must hold exactly one button of type OTP in an authentication template")
    (button,) = buttons
    kind = read_choice(f"{path}[0].otp_type", word(button["otp_type"]), _OTP)
    if kind != "COPY_CODE" and not button.get("supported_apps") and not button.get("package_name"):
        raise invalid_field(f"{path}[0].supported_apps", f"is required for {kind}: package_name and signature_hash")
    if kind == "ZERO_TAP" and button.get("zero_tap_terms_accepted") is not True:
        raise invalid_field(f"{path}[0].zero_tap_terms_accepted", "must be true for ZERO_TAP")


def check_offer(path: str, value: Any) -> dict[str, Any]:
    """Check a limited-time offer: its heading, and whether it expires."""
    row = read_object(path, value, ("type", "limited_time_offer"))
    where = place(path, "limited_time_offer")
    offer = read_object(where, row["limited_time_offer"], ("text",), ("has_expiration",))
    read_text(place(where, "text"), offer["text"], "template.offer_text")
    if "has_expiration" in offer:
        read_flag(place(where, "has_expiration"), offer["has_expiration"])
    return row


def check_carousel(path: str, value: Any, *, named: bool) -> dict[str, Any]:
    """Check a carousel. All its cards must have the same header format and buttons."""
    row = read_object(path, value, ("type", "cards"))
    cards = [
        _check_card(f"{path}.cards[{i}]", card, named=named)
        for i, card in enumerate(read_list(place(path, "cards"), row["cards"], "template.cards"))
    ]
    makes = [_make(card["components"]) for card in cards]
    for i, make in enumerate(makes):
        if make != makes[0]:
            raise invalid_field(f"{path}.cards[{i}]", "must have the same header format and buttons as the first card")
    return row | {"cards": cards}


def _check_card(path: str, value: Any, *, named: bool) -> dict[str, Any]:
    card = read_object(path, value, ("components",))
    if not isinstance(card["components"], list):
        raise invalid_field(place(path, "components"), "must be a list of components")
    components = []
    for i, component in enumerate(card["components"]):
        where = f"{path}.components[{i}]"
        kind = word(component.get("type")) if isinstance(component, dict) else ""
        components.append(_check_card_part(where, kind, component, named=named))
    for kind in ("HEADER", "BUTTONS"):
        if find_component(components, kind) is None:
            raise invalid_field(place(path, "components"), f"needs a component of type {kind}")
    return {"components": components}


def _check_card_part(path: str, kind: str, value: Any, *, named: bool) -> dict[str, Any]:
    read_choice(place(path, "type"), kind, _CARD)
    if kind == "HEADER":
        part = check_header(path, value, CARD_HEADERS, named=named)
    elif kind == "BODY":
        part = check_body(path, value, "template.card_body", named=named)
    else:
        part = read_object(path, value, ("type", "buttons"))
        part["buttons"] = check_buttons(place(path, "buttons"), part["buttons"], "template.card_buttons")
    return part | {"type": kind}


def _make(components: list[dict[str, Any]]) -> tuple[Any, ...]:
    header = find_component(components, "HEADER") or {}
    return header.get("format"), tuple(button["type"] for button in buttons_of(components))
