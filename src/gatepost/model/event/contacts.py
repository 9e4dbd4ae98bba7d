"""Contacts."""

from collections.abc import Sequence
from typing import Annotated, Self
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from gatepost.model import ids, times
from gatepost.model.event.parts import (
    AT,
    CONTACT,
    PERSON,
    ContactId,
    EventContact,
    EventConversation,
    Text,
    Time,
    one_of,
)
from gatepost.model.person import shown_phone

_CUSTOM = {"city": "Porto"}


class _Contact(EventContact, frozen=True):
    conversation: EventConversation


def contact_fields(
    contact_id: UUID, address: str, name: str | None
) -> tuple[str, str | None, str | None, EventConversation]:
    """Return the first fields of the data of an event."""
    return ids.format_id("ct", contact_id), shown_phone(address), name, EventConversation.ref(contact_id)


class ContactCreated(_Contact, frozen=True):
    """A contact was created. `opted_out` and `custom` are present if a person created it."""

    TYPE, ACTION = CONTACT, "created"

    created_at: Time
    opted_out: bool | UnsetType = UNSET
    custom: dict[str, str] | UnsetType = UNSET

    @classmethod
    def example(cls) -> Self:
        return cls(*contact_fields(*PERSON), times.format_time(AT), opted_out=False, custom=_CUSTOM)


class ContactUpdated(_Contact, frozen=True, kw_only=True):
    """A contact was changed. `custom` is present if a person changed it."""

    TYPE, ACTION = CONTACT, "updated"

    username: Text
    opted_out: Annotated[bool | UnsetType, Meta(description="Whether the person refuses marketing.")] = UNSET
    custom: dict[str, str] | UnsetType = UNSET
    changed: Annotated[
        Sequence[Annotated[str, one_of(["name", "username", "phone", "history", "custom", "opted_out"])]],
        Meta(min_length=1),
    ]
    joined: Annotated[Sequence[ContactId], Meta(description="Contacts that were merged into this one, and deleted.")]

    @classmethod
    def example(cls) -> Self:
        return cls(
            *contact_fields(*PERSON),
            username=None,
            opted_out=False,
            custom=_CUSTOM,
            changed=["history", "custom"],
            joined=[ids.format_id("ct", ids.derived_id(AT, "other contact"))],
        )


class ContactDeleted(_Contact, frozen=True):
    """A contact was deleted, with its conversation."""

    TYPE, ACTION = CONTACT, "deleted"

    @classmethod
    def example(cls) -> Self:
        return cls(*contact_fields(*PERSON))
