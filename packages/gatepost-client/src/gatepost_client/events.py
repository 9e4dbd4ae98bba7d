"""Events: what happened on the channel, the same in a webhook and in the feed."""

from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from gatepost_client.results import Connection, Key, Named, Person, Result

T = TypeVar("T")
Kind: TypeAlias = type[T]  # an event has a field of that name


class EventChannel(Named, frozen=True):
    """The channel that an event happened on."""

    kind: str
    phone: str | None = None


class MessageNews(Result, frozen=True):
    """A message that came or left (`created`), or that changed (`updated`: `change` says how)."""

    key: Key
    direction: str
    type: str
    content: dict[str, Any]
    contact: Person
    conversation: Named
    timestamp: datetime
    context: dict[str, Any] | None = None
    status: str | None = None
    client_ref: str | None = None
    change: str | None = None
    reason: str | None = None


class StatusNews(Result, frozen=True):
    """An outgoing message that came further."""

    key: Key
    status: str
    ack: int
    previous: str | None = None
    error: dict[str, Any] | None = None
    client_ref: str | None = None


class ConnectionNews(Connection, frozen=True):
    """A change of the channel's connection; `qr` is a new code to scan."""

    previous: str | None = None
    qr: str | None = None


class Event(Named, frozen=True):
    """One event. `data` is as it came; the properties give it typed, or None where it is about something else."""

    type: str
    action: str
    timestamp: datetime
    sequence: int
    channel: EventChannel
    data: dict[str, Any]

    @property
    def message(self) -> MessageNews | None:
        """What a `message_notification` tells."""
        return self._data(MessageNews) if self.type == "message_notification" else None

    @property
    def status(self) -> StatusNews | None:
        """What an `ack_notification` tells of a message."""
        return self._data(StatusNews) if (self.type, self.action) == ("ack_notification", "message") else None

    @property
    def connection(self) -> ConnectionNews | None:
        """What an `ack_notification` tells of the connection."""
        return self._data(ConnectionNews) if (self.type, self.action) == ("ack_notification", "connection") else None

    def _data(self, kind: Kind[T]) -> T:
        return msgspec.convert(self.data, kind)
