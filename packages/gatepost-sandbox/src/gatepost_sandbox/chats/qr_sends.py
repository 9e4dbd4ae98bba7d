"""What a person sends to a QR phone, as the body of /control/phones/{phone}/incoming."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.chats import sends
from gatepost_sandbox.chats.official_sends import contact_card
from gatepost_sandbox.chats.sends import Impossible

Body = dict[str, Any]
View = dict[str, Any]


def write_qr(send: sends.AnySend, view: View) -> Body:
    """Return the type, content, media and target; `view` is what the person sees of the target."""
    if isinstance(send, sends.Button | sends.Row | sends.Form):
        raise Impossible("messages of QR phones have no buttons, lists or forms")
    if isinstance(send, sends.Vote):
        return _vote(send, view)
    return _WRITERS[type(send)](send)


def _text(send: sends.Text) -> Body:
    return {"type": "text", "content": {"body": send.text}}


def _media(send: sends.Media) -> Body:
    content: dict[str, Any] = {"caption": send.caption} if send.caption else {}
    if send.kind == "audio":
        content["voice"] = send.voice
    media = {"data": send.data, "mime_type": send.mime_type}
    if send.filename is not None:
        media["filename"] = content["filename"] = send.filename
    return {"type": send.kind, "content": content, "media": media}


def _location(send: sends.Location) -> Body:
    place = {"latitude": send.latitude, "longitude": send.longitude}
    given = {"name": send.name or "", "address": send.address or ""}
    return {"type": "location", "content": {"location": place | given}}


def _contact(send: sends.Contact) -> Body:
    return {"type": "contacts", "content": {"contacts": [contact_card(send)]}}


def _reaction(send: sends.Reaction) -> Body:
    return {"type": "reaction", "content": {"reaction": {"emoji": send.emoji}}, "target": send.target}


def _order(send: sends.Order) -> Body:
    items = [
        {"retailer_id": item.id, "quantity": item.quantity, "price": f"{item.price:.2f}", "currency": item.currency}
        for item in send.items
    ]
    return {"type": "order", "content": {"order": {"catalog_id": send.catalog_id, "text": send.text, "items": items}}}


def _vote(send: sends.Vote, view: View) -> Body:
    poll = view.get("poll")
    if poll is None:
        raise Impossible("the message is not a poll")
    if not set(send.options) <= set(poll["options"]):
        raise Impossible("the poll does not have this option")
    if len(send.options) > poll["selectable"]:
        raise Impossible(f"the poll allows {poll['selectable']} option")
    return {"type": "poll_vote", "content": {"poll": {"options": send.options}}, "target": send.target}


def _edit(send: sends.Edit) -> Body:
    new = {"type": "text", "content": {"body": send.text}}
    return {"type": "edit", "content": {"edit": new}, "target": send.target}


def _delete(send: sends.Delete) -> Body:
    return {"type": "revoke", "content": {}, "target": send.target}


_WRITERS: dict[type, Callable[[Any], Body]] = {
    sends.Text: _text,
    sends.Media: _media,
    sends.Location: _location,
    sends.Contact: _contact,
    sends.Reaction: _reaction,
    sends.Order: _order,
    sends.Edit: _edit,
    sends.Delete: _delete,
}
