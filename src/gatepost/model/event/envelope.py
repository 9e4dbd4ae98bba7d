"""What all events have in common, around the data of their action."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.model import ids, times
from gatepost.model.event.catalog import AnyEvent
from gatepost.model.event.parts import ChannelId, EventId, EventObject, Time


class ChannelRef(EventObject, frozen=True):
    """The channel of an event."""

    id: ChannelId
    kind: str  # the name of a registered network
    phone: str


class Event(EventObject, frozen=True):
    """An event as it is stored and delivered."""

    id: EventId
    type: str
    action: str
    timestamp: Time
    sequence: Annotated[
        int, Meta(ge=0, description="The number of the event in its channel, without gaps; 0 in a test event.")
    ]
    channel: ChannelRef
    data: EventObject
    test: Annotated[Literal[True] | UnsetType, Meta(description="Only in a test event of an endpoint.")] = UNSET


class NewEvent(msgspec.Struct, frozen=True):
    """An event that has no sequence number in its channel yet."""

    id: UUID
    data: AnyEvent
    conversation_id: UUID | None = None  # None: the event is about the whole channel
    message_id: UUID | None = None  # of a `message_notification`


_encode = msgspec.json.Encoder().encode


def render(
    event: NewEvent, sequence: int, channel: ChannelRef, at: datetime, test: Literal[True] | UnsetType = UNSET
) -> str:
    """Return the public JSON of an event. It is rendered once, in the transaction that it reports."""
    id_, data = ids.format_id("evt", event.id), event.data
    return _encode(Event(id_, data.TYPE, data.ACTION, times.format_time(at), sequence, channel, data, test)).decode()


def render_test(event: NewEvent, channel: ChannelRef, at: datetime) -> str:
    """Return the JSON of a test event for an endpoint. It is marked as a test and has no sequence number."""
    return render(event, 0, channel, at, test=True)
