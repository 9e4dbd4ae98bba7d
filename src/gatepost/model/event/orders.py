"""Orders."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import UNSET, Meta, UnsetType

from gatepost.model import ids, times
from gatepost.model.event.parts import (
    AT,
    MESSAGE_ID,
    ORDER,
    PERSON,
    EventContact,
    EventConversation,
    EventObject,
    MessageId,
    Text,
    Time,
    id_with,
    one_of,
)
from gatepost.model.order import STATUSES

Money = Annotated[str, Meta(pattern=r"^-?[0-9]+(\.[0-9]+)?$", description="A decimal number as text.")]
OrderStatus = Annotated[str, one_of(STATUSES)]
_NO_PRICE = "Not present if the network reports no price."


class OrderItem(EventObject, frozen=True):
    """An item of an order. `price` is the price of one piece."""

    retailer_id: str
    quantity: Annotated[int, Meta(ge=0)]
    price: Annotated[str | UnsetType, Meta(description=f"A decimal number as text. {_NO_PRICE}")] = UNSET
    currency: Annotated[str | UnsetType, Meta(description=_NO_PRICE)] = UNSET


class Order(EventObject, frozen=True):
    """An order."""

    id: Annotated[str, id_with("ord")]
    message: MessageId
    contact: EventContact
    conversation: EventConversation
    status: OrderStatus
    catalog_id: str
    note: str
    items: Sequence[OrderItem]
    total: Annotated[Money | None, Meta(description="Null if items have different currencies, or no price.")]
    currency: Text
    created_at: Time

    @classmethod
    def example(cls, **change: Any) -> Self:
        return cls(
            id=ids.format_id("ord", MESSAGE_ID),
            message=ids.message_id(MESSAGE_ID),
            contact=EventContact.ref(*PERSON),
            conversation=EventConversation.ref(PERSON[0]),
            catalog_id="194836987003835",
            note="Please wrap it",
            items=[OrderItem("tea-1", 2, "7.99", "EUR")],
            total="15.98",
            currency="EUR",
            created_at=times.format_time(AT),
            **{"status": "new"} | change,
        )


class OrderCreated(Order, frozen=True):
    """An order was received."""

    TYPE, ACTION = ORDER, "created"


class OrderUpdated(Order, frozen=True):
    """The status of an order was changed."""

    TYPE, ACTION = ORDER, "updated"

    previous: OrderStatus

    @classmethod
    def example(cls, **change: Any) -> Self:
        return super().example(**{"status": "confirmed", "previous": "new"} | change)
