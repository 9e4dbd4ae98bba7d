"""Carousels: cards with the same type of header and of buttons."""

from typing import Any

from gatepost_sandbox.messages.fields import (
    as_object,
    need,
    need_list,
    need_object,
    need_one_of,
    need_text,
    no_repeats,
    refuse,
)
from gatepost_sandbox.messages.interactive.choices import check_link_button
from gatepost_sandbox.messages.limits import CARDS_MIN, LIMITS
from gatepost_sandbox.messages.media import MediaRef, read_ref

_CARDS = "interactive.action.cards"
_LIMITS = "interactive.carousel.card"


def check_carousel(action: dict[str, Any]) -> tuple[MediaRef, ...]:
    """Check that there are two to ten cards."""
    cards = need_list(action, "cards", "interactive.action", "interactive.carousel.cards")
    if len(cards) < CARDS_MIN:
        refuse(_CARDS, f"must have at least {CARDS_MIN} items")
    holders = [as_object(card, f"{_CARDS}[{index}]") for index, card in enumerate(cards)]
    refs = tuple(_check_card(card, f"{_CARDS}[{index}]") for index, card in enumerate(holders))
    if sorted(card["card_index"] for card in holders) != list(range(len(holders))):
        refuse(f"{_CARDS}.card_index", "must count the cards from 0")
    if len({ref.kind for ref in refs}) > 1:
        refuse(f"{_CARDS}.header", "must be of the same type on every card")
    if len({"buttons" in card["action"] for card in holders}) > 1:
        refuse(f"{_CARDS}.action", "must be of the same sort on every card")
    return refs


def _check_card(card: dict[str, Any], path: str) -> MediaRef:
    if not isinstance(need(card, "card_index", path), int):
        refuse(f"{path}.card_index", "must be a whole number")
    header = need_object(card, "header", path)
    kind = need_one_of(header, "type", f"{path}.header", ("image", "video"))
    _check_card_body(card, path)
    _check_card_action(need_object(card, "action", path), f"{path}.action")
    return read_ref(kind, need_object(header, kind, f"{path}.header"), f"{path}.header.{kind}")


def _check_card_body(card: dict[str, Any], path: str) -> None:
    if card.get("body") is None:
        return
    text = need_text(need_object(card, "body", path), "text", f"{path}.body", f"{_LIMITS}.body")
    if text.count("\n") > LIMITS[f"{_LIMITS}.line_breaks"]:
        refuse(f"{path}.body.text", f"must have at most {LIMITS[f'{_LIMITS}.line_breaks']} line breaks")


def _check_card_action(action: dict[str, Any], path: str) -> None:
    if "buttons" not in action:
        check_link_button(action, path, f"{_LIMITS}.display_text")
        return
    ids = []
    for index, button in enumerate(need_list(action, "buttons", path, "interactive.buttons")):
        place = f"{path}.buttons[{index}]"
        reply = need_object(as_object(button, place), "quick_reply", place)
        need_text(reply, "title", f"{place}.quick_reply", f"{_LIMITS}.title")
        ids.append(need_text(reply, "id", f"{place}.quick_reply", f"{_LIMITS}.id"))
    no_repeats(ids, f"{path}.buttons.quick_reply.id")
