"""Events: each action of each type is one struct. The stored JSON, the webhook, the schema and the docs come from it.

parts.py       the types of fields, and the objects that several events contain
messages.py, acknowledgements.py, chats.py, labels.py, contacts.py, orders.py,
endpoints.py, templates.py, numbers.py
               the data of each action, with an example
catalog.py     all of them, by type and action
envelope.py    what all events have in common, around the data
schema.py      the structs as JSON Schema, and the examples
"""

from gatepost.model.event.catalog import ALL_TYPES, TYPES, AnyEvent
from gatepost.model.event.envelope import ChannelRef, NewEvent, render, render_test
from gatepost.model.event.parts import ACKNOWLEDGE, CHAT, CONTACT, LABEL, MESSAGE, ORDER, SYSTEM

__all__ = [
    "ACKNOWLEDGE",
    "ALL_TYPES",
    "CHAT",
    "CONTACT",
    "LABEL",
    "MESSAGE",
    "ORDER",
    "SYSTEM",
    "TYPES",
    "AnyEvent",
    "ChannelRef",
    "NewEvent",
    "render",
    "render_test",
]
