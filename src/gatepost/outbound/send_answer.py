"""The response to a send. It is encoded before the commit, because it is stored under the Idempotency-Key."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.accepted import Accepted, AcceptedId, Key, Recipient
from gatepost.model.message import Draft
from gatepost.model.person import jid
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.networks.qr.compose import LINK_TYPES, link_text

_encode = msgspec.json.Encoder().encode


class _Envelope(msgspec.Struct, frozen=True):
    success: bool
    message: str
    data: Accepted


def send_answer(kind: str, draft: Draft, id_: UUID, now: datetime) -> bytes:
    """Return the response to a send as JSON, with the fields of the kind of channel."""
    message_id, phone = ids.message_id(id_), draft.phone
    key = Key(jid(phone), True, message_id)
    status: Literal["PENDING", "SCHEDULED"] = "SCHEDULED" if draft.send_at else "PENDING"
    if NETWORK_KINDS[kind].linked:
        type_ = LINK_TYPES.get(draft.type, "conversation")
        content = msgspec.json.decode(draft.content)
        sent = {type_: link_text(draft.type, content) if type_ == "conversation" else content}
        data = Accepted(key, status, message=sent, messageType=type_, messageTimestamp=int(now.timestamp()))
    else:
        data = Accepted(key, status, "whatsapp", [Recipient(phone, phone)], [AcceptedId(message_id, "accepted")])
    return _encode(_Envelope(True, "Message scheduled" if draft.send_at else "Message queued", data))
