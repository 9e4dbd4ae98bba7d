"""Events: what happened on the channel, the same in a webhook, in the feed and in the stream."""

from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from gatepost_client.types import (
    EVENT_DATA,
    AckConnection,
    AckMessage,
    EventChannel,
    MessageCreated,
    MessageUpdated,
    Result,
)

T = TypeVar("T")
Struct: TypeAlias = type[T]  # an event has a field named `type`


class Event(Result, frozen=True, kw_only=True):
    """One event. `data` is the JSON object as received; `details` and the other properties return it typed."""

    id: str
    type: str
    action: str
    timestamp: datetime
    sequence: int
    channel: EventChannel
    data: dict[str, Any]
    test: bool = False

    @property
    def details(self) -> Result | None:
        """The data as a struct; None for an event that this version of the client does not know."""
        kind = EVENT_DATA.get((self.type, self.action))
        return None if kind is None else msgspec.convert(self.data, kind)

    @property
    def message(self) -> MessageCreated | MessageUpdated | None:
        """The message of a `message_notification`; None for other events."""
        return self._details(MessageCreated) or self._details(MessageUpdated)

    @property
    def status(self) -> AckMessage | None:
        """The new status of a message, in an `ack_notification`; None for other events."""
        return self._details(AckMessage)

    @property
    def connection(self) -> AckConnection | None:
        """The new state of the connection, in an `ack_notification`; None for other events."""
        return self._details(AckConnection)

    def _details(self, kind: Struct[T]) -> T | None:
        known = EVENT_DATA.get((self.type, self.action))
        return msgspec.convert(self.data, kind) if known is kind else None
