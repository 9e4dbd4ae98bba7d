"""Locations and contact cards."""

from typing import Annotated, Any

from gatepost.model.content.fields import MessageReferences, MessageType, Part, items, text
from gatepost.model.content.parts import Place
from gatepost.model.errors import invalid_field
from gatepost.model.field_readers import read_url

_Name = Annotated[str, text("contacts.name")]
_Text = Annotated[str, text("contacts.text")]
_ENTRIES = items("contacts.entries")


class CardName(Part, frozen=True):
    """The name of a contact."""

    formatted_name: _Name
    first_name: _Name | None = None
    last_name: _Name | None = None
    middle_name: _Name | None = None
    prefix: _Name | None = None
    suffix: _Name | None = None

    @classmethod
    def complete(cls, path: str, content: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
        # The network requires a second part of the name, although it shows the formatted one.
        return content if len(content) > 1 else content | {"first_name": content["formatted_name"]}


class _Entry(Part, frozen=True):
    @classmethod
    def check_given(cls, path: str, given: dict[str, Any]) -> None:
        if not given:
            raise invalid_field(path, "is empty; omit it or set a value")


class CardPhone(_Entry, frozen=True):
    """A phone number of a contact."""

    phone: _Text
    type: _Text | None = None
    wa_id: _Text | None = None


class CardEmail(_Entry, frozen=True):
    """An email address of a contact."""

    email: _Text
    type: _Text | None = None


class CardUrl(_Entry, frozen=True):
    """A web page of a contact."""

    url: Annotated[str, text("contacts.text", read=read_url)]
    type: _Text | None = None


class CardAddress(_Entry, frozen=True):
    """A postal address of a contact."""

    street: _Text | None = None
    city: _Text | None = None
    state: _Text | None = None
    zip: _Text | None = None
    country: _Text | None = None
    country_code: _Text | None = None
    type: _Text | None = None


class CardOrg(_Entry, frozen=True):
    """The company of a contact."""

    company: _Text | None = None
    department: _Text | None = None
    title: _Text | None = None


class ContactCard(Part, frozen=True):
    """A contact to share."""

    name: CardName
    phones: Annotated[list[CardPhone], _ENTRIES]
    emails: Annotated[list[CardEmail], _ENTRIES] | None = None
    urls: Annotated[list[CardUrl], _ENTRIES] | None = None
    addresses: Annotated[list[CardAddress], _ENTRIES] | None = None
    org: CardOrg | None = None
    birthday: Annotated[str, text("contacts.birthday")] | None = None


Cards = Annotated[list[ContactCard], items("contacts.count")]

TYPES = {
    "location": MessageType(
        "A location on the map",
        required={"location": Place},
        optional={},
        example={
            "location": {
                "latitude": 38.7223,
                "longitude": -9.1393,
                "name": "The bakery",
                "address": "Rua Augusta 1, Lisbon",
            }
        },
    ),
    "contacts": MessageType(
        "A contact card",
        required={"contacts": Cards},
        optional={},
        example={
            "contacts": [
                {
                    "name": {"formatted_name": "Anna Lee", "first_name": "Anna", "last_name": "Lee"},
                    "phones": [{"phone": "+15550001111", "type": "Work"}],
                    "org": {"company": "The bakery"},
                }
            ]
        },
    ),
}
