"""Messages, incoming and outgoing."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from gatepost.model import ids, times
from gatepost.model.event.parts import (
    AT,
    MESSAGE,
    MESSAGE_ID,
    PERSON,
    EventContact,
    EventConversation,
    EventObject,
    MessageId,
    MessageKey,
    MessageStatus,
    Object,
    Text,
    Time,
)
from gatepost.model.message import STATUS, State
from gatepost.model.person import jid
from gatepost.model.sender import SenderKind, read_sender


class ReferredProduct(EventObject, frozen=True):
    """The product that a person asks about."""

    catalog_id: str | UnsetType = UNSET
    retailer_id: str | UnsetType = UNSET


class GroupChat(EventObject, frozen=True):
    """A group or a broadcast, on a QR channel that keeps such messages."""

    id: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


class GroupAuthor(EventObject, frozen=True):
    """The author of a message in a group, with all ids that the network gives."""

    phone: str | UnsetType = UNSET
    lid: str | UnsetType = UNSET
    user_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    username: str | UnsetType = UNSET


class MessageContext(EventObject, frozen=True):
    """The message that a message replies to, and its origin."""

    reply_to: Annotated[MessageId | UnsetType, Meta(description="A message of this channel.")] = UNSET
    forwarded: Literal[True] | UnsetType = UNSET
    frequently_forwarded: Literal[True] | UnsetType = UNSET
    referred_product: ReferredProduct | UnsetType = UNSET
    view_once: Literal[True] | UnsetType = UNSET
    ephemeral: Annotated[Literal[True] | UnsetType, Meta(description="It disappears from the phone.")] = UNSET
    referral: Annotated[Object | UnsetType, Meta(description="The advertisement, as the network describes it.")] = UNSET
    chat: Annotated[GroupChat | UnsetType, Meta(description="The group, if it was not sent to you alone.")] = UNSET
    author: Annotated[GroupAuthor | UnsetType, Meta(description="Its author in the group.")] = UNSET

    @classmethod
    def of(cls, reply_to: UUID | None, origin: Mapping[str, Any] | None) -> "MessageContext | None":
        """Return a context; None if it is empty. Fields of `origin` that are not listed here are left out."""
        known = {name: origin[name] for name in cls.__struct_fields__ if name in origin} if origin else {}
        if reply_to:
            known["reply_to"] = ids.message_id(reply_to)
        return cls(**known) if known else None


class EventSender(EventObject, frozen=True, gc=False):
    """Who sent a message: a user, a key, the operator (the command line), or the channel's own phone."""

    kind: SenderKind
    id: Annotated[Text, Meta(description="Of a user or a key.")]
    label: Annotated[Text, Meta(description="The name of the user or the key when the message was sent.")]

    @classmethod
    def of(cls, text: str | None) -> "EventSender | None":
        """Return a sender from its stored form; None if it is not known."""
        sender = read_sender(text)
        return cls(sender.kind, sender.id, sender.label) if sender else None


class Message(EventObject, frozen=True):
    """A message. Outgoing messages have a status, your reference and a sender."""

    key: MessageKey
    direction: Literal["in", "out"]
    type: str
    content: Annotated[
        Raw,
        Meta(description="Its fields depend on the type, as in sending.", extra_json_schema={"type": "object"}),
    ]
    timestamp: Time
    contact: EventContact
    conversation: EventConversation
    context: MessageContext | None
    status: Annotated[MessageStatus | UnsetType, Meta(description="Of an outgoing message.")] = UNSET
    client_ref: Annotated[str | UnsetType | None, Meta(description="Of an outgoing message: your reference.")] = UNSET
    sent_by: Annotated[
        EventSender | UnsetType | None,
        Meta(description="Of an outgoing message. Null: it was sent by a version that did not record it."),
    ] = UNSET

    @classmethod
    def of(
        cls,
        *,
        id_: UUID,
        phone: str,
        contact_id: UUID,
        name: str | None,
        incoming: bool,
        type_: str,
        content: str,
        timestamp: datetime,
        reply_to: UUID | None,
        client_ref: str | None,
        sent_by: str | None,
        scheduled: bool = False,
        status: State = State.QUEUED,
        context: Mapping[str, Any] | None = None,
        **change: Any,
    ) -> Self:
        """Return the data of an event. `change` are the fields of `MessageUpdated`."""
        return cls(
            MessageKey(jid(phone), not incoming, ids.message_id(id_)),
            "in" if incoming else "out",
            type_,
            Raw(content.encode()),
            times.format_time(timestamp),
            EventContact.ref(contact_id, phone, name),
            EventConversation.ref(contact_id),
            MessageContext.of(reply_to, context),
            UNSET if incoming else "SCHEDULED" if scheduled else STATUS[status],
            UNSET if incoming else client_ref,
            UNSET if incoming else EventSender.of(sent_by),
            **change,
        )

    @classmethod
    def example(cls, **change: Any) -> Self:
        contact_id, phone, name = PERSON
        return cls.of(
            id_=MESSAGE_ID,
            phone=phone,
            contact_id=contact_id,
            name=name,
            incoming=True,
            type_="text",
            content='{"body":"Is it still available?"}',
            timestamp=AT,
            reply_to=ids.derived_id(AT, "reply"),
            client_ref=None,
            sent_by=None,
            **change,
        )


class MessageCreated(Message, frozen=True):
    """A message was received, or was accepted for sending."""

    TYPE, ACTION = MESSAGE, "created"


class Reaction(EventObject, frozen=True):
    """A reaction, or the removal of one."""

    emoji: Annotated[str, Meta(description="Empty: removed.")]
    from_: Annotated[str, Meta(pattern="^(me|ct_[0-9a-f]{32})$")] = msgspec.field(name="from")
    author: Annotated[GroupAuthor | UnsetType, Meta(description="Of a group: the ids of the member.")] = UNSET


class MessageUpdated(Message, frozen=True, kw_only=True):
    """A message was changed. The other fields show it after the change."""

    TYPE, ACTION = MESSAGE, "updated"

    change: Literal["edited", "deleted", "reaction", "media_ready", "media_waiting", "media_failed"]
    reaction: Annotated[Reaction | UnsetType, Meta(description="Of `reaction`.")] = UNSET
    reason: Annotated[str | UnsetType, Meta(description="Of `media_waiting` and `media_failed`.")] = UNSET

    @classmethod
    def example(cls, **change: Any) -> Self:
        return super().example(**change or {"change": "reaction", "reaction": Reaction("👍", "me")})
