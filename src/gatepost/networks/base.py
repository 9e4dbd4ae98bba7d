"""What the gateway asks of any network, and what a network may answer. Values only; no decisions, no store.

send(message) ─► Sent       the network has it, under this id
                 Refused    the network said no; `reaction` says what its no means
                 Unsent     it never left this machine
                 Unknown    it left, and the answer was lost
"""

from datetime import datetime
from enum import Enum
from typing import Any, Protocol
from uuid import UUID

import msgspec


class Outgoing(msgspec.Struct, frozen=True):
    """A message on its way to the network."""

    id: UUID
    attempt: int
    phone: str
    type: str
    content: str
    reply_to: str | None = None


class Reaction(Enum):
    """What a refusal asks for."""

    FINAL = "final"
    RETRY = "retry"
    HOLD_CHANNEL = "hold_channel"
    HOLD_RECIPIENT = "hold_recipient"


class NetworkError(msgspec.Struct, frozen=True):
    """The network's own words."""

    code: int
    title: str
    details: str | None = None


class Sent(msgspec.Struct, frozen=True):
    network_id: str


class Refused(msgspec.Struct, frozen=True):
    error: NetworkError
    reaction: Reaction


class Unsent(msgspec.Struct, frozen=True):
    reason: str


class Unknown(msgspec.Struct, frozen=True):
    reason: str


Receipt = Sent | Refused | Unsent | Unknown


class Status(msgspec.Struct, frozen=True):
    """A report about a message that we sent."""

    network_id: str
    status: str
    at: datetime
    message_id: UUID | None = None
    attempt: int | None = None
    error: NetworkError | None = None


class Incoming(msgspec.Struct, frozen=True):
    """A message from a person."""

    network_id: str
    phone: str
    name: str | None
    type: str
    content: str
    at: datetime
    reply_to: str | None = None


Update = Status | Incoming


class Capabilities(msgspec.Struct, frozen=True):
    """What a kind of channel can carry. What it cannot is refused before acceptance."""

    types: frozenset[str]

    def shown(self) -> dict[str, Any]:
        return {"types": sorted(self.types)}


class Network(Protocol):
    """One channel's way to its network."""

    async def send(self, message: Outgoing) -> Receipt:
        """Hands one message to the network."""

    async def close(self) -> None:
        """Lets go of connections."""


CAPABILITIES = {
    "official": Capabilities(frozenset({"text"})),
    "qr": Capabilities(frozenset({"text"})),
}
