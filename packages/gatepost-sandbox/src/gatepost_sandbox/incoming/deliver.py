"""Delivery of a message from a person: it is recorded, opens the window, and is sent as a callback."""

from collections.abc import Callable
from functools import partial
from typing import Any

from gatepost_sandbox import wire
from gatepost_sandbox.ids import inbound_wamid
from gatepost_sandbox.incoming.compose import compose
from gatepost_sandbox.incoming.read import Incoming, read_incoming
from gatepost_sandbox.incoming.replies import describe, respond
from gatepost_sandbox.messages import Send
from gatepost_sandbox.network_state import NetworkState
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.people import Reply
from gatepost_sandbox.stored_objects import StoredTemplate

_NOT_SHOWN = ("system", "request_welcome")  # the person sees nothing of it in the chat
_NO_MESSAGE = ("system", "errors", "user_preferences", "echo")  # these open no window and use no throughput


def deliver_incoming(network: NetworkState, number: Number, incoming: Incoming) -> str:
    """Deliver what a person sends; return the id of the message, empty when it is not a message."""
    now, person = network.clock.now(), incoming.person
    if incoming.type == "errors":
        for error in incoming.content:
            network.emit(number, wire.errors_update(error))
        return ""
    if incoming.type == "user_preferences":
        return _prefer(network, number, incoming, now)
    wamid = incoming.id or inbound_wamid(number.ids, person)
    number.recent_messages.note(wamid, now, reaction=incoming.type == "reaction")
    if incoming.type not in _NO_MESSAGE:
        number.note_incoming(person, now)
        number.pace.note_incoming(now)
    if incoming.referral is not None:
        number.note_ad_referral(person, now)
    item, contact = _write(network, number, incoming, wamid, now)
    _note(network, number, incoming, item, wamid, now)
    blocked = network.accounts.blocks(number.id, person)
    if incoming.type not in _NOT_SHOWN:
        _show(network, number, incoming, item, wamid, "sent" if blocked else "delivered")
    if blocked:
        return wamid
    network.emit(number, _wrap(incoming, wamid, item, contact, now))
    return wamid


def _write(
    network: NetworkState, number: Number, incoming: Incoming, wamid: str, now: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the message and its sender as the network reports them."""
    network.people.identify(incoming.person, incoming.user_id, hidden=incoming.phone_hidden)
    known = network.people.find(incoming.person)
    name, user_id = incoming.name or known.name, known.user_id
    shown = "" if known.phone_hidden and user_id else incoming.person
    contact = _contact(name, incoming.username or known.username, shown, user_id)
    if incoming.identity_key_hash is not None:
        contact["identity_key_hash"] = incoming.identity_key_hash
    if incoming.type == "raw":
        return {"from": shown, "id": wamid, "timestamp": str(int(now)), **incoming.content}, contact
    if incoming.type == "echo":
        head = {"from": number.spec.phone, "to": shown, "id": wamid, "timestamp": str(int(now))}
        return {**head, **incoming.content}, contact
    item: dict[str, Any] = {"from": shown, "id": wamid, "timestamp": str(int(now))}
    if user_id is not None:
        item["from_user_id"] = user_id
    context = _context(number, incoming)
    if context:
        item["context"] = context
    if incoming.referral is not None:
        item["referral"] = incoming.referral
    made = compose(incoming, name, network.media, number.id, now)
    if incoming.errors is not None:
        made["errors"] = incoming.errors
    return {**item, **made}, contact


def _contact(name: str, username: str | None, wa_id: str, user_id: str | None) -> dict[str, Any]:
    profile = {"name": name} if username is None else {"name": name, "username": username}
    return {"profile": profile, "wa_id": wa_id} | ({} if user_id is None else {"user_id": user_id})


def _context(number: Number, incoming: Incoming) -> dict[str, Any]:
    quote = {} if incoming.reply_to is None else {"from": number.spec.phone, "id": incoming.reply_to}
    return quote | (incoming.context or {})


def _note(
    network: NetworkState, number: Number, incoming: Incoming, item: dict[str, Any], wamid: str, now: float
) -> None:
    kind = str(item.get("type", incoming.type))
    network.ledger.count(number.id, "incoming")
    row = (number.spec.phone, incoming.person, kind, item.get(kind), wamid)
    network.ledger.put("incoming", (now, number.id, *row))


def _show(
    network: NetworkState, number: Number, incoming: Incoming, item: dict[str, Any], wamid: str, status: str
) -> None:
    """Show a message in the person's chat."""
    chats, kind = network.chats, str(item.get("type", incoming.type))
    content, context = item.get(kind), _as_object(item.get("context"))
    if kind == "reaction" and isinstance(content, dict):
        chats.react(number.id, str(content.get("message_id")), "person", str(content.get("emoji", "")))
    elif kind == "edit" and isinstance(content, dict):
        new = content.get("message")
        if isinstance(new, dict):
            chats.edit(number.id, str(content.get("original_message_id")), new.get(str(new.get("type"))))
    elif kind == "revoke" and isinstance(content, dict):
        chats.delete(number.id, str(content.get("original_message_id")))
    else:
        chat = chats.open(incoming.person, number.id, official=True)
        chat.name = incoming.name or chat.name
        chats.add(
            chat,
            wamid,
            network.clock.now(),
            kind,
            content,
            from_person=incoming.type != "echo",
            status=status,
            quote=str(context["id"]) if "id" in context else None,
            forwarded=bool(context.get("forwarded") or context.get("frequently_forwarded")),
        )


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _wrap(incoming: Incoming, wamid: str, item: dict[str, Any], contact: dict[str, Any], now: float) -> wire.Update:
    if incoming.type == "echo":
        return wire.listed_update("smb_message_echoes", "message_echoes", item, incoming.person, now, contact)
    alone = incoming.type == "system" and "identity" not in item  # a new number comes without a contact
    return wire.message_update(wamid, incoming.person, item, None if alone else contact)


def _prefer(network: NetworkState, number: Number, incoming: Incoming, now: float) -> str:
    """Handle a person who stops or resumes marketing messages."""
    value = str(incoming.content["value"])
    if value == "stop":
        number.stopped.add(incoming.person)
    else:
        number.stopped.discard(incoming.person)
    wish = {"wa_id": incoming.person, "detail": f"User requested to {value} marketing messages"}
    wish |= {"category": "marketing_messages", **incoming.content}
    item = {**wish, "timestamp": int(now)}
    known = network.people.find(incoming.person)
    contact = _contact(incoming.name or known.name, None, incoming.person, incoming.user_id or known.user_id)
    update = wire.listed_update("user_preferences", "user_preferences", item, incoming.person, now, contact)
    network.emit(number, update)
    return ""


def plan_reply(
    network: NetworkState,
    number: Number,
    send: Send,
    wamid: str,
    template: StoredTemplate | None,
    seen_at: float,
    is_dropped: Callable[[float], bool],
) -> None:
    """Schedule the reply of the person who receives a message, according to their script."""
    received = describe(send, wamid, template)
    reply: Reply | None = network.people.react_to(send.to, received, lambda line, seen: respond(line, seen) is not None)
    body = respond(reply, received) if reply is not None else None
    if reply is not None and body is not None:
        incoming = read_incoming({"from": send.to, **body})
        network.clock.at(seen_at + reply.delay, partial(_reply, network, number, incoming, wamid, is_dropped))


def _reply(
    network: NetworkState, number: Number, incoming: Incoming, message_id: str, is_dropped: Callable[[float], bool]
) -> None:
    """Send a reply of a script, as soon as the person is online; none to a message that did not arrive."""
    again = partial(_reply, network, number, incoming, message_id, is_dropped)
    if not network.offline.hold(incoming.person, message_id, again) and not is_dropped(network.clock.now()):
        deliver_incoming(network, number, incoming)
