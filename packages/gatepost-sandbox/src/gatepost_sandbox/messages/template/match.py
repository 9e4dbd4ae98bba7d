"""Matching a message with its template: status first, then every part with variables."""

from typing import Any

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages.fields import Refused
from gatepost_sandbox.messages.limits import LIMITS
from gatepost_sandbox.messages.template.buttons import check_buttons
from gatepost_sandbox.messages.template.variables import check_words, fill, find_parameters, mismatch
from gatepost_sandbox.stored_objects import StoredTemplate

_UNSENDABLE = {"PAUSED": 132015, "DISABLED": 132016}

Parts = dict[str, dict[str, Any]]


def check_fit(content: dict[str, Any], template: StoredTemplate | None) -> Refusal | None:
    """Return why a message cannot go out with this template, or None."""
    name, language = content["name"], content["language"]["code"]
    if template is None:
        return Refusal(132001, details=f"template name ({name}) does not exist in {language}")
    status = template.status.upper()
    if status in _UNSENDABLE:
        return Refusal(_UNSENDABLE[status], details=f"template name ({name}) in {language} is {status.lower()}")
    if status != "APPROVED":
        return Refusal(132001, details=f"template name ({name}) in {language} is not approved: it is {status}")
    try:
        named = template.parameter_format.upper() == "NAMED"
        check_parts(template.components, content.get("components") or [], named=named)
    except Refused as refused:
        return refused.refusal
    return None


def check_parts(stored: list[dict[str, Any]], sent: list[dict[str, Any]], *, named: bool, card: bool = False) -> None:
    """Check every part of a template, or of a card, against the components in the message."""
    parts: Parts = {component["type"].lower(): component for component in stored}
    offer = "limited_time_offer" in parts
    body_limit = "template.body.card" if card else "template.body.limited_time_offer" if offer else "template.body"
    _check_header(parts.get("header", {}), find_parameters(sent, "header"), named=named)
    _check_text("body", parts.get("body", {}), find_parameters(sent, "body"), body_limit, named=named)
    check_buttons(parts.get("buttons", {}).get("buttons", []), sent)
    if offer:
        _check_offer(parts["limited_time_offer"], find_parameters(sent, "limited_time_offer"))
    _check_cards(parts.get("carousel"), [part for part in sent if part["type"].lower() == "carousel"], named=named)


def _check_header(header: dict[str, Any], parameters: list[dict[str, Any]], *, named: bool) -> None:
    wanted = str(header.get("format", "TEXT")).lower()
    if wanted == "text":
        _check_text("header", header, parameters, "template.header.text", named=named)
        return
    got = parameters[0]["type"].lower() if parameters else "unknown"
    if got != wanted:
        raise mismatch("header", wanted, got)
    if len(parameters) != 1:
        raise _count("header", len(parameters), 1)


def _check_text(where: str, part: dict[str, Any], parameters: list[dict[str, Any]], limit: str, *, named: bool) -> None:
    filled = check_words(where, str(part.get("text", "")), parameters, named=named)
    if len(filled) > LIMITS[limit]:
        details = f"{where}: the text with its parameters is longer than {LIMITS[limit]} characters"
        raise Refused(Refusal(132005, details=details))


def _check_offer(part: dict[str, Any], parameters: list[dict[str, Any]]) -> None:
    expires = part.get("limited_time_offer", {}).get("has_expiration", False)
    if expires and not parameters:
        raise _count("limited_time_offer", 0, 1)
    for parameter in parameters:
        if parameter["type"].lower() != "limited_time_offer":
            raise mismatch("limited_time_offer", "limited_time_offer", parameter["type"])
        if not isinstance(parameter["limited_time_offer"].get("expiration_time_ms"), int):
            raise mismatch("limited_time_offer", "expiration_time_ms as a whole number", "something else")


def _check_cards(stored: dict[str, Any] | None, sent: list[dict[str, Any]], *, named: bool) -> None:
    kept = stored.get("cards", []) if stored else []
    cards = sent[0]["cards"] if sent else []
    if len(cards) != len(kept):
        raise _count("carousel: cards", len(cards), len(kept))
    for place, card in enumerate(sorted(cards, key=lambda one: int(one["card_index"]))):
        if card["card_index"] != place:
            raise mismatch("carousel", f"a card with card_index {place}", str(card["card_index"]))
        check_parts(kept[place].get("components", []), card.get("components") or [], named=named, card=True)


def _count(where: str, got: int, wanted: int) -> Refused:
    details = f"{where}: number of params ({got}) does not match the expected number of params ({wanted})"
    return Refused(Refusal(132000, details=details))


def fill_in(content: dict[str, Any], template: StoredTemplate) -> str:
    """Check the body as the person reads it."""
    body = next((part for part in template.components if part["type"].lower() == "body"), {})
    return fill(str(body.get("text", "")), find_parameters(content.get("components") or [], "body"))
