"""All events, by type and action. An event that is not listed here cannot be emitted."""

from typing import TypeAlias, get_args

from gatepost.model.event.acknowledgements import AckConnection, AckMessage
from gatepost.model.event.chats import ChatCreated, ChatUpdated
from gatepost.model.event.contacts import ContactCreated, ContactDeleted, ContactUpdated
from gatepost.model.event.endpoints import EndpointEvent
from gatepost.model.event.labels import LabelAssigned, LabelCreated, LabelDeleted, LabelRemoved, LabelUpdated
from gatepost.model.event.messages import MessageCreated, MessageUpdated
from gatepost.model.event.numbers import NumberEvent
from gatepost.model.event.orders import OrderCreated, OrderUpdated
from gatepost.model.event.parts import ACKNOWLEDGE, CHAT, CONTACT, LABEL, MESSAGE, ORDER, SYSTEM
from gatepost.model.event.templates import TemplateEvent

AnyEvent: TypeAlias = (
    MessageCreated
    | MessageUpdated
    | AckMessage
    | AckConnection
    | ChatCreated
    | ChatUpdated
    | LabelCreated
    | LabelUpdated
    | LabelDeleted
    | LabelAssigned
    | LabelRemoved
    | ContactCreated
    | ContactUpdated
    | ContactDeleted
    | OrderCreated
    | OrderUpdated
    | EndpointEvent
    | TemplateEvent
    | NumberEvent
)

TYPE_DESCRIPTIONS = {
    MESSAGE: "Messages, incoming and outgoing.",
    ACKNOWLEDGE: "Statuses of messages, and of the channel's connection.",
    CHAT: "Conversations.",
    LABEL: "Labels, and the conversations and contacts that they are assigned to.",
    CONTACT: "Contacts.",
    ORDER: "Orders.",
    SYSTEM: "Notifications for operators: webhook endpoints, templates, and the number's quality and tier.",
}
ALL_TYPES = tuple(TYPE_DESCRIPTIONS)
TYPES = tuple(type_ for type_ in ALL_TYPES if type_ != SYSTEM)  # that endpoints get unless they are switched off
EVENTS: dict[str, dict[str, type[AnyEvent]]] = {
    type_: {event.ACTION: event for event in get_args(AnyEvent) if type_ == event.TYPE} for type_ in ALL_TYPES
}
