"""What a person sent, in the shapes that both kinds of channel share.

the network's sub-object ─► Read(type, content, media, target)

A reader returns None when the sub-object lacks what its shape promises; the message is then kept as one that could not
be read, with what came. A type without a reader is kept as it came.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from gatepost.model.order import LINES_MAX
from gatepost.networks.base import RemoteMedia
from gatepost.networks.cloud import values
from gatepost.networks.cloud.statuses import read_error
from gatepost.networks.cloud.values import decimal, hex_digest, items, kept, name_of, number, phone, present, some, text
from gatepost.networks.json_cleanup import cleaned

_TYPE_MOST = 64
_FILENAME_MOST = 256
# What every message has, whatever it says.
_ENVELOPE = frozenset({"from", "from_user_id", "to", "to_user_id", "id", "timestamp", "type", "context", "referral"})


class ReadContent(msgspec.Struct, frozen=True):
    """What a message says."""

    type: str
    content: dict[str, Any]
    media: RemoteMedia | None = None
    target: str | None = None


def read_content(message: dict[str, Any], raw: bytes = b"") -> ReadContent:
    """Whatever a message says. `raw` is the message as it came, for numbers that must stay exact."""
    type_ = message["type"]
    if not isinstance(type_, str) or not type_:
        raise TypeError("a message must have a type")
    found = message.get(type_)
    if type_ == "order" and raw:
        found = some(values.parse_exactly(raw)).get("order")
    if type_ in ("unsupported", "unknown") or (found is None and message.get("errors")):
        return _unsupported(type_, message)
    reader = _READERS.get(type_)
    if reader is None:
        return ReadContent(type_[:_TYPE_MOST], _as_it_came(message, found))
    return reader(type_, found) or _unreadable(type_, found)


def _as_it_came(message: dict[str, Any], found: Any) -> dict[str, Any]:
    """All that a message of a new type says: its sub-object, or whatever stands in its place."""
    said = found if isinstance(found, dict) else {name: v for name, v in message.items() if name not in _ENVELOPE}
    return some(kept(said))


def _unsupported(type_: str, message: dict[str, Any]) -> ReadContent:
    error = read_error(message.get("errors"))
    told = text(some(message.get("unsupported")).get("type"), _TYPE_MOST)
    other = type_[:_TYPE_MOST] if type_ not in ("unsupported", "unknown") else None
    about = present(
        type=told or other,
        code=error.code if error else None,
        title=error.title if error else None,
        details=error.details if error else None,
    )
    return ReadContent("unsupported", {"unsupported": about})


def _unreadable(type_: str, found: Any) -> ReadContent:
    """A shape that is not the one we know: people may still make sense of what came."""
    about = {"type": type_[:_TYPE_MOST], "title": "The message could not be read"}
    return ReadContent("unsupported", {"unsupported": about | present(original=kept(found) or None)})


# -- one reader per type -----------------------------------------------------------------------------------------------


def _text(type_: str, found: Any) -> ReadContent | None:
    body = some(found).get("body")
    return ReadContent("text", {"body": text(body) or ""}) if isinstance(body, str) else None


def _file(type_: str, found: Any) -> ReadContent | None:
    file = some(found)
    handle = name_of(file.get("id"))
    if handle is None:
        return None
    media = RemoteMedia(
        handle=handle,
        mime_type=text(file.get("mime_type"), 256) or "application/octet-stream",
        sha256=hex_digest(file.get("sha256")),
        filename=text(file.get("filename"), _FILENAME_MOST),
        url=text(file.get("url"), 4096),
    )
    content = present(
        media=present(mime_type=media.mime_type, sha256=media.sha256),
        caption=text(file.get("caption")),
        filename=media.filename,
        voice=True if file.get("voice") is True else None,
        animated=True if file.get("animated") is True else None,
    )
    return ReadContent(type_, content, media)


def _location(type_: str, found: Any) -> ReadContent | None:
    place = some(found)
    latitude, longitude = number(place.get("latitude")), number(place.get("longitude"))
    if latitude is None or longitude is None:
        return None
    words = {name: text(place.get(name), 4096) for name in ("name", "address", "url")}
    return ReadContent(type_, {"location": present(latitude=latitude, longitude=longitude, **words)})


_CARD_LISTS = {
    "phones": ("phone", "type", "wa_id"),
    "emails": ("email", "type"),
    "urls": ("url", "type"),
    "addresses": ("street", "city", "state", "zip", "country", "country_code", "type"),
}
_CARD_NAMES = ("formatted_name", "first_name", "last_name", "middle_name", "prefix", "suffix")


def _contacts(type_: str, found: Any) -> ReadContent | None:
    cards = [_card(card) for card in items(found) if isinstance(card, dict)]
    return ReadContent(type_, {"contacts": cards}) if cards else None


def _card(card: dict[str, Any]) -> dict[str, Any]:
    name = _texts(card.get("name"), _CARD_NAMES)
    name.setdefault("formatted_name", " ".join(name.values()))
    lists = {part: _card_list(card.get(part), fields) for part, fields in _CARD_LISTS.items()}
    return present(
        name=name,
        phones=lists.pop("phones"),
        **{part: found for part, found in lists.items() if found},
        org=_texts(card.get("org"), ("company", "department", "title")) or None,
        birthday=text(card.get("birthday"), 64),
    )


def _card_list(found: Any, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    return [one for one in (_texts(one, fields) for one in items(found)) if one]


def _texts(found: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return present(**{name: text(some(found).get(name), 4096) for name in names})


def _reaction(type_: str, found: Any) -> ReadContent | None:
    target = name_of(some(found).get("message_id"))
    return (
        ReadContent(type_, {"reaction": {"emoji": text(found.get("emoji"), 64) or ""}}, target=target)
        if target
        else None
    )


def _quick_reply(type_: str, found: Any) -> ReadContent | None:
    return _reply("button_reply", some(found).get("payload"), some(found).get("text"))


def _interactive(type_: str, found: Any) -> ReadContent | None:
    kind = some(found).get("type")
    answer = some(some(found).get(kind)) if isinstance(kind, str) else {}
    if kind in ("button_reply", "list_reply"):
        return _reply(kind, answer.get("id"), answer.get("title"), text(answer.get("description"), 4096))
    if kind == "nfm_reply":
        reply = {"name": text(answer.get("name"), 256) or "", "body": text(answer.get("body")) or ""}
        return ReadContent("flow_reply", {"reply": reply | {"response": _response(answer.get("response_json"))}})
    return ReadContent(type_, kept(found)) if isinstance(found, dict) else None


def _reply(type_: str, id_: Any, title: Any, description: str | None = None) -> ReadContent | None:
    if not isinstance(id_, str) and not isinstance(title, str):
        return None
    reply = {"id": text(id_, 4096) or "", "title": text(title, 4096) or ""} | present(description=description)
    return ReadContent(type_, {"reply": reply})


def _response(written: Any) -> Any:
    """JSON within JSON: its own escapes hide from the first mending."""
    if not isinstance(written, str):
        return kept(written)
    try:
        return kept(values.parse(cleaned(written.encode())))
    except (ValueError, RecursionError):
        return written


def _order(type_: str, found: Any) -> ReadContent | None:
    """A cart. Half an order would be another order: one line that makes no sense spoils it."""
    order = some(found)
    listed = items(order.get("product_items"))
    lines = [_order_line(line) for line in listed] if len(listed) <= LINES_MAX else []
    if not lines or None in lines:
        return None
    about = {"catalog_id": name_of(order.get("catalog_id")) or "", "text": text(order.get("text")) or ""}
    return ReadContent(type_, {"order": about | {"items": lines}})


def _order_line(found: Any) -> dict[str, Any] | None:
    line = some(found)
    retailer_id, quantity = name_of(line.get("product_retailer_id")), phone(line.get("quantity"))
    price, currency = decimal(line.get("item_price")), text(line.get("currency"), 8)
    if not (retailer_id and quantity and len(quantity) <= 9 and price and currency):
        return None
    return {"retailer_id": retailer_id, "quantity": int(quantity), "price": price, "currency": currency}


SYSTEM_KINDS = {
    "user_changed_number": "number_changed",
    "customer_changed_number": "number_changed",
    "user_changed_user_id": "user_id_changed",
    "customer_identity_changed": "identity_changed",
}


def _system(type_: str, found: Any) -> ReadContent | None:
    system = some(found)
    kind = text(system.get("type"), _TYPE_MOST)
    if kind is None:
        return None
    about = present(
        kind=SYSTEM_KINDS.get(kind, kind),
        body=text(system.get("body")) or "",
        phone=phone(system.get("wa_id")) or phone(system.get("new_wa_id")),
        user_id=name_of(system.get("user_id")),
        identity=kept(some(system.get("identity"))) or None,
    )
    return ReadContent(type_, {"system": about})


def _edit(type_: str, found: Any) -> ReadContent | None:
    target, message = name_of(some(found).get("original_message_id")), some(found).get("message")
    if target is None or not isinstance(message, dict) or message.get("type") in ("edit", "revoke", "order"):
        return None
    try:
        new = read_content(message)
    except (KeyError, TypeError):
        return None
    return ReadContent(type_, {"edit": {"type": new.type, "content": new.content}}, new.media, target)


def _revoke(type_: str, found: Any) -> ReadContent | None:
    target = name_of(some(found).get("original_message_id"))
    return ReadContent(type_, {}, target=target) if target else None


_READERS: dict[str, Callable[[str, Any], ReadContent | None]] = {
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
