"""Messages as people look at them: one message, and its trace from acceptance to the last webhook."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.delivery import STATUSES, explain
from gatepost.model.errors import NotFound
from gatepost.model.event import message_key
from gatepost.model.message import ACK, State, status_of
from gatepost.model.person import shown_phone
from gatepost.model.waits import Wait
from gatepost.store.messages.history import StoredMessage, Trace, get_message, read_trace
from gatepost.store.pool import Database


async def access_message(db: Database, channel_id: UUID, text: str) -> StoredMessage:
    """The message behind an id, if it is this channel's."""
    message_id = ids.read("", text)
    message = await get_message(db, channel_id, message_id) if message_id else None
    if message is None:
        raise NotFound("There is no such message on this channel.")
    return message


def show_message(message: StoredMessage, now: datetime) -> dict[str, Any]:
    """A message for the outside."""
    shown = {
        "key": message_key(message.phone, message.id, incoming=message.incoming),
        "direction": "in" if message.incoming else "out",
        "type": message.type,
        "content": msgspec.Raw(message.content.encode()),
        "status": status_of(message.state, message.send_at, now),
        "ack": ACK.get(message.state),
        "contact": {"id": ids.show("ct", message.contact_id), "phone": shown_phone(message.phone)},
        "conversation": {"id": ids.show("cv", message.contact_id)},
        "reply_to": ids.message_id(message.reply_to) if message.reply_to else None,
        "about": ids.message_id(message.target_id) if message.target_id else None,
        "context": _json(message.context),
        "reactions": [
            {"emoji": mark["emoji"], "from": who}
            for who, mark in (_json(message.reactions) or {}).items()
            if mark["emoji"]  # an empty one was taken back
        ],
        "edited_at": times.show_maybe(message.edited_at),
        "deleted_at": times.show_maybe(message.deleted_at),
        "network_id": message.network_id,
        "created_at": times.show(message.created_at),
        "sent_at": times.show_maybe(message.sent_at),
        "error": _json(message.error) if message.state < State.QUEUED else None,
    }
    if not message.incoming:
        shown |= {
            "client_ref": message.client_ref,
            "priority": "bulk" if message.bulk else "chat",
            "send_at": times.show_maybe(message.send_at),
            "expires_at": times.show_maybe(message.expires_at),
            "delivered_at": times.show_maybe(message.delivered_at),
            "read_at": times.show_maybe(message.read_at),
            "played_at": times.show_maybe(message.played_at),
            "ended_at": times.show_maybe(message.ended_at),
            "pricing": _json(message.pricing),
        }
    return shown


def show_one(message: StoredMessage, wait: Wait | None, now: datetime) -> dict[str, Any]:
    """A message, and while it has not left yet, why."""
    shown = show_message(message, now)
    return shown | {"waiting": wait.shown()} if wait else shown


async def trace_message(
    db: Database, channel_id: UUID, message: StoredMessage, wait: Wait | None, now: datetime
) -> dict[str, Any]:
    """Every step of a message with its time and reason, and every attempt to tell of it."""
    trace = await read_trace(db, channel_id, message.event_ids)
    return {
        "message": show_one(message, wait, now),
        "steps": _steps(message),
        "waiting": wait.shown() if wait else None,
        "events": [_show_event(event.id, event.body, trace) for event in trace.events],
    }


def _steps(message: StoredMessage) -> list[dict[str, Any]]:
    """What happened when, in the order of time."""
    if message.incoming:
        return [{"step": "received", "at": times.show(message.created_at)}]
    named = [
        ("accepted", message.created_at),
        ("sent", message.sent_at),
        ("delivered", message.delivered_at),
        ("read", message.read_at),
        ("played", message.played_at),
    ]
    steps: list[tuple[datetime, dict[str, Any]]] = [(at, {"step": name}) for name, at in named if at]
    for text in message.history or []:
        failed = msgspec.json.decode(text)
        at = datetime.fromisoformat(failed["at"])
        steps.append((at, {"step": "attempt_failed", "attempt": failed["attempt"], "reason": failed["error"]}))
    waits = (waited for text in message.waits or [] for waited in msgspec.json.decode(text))
    steps += [(datetime.fromisoformat(waited.pop("from")), {"step": "waited", **waited}) for waited in waits]
    if message.sending_at:
        steps.append((message.sending_at, {"step": "sending", "attempt": message.attempt}))
    if message.ended_at:
        steps.append((message.ended_at, {"step": message.state.name.lower(), "reason": _json(message.error)}))
    return [{**step, "at": times.show(at)} for at, step in sorted(steps, key=lambda pair: pair[0])]


def _show_event(event_id: UUID, body: str, trace: Trace) -> dict[str, Any]:
    attempts = [a for a in trace.attempts if a.event_id == event_id]
    return {
        "event": msgspec.Raw(body.encode()),
        "deliveries": [
            {
                "endpoint": ids.show("we", d.endpoint_id),
                "state": STATUSES[d.state],
                "next_at": times.show_maybe(d.next_at),
                "attempts": [
                    {
                        "number": a.number,
                        "at": times.show(a.at),
                        "url": a.url,
                        "status": a.status,
                        "error": explain(a.status, a.error),
                        "latency_ms": round(a.latency_ms, 1),
                    }
                    for a in attempts
                    if a.endpoint_id == d.endpoint_id
                ],
            }
            for d in trace.deliveries
            if d.event_id == event_id
        ],
    }


def _json(text: str | None) -> Any:
    return msgspec.json.decode(text) if text else None
