"""Converts the content of incoming messages into the neutral form.

the network's sub-object ─► IncomingContent(type, content, media, target)

A reader returns None if a required field is missing; the message is then stored as unsupported, with the original. A
message of an unknown type is stored unchanged.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from gatepost.model.order import LINES_MAX
from gatepost.networks.base import RemoteMedia
from gatepost.networks.cloud import json_values
from gatepost.networks.cloud.json_values import (
    as_decimal,
    as_dict,
    as_id,
    as_list,
    as_number,
    as_phone,
    as_str,
    hex_digest,
    limit_depth,
    without_none,
)
from gatepost.networks.cloud.statuses import parse_error
from gatepost.networks.json_cleanup import clean_json

_TYPE_MAX = 64
_FILENAME_MAX = 256
# The fields that every message has.
_ENVELOPE = frozenset({"from", "from_user_id", "to", "to_user_id", "id", "timestamp", "type", "context", "referral"})


class IncomingContent(msgspec.Struct, frozen=True):
    """The content of a message."""

    type: str
    content: dict[str, Any]
    media: RemoteMedia | None = None
    target: str | None = None


def parse_content(message: dict[str, Any], raw: bytes = b"") -> IncomingContent:
    """Parse the content of a message. `raw` is the original JSON, for numbers that must stay exact."""
    type_ = message["type"]
    if not isinstance(type_, str) or not type_:
        raise TypeError("a message must have a type")
    found = message.get(type_)
    if type_ == "order" and raw:
        found = as_dict(json_values.parse_exactly(raw)).get("order")
    if type_ == "system" and "identity" in message:
        found = {"identity": message["identity"], **as_dict(found)}
    if type_ in ("unsupported", "unknown") or (found is None and message.get("errors")):
        return _unsupported(type_, message)
    reader = _READERS.get(type_)
    if reader is None:
        return IncomingContent(type_[:_TYPE_MAX], _as_it_came(message, found))
    return reader(type_, found) or _unreadable(type_, found)


def _as_it_came(message: dict[str, Any], found: Any) -> dict[str, Any]:
    """Return the content of a message of an unknown type: its sub-object, or the fields in its place."""
    said = found if isinstance(found, dict) else {name: v for name, v in message.items() if name not in _ENVELOPE}
    return as_dict(limit_depth(said))


def _unsupported(type_: str, message: dict[str, Any]) -> IncomingContent:
    error = parse_error(message.get("errors"))
    reported = as_str(as_dict(message.get("unsupported")).get("type"), _TYPE_MAX)
    other = type_[:_TYPE_MAX] if type_ not in ("unsupported", "unknown") else None
    about = without_none(
        type=reported or other,
        code=error.code if error else None,
        title=error.title if error else None,
        details=error.details if error else None,
    )
    return IncomingContent("unsupported", {"unsupported": about})


def _unreadable(type_: str, found: Any) -> IncomingContent:
    """Return a message that does not have the expected form, with the original for people to read."""
    about = {"type": type_[:_TYPE_MAX], "title": "The message could not be read"}
    return IncomingContent("unsupported", {"unsupported": about | without_none(original=limit_depth(found) or None)})


# -- one reader per type -----------------------------------------------------------------------------------------------


def _text(type_: str, found: Any) -> IncomingContent | None:
    body = as_dict(found).get("body")
    return IncomingContent("text", {"body": as_str(body) or ""}) if isinstance(body, str) else None


def _file(type_: str, found: Any) -> IncomingContent | None:
    file = as_dict(found)
    handle = as_id(file.get("id"))
    if handle is None:
        return None
    media = RemoteMedia(
        handle=handle,
        mime_type=as_str(file.get("mime_type"), 256) or "application/octet-stream",
        sha256=hex_digest(file.get("sha256")),
        filename=as_str(file.get("filename"), _FILENAME_MAX),
        url=as_str(file.get("url"), 4096),
    )
    content = without_none(
        media=without_none(mime_type=media.mime_type, sha256=media.sha256),
        caption=as_str(file.get("caption")),
        filename=media.filename,
        voice=True if file.get("voice") is True else None,
        animated=True if file.get("animated") is True else None,
    )
    return IncomingContent(type_, content, media)


def _location(type_: str, found: Any) -> IncomingContent | None:
    place = as_dict(found)
    latitude, longitude = as_number(place.get("latitude")), as_number(place.get("longitude"))
    if latitude is None or longitude is None:
        return None
    words = {name: as_str(place.get(name), 4096) for name in ("name", "address", "url")}
    return IncomingContent(type_, {"location": without_none(latitude=latitude, longitude=longitude, **words)})


_CARD_LISTS = {
    "phones": ("phone", "type", "wa_id"),
    "emails": ("email", "type"),
    "urls": ("url", "type"),
    "addresses": ("street", "city", "state", "zip", "country", "country_code", "type"),
}
_CARD_NAMES = ("formatted_name", "first_name", "last_name", "middle_name", "prefix", "suffix")


def _contacts(type_: str, found: Any) -> IncomingContent | None:
    cards = [_card(card) for card in as_list(found) if isinstance(card, dict)]
    return IncomingContent(type_, {"contacts": cards}) if cards else None


def _card(card: dict[str, Any]) -> dict[str, Any]:
    name = _texts(card.get("name"), _CARD_NAMES)
    name.setdefault("formatted_name", " ".join(name.values()))
    lists = {part: _card_list(card.get(part), fields) for part, fields in _CARD_LISTS.items()}
    return without_none(
        name=name,
        phones=lists.pop("phones"),
        **{part: found for part, found in lists.items() if found},
        org=_texts(card.get("org"), ("company", "department", "title")) or None,
        birthday=as_str(card.get("birthday"), 64),
    )


def _card_list(found: Any, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    return [one for one in (_texts(one, fields) for one in as_list(found)) if one]


def _texts(found: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return without_none(**{name: as_str(as_dict(found).get(name), 4096) for name in names})


def _reaction(type_: str, found: Any) -> IncomingContent | None:
    target = as_id(as_dict(found).get("message_id"))
    return (
        IncomingContent(type_, {"reaction": {"emoji": as_str(found.get("emoji"), 64) or ""}}, target=target)
        if target
        else None
    )


def _quick_reply(type_: str, found: Any) -> IncomingContent | None:
    return _reply("button_reply", as_dict(found).get("payload"), as_dict(found).get("text"))


def _interactive(type_: str, found: Any) -> IncomingContent | None:
    kind = as_dict(found).get("type")
    answer = as_dict(as_dict(found).get(kind)) if isinstance(kind, str) else {}
    if kind in ("button_reply", "list_reply"):
        return _reply(kind, answer.get("id"), answer.get("title"), as_str(answer.get("description"), 4096))
    if kind == "nfm_reply":
        reply = {"name": as_str(answer.get("name"), 256) or "", "body": as_str(answer.get("body")) or ""}
        return IncomingContent("flow_reply", {"reply": reply | {"response": _response(answer.get("response_json"))}})
    return IncomingContent(type_, limit_depth(found)) if isinstance(found, dict) else None


def _reply(type_: str, id_: Any, title: Any, description: str | None = None) -> IncomingContent | None:
    if not isinstance(id_, str) and not isinstance(title, str):
        return None
    reply = {"id": as_str(id_, 4096) or "", "title": as_str(title, 4096) or ""} | without_none(description=description)
    return IncomingContent(type_, {"reply": reply})


def _response(written: Any) -> Any:
    """Parse JSON within JSON. Its escapes were not visible to the first cleaning."""
    if not isinstance(written, str):
        return limit_depth(written)
    try:
        return limit_depth(json_values.parse(clean_json(written.encode())))
    except (ValueError, RecursionError):
        return written


def _order(type_: str, found: Any) -> IncomingContent | None:
    """Parse a cart. If one line is invalid, so is the order: a part of an order would be another order."""
    order = as_dict(found)
    listed = as_list(order.get("product_items"))
    lines = [_order_line(line) for line in listed] if len(listed) <= LINES_MAX else []
    if not lines or None in lines:
        return None
    about = {"catalog_id": as_id(order.get("catalog_id")) or "", "text": as_str(order.get("text")) or ""}
    return IncomingContent(type_, {"order": about | {"items": lines}})


def _order_line(found: Any) -> dict[str, Any] | None:
    line = as_dict(found)
    retailer_id, quantity = as_id(line.get("product_retailer_id")), as_phone(line.get("quantity"))
    price, currency = as_decimal(line.get("item_price")), as_str(line.get("currency"), 8)
    if not (retailer_id and quantity and len(quantity) <= 9 and price and currency):
        return None
    return {"retailer_id": retailer_id, "quantity": int(quantity), "price": price, "currency": currency}


SYSTEM_KINDS = {
    "user_changed_number": "number_changed",
    "customer_changed_number": "number_changed",
    "user_changed_user_id": "user_id_changed",
    "customer_identity_changed": "identity_changed",
}


def _system(type_: str, found: Any) -> IncomingContent | None:
    system = as_dict(found)
    kind = as_str(system.get("type"), _TYPE_MAX)
    if kind is None:
        return None
    about = without_none(
        kind=SYSTEM_KINDS.get(kind, kind),
        body=as_str(system.get("body")) or "",
        phone=as_phone(system.get("wa_id")) or as_phone(system.get("new_wa_id")),
        user_id=as_id(system.get("user_id")),
        identity=_identity(system.get("identity")),
    )
    return IncomingContent(type_, {"system": about})


def _identity(found: Any) -> dict[str, Any] | None:
    """Return a person's new identity; older versions of the API have only its hash."""
    given = {"hash": as_str(found, 256)} if isinstance(found, str) and found else as_dict(found)
    return limit_depth(given) or None


def _edit(type_: str, found: Any) -> IncomingContent | None:
    target, message = as_id(as_dict(found).get("original_message_id")), as_dict(found).get("message")
    if target is None or not isinstance(message, dict) or message.get("type") in ("edit", "revoke", "order"):
        return None
    try:
        new = parse_content(message)
    except (KeyError, TypeError):
        return None
    return IncomingContent(type_, {"edit": {"type": new.type, "content": new.content}}, new.media, target)


def _revoke(type_: str, found: Any) -> IncomingContent | None:
    target = as_id(as_dict(found).get("original_message_id"))
    return IncomingContent(type_, {}, target=target) if target else None


_READERS: dict[str, Callable[[str, Any], IncomingContent | None]] = {
    "text": _text,
    **dict.fromkeys(("image", "video", "audio", "document", "sticker"), _file),
    "location": _location,
    "contacts": _contacts,
    "reaction": _reaction,
    "button": _quick_reply,
    "interactive": _interactive,
    "order": _order,
    "system": _system,
    "edit": _edit,
    "revoke": _revoke,
}
