"""What a person sees of a message: text, media, buttons and so on, in one shape for all networks and types.

Contents come from strangers: whatever does not have the expected form is left out or shown as unsupported.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from gatepost_sandbox.chats.state import ChatMessage
from gatepost_sandbox.chats.template_view import template_view

View = dict[str, Any]
MEDIA = ("image", "video", "audio", "document", "sticker")


class StoredFile(Protocol):
    """A file of a chat."""

    @property
    def mime_type(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def filename(self) -> str | None: ...


FindFile = Callable[[str], StoredFile | None]


def view_of(message: ChatMessage, *, official: bool, find_file: FindFile) -> View:
    """Return what the person sees of a message; nothing of a deleted one."""
    if message.deleted:
        return {}
    content = message.content
    try:
        if not official:
            return _qr_view(message, content, find_file)
        if message.template is not None:
            return template_view(
                content, message.template, lambda kind, holder: _media(kind, holder, message, find_file)
            )
        return _official_view(message, content, find_file)
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        RecursionError,
    ):  # of a raw message, which nobody checked
        return {"unsupported": True}


def _official_view(message: ChatMessage, content: Any, find_file: FindFile) -> View:
    kind = message.type
    if kind == "text":
        return {"text": str(content["body"])}
    if kind in MEDIA:
        return _given(text=content.get("caption"), media=_media(kind, content, message, find_file))
    if kind == "location":
        return {"location": location_view(content)}
    if kind == "contacts":
        return {"contacts": [_card(card) for card in content]}
    if kind == "button":
        return {"text": content["text"], "reply": {"id": content["payload"], "title": content["text"]}}
    if kind == "order":
        return {"order": _order(content, content["product_items"], "product_retailer_id", "item_price")}
    if kind == "interactive" and message.from_person:
        return _answer(content)
    if kind == "interactive":
        return _interactive(message, content, find_file)
    return {"unsupported": True}


def _answer(content: dict[str, Any]) -> View:
    """Return a tap on a button or row, or a form that was filled in."""
    inside = content[content["type"]]
    if content["type"] == "nfm_reply":
        answers = inside["response_json"]
        return {"text": inside.get("body", ""), "form": msgspec.json.decode(answers)}
    return {
        "text": inside["title"],
        "reply": _given(**{key: inside.get(key) for key in ("id", "title", "description")}),
    }


def _interactive(message: ChatMessage, content: dict[str, Any], find_file: FindFile) -> View:
    sort, action = content["type"], content["action"]
    shown = _frame(message, content, find_file)
    if sort == "list":
        sections = [_section(section, "rows", _row) for section in action["sections"]]
        return shown | {"list": {"button": action["button"], "sections": sections}}
    if sort in ("product", "product_list"):
        return shown | {"products": products_view(action)}
    if sort == "carousel":
        cards = sorted(action["cards"], key=lambda card: int(card["card_index"]))
        return shown | {"cards": [_card_view(message, card, find_file) for card in cards]}
    return shown | {"buttons": _buttons(sort, action)}


def _card_view(message: ChatMessage, card: dict[str, Any], find_file: FindFile) -> View:
    sort = "button" if "buttons" in card["action"] else "cta_url"
    return _frame(message, card, find_file) | {"buttons": _buttons(sort, card["action"])}


def _frame(message: ChatMessage, content: dict[str, Any], find_file: FindFile) -> View:
    """Return header, body and footer."""
    header = content.get("header")
    shown: View = {}
    if header is not None and header["type"] == "text":
        shown["header"] = {"text": header["text"]}
    elif header is not None:
        shown["header"] = {"media": _media(header["type"], header[header["type"]], message, find_file)}
    texts = _given(text=(content.get("body") or {}).get("text"), footer=(content.get("footer") or {}).get("text"))
    return shown | texts


# Type of an interactive message: kind of its button, and its title unless the business gives one.
_BUTTONS = {
    "cta_url": ("url", "Open"),
    "flow": ("flow", "Open form"),
    "catalog_message": ("catalog", "View catalog"),
    "location_request_message": ("request_location", "Send location"),
    "address_message": ("address", "Provide address"),
    "voice_call": ("call", "Call"),
    "request_contact_info": ("request_contact", "Share contact"),
}


def _buttons(sort: str, action: dict[str, Any]) -> list[dict[str, Any]]:
    if "buttons" in action:
        replies = [button.get("reply") or button["quick_reply"] for button in action["buttons"]]
        return [{"id": reply["id"], "title": reply["title"], "kind": "reply"} for reply in replies]
    kind, title = _BUTTONS.get(sort, ("other", "Continue"))
    details = action.get("parameters") or {}
    title = details.get("display_text") or details.get("flow_cta") or title
    value = web_url(details.get("url")) or details.get("flow_id") or details.get("flow_name")
    value = value or details.get("thumbnail_product_retailer_id")
    return [_given(id=sort, title=title, kind=kind, value=value)]


def _qr_view(message: ChatMessage, content: dict[str, Any], find_file: FindFile) -> View:
    kind = message.type
    if kind == "text":
        return {"text": content["body"]}
    if kind in MEDIA:
        holder = {**content, "id": content["media"]["handle"]}
        return _given(text=content.get("caption") or None, media=_media(kind, holder, message, find_file))
    if kind == "location":
        return {"location": location_view(content["location"])}
    if kind == "contacts":
        return {"contacts": [_card(card) for card in content["contacts"]]}
    if kind == "poll":
        poll = content["poll"]
        selectable = len(poll["options"]) if poll.get("multiple") else 1
        shown = {"name": poll["question"], "options": poll["options"], "selectable": selectable}
        return {"poll": {**shown, "votes": list(message.votes)}}
    if kind in ("button_reply", "list_reply"):
        return {"text": content["reply"]["title"], "reply": content["reply"]}
    if kind == "order":
        return {"order": _order(content["order"], content["order"]["items"], "retailer_id", "price")}
    return {"call": content["call"]} if kind == "call" else {"unsupported": True}


def _media(kind: str, holder: dict[str, Any], message: ChatMessage, find_file: FindFile) -> dict[str, Any]:
    file_id = holder.get("id")
    stored = None if file_id is None else find_file(str(file_id))
    filename = holder.get("filename") or (stored.filename if stored is not None else None)
    shown = {
        "kind": "video" if kind == "gif" else kind,
        "url": None if stored is None else f"/control/files/{message.number}/{file_id}",
        "link": web_url(holder.get("link")),
        "mime_type": stored.mime_type if stored is not None else holder.get("mime_type"),
        "filename": filename or None,
        "size": stored.size if stored is not None else None,
        "voice": bool(holder.get("voice")),
    }
    return {**shown, "animated": True} if holder.get("animated") else shown


def location_view(content: dict[str, Any]) -> dict[str, Any]:
    """Return a place."""
    place = {"latitude": float(content["latitude"]), "longitude": float(content["longitude"])}
    return {**place, "name": content.get("name") or None, "address": content.get("address") or None}


def products_view(action: dict[str, Any]) -> dict[str, Any]:
    """Return the products of a message, by section."""
    if "sections" in action:
        sections = [_section(section, "product_items", _product) for section in action["sections"]]
        sections = [{"title": section["title"], "items": section["product_items"]} for section in sections]
    else:
        sections = [{"title": "", "items": [_product(action)]}]
    return {"catalog_id": action.get("catalog_id"), "sections": sections}


def web_url(value: Any) -> str | None:
    """Return a web address; None for anything else, such as a script."""
    return value if isinstance(value, str) and value.lower().startswith(("http://", "https://")) else None


def _section(section: dict[str, Any], name: str, show: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    return {"title": section.get("title") or "", name: [show(item) for item in section[name]]}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return _given(id=row["id"], title=row["title"], description=row.get("description"))


def _product(item: dict[str, Any]) -> dict[str, Any]:
    return {"id": item["product_retailer_id"]}


def _card(card: dict[str, Any]) -> dict[str, Any]:
    phones = [phone.get("phone") or phone.get("wa_id") for phone in card.get("phones") or ()]
    emails = [email["email"] for email in card.get("emails") or ()]
    organization = (card.get("org") or {}).get("company")
    return {
        "name": card["name"]["formatted_name"],
        "phones": [phone for phone in phones if phone],
        "emails": emails,
        "organization": organization or None,
    }


def _order(order: dict[str, Any], items: Iterable[dict[str, Any]], id_name: str, price_name: str) -> dict[str, Any]:
    lines = [
        {"id": item[id_name], "quantity": item["quantity"], "price": item[price_name], "currency": item["currency"]}
        for item in items
    ]
    return {"catalog_id": order.get("catalog_id") or None, "text": order.get("text") or "", "items": lines}


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
