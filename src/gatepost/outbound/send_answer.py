"""The response to a send. It is encoded before the commit, because it is stored under the Idempotency-Key."""

import secrets
from datetime import UTC, datetime
from functools import cache
from typing import Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.accepted import Accepted, Key
from gatepost.model.message import CheckedMessage
from gatepost.model.person import jid
from gatepost.networks.base import AcceptedMessage
from gatepost.networks.kinds import NETWORK_KINDS

_ANY_TIME = datetime.fromtimestamp(0, UTC)
_encode = msgspec.json.Encoder().encode


class _Envelope(msgspec.Struct, frozen=True):
    success: bool
    message: str
    data: Accepted


class _AnsweredKey(msgspec.Struct):
    id: str


class _AnsweredData(msgspec.Struct):
    key: _AnsweredKey


class _Answered(msgspec.Struct):
    """An answer to a client, or to an assistant: either has the message's id."""

    data: _AnsweredData | None = None
    message: str | None = None


def accepted_id(answer: bytes) -> UUID | None:
    """Return the id of the message that an answer is about."""
    try:
        read = msgspec.json.decode(answer, type=_Answered)
    except msgspec.DecodeError:
        return None
    return ids.parse_id("", read.data.key.id if read.data else read.message or "")


def send_answer(kind: str, message: CheckedMessage, id_: UUID, now: datetime) -> bytes:
    """Return the response to a send as JSON, with the fields that the channel's network adds."""
    if message.send_at is None and message.phone.isdigit() and (form := _form(kind)) is not None:
        return form.replace(_ID, ids.message_id(id_).encode()).replace(_PHONE, message.phone.encode())
    accepted = AcceptedMessage(ids.message_id(id_), message.phone, message.type, message.content, now)
    return _render(kind, accepted, scheduled=message.send_at is not None)


def _render(kind: str, accepted: AcceptedMessage, *, scheduled: bool) -> bytes:
    status: Literal["PENDING", "SCHEDULED"] = "SCHEDULED" if scheduled else "PENDING"
    key = Key(jid(accepted.phone), True, accepted.id)
    data = Accepted(key, status, **NETWORK_KINDS[kind].accepted_fields(accepted))
    return _encode(_Envelope(True, "Message scheduled" if scheduled else "Message queued", data))


# Nobody outside of the process knows these values, so that nothing else in an answer contains one.
_ID, _PHONE = (b"%d" % (secrets.randbelow(9 * 10**30) + 10**30) for _ in range(2))


@cache
def _form(kind: str) -> bytes | None:
    """Return an answer with placeholders for id and phone; None if answers of the network depend on more."""
    if not NETWORK_KINDS[kind].accepted_alike:
        return None
    return _render(kind, AcceptedMessage(_ID.decode(), _PHONE.decode(), "", "", _ANY_TIME), scheduled=False)
