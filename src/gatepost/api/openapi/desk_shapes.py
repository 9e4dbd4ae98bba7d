"""What answers about conversations, contacts, labels, orders and usage hold."""

from typing import Literal

from msgspec import UNSET, UnsetType

from gatepost.api.contract.labels import LabelRef
from gatepost.api.openapi.shapes import ContactRef, ConversationRef, Message, Object, Shape, Text, Time, When


class Conversation(Shape, frozen=True):
    """All messages with one contact, and what people note of them."""

    id: str
    contact: ContactRef
    status: Literal["open", "closed"]
    archived: bool
    muted: bool
    assignee: Text
    note: Text
    unread: int
    labels: list[LabelRef]
    window_ends_at: When
    last_message: Message | None
    created_at: Time
    updated_at: Time


class ReadConversation(Conversation, frozen=True):
    """A conversation that was read, and whether the person was shown that."""

    shown: bool


class Contact(Shape, frozen=True):
    """A person."""

    id: str
    phone: Text
    name: Text
    username: Text
    opted_out: bool
    opted_out_at: When
    custom: dict[str, str]
    labels: list[LabelRef]
    conversation: ConversationRef
    created_at: Time
    updated_at: Time


class Checked(Shape, frozen=True):
    """Whether a number is on the network."""

    phone: str
    exists: bool
    contact: Text


class Order(Shape, frozen=True):
    """An order. Money is decimal text."""

    id: str
    message: str
    contact: ContactRef
    conversation: ConversationRef
    status: Literal["new", "confirmed", "shipped", "delivered", "canceled"]
    catalog_id: Text
    note: Text
    items: list[Object]
    total: Text
    currency: Text
    created_at: Time
    updated_at: When
    previous: Text | UnsetType = UNSET


class Usage(Shape, frozen=True):
    """The month against the plan, what every limit leaves, and messages per day."""

    plan: Object
    storage: Object
    trial: Object
    addons: list[str]
    api_access: bool
    tier: Object
    throughput: Object
    api: Object
    days: list[Object]
