"""All message types: their fields, and the functions that read them."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import msgspec

from gatepost.model.content import cards, choices, files, products, reactions_and_polls, template
from gatepost.model.content.references import MessageReferences
from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.problem_collector import joined

Type = Literal[
    "text",
    "image",
    "video",
    "audio",
    "document",
    "sticker",
    "location",
    "contacts",
    "buttons",
    "list",
    "cta_url",
    "product",
    "product_list",
    "catalog",
    "template",
    "reaction",
    "poll",
]
TYPES: tuple[str, ...] = get_args(Type)


class MessageType(msgspec.Struct, frozen=True):
    """The required and optional fields of a type, and the function that reads them."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    read: Callable[[dict[str, Any], MessageReferences], dict[str, Any]]

    @property
    def fields(self) -> tuple[str, ...]:
        return self.required + self.optional


KINDS: dict[str, MessageType] = {
    "image": MessageType(("media",), ("caption",), files.read_files),
    "video": MessageType(("media",), ("caption",), files.read_files),
    "audio": MessageType(("media",), ("voice",), files.read_files),
    "document": MessageType(("media",), ("caption", "filename"), files.read_files),
    "sticker": MessageType(("media",), (), files.read_files),
    "location": MessageType(("location",), (), cards.read_place),
    "contacts": MessageType(("contacts",), (), cards.read_contacts),
    "buttons": MessageType(("body", "buttons"), ("header", "footer", "fallback"), choices.read_buttons),
    "list": MessageType(("body", "button", "sections"), ("header", "footer", "fallback"), choices.read_choice_list),
    "cta_url": MessageType(("body", "cta"), ("header", "footer", "fallback"), choices.read_link_button),
    "product": MessageType(("product",), ("body", "footer"), products.read_one_product),
    "product_list": MessageType(("body", "header", "catalog_id", "sections"), ("footer",), products.read_product_list),
    "catalog": MessageType(("body",), ("thumbnail", "footer"), products.read_catalog),
    "template": MessageType(("template",), (), template.read_template),
    "reaction": MessageType(("reaction",), (), reactions_and_polls.read_reaction),
    "poll": MessageType(("poll",), (), reactions_and_polls.read_poll),
}
_HINTS = {
    "body": "give the text of the message",
    "media": 'give {"id": "med_…"} of an uploaded file or {"link": "https://…"}',
    "location": 'give {"latitude": …, "longitude": …}',
    "contacts": 'give a list such as [{"name": {"formatted_name": "…"}, "phones": [{"phone": "…"}]}]',
    "buttons": 'give a list such as [{"id": "yes", "title": "Yes"}]',
    "button": "give the text of the button that opens the list",
    "sections": "give a list of sections",
    "header": 'give {"type": "text", "text": "…"}',
    "cta": 'give {"text": "…", "url": "https://…"}',
    "product": 'give {"catalog_id": "…", "retailer_id": "…"}',
    "catalog_id": "give the id of the catalogue",
    "template": 'give {"name": "…", "language": "…"}',
    "reaction": 'give {"message_id": "…", "emoji": "…"}',
    "poll": 'give {"question": "…", "options": ["…", "…"], "multiple": false}',
}


def missing_field(type_: str, field: str) -> Invalid:
    """Return the error of a missing required field."""
    return invalid_field(field, f"is required for type {type_}; {_HINTS[field]}")


def unexpected_field(type_: str, field: str, own: tuple[str, ...]) -> Invalid:
    """Return the error of a field that belongs to other types."""
    return invalid_field(field, f"does not belong to type {type_}, which has {', '.join(own)}")


def read_content(type_: str, given: dict[str, Any], found: MessageReferences) -> dict[str, Any]:
    """Return the neutral content of a message of any type but text, from the given fields."""
    kind = KINDS[type_]
    wrong = [unexpected_field(type_, field, kind.fields) for field in given if field not in kind.fields]
    wrong += [missing_field(type_, field) for field in kind.required if field not in given]
    if wrong:
        raise joined(wrong)
    return kind.read(given, found)
