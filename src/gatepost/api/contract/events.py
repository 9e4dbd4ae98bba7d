"""Events in answers."""

from typing import Any

import msgspec

from gatepost.api.contract.fields import ApiObject, EventId, JsonObject, Time
from gatepost.store.events import FeedPage


class Event(ApiObject, frozen=True):
    """A change on the channel. Webhooks, the feed and the log contain the same event."""

    id: EventId
    type: str
    action: str
    timestamp: Time
    sequence: int
    channel: JsonObject
    data: JsonObject

    @classmethod
    def all_of(cls, page: FeedPage) -> "list[Event]":
        """Return the events of a page. They are stored as JSON, and copied into the answer without being decoded."""
        events: list[Any] = [msgspec.Raw(event.body.encode()) for event in page.events]
        return events
