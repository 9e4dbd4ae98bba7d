"""Converts neutral content into the JSON of the Cloud API.

    text        inserted unchanged, because most messages are texts
    the rest    content ─► writer of its type ─► (type on the network, sub-object)

Files are named by their ids on the network (`Outgoing.media`), or by link.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from gatepost.model.accepted import AcceptedId, Recipient
from gatepost.model.person import USER, is_phone
from gatepost.networks.base import AcceptedMessage, CannotCompose, Outgoing
from gatepost.networks.cloud import compose_template
from gatepost.networks.cloud.callback_data import pack

Content = dict[str, Any]
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def request_body(message: Outgoing) -> dict[str, Any]:
    """Return the JSON of one send."""
    type_, part = ("text", msgspec.Raw(message.content.encode())) if message.type == "text" else _part(message)
    body: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+" + message.phone if message.phone.isdigit() else message.phone.removeprefix(USER),
        "type": type_,
        type_: part,
        "biz_opaque_callback_data": pack(message.id, message.attempt),
    }
    if message.reply_to and message.type != "reaction":
        body["context"] = {"message_id": message.reply_to.network_id}
    return body


def accepted_fields(message: AcceptedMessage) -> dict[str, Any]:
    """Return the fields that the Cloud API adds to the response to a send."""
    return {
        "messaging_product": "whatsapp",
        "contacts": [_recipient(message.phone)],
        "messages": [AcceptedId(message.id, "accepted")],
    }


def _recipient(address: str) -> Recipient:
    if is_phone(address):
        return Recipient(address, address)
    user_id = address.removeprefix(USER)
    return Recipient(user_id, "", user_id)


def _part(message: Outgoing) -> tuple[str, Any]:
    writer = WRITERS.get(message.type)
    if writer is None:
        raise CannotCompose(f"there is no message of type {message.type} on this network")
    try:
        return writer(message, _decode(message.content))
    except (KeyError, TypeError, AttributeError, ValueError, msgspec.MsgspecError) as error:
        raise CannotCompose(f"{type(error).__name__}: {error}") from error


# -- plain types -------------------------------------------------------------------------------------------------------


def _file_ref(message: Outgoing, media: dict[str, str]) -> dict[str, str]:
    return {"id": message.media[media["id"]]} if "id" in media else {"link": media["link"]}


def _chosen(content: Content, *names: str) -> Content:
    return {name: content[name] for name in names if content.get(name) is not None}


def _file(message: Outgoing, content: Content) -> tuple[str, Content]:
    extras = _chosen(content, *_EXTRAS.get(message.type, ()))
    return message.type, _file_ref(message, content["media"]) | extras


_EXTRAS = {
    "image": ("caption",),
    "video": ("caption",),
    "document": ("caption", "filename"),
    "audio": ("voice",),
}


def _location(message: Outgoing, content: Content) -> tuple[str, Content]:
    place = content["location"]
    where = {"latitude": place["latitude"], "longitude": place["longitude"]}
    return "location", where | _chosen(place, "name", "address")


def _contacts(message: Outgoing, content: Content) -> tuple[str, list[Content]]:
    return "contacts", content["contacts"]


def _reaction(message: Outgoing, content: Content) -> tuple[str, Content]:
    if message.target is None:
        raise CannotCompose("a reaction needs the message that it is about")
    return "reaction", {"message_id": message.target.network_id, "emoji": content["reaction"]["emoji"]}


def _template(message: Outgoing, content: Content) -> tuple[str, Content]:
    return "template", compose_template.template_payload(content["template"], lambda media: _file_ref(message, media))


# -- interactive types -------------------------------------------------------------------------------------------------


def _interactive(message: Outgoing, content: Content, type_: str, action: Content) -> tuple[str, Content]:
    part: Content = {"type": type_}
    if content.get("header"):
        part["header"] = _header(message, content["header"])
    for name in ("body", "footer"):
        if content.get(name):
            part[name] = {"text": content[name]}
    return "interactive", part | {"action": action}


def _header(message: Outgoing, header: Content) -> Content:
    kind = header["type"]
    if kind == "text":
        return {"type": "text", "text": header["text"]}
    return {"type": kind, kind: _file_ref(message, header["media"]) | _chosen(header, "filename")}


def _buttons(message: Outgoing, content: Content) -> tuple[str, Content]:
    buttons = [{"type": "reply", "reply": _chosen(button, "id", "title")} for button in content["buttons"]]
    return _interactive(message, content, "button", {"buttons": buttons})


def _list(message: Outgoing, content: Content) -> tuple[str, Content]:
    sections = [
        _chosen(section, "title") | {"rows": [_chosen(row, "id", "title", "description") for row in section["rows"]]}
        for section in content["sections"]
    ]
    return _interactive(message, content, "list", {"button": content["button"], "sections": sections})


def _cta_url(message: Outgoing, content: Content) -> tuple[str, Content]:
    cta = content["cta"]
    action = {"name": "cta_url", "parameters": {"display_text": cta["text"], "url": cta["url"]}}
    return _interactive(message, content, "cta_url", action)


def _product(message: Outgoing, content: Content) -> tuple[str, Content]:
    product = content["product"]
    action = {"catalog_id": product["catalog_id"], "product_retailer_id": product["retailer_id"]}
    return _interactive(message, content, "product", action)


def _product_list(message: Outgoing, content: Content) -> tuple[str, Content]:
    sections = [
        {"title": section["title"], "product_items": [{"product_retailer_id": id_} for id_ in section["products"]]}
        for section in content["sections"]
    ]
    action = {"catalog_id": content["catalog_id"], "sections": sections}
    return _interactive(message, content, "product_list", action)


def _catalog(message: Outgoing, content: Content) -> tuple[str, Content]:
    action: Content = {"name": "catalog_message"}
    if content.get("thumbnail"):
        action["parameters"] = {"thumbnail_product_retailer_id": content["thumbnail"]}
    return _interactive(message, content, "catalog_message", action)


WRITERS: dict[str, Callable[[Outgoing, Content], tuple[str, Any]]] = {
    **dict.fromkeys(("image", "video", "audio", "document", "sticker"), _file),
    "location": _location,
    "contacts": _contacts,
    "reaction": _reaction,
    "template": _template,
    "buttons": _buttons,
    "list": _list,
    "cta_url": _cta_url,
    "product": _product,
    "product_list": _product_list,
    "catalog": _catalog,
}
