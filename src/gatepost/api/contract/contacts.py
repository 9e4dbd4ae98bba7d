"""Contacts in answers."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, ContactId, Never, Nothing, PersonName, Phone, Time
from gatepost.api.contract.labels import LabelRef
from gatepost.api.contract.messages import ConversationRef
from gatepost.model import ids, times
from gatepost.model.person import shown_phone
from gatepost.store.contacts.read import ContactRow
from gatepost.store.labels import LabelRow


class Contact(ApiObject, frozen=True):
    """A person."""

    id: ContactId
    phone: Phone | None
    name: PersonName | None
    username: Nothing
    opted_out: Annotated[bool, Meta(examples=[False])]
    opted_out_at: Never
    custom: Annotated[dict[str, str], Meta(examples=[{"city": "Lisbon"}])]
    labels: list[LabelRef]
    conversation: ConversationRef
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: ContactRow, labels: Sequence[LabelRow] = ()) -> "Contact":
        """Return a contact with its labels."""
        return cls(
            ids.format_id("ct", row.id),
            shown_phone(row.phone),
            row.name,
            row.username,
            row.opted_out is not None,
            times.format_optional_time(row.opted_out),
            row.custom,
            [LabelRef.of(label) for label in labels],
            ConversationRef.of(row.id),
            times.format_time(row.created_at),
            times.format_time(row.updated_at),
        )


class Checked(ApiObject, frozen=True):
    """Whether a phone number is on the network, and the contact that has it."""

    phone: Phone
    exists: bool
    contact: ContactId | None
