"""The types of fields, and the objects that several events contain."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.model import ids
from gatepost.model.message import STATUS, State
from gatepost.model.person import shown_phone

MESSAGE = "message_notification"
ACKNOWLEDGE = "ack_notification"
CHAT = "chat_notification"
LABEL = "label_notifications"
CONTACT = "contact_notifications"
ORDER = "order_notifications"
SYSTEM = "system_notification"  # notifications for operators; endpoints get it only if they ask for it


def id_with(prefix: str) -> Meta:
    return Meta(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


def one_of(values: Iterable[str]) -> Meta:
    return Meta(extra_json_schema={"enum": list(values)})


Text = str | None
Object = dict[str, Any]
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", description="RFC 3339, UTC.")]
Phone = Annotated[str, Meta(pattern=r"^[0-9]+$", description="Digits with the country code.")]
MessageId = Annotated[str, Meta(pattern="^[0-9A-F]{32}$")]
EventId = Annotated[str, id_with("evt")]
ChannelId = Annotated[str, id_with("ch")]
ContactId = Annotated[str, id_with("ct")]
ConversationId = Annotated[str, id_with("cv")]
_OUTGOING = sorted(set(State) - {State.RECEIVED}, key=lambda state: (state < State.QUEUED, abs(state)))
MessageStatus = Annotated[str, one_of(["SCHEDULED", *dict.fromkeys(STATUS[state] for state in _OUTGOING)])]

# The time and ids of examples
AT = datetime(2026, 11, 15, 10, 0, 0, 123_000, UTC)
PERSON = (ids.derived_id(AT, "contact"), "5511999998888", "Ana Maria")
MESSAGE_ID = ids.derived_id(AT, "message")
EVENT_ID = ids.derived_id(AT, "event")


class EventObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object of an event, with these fields and no others."""


class MessageKey(EventObject, frozen=True, gc=False):
    """The chat, the direction and the id of a message."""

    remote_jid: str = msgspec.field(name="remoteJid")
    from_me: bool = msgspec.field(name="fromMe")
    id: MessageId


class EventContact(EventObject, frozen=True):
    """A person. `name` is the name given on this channel, or else the name that the person has on the network."""

    id: ContactId
    phone: Annotated[Phone | None, Meta(description="Null if the network shows only another id of the person.")]
    name: Text

    @classmethod
    def ref(cls, contact_id: UUID, address: str, name: str | None) -> "EventContact":
        """Return a contact. Its phone is null if only another address is known."""
        return EventContact(ids.format_id("ct", contact_id), shown_phone(address), name)


class EventConversation(EventObject, frozen=True, gc=False):
    """All messages with one contact."""

    id: ConversationId

    @classmethod
    def ref(cls, contact_id: UUID) -> "EventConversation":
        return cls(ids.format_id("cv", contact_id))
