"""Converts the library's kinds of messages into our types and content, one function per kind. Pure."""

from collections.abc import Callable
from typing import Any

import msgspec

from gatepost.networks.qr.phone import handles, vcards

Content = dict[str, Any]


class MessagePart(msgspec.Struct, frozen=True):
    """The type and content of a message, with its file and the id of the message that it refers to."""

    type: str
    content: Content
    media: Content | None = None
    target: str | None = None


def text(said: str | bytes) -> MessagePart:
    """Return a text. The library passes invalid UTF-8 as bytes."""
    return MessagePart("text", {"body": said if isinstance(said, str) else said.decode(errors="replace")})


def _file(kind: str) -> Callable[[Any], MessagePart]:
    def read(file: Any) -> MessagePart:
        content: Content = {"media": {}}
        if getattr(file, "caption", ""):
            content["caption"] = file.caption
        if kind == "audio" and file.PTT:
            content["voice"] = True
        if kind == "sticker" and file.isAnimated:
            content["animated"] = True
        if kind == "document" and (file.fileName or file.title):
            content["filename"] = file.fileName or file.title
        return MessagePart(kind, content, media=_media(kind, file, content.get("filename")))

    return read


def _media(kind: str, file: Any, filename: str | None) -> Content | None:
    if not file.directPath and not file.URL:
        return None
    media: Content = {"handle": handles.pack(kind, file), "mime_type": file.mimetype or "application/octet-stream"}
    if file.fileSHA256:
        media["sha256"] = file.fileSHA256.hex()
    if file.HasField("fileLength"):
        media["size"] = file.fileLength
    return media | ({"filename": filename} if filename else {})


def _video_note(file: Any) -> MessagePart:
    part = _file("video")(file)
    return MessagePart(part.type, part.content | {"note": True}, part.media)


def _location(place: Any) -> MessagePart:
    spot: Content = {"latitude": place.degreesLatitude, "longitude": place.degreesLongitude}
    named = {"name": place.name, "address": place.address, "url": place.URL}
    live = {"live": True} if place.isLive else {}
    return MessagePart("location", {"location": spot | {key: value for key, value in named.items() if value} | live})


def _live_location(place: Any) -> MessagePart:
    spot: Content = {"latitude": place.degreesLatitude, "longitude": place.degreesLongitude, "live": True}
    return MessagePart("location", {"location": spot | ({"name": place.caption} if place.caption else {})})


def _contact(card: Any) -> MessagePart:
    return MessagePart("contacts", {"contacts": [vcards.read(card.vcard, card.displayName)]})


def _contacts(cards: Any) -> MessagePart:
    return MessagePart("contacts", {"contacts": [vcards.read(card.vcard, card.displayName) for card in cards.contacts]})


def _reaction(reaction: Any) -> MessagePart:
    return MessagePart("reaction", {"reaction": {"emoji": reaction.text}}, target=reaction.key.ID)


def _button(reply: Any) -> MessagePart:
    return MessagePart("button_reply", {"reply": {"id": reply.selectedButtonID, "title": reply.selectedDisplayText}})


def _template_button(reply: Any) -> MessagePart:
    return MessagePart("button_reply", {"reply": {"id": reply.selectedID, "title": reply.selectedDisplayText}})


def _list_reply(reply: Any) -> MessagePart:
    chosen = {"id": reply.singleSelectReply.selectedRowID, "title": reply.title}
    return MessagePart(
        "list_reply", {"reply": chosen | ({"description": reply.description} if reply.description else {})}
    )


def _interactive_reply(reply: Any) -> MessagePart:
    """Return the reply to a native button or list, or the response of a flow."""
    flow = reply.nativeFlowResponseMessage
    try:
        response = msgspec.json.decode(flow.paramsJSON)
    except (msgspec.DecodeError, RecursionError):
        response = flow.paramsJSON
    if flow.name in ("quick_reply", "single_select", "menu_options") and isinstance(response, dict):
        type_ = "button_reply" if flow.name == "quick_reply" else "list_reply"
        return MessagePart(type_, {"reply": {"id": str(response.get("id", "")), "title": reply.body.text}})
    return MessagePart("flow_reply", {"reply": {"name": flow.name, "body": reply.body.text, "response": response}})


def _order(order: Any) -> MessagePart:
    """Return an order with its number and total. The message does not hold its items."""
    content = {"catalog_id": order.sellerJID.partition("@")[0], "text": order.message, "items": [], "id": order.orderID}
    content |= {"title": order.orderTitle, "item_count": order.itemCount, "total": thousandths(order.totalAmount1000)}
    return MessagePart("order", {"order": content | {"currency": order.totalCurrencyCode}})


def thousandths(amount: int) -> str:
    """Return an amount in thousandths as a decimal string with at least two decimals."""
    sign, (units, rest) = "-" if amount < 0 else "", divmod(abs(amount), 1000)
    decimals = f"{rest:03}"
    return f"{sign}{units}.{decimals[:2] if decimals.endswith('0') else decimals}"


def _product(product: Any) -> MessagePart:
    shown = product.product
    about = {"catalog_id": product.businessOwnerJID.partition("@")[0], "retailer_id": shown.retailerID}
    about |= {key: value for key, value in {"id": shown.productID, "title": shown.title}.items() if value}
    words = {"body": product.body, "footer": product.footer}
    return MessagePart("product", {"product": about} | {key: value for key, value in words.items() if value})


def _poll(poll: Any) -> MessagePart:
    asked = {"question": poll.name, "options": [option.optionName for option in poll.options]}
    return MessagePart("poll", {"poll": asked | {"multiple": poll.selectableOptionsCount != 1}})


def _group_invite(invite: Any) -> MessagePart:
    link = f"Invitation to the group {invite.groupName}: https://chat.whatsapp.com/{invite.inviteCode}"
    return text(f"{invite.caption}\n\n{link}" if invite.caption else link)


def _sent_list(sent: Any) -> MessagePart:
    return text("\n\n".join(part for part in (sent.title, sent.description) if part))


def _sent_template(sent: Any) -> MessagePart:
    shown = sent.hydratedTemplate if sent.HasField("hydratedTemplate") else sent.hydratedFourRowTemplate
    return text("\n\n".join(part for part in (shown.hydratedTitleText, shown.hydratedContentText) if part))


KINDS: dict[str, Callable[[Any], MessagePart]] = {
    "conversation": text,
    "extendedTextMessage": lambda said: text(said.text),
    **{field: _file(kind) for kind, field in handles.FIELDS.items()},
    "ptvMessage": _video_note,
    "locationMessage": _location,
    "liveLocationMessage": _live_location,
    "contactMessage": _contact,
    "contactsArrayMessage": _contacts,
    "reactionMessage": _reaction,
    "buttonsResponseMessage": _button,
    "templateButtonReplyMessage": _template_button,
    "listResponseMessage": _list_reply,
    "interactiveResponseMessage": _interactive_reply,
    "orderMessage": _order,
    "productMessage": _product,
    "pollCreationMessage": _poll,
    "pollCreationMessageV2": _poll,
    "pollCreationMessageV3": _poll,
    "pollCreationMessageV5": _poll,
    "pollCreationMessageV6": _poll,
    "groupInviteMessage": _group_invite,
    "buttonsMessage": lambda sent: text(sent.contentText),
    "listMessage": _sent_list,
    "interactiveMessage": lambda sent: text(sent.body.text),
    "templateMessage": _sent_template,
}
