"""Translates the library's other events into frames: receipts, calls, changed keys, names sent to a new link. Pure."""

from collections.abc import Iterator
from typing import Any

from gatepost.networks.qr.phone.jids import chat, chat_of, other_side, parse_jid, person
from gatepost.networks.qr.phone.protos import neo

Frame = dict[str, Any]
_RECEIPTS = {
    neo.Receipt.DELIVERED: "delivered",
    neo.Receipt.READ: "read",
    neo.Receipt.PLAYED: "played",
}
_MILLISECONDS = 100_000_000_000  # larger times are in milliseconds; the library uses both units


def seconds(at: int) -> float:
    return at / 1000 if at > _MILLISECONDS else at


def receipt(event: Any, _now: int) -> list[Frame]:
    """Return the receipt of a person's phone. Our own other devices, groups and other receipt types are ignored."""
    source = event.MessageSource
    status = _RECEIPTS.get(event.Type) if event.HasField("Type") else None
    if status is None or source.IsFromMe or chat(source.Chat):
        return []
    who = person(source.Sender, source.SenderAlt, source.Chat)
    ids = list(event.MessageIDs)
    return [{"event": "receipt", "ids": ids, "status": status, "from": who, "at": seconds(event.Timestamp)}]


def call_offer(event: Any, _now: int) -> list[Frame]:
    return _call(event, "offer")


def call_terminate(event: Any, _now: int) -> list[Frame]:
    return _call(event, "missed" if event.reason == "timeout" else "ended")


def _call(event: Any, kind: str) -> list[Frame]:
    meta = event.basicCallMeta
    who = person(meta.callCreator, meta.callCreatorAlt, getattr(meta, "from"))
    if not who:
        return []
    frame = {"event": "message", "id": f"{meta.callID}:{kind}", "from": who, "from_me": False, "type": "call"}
    return [frame | {"content": {"call": {"kind": kind}}, "at": seconds(meta.timestamp)}]


def identity_change(event: Any, _now: int) -> list[Frame]:
    who, at = person(event.JID), seconds(event.Timestamp)
    if not who or event.Implicit:
        return []
    content = {"system": {"kind": "identity_changed", "body": "Their security code changed."}}
    id_ = f"identity:{event.JID.User}:{event.Timestamp}"
    return [
        {"event": "message", "id": id_, "from": who, "from_me": False, "type": "system", "content": content, "at": at}
    ]


def undecryptable(event: Any, _now: int) -> list[Frame]:
    """Return a message that this device will never receive. One that failed to decrypt is sent again under its id."""
    info = event.Info
    if not event.IsUnavailable or chat_of(info.MessageSource):
        return []
    unsupported = {"title": "Only on the phone", "details": "The network does not show this message to linked devices."}
    return [
        {
            "event": "message",
            "id": f"{info.ID}:unavailable",
            "from": other_side(info.MessageSource, info.Pushname),
            "from_me": info.MessageSource.IsFromMe,
            "type": "unsupported",
            "content": {"unsupported": unsupported},
            "at": seconds(info.Timestamp),
        }
    ]


def history_sync(event: Any, now: int) -> list[Frame]:
    """Return the names and hidden ids that a phone sends to a newly linked device. Old messages are not read."""
    return [{"event": "contact", "person": who, "at": now} for who in _people(event.Data) if len(who) > 1]


def _people(data: Any) -> Iterator[dict[str, str]]:
    for pair in data.phoneNumberToLidMappings:
        yield person(parse_jid(pair.pnJID), parse_jid(pair.lidJID))
    for named in data.pushnames:
        yield person(parse_jid(named.ID), name=named.pushname)
    for one in data.conversations:
        if not chat(parse_jid(one.ID)):
            jids = [parse_jid(text) for text in (one.ID, one.pnJID, one.lidJID) if text]
            yield person(*jids, name=one.displayName or one.name)
