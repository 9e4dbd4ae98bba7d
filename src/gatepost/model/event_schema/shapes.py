"""The data of every action of every type of event. The schemas that customers read are made from these alone."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.model import endpoint, event, order

Text = str | None
Time = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", description="RFC 3339, UTC.")]
Phone = Annotated[str, Meta(pattern=r"^[0-9]+$", description="Digits with the country code.")]
Money = Annotated[str, Meta(pattern=r"^-?[0-9]+(\.[0-9]+)?$", description="A decimal number as text.")]
Object = dict[str, Any]


def _id(prefix: str) -> Meta:
    return Meta(pattern=f"^{prefix}_[0-9a-f]{{32}}$")


MessageId = Annotated[str, Meta(pattern="^[0-9A-F]{32}$")]
EventId = Annotated[str, _id("evt")]
ChannelId = Annotated[str, _id("ch")]
ContactId = Annotated[str, _id("ct")]
ConversationId = Annotated[str, _id("cv")]
OrderStatus = Literal["new", "confirmed", "shipped", "delivered", "canceled"]
MessageStatus = Literal["SCHEDULED", "PENDING", "SENT", "DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED"]
EndpointState = Literal["active", "paused", "disabled"]
assert set(get_args(OrderStatus)) == set(order.STATUSES)
assert set(get_args(EndpointState)) == {endpoint.ACTIVE, endpoint.PAUSED, endpoint.DISABLED}


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an event tells."""


class EventChannel(Data, frozen=True):
    """The channel that it happened on."""

    id: ChannelId
    kind: Literal["official", "qr"]
    phone: str


class MessageKey(Data, frozen=True):
    """Chat, direction and id of a message."""

    remote_jid: str = msgspec.field(name="remoteJid")
    from_me: bool = msgspec.field(name="fromMe")
    id: MessageId


class EventContact(Data, frozen=True):
    """A person: `name` is what they are called here, else what they call themselves."""

    id: ContactId
    phone: Annotated[Phone | None, Meta(description="Null for somebody whom the network shows by another id only.")]
    name: Text


class EventConversation(Data, frozen=True):
    """All messages with one contact."""

    id: ConversationId


class ReferredProduct(Data, frozen=True):
    """The product that somebody asks about."""

    catalog_id: str | UnsetType = UNSET
    retailer_id: str | UnsetType = UNSET


class GroupChat(Data, frozen=True):
    """A group or a broadcast, on a QR channel that keeps such messages."""

    id: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


class GroupAuthor(Data, frozen=True):
    """Who wrote in a group, by every name that the network gives."""

    phone: str | UnsetType = UNSET
    lid: str | UnsetType = UNSET
    user_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    username: str | UnsetType = UNSET


class MessageContext(Data, frozen=True):
    """What a message answers, and where it came from."""

    reply_to: Annotated[MessageId | UnsetType, Meta(description="A message of this channel.")] = UNSET
    forwarded: Literal[True] | UnsetType = UNSET
    frequently_forwarded: Literal[True] | UnsetType = UNSET
    referral: Annotated[Object | UnsetType, Meta(description="The advertisement, in the network's words.")] = UNSET
    referred_product: ReferredProduct | UnsetType = UNSET
    view_once: Literal[True] | UnsetType = UNSET
    ephemeral: Annotated[Literal[True] | UnsetType, Meta(description="It vanishes on the phone by itself.")] = UNSET
    chat: Annotated[GroupChat | UnsetType, Meta(description="Where it was said, if not to the business alone.")] = UNSET
    author: Annotated[GroupAuthor | UnsetType, Meta(description="Who said it there.")] = UNSET


class Message(Data, frozen=True):
    """A message that came, or that left."""

    key: MessageKey
    direction: Literal["in", "out"]
    type: str
    content: Annotated[Object, Meta(description="By the type; the same fields as in sending.")]
    timestamp: Time
    contact: EventContact
    conversation: EventConversation
    context: MessageContext | None
    status: Annotated[MessageStatus | UnsetType, Meta(description="Of what left.")] = UNSET
    client_ref: Annotated[str | UnsetType | None, Meta(description="Of what left: your own name for it.")] = UNSET


class Reaction(Data, frozen=True):
    """A reaction that came or went."""

    emoji: Annotated[str, Meta(description="Empty: taken back.")]
    from_: Annotated[str, Meta(pattern="^(me|ct_[0-9a-f]{32})$")] = msgspec.field(name="from")


class ChangedMessage(Message, frozen=True, kw_only=True):
    """A message as it is now, after it changed."""

    change: Literal["edited", "deleted", "reaction", "media_ready", "media_waiting", "media_failed"]
    reaction: Annotated[Reaction | UnsetType, Meta(description="Of `reaction`.")] = UNSET
    reason: Annotated[str | UnsetType, Meta(description="Of `media_waiting` and `media_failed`: why.")] = UNSET


class MessageError(Data, frozen=True):
    """What went wrong: a code of the network (a number) or of ours (a word)."""

    code: int | str
    title: str
    details: Text
    advice: str | UnsetType = UNSET


class Acknowledged(Data, frozen=True):
    """A message that left came further, or its way ended."""

    key: MessageKey
    status: MessageStatus
    ack: Annotated[int, Meta(ge=-1, le=4)]
    previous: MessageStatus
    client_ref: Text
    error: MessageError | UnsetType = UNSET
    pricing: Annotated[Object | UnsetType, Meta(description="In the network's words.")] = UNSET
    conversation: Annotated[Object | UnsetType, Meta(description="In the network's words.")] = UNSET
    held: Annotated[Literal[True] | UnsetType, Meta(description="The network keeps it back for a while.")] = UNSET


ConnectionState = Literal[
    "disconnected", "connecting", "waiting_for_scan", "connected", "logged_out", "banned", "limited"
]


class Connection(Data, frozen=True):
    """How the channel stands with its network."""

    state: ConnectionState
    previous: ConnectionState
    reason: Text
    qr: Annotated[str | UnsetType, Meta(description="A new code to scan.")] = UNSET


class Chat(Data, frozen=True):
    """A conversation that is new."""

    id: ConversationId
    contact: EventContact
    status: Literal["open"]
    created_at: Time


class ChangedChat(Data, frozen=True):
    """A conversation that changed: `changed` names the fields, which stand beside it as they are now."""

    id: ConversationId
    contact: EventContact
    changed: Annotated[list[Literal["status", "archived", "muted", "assignee", "note", "unread"]], Meta(min_length=1)]
    status: Literal["open", "closed"]
    archived: bool
    muted: bool | UnsetType = UNSET
    assignee: str | UnsetType | None = UNSET
    note: str | UnsetType | None = UNSET
    unread: Annotated[int, Meta(ge=0)] | UnsetType = UNSET


class Labelled(Data, frozen=True):
    """A label."""

    id: Annotated[str, _id("lb")]
    name: str
    color: Annotated[str, Meta(pattern="^#[0-9a-f]{6}$")]


class LabelUse(Labelled, frozen=True):
    """A label that was put on somebody, or taken off."""

    target: Literal["conversation", "contact"]
    contact: EventContact
    conversation: EventConversation


class Person(EventContact, frozen=True):
    """A contact, with its conversation."""

    conversation: EventConversation


class NewPerson(Person, frozen=True):
    """A contact that is new. `opted_out` and `custom` are there where people made it."""

    created_at: Time
    opted_out: bool | UnsetType = UNSET
    custom: dict[str, str] | UnsetType = UNSET


class ChangedPerson(Person, frozen=True):
    """A contact that changed. `custom` is there where people changed it."""

    username: Text
    changed: Annotated[list[Literal["name", "username", "phone", "history", "custom", "opted_out"]], Meta(min_length=1)]
    joined: Annotated[list[ContactId], Meta(description="Contacts that turned out to be this one, and are gone.")]
    opted_out: Annotated[bool | UnsetType, Meta(description="Whether they want no marketing.")] = UNSET
    custom: dict[str, str] | UnsetType = UNSET


class OrderItem(Data, frozen=True):
    """One line of an order."""

    retailer_id: str
    quantity: Annotated[int, Meta(ge=0)]
    price: Annotated[str, Meta(description="A decimal number as text, as the network sent it.")]
    currency: str


class Order(Data, frozen=True):
    """What somebody ordered."""

    id: Annotated[str, _id("ord")]
    message: MessageId
    contact: EventContact
    conversation: EventConversation
    status: OrderStatus
    catalog_id: str
    note: str
    items: list[OrderItem]
    total: Annotated[Money | None, Meta(description="Null where items are in several currencies.")]
    currency: Text
    created_at: Time


class NewOrder(Order, frozen=True):
    """An order that came."""


class MovedOrder(Order, frozen=True):
    """An order whose status changed."""

    previous: OrderStatus


class Endpoint(Data, frozen=True):
    """How one of the channel's own endpoints fares."""

    id: Annotated[str, _id("we")]
    url: str
    state: EndpointState
    previous: EndpointState
    reason: Text
    failing_since: Time | None
    failures: Annotated[int, Meta(ge=0, description="Since the last success.")]


class Exhausted(Endpoint, frozen=True):
    """Deliveries were given up: `exhausted` since the last such event, the newest that of `event`."""

    exhausted: Annotated[int, Meta(ge=1)]
    event: EventId


SHAPES: dict[str, dict[str, type[Data]]] = {
    event.MESSAGE: {"created": Message, "updated": ChangedMessage},
    event.ACKNOWLEDGE: {"message": Acknowledged, "connection": Connection},
    event.CHAT: {"created": Chat, "updated": ChangedChat},
    event.LABEL: {
        "created": Labelled,
        "updated": Labelled,
        "deleted": Labelled,
        "assigned": LabelUse,
        "removed": LabelUse,
    },
    event.CONTACT: {"created": NewPerson, "updated": ChangedPerson, "deleted": Person},
    event.ORDER: {"created": NewOrder, "updated": MovedOrder},
    event.OPERATIONAL: {
        "failing": Endpoint,
        "paused": Endpoint,
        "resumed": Endpoint,
        "disabled": Endpoint,
        "enabled": Endpoint,
        "exhausted": Exhausted,
    },
}
