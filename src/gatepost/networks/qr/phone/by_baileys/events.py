"""Converts the events of the Node process into the events and frames that every engine emits. Pure.

closed (code, words) ─► the state of the link          receipts, people, labels, calls ─► frames
a message            ─► `neo.Message`, as from the other engine, so that one translation serves both
"""

from base64 import b64decode
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from gatepost.networks.qr.phone import translate_link as link
from gatepost.networks.qr.phone.jids import chat, parse_jid, person
from gatepost.networks.qr.phone.message_parts import thousandths
from gatepost.networks.qr.phone.protos import e2e, neo
from gatepost.networks.qr.phone.translate_message import not_understood

Frame = dict[str, Any]
_NOBODY = neo.JID(User="", Server="", Device=0, RawAgent=0, Integrator=0, IsEmpty=True)
_FLAGS = ("IsEphemeral", "IsViewOnce", "IsViewOnceV2", "IsDocumentWithCaption", "IsEdit")
_FAILURE = "Connection Failure"  # the library's text if the network rejected the login
_CODES_ENDED = "QR refs attempts ended"
_REPLACED, _LOGGED_OUT, _TOO_OLD_PHONE = 440, 401, 411
_UNREACHED = frozenset({0, 408, 428})
_REFUSALS = {
    401: neo.LOGGED_OUT,
    402: neo.TEMP_BANNED,
    403: neo.MAIN_DEVICE_GONE,
    405: neo.CLIENT_OUTDATED,
    406: neo.UNKNOWN_LOGOUT,
    409: neo.BAD_USER_AGENT,
    500: neo.INTERNAL_SERVER_ERROR,
    501: neo.EXPERIMENTAL,
    503: neo.SERVICE_UNAVAILABLE,
}


def message(said: Frame) -> Any:
    """Return a message as `neo.Message`, or a frame of type "unsupported" if it cannot be decoded."""
    info = _info(said)
    try:
        body = e2e.Message.FromString(b64decode(said["message"] or ""))
    except DecodeError:  # a resend would be the same
        return [not_understood(info)]
    return neo.Message(Info=info, Message=body, **dict.fromkeys(_FLAGS, False))


def unreadable(said: Frame) -> Any:
    """Return the event of a message that this device will never receive."""
    return neo.UndecryptableMessage(Info=_info(said), IsUnavailable=True)


def _info(said: Frame) -> Any:
    at = {"Chat": parse_jid(said["chat"]), "IsFromMe": said["from_me"], "IsGroup": said["chat"].endswith("@g.us")}
    at |= {"Sender": _jid(said["sender"]), "SenderAlt": _jid(said["sender_alt"])}
    source = neo.MessageSource(**at, RecipientAlt=_jid(said["recipient_alt"]), BroadcastListOwner=_NOBODY)
    words = dict.fromkeys(("Type", "Category", "MediaType", "Edit"), "")
    about = {"ID": said["id"], "Pushname": said["name"], "Timestamp": said["at"], "ServerID": 0, "Multicast": False}
    return neo.MessageInfo(MessageSource=source, **about, **words)


def _jid(text: str | None) -> Any:
    return parse_jid(text) if text else _NOBODY


def closed(code: int, words: str) -> Frame | None:
    """Return the state of a link that ended; None if no code was scanned."""
    if words == _CODES_ENDED:
        return None
    if words.startswith(_FAILURE):
        return _refused(code)
    if code == _LOGGED_OUT:
        return link.connection("logged_out", "logged_out")
    if code == _REPLACED:
        return link.connection("disconnected", "replaced")
    if code == _TOO_OLD_PHONE:
        return link.connection("disconnected", "pair_failed", "The app on the phone is too old to link devices.")
    reason = "network_gone" if code in _UNREACHED else "stream_error"
    return link.connection("disconnected", reason, words[:500] or None)


def _refused(code: int) -> Frame:
    known = _REFUSALS.get(code, neo.GENERIC)
    (frame,) = link.connect_failure(neo.ConnectFailure(Reason=known, Message=f"error {code}"), 0)
    return frame


def lock(on: bool, until: float | None) -> Frame:
    """Return the state after the network restricted messages to new people, or removed the restriction."""
    if not on:
        return link.connection("connected", "linked")
    return link.connection("limited", "time_locked", until=int(until) if until else None)


def receipts(list_: list[Frame]) -> list[Frame]:
    """Return the receipts of our messages, without those from groups."""
    return [
        {"event": "receipt", "ids": [one["id"]], "status": one["status"], "from": person(who), "at": one["at"]}
        for one in list_
        if not chat(who := parse_jid(one["chat"]))
    ]


def people(list_: list[Frame], now: int) -> list[Frame]:
    """Return names of people, and the pairs of phone numbers and hidden ids."""
    found = [person(*map(parse_jid, one["jids"]), name=one["name"]) | _username(one) for one in list_]
    return [{"event": "contact", "person": who, "at": now} for who in found if len(who) > 1 and who.keys() != {"name"}]


def _username(one: Frame) -> dict[str, str]:
    return {"username": one["username"]} if one["username"] else {}


def labels(list_: list[Frame], now: int) -> list[Frame]:
    """Return labels that were created, changed or deleted on the phone, or added to or removed from chats."""
    return [frame for one in list_ if (frame := _label(one, now))]


def _label(one: Frame, now: int) -> Frame | None:
    frame = {"event": "label", "id": one["id"], "action": one["action"], "at": now}
    if "chat" not in one:
        return frame | {key: one[key] for key in ("name", "color") if one[key] is not None}
    jid = parse_jid(one["chat"])
    return None if chat(jid) else frame | {"person": person(jid)}


def calls(list_: list[Frame]) -> list[Frame]:
    """Return the start and end of incoming calls."""
    return [_call(one, who) for one in list_ if (who := person(*map(parse_jid, one["jids"])))]


def _call(one: Frame, who: dict[str, str]) -> Frame:
    frame = {"event": "message", "id": f"{one['id']}:{one['kind']}", "from": who, "from_me": False, "type": "call"}
    return frame | {"content": {"call": {"kind": one["kind"]}}, "at": one["at"]}


def order_lines(details: Frame) -> list[Frame]:
    """Return the items of an order. The network gives prices in thousandths, or none if the shop shows none."""
    return [_line(one) for one in details["products"]]


def _line(one: Frame) -> Frame:
    line = {"retailer_id": str(one["id"]), "quantity": int(one["quantity"])}
    if one["price"] is None:
        return line
    return line | {"price": thousandths(int(one["price"])), "currency": str(one["currency"])}
