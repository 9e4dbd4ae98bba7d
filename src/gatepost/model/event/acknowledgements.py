"""Statuses of messages, and of the channel's connection."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gatepost.model import ids
from gatepost.model.event.parts import (
    ACKNOWLEDGE,
    MESSAGE_ID,
    PERSON,
    EventObject,
    MessageKey,
    MessageStatus,
    Object,
    Text,
    one_of,
)
from gatepost.model.message import ACK, STATUS, State
from gatepost.model.person import jid

_AS_SENT = Meta(description="As the network sent it.")


class MessageError(EventObject, frozen=True):
    """An error. `code` is a number of the network, or a string of the gateway."""

    code: int | str
    title: str
    details: Text
    advice: str | UnsetType = UNSET


class AckMessage(EventObject, frozen=True):
    """The status of an outgoing message changed."""

    TYPE, ACTION = ACKNOWLEDGE, "message"

    key: MessageKey
    status: MessageStatus
    ack: Annotated[int, Meta(ge=-1, le=4)]
    previous: MessageStatus
    client_ref: Text
    error: MessageError | UnsetType = UNSET
    pricing: Annotated[Object | UnsetType, _AS_SENT] = UNSET
    conversation: Annotated[Object | UnsetType, _AS_SENT] = UNSET
    held: Annotated[Literal[True] | UnsetType, Meta(description="The network holds it back for a while.")] = UNSET

    @classmethod
    def of(
        cls,
        *,
        id_: UUID,
        phone: str,
        state: State,
        previous: str,
        client_ref: str | None,
        error: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> "AckMessage":
        """Return the data of an event. `details` are pricing, conversation and held, if the network reports them."""
        return cls(
            MessageKey(jid(phone), True, ids.message_id(id_)),
            STATUS[state],
            ACK[state],
            previous,
            client_ref,
            MessageError(**error) if error else UNSET,
            **details or {},
        )

    @classmethod
    def example(cls) -> "AckMessage":
        _, phone, _ = PERSON
        return cls.of(id_=MESSAGE_ID, phone=phone, state=State.DELIVERED, previous="SENT", client_ref="order-1001")


ConnectionState = Annotated[
    str, one_of(["disconnected", "connecting", "waiting_for_scan", "connected", "logged_out", "banned", "limited"])
]


class AckConnection(EventObject, frozen=True):
    """The state of the channel's connection to its network changed."""

    TYPE, ACTION = ACKNOWLEDGE, "connection"

    state: ConnectionState
    previous: ConnectionState
    reason: Text
    qr: Annotated[str | UnsetType, Meta(description="A new code to scan.")] = UNSET

    @classmethod
    def example(cls) -> "AckConnection":
        return cls("waiting_for_scan", "connecting", "Scan the code with the phone.", "2@liXrE1wq0mA=")
