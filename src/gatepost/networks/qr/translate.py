"""Translates the events of a driver into updates. One event may become several.

Only the last update of an event has its number, so acknowledging it acknowledges all of them.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from gatepost.model import ids
from gatepost.networks.base import (
    ConnectionUpdate,
    ContactUpdate,
    Incoming,
    LabelUpdate,
    RemoteMedia,
    StatusUpdate,
    Update,
)
from gatepost.networks.qr import frames

Numbered = tuple[int | None, Update]
MAX_TYPE = 64
_FLAGS = ("forwarded", "frequently_forwarded", "view_once", "ephemeral")
_write = msgspec.json.Encoder().encode


def updates_of(event: frames.Event, state: str) -> list[Numbered]:
    """Return the updates of one event; `state` is the link's state before it."""
    match event:
        case frames.ConnectionFrame() | frames.QrFrame() | frames.LinkedFrame():
            return [(None, connection_update(event, state))]
        case frames.ReceiptFrame():
            return _numbered(event.seq, [_status(event, id_) for id_ in event.ids])
        case frames.MessageFrame():
            return _numbered(event.seq, [_incoming(event)])
        case frames.ContactFrame():
            return _numbered(event.seq, [ContactUpdate(event.person, as_time(event.at), event.old_phone)])
        case frames.LabelFrame():
            return _numbered(event.seq, [_label(event)])


def connection_update(
    event: frames.ConnectionFrame | frames.QrFrame | frames.LinkedFrame, state: str
) -> ConnectionUpdate:
    """Return the state of the link after an event."""
    match event:
        case frames.ConnectionFrame():
            until = as_time(event.until) if event.until is not None else None
            return ConnectionUpdate(event.state, event.reason, event.details, until=until)
        case frames.QrFrame():
            return ConnectionUpdate("waiting_for_scan", qr=event.code, qr_seconds=event.seconds)
        case frames.LinkedFrame():
            # It may arrive before or after the link is connected, and does not disconnect it.
            now = "connected" if state in ("connected", "limited") else "connecting"
            return ConnectionUpdate(now if state != "limited" else state, "linked", phone=event.phone, lid=event.lid)


def as_time(at: float) -> datetime:
    """Return a time of the network, limited to the range of dates."""
    return datetime.fromtimestamp(min(max(at, 0), 253402300799), UTC)


def _numbered(seq: int | None, values: list[Update]) -> list[Numbered]:
    return [(None, value) for value in values[:-1]] + [(seq, value) for value in values[-1:]]


def _status(event: frames.ReceiptFrame, id_: str) -> StatusUpdate:
    return StatusUpdate(id_, event.status, as_time(event.at), message_id=ids.parse_id("", id_))


def _incoming(event: frames.MessageFrame) -> Incoming:
    return Incoming(
        network_id=event.id,
        person=event.who,
        type=event.type[:MAX_TYPE],
        content=_write(_with_file(event.content, event.media)).decode(),
        at=as_time(event.at),
        reply_to=event.quote.id if event.quote else None,
        target=event.target,
        context=_context(event),
        media=event.media,
        from_me=event.from_me,
    )


def _context(event: frames.MessageFrame) -> dict[str, Any] | None:
    """Return the context of a message for events. `chat` is set for a group."""
    reported = event.context or {}
    context: dict[str, Any] = {name: True for name in _FLAGS if reported.get(name) is True}
    if isinstance(reported.get("referral"), dict):
        context["referral"] = reported["referral"]
    if event.chat:
        context["chat"] = {name: str(event.chat[name]) for name in ("kind", "id", "name") if event.chat.get(name)}
    return context or None


def _with_file(content: dict[str, Any], file: RemoteMedia | None) -> dict[str, Any]:
    """Return the content with the file's metadata. Its id is added when it is stored; its handle stays internal."""
    if file is None:
        return {**content, "media": {}} if "media" in content else content
    known = {"mime_type": file.mime_type, "sha256": file.sha256, "size": file.size}
    named = {"filename": file.filename} if file.filename and "filename" not in content else {}
    return {**content, **named, "media": {name: value for name, value in known.items() if value is not None}}


def _label(event: frames.LabelFrame) -> LabelUpdate:
    return LabelUpdate(event.id, event.action, as_time(event.at), event.name, event.color, event.person)
