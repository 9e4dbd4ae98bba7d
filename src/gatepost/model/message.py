"""Messages: the send request, the states, and the order of states.

queued ─► sending ─► sent ─► delivered ─► read ─► played
  │          │         │
  ├─ canceled│         │            only ever to the right; the three ends are final
  ├─ expired ┤         │
  └─ failed ◄┴─────────┘
"""

from datetime import datetime, timedelta
from enum import IntEnum
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.errors import invalid_field
from gatepost.model.phone import check_phone

BODY_MAX = 4096
CLIENT_REF_MAX = 256
TTL_MAX = 30 * 86_400
SEND_AT_MAX = timedelta(days=30)


class State(IntEnum):
    CANCELED = -3
    EXPIRED = -2
    FAILED = -1
    QUEUED = 0
    SENDING = 1
    SENT = 2
    DELIVERED = 3
    READ = 4
    PLAYED = 5
    RECEIVED = 10


STATUS = {
    State.CANCELED: "CANCELED",
    State.EXPIRED: "EXPIRED",
    State.FAILED: "FAILED",
    State.QUEUED: "PENDING",
    State.SENDING: "PENDING",
    State.SENT: "SENT",
    State.DELIVERED: "DELIVERED",
    State.READ: "READ",
    State.PLAYED: "PLAYED",
    State.RECEIVED: "RECEIVED",
}
ACK = {
    State.CANCELED: -1,
    State.EXPIRED: -1,
    State.FAILED: -1,
    State.QUEUED: 0,
    State.SENDING: 0,
    State.SENT: 1,
    State.DELIVERED: 2,
    State.READ: 3,
    State.PLAYED: 4,
}


def may_follow(current: State, new: State) -> bool:
    """Whether a report of `new` changes a message that is in `current`. Late and double reports change nothing."""
    if current < State.QUEUED or current is State.RECEIVED:
        return False
    if new is State.FAILED:
        return current <= State.SENT
    if new in (State.CANCELED, State.EXPIRED):
        return current is State.QUEUED
    return new > current


def status_of(state: State, send_at: datetime | None, now: datetime) -> str:
    """The public word for a state. A queued message whose time has not come is SCHEDULED."""
    if state is State.QUEUED and send_at is not None and send_at > now:
        return "SCHEDULED"
    return STATUS[state]


class SendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /message/send`: the seed's two fields, and what may be added."""

    phone: str
    body: str
    type: Literal["text"] = "text"
    preview_url: bool = False
    reply_to: str | None = None
    client_ref: str | None = None
    send_at: datetime | None = None
    ttl: int = 86_400
    priority: Literal["chat", "bulk"] = "chat"
    on_unknown: Literal["retry", "fail"] = "retry"


class Draft(msgspec.Struct, frozen=True):
    """A send request that has been checked: what will be written."""

    phone: str
    type: str
    content: str
    bulk: bool
    fail_unknown: bool
    client_ref: str | None
    reply_to: UUID | None
    send_at: datetime | None
    ttl: int

    def expires_at(self, now: datetime) -> datetime:
        start = now if self.send_at is None else max(now, self.send_at)
        return start + timedelta(seconds=self.ttl)


def check_send(request: SendRequest, now: datetime) -> Draft:
    """Every rule about the fields of a send, each with its own sentence."""
    check_phone(request.phone)
    _check_body(request.body)
    _check_length("client_ref", request.client_ref, CLIENT_REF_MAX)
    if not 1 <= request.ttl <= TTL_MAX:
        raise invalid_field("ttl", f"must be between 1 and {TTL_MAX} seconds")
    return Draft(
        phone=request.phone,
        type=request.type,
        content=_content(request),
        bulk=request.priority == "bulk",
        fail_unknown=request.on_unknown == "fail",
        client_ref=request.client_ref,
        reply_to=_reply_to(request.reply_to),
        send_at=_send_at(request.send_at, now),
        ttl=request.ttl,
    )


def _check_body(body: str) -> None:
    if not body.strip():
        raise invalid_field("body", "is empty; give the text of the message")
    if len(body) > BODY_MAX:
        raise invalid_field("body", f"may have at most {BODY_MAX} characters, but has {len(body)}")
    check_storable("body", body)


def check_storable(field: str, text: str) -> None:
    """PostgreSQL cannot keep NUL, and half a surrogate pair is not text."""
    if "\x00" in text:
        raise invalid_field(field, "must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid_field(field, "is not valid Unicode text") from None


def _check_length(field: str, text: str | None, most: int) -> None:
    if text is None:
        return
    if not 1 <= len(text) <= most:
        raise invalid_field(field, f"must have 1 to {most} characters, but has {len(text)}")
    check_storable(field, text)


def _content(request: SendRequest) -> str:
    content: dict[str, Any] = {"body": request.body}
    if request.preview_url:
        content["preview_url"] = True
    return msgspec.json.encode(content).decode()


def _reply_to(text: str | None) -> UUID | None:
    if text is None:
        return None
    id_ = ids.read("", text)
    if id_ is None:
        raise invalid_field("reply_to", "is not a message id of this gateway")
    return id_


def _send_at(at: datetime | None, now: datetime) -> datetime | None:
    if at is None:
        return None
    if at.tzinfo is None:
        raise invalid_field("send_at", "needs a time zone, e.g. 2026-11-15T10:00:00Z")
    if at > now + SEND_AT_MAX:
        raise invalid_field("send_at", "may be at most 30 days ahead")
    return at if at > now else None
