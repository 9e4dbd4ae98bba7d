"""What a person sends to an official number, as the body of /control/numbers/{phone_number_id}/incoming."""

from collections.abc import Callable
from typing import Any

from gatepost_sandbox.chats import sends
from gatepost_sandbox.chats.sends import Impossible
from gatepost_sandbox.incoming.replies import tap

View = dict[str, Any]
Body = dict[str, Any]


def write_official(send: sends.AnySend, view: View) -> Body:
    """Return the type and content; `view` is what the person sees of the target."""
    if isinstance(send, sends.Vote):
        raise Impossible("official numbers have no polls")
    return _WRITERS[type(send)](send, view)


def _text(send: sends.Text, _: View) -> Body:
    return {"type": "text", "text": {"body": send.text}}


def _media(send: sends.Media, _: View) -> Body:
    kind = "voice" if send.kind == "audio" and send.voice else send.kind
    given = {"caption": send.caption or None, "filename": send.filename}
    content = {"content": send.data, "mime_type": send.mime_type}
    return {"type": kind, kind: content | {name: value for name, value in given.items() if value is not None}}


def _location(send: sends.Location, _: View) -> Body:
    given = {"name": send.name, "address": send.address}
    place = {"latitude": send.latitude, "longitude": send.longitude}
    return {"type": "location", "location": place | {name: value for name, value in given.items() if value}}


def _contact(send: sends.Contact, _: View) -> Body:
    return {"type": "contacts", "contacts": [contact_card(send)]}


def contact_card(send: sends.Contact) -> dict[str, Any]:
    """Return a contact card in the form of both networks."""
    digits = "".join(filter(str.isdigit, send.phone))
    phones = [{"phone": send.phone, "wa_id": digits, "type": "CELL"}]
    return {"name": {"formatted_name": send.name, "first_name": send.name}, "phones": phones}


def _reaction(send: sends.Reaction, _: View) -> Body:
    return {"type": "reaction", "reaction": {"message_id": send.target, "emoji": send.emoji}}


def _button(send: sends.Button, view: View) -> Body:
    shown = [view, *view.get("cards", ())]
    buttons = [button for part in shown for button in part.get("buttons", ())]
    found = [one for one in buttons if one["id"] == send.button and one["kind"] in ("reply", "quick_reply")]
    body = tap(found[0]) if found else None
    if body is None:
        raise Impossible(f"the message has no reply button {send.button!r}")
    return {**body, "reply_to": send.target}


def _row(send: sends.Row, view: View) -> Body:
    rows = [row for section in view.get("list", {}).get("sections", ()) for row in section["rows"]]
    for row in rows:
        if row["id"] == send.row:
            return {"type": "list_reply", "list_reply": row, "reply_to": send.target}
    raise Impossible(f"the message has no list row {send.row!r}")


def _order(send: sends.Order, _: View) -> Body:
    items = [
        {
            "product_retailer_id": item.id,
            "quantity": item.quantity,
            "item_price": item.price,
            "currency": item.currency,
        }
        for item in send.items
    ]
    order = {"catalog_id": send.catalog_id, "text": send.text, "product_items": items}
    return {"type": "order", "order": order} | ({} if send.target is None else {"reply_to": send.target})


def _form(send: sends.Form, view: View) -> Body:
    kinds = [button["kind"] for button in view.get("buttons", ()) if button["kind"] in ("flow", "address")]
    if not kinds:
        raise Impossible("the message has no form")
    name = "flow" if kinds[0] == "flow" else "address_message"
    reply = {"name": name, "response_json": send.answers}
    return {"type": "nfm_reply", "nfm_reply": reply, "reply_to": send.target}


def _edit(send: sends.Edit, _: View) -> Body:
    new = {"type": "text", "text": {"body": send.text}}
    return {"type": "edit", "edit": {"original_message_id": send.target, "message": new}}


def _delete(send: sends.Delete, _: View) -> Body:
    return {"type": "revoke", "revoke": {"original_message_id": send.target}}


_WRITERS: dict[type, Callable[[Any, View], Body]] = {
    sends.Text: _text,
    sends.Media: _media,
    sends.Location: _location,
    sends.Contact: _contact,
    sends.Reaction: _reaction,
    sends.Button: _button,
    sends.Row: _row,
    sends.Order: _order,
    sends.Form: _form,
    sends.Edit: _edit,
    sends.Delete: _delete,
}
