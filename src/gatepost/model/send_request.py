"""The body of a send: the fields of every message type, and which of them belong to each type."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatepost.model.content import cards, choices, files, products, reactions_and_polls, template
from gatepost.model.content.fields import MessageReferences, MessageType, Reader, described, read_fields, text
from gatepost.model.content.parts import (
    CatalogId,
    Fallback,
    File,
    FileName,
    Footer,
    HeaderDocument,
    HeaderFile,
    HeaderText,
    Place,
    ProductId,
    ProductRef,
)
from gatepost.model.content.template import TemplateContent
from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.limits import maximum
from gatepost.model.problem_collector import joined

TTL_MAX = maximum("send.ttl")
_SEND_AT = Meta(description="When to send it, at most 30 days ahead.", extra_json_schema={"format": "date-time"})
_PREVIEW = Meta(description="Let the network show a preview of the first link.")
_TEXT = MessageType(
    "A text",
    required={"body": Annotated[str, text("text.body")]},
    optional={"preview_url": Annotated[bool, _PREVIEW]},
    example={"body": "Hello from Gatepost", "client_ref": "order-1001"},
)
MESSAGE_TYPES: Mapping[str, MessageType] = {
    "text": _TEXT,
    **files.TYPES,
    **cards.TYPES,
    **choices.TYPES,
    **products.TYPES,
    **template.TYPES,
    **reactions_and_polls.TYPES,
}
TYPES = tuple(MESSAGE_TYPES)
JsonObject = dict[str, Any]


class SendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A message to send, to a `phone` or to a `contact`. `type` decides which of the fields from `media` on it has.

    A null counts as not set.
    """

    phone: (
        Annotated[
            str,
            Meta(
                description="The recipient: digits with the country code.",
                extra_json_schema={"pattern": "^[1-9][0-9]{6,14}$"},
            ),
        ]
        | None
    ) = None
    body: Annotated[str, text("text.body", "The text.")] | None = None
    type: Literal[TYPES] = "text"  # type: ignore[valid-type]
    preview_url: Annotated[bool, _PREVIEW] | None = None
    reply_to: (
        Annotated[
            str,
            Meta(
                description="The id of the message of this channel that this one answers.",
                extra_json_schema={"pattern": "^[0-9A-Fa-f]{32}$"},
            ),
        ]
        | None
    ) = None
    client_ref: Annotated[str, text("send.client_ref")] | None = None
    send_at: Annotated[datetime, _SEND_AT] | None = None
    ttl: Annotated[
        int,
        Meta(
            description="How many seconds the message may wait in the queue; then it expires.",
            extra_json_schema={"minimum": 1, "maximum": TTL_MAX},
        ),
    ] = 86_400
    priority: Annotated[
        Literal["chat", "bulk"], Meta(description="`bulk` messages are sent after all `chat` messages of the channel.")
    ] = "chat"
    on_unknown: Annotated[
        Literal["retry", "fail"],
        Meta(description="What to do if it is unknown whether the network accepted the message."),
    ] = "retry"
    contact: (
        Annotated[
            str,
            Meta(
                description="The recipient instead of `phone`: a contact, also one without a known number.",
                extra_json_schema={"pattern": "^ct_[0-9a-f]{32}$"},
            ),
        ]
        | None
    ) = None
    # The fields of types other than text. Objects and lists are decoded as they are, and read by `read_content`.
    media: Annotated[JsonObject, described(File)] | None = None
    caption: files.Caption | None = None
    filename: FileName | None = None
    voice: files.Voice | None = None
    location: Annotated[JsonObject, described(Place)] | None = None
    contacts: Annotated[list[Any], described(cards.Cards)] | None = None
    buttons: Annotated[list[Any], described(choices.Buttons)] | None = None
    header: (
        Annotated[JsonObject, described(HeaderText, HeaderFile, HeaderDocument, description="Shown above the text.")]
        | None
    ) = None
    footer: Footer | None = None
    button: choices.ListButton | None = None
    sections: Annotated[list[Any], described(choices.ListSections, products.ProductSections)] | None = None
    cta: Annotated[JsonObject, described(choices.LinkButton)] | None = None
    product: Annotated[JsonObject, described(ProductRef)] | None = None
    catalog_id: CatalogId | None = None
    thumbnail: ProductId | None = None
    template: Annotated[JsonObject, described(TemplateContent)] | None = None
    reaction: Annotated[JsonObject, described(reactions_and_polls.ReactionContent)] | None = None
    poll: Annotated[JsonObject, described(reactions_and_polls.PollContent)] | None = None
    fallback: Fallback | None = None

    def is_beyond_text(self) -> bool:
        """Return whether a field of another type than text is set. Written out, it takes a third of a loop in C."""
        return (
            self.media is not None
            or self.caption is not None
            or self.filename is not None
            or self.voice is not None
            or self.location is not None
            or self.contacts is not None
            or self.buttons is not None
            or self.header is not None
            or self.footer is not None
            or self.button is not None
            or self.sections is not None
            or self.cta is not None
            or self.product is not None
            or self.catalog_id is not None
            or self.thumbnail is not None
            or self.template is not None
            or self.reaction is not None
            or self.poll is not None
            or self.fallback is not None
        )


_FIELDS = SendRequest.__struct_fields__
_CONTENT = (*_TEXT.fields, *_FIELDS[_FIELDS.index("media") :])
COMMON_FIELDS = tuple(name for name in _FIELDS if name not in _CONTENT)  # of every type
_READERS: dict[str, dict[str, Reader]] = {type_: kind.readers() for type_, kind in MESSAGE_TYPES.items()}
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


def example_send(type_: str) -> dict[str, Any]:
    """Return an example request of a type. It is valid when the {{names}} are replaced."""
    named = {"type": type_} if type_ != "text" else {}
    return {"phone": "{{phone}}", **named, **MESSAGE_TYPES[type_].example}


def unexpected_field(type_: str, field: str) -> Invalid:
    """Return the error of a field that belongs to other types."""
    return invalid_field(field, f"does not belong to type {type_}, which has {', '.join(MESSAGE_TYPES[type_].fields)}")


def check_fields(request: SendRequest) -> dict[str, Any]:
    """Return the fields of the request's type that are set. Raise if one is missing, or belongs to another type."""
    type_ = request.type
    given = {name: value for name in _CONTENT if (value := getattr(request, name)) is not None}
    kind = MESSAGE_TYPES[type_]
    wrong = [unexpected_field(type_, field) for field in given if field not in kind.fields]
    wrong += [
        invalid_field(field, f"is required for type {type_}; {_HINTS[field]}")
        for field in kind.required
        if field not in given
    ]
    if wrong:
        raise joined(wrong)
    return given


def read_content(request: SendRequest, found: MessageReferences) -> dict[str, Any]:
    """Return the neutral content of a message of any type but text. A flag that is false is omitted."""
    given = check_fields(request)
    given.pop("fallback", None)  # depends on the channel, too
    content = read_fields("", given, _READERS[request.type], found)
    return {name: value for name, value in content.items() if value is not False}
