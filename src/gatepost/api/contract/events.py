"""Events in answers."""

from typing import Any

import msgspec

from gatepost.api.contract.fields import ApiObject
from gatepost.store.events import FeedPage


class Event(ApiObject, frozen=True):
    """An event. The reference shows the fields of each type and action, from `model/event/`."""

    @classmethod
    def all_of(cls, page: FeedPage) -> "list[Event]":
        """Return the events of a page. They are stored as JSON, and copied into the answer without being decoded."""
        events: list[Any] = [msgspec.Raw(event.body.encode()) for event in page.events]
        return events
