"""Orders in answers."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.contract.fields import ApiObject, MessageId, Nothing, OrderId, Text, Time, When
from gatepost.api.contract.messages import ContactRef, ConversationRef
from gatepost.model import ids, times
from gatepost.store.orders import OrderRow


class OrderItem(ApiObject, frozen=True):
    """A product of an order. `price` is the price of one piece."""

    retailer_id: Annotated[str, Meta(examples=["rye"])]
    quantity: Annotated[int, Meta(examples=[2])]
    price: Annotated[str | UnsetType, Meta(examples=["4.50"])] = UNSET
    currency: Annotated[str | UnsetType, Meta(examples=["EUR"])] = UNSET


class Order(ApiObject, frozen=True):
    """An order. Amounts of money are decimal numbers in strings."""

    id: OrderId
    message: MessageId
    contact: ContactRef
    conversation: ConversationRef
    status: Literal["new", "confirmed", "shipped", "delivered", "canceled"]
    catalog_id: Annotated[Text, Meta(examples=["194836987003835"])]
    note: Nothing
    items: list[OrderItem]
    total: Annotated[Text, Meta(examples=["9.00"])]
    currency: Annotated[Text, Meta(examples=["EUR"])]
    created_at: Time
    updated_at: When
    previous: Text | UnsetType = UNSET

    @classmethod
    def of(cls, row: OrderRow) -> "Order":
        """Return an order."""
        return cls(
            id=ids.format_id("ord", row.id),
            message=ids.message_id(row.id),
            contact=ContactRef.of(row.contact_id, row.address, row.name),
            conversation=ConversationRef.of(row.contact_id),
            status=row.status,  # type: ignore[arg-type]
            catalog_id=row.catalog_id,
            note=row.note,
            items=row.items,
            total=f"{row.total:f}" if row.total is not None else None,
            currency=row.currency,
            created_at=times.format_time(row.created_at),
            updated_at=times.format_time(row.updated_at),
        )
