"""A message as the person sees it, and the reply by a line of their script."""

from collections.abc import Iterable
from typing import Any

from gatepost_sandbox.messages import Send
from gatepost_sandbox.messages.template import fill_in
from gatepost_sandbox.messages.template.shape import button_index
from gatepost_sandbox.people import Received, Reply
from gatepost_sandbox.stored_objects import StoredTemplate

_FORMS = {"flow": "flow", "address_message": "address_message"}


def describe(send: Send, wamid: str, template: StoredTemplate | None) -> Received:
    """Return what there is to read, tap, pick or buy in a message."""
    content = send.content
    if send.type == "text":
        return Received("text", content["body"], wamid)
    if send.type == "interactive":
        return _describe_interactive(content, wamid)
    if template is not None:
        return _describe_template(content, wamid, template)
    words = content.get("caption") or content.get("emoji") or content.get("name") if isinstance(content, dict) else None
    return Received(send.type, words or "", wamid)


def _describe_interactive(content: dict[str, Any], wamid: str) -> Received:
    sort, action = content["type"], content["action"]
    text = (content.get("body") or {}).get("text", "")
    sections = action.get("sections") or []
    rows = tuple(row for section in sections for row in section.get("rows", ()))
    items = [item["product_retailer_id"] for section in sections for item in section.get("product_items", ())]
    one = action.get("product_retailer_id") or (action.get("parameters") or {}).get("thumbnail_product_retailer_id")
    return Received(
        f"interactive.{sort}",
        text,
        wamid,
        buttons=tuple(_buttons(action)),
        rows=rows,
        catalog_id=action.get("catalog_id") or ("catalog" if sort == "catalog_message" else None),
        products=tuple(items or ([one] if one else [])),
        form=_FORMS.get(sort),
    )


def _buttons(action: dict[str, Any]) -> Iterable[dict[str, str]]:
    for button in action.get("buttons", ()):
        yield {**button["reply"], "kind": "reply"}
    for card in action.get("cards", ()):
        for button in card["action"].get("buttons", ()):
            yield {**button["quick_reply"], "kind": "reply"}


def _describe_template(content: dict[str, Any], wamid: str, template: StoredTemplate) -> Received:
    sent = {button_index(part): part for part in content.get("components") or [] if part["type"].lower() == "button"}
    kept = [button for part in template.components for button in part.get("buttons", ())]
    buttons = []
    for index, button in enumerate(kept):
        if str(button["type"]).upper() == "QUICK_REPLY":
            parameters = sent.get(index, {}).get("parameters") or [{}]
            payload = parameters[0].get("payload", button["text"])
            buttons.append({"id": payload, "title": button["text"], "kind": "quick_reply"})
    form = "flow" if any(str(button["type"]).upper() == "FLOW" for button in kept) else None
    return Received("template", fill_in(content, template), wamid, buttons=tuple(buttons), form=form)


def respond(reply: Reply, received: Received) -> dict[str, Any] | None:
    """Return what a line of the script makes a person send, as a control API request; None if it is impossible."""
    quote = {"reply_to": received.wamid}
    if reply.send is not None:
        return reply.send if "context" in reply.send or "reply_to" in reply.send else {**quote, **reply.send}
    if reply.react is not None:
        return {"type": "reaction", "reaction": {"message_id": received.wamid, "emoji": reply.react}}
    made = _answer(reply, received)
    return None if made is None else {**made, **quote}


def _answer(reply: Reply, received: Received) -> dict[str, Any] | None:
    if reply.tap is not None:
        return tap(choose(reply.tap, received.buttons))
    if reply.pick is not None:
        row = choose(reply.pick, received.rows)
        return None if row is None else {"type": "list_reply", "list_reply": row}
    if reply.order is not None:
        return _order(reply.order, received)
    if reply.submit is not None:
        filled = {"name": received.form, "response_json": reply.submit}
        return None if received.form is None else {"type": "nfm_reply", "nfm_reply": filled}
    return {"type": "text", "text": {"body": reply.text}}


def tap(button: dict[str, str] | None) -> dict[str, Any] | None:
    """Return what a tap on a button sends, as a control API request."""
    if button is None:
        return None
    if button["kind"] == "quick_reply":
        return {"type": "button", "button": {"payload": button["id"], "text": button["title"]}}
    return {"type": "button_reply", "button_reply": {"id": button["id"], "title": button["title"]}}


def choose(which: int | str, choices: tuple[dict[str, str], ...]) -> dict[str, str] | None:
    """Return a choice by index (from 0), id or title."""
    if isinstance(which, int):
        return choices[which] if 0 <= which < len(choices) else None
    return next((choice for choice in choices if which in (choice["id"], choice["title"])), None)


def _order(wish: dict[str, Any], received: Received) -> dict[str, Any] | None:
    """Return an order with one line per product in the message."""
    if received.catalog_id is None:
        return None
    line = {"quantity": 1, "item_price": 10, "currency": "USD"} | {k: v for k, v in wish.items() if k != "text"}
    items = [{"product_retailer_id": product, **line} for product in received.products]
    if not items:
        return None
    order = {"catalog_id": received.catalog_id, "text": wish.get("text", ""), "product_items": items}
    return {"type": "order", "order": order}
