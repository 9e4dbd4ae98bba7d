"""The content of messages that can only be received."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatepost_sandbox.qr.content import FILES, OUTGOING, Form, IncomingFile, check_form

TARGETED = frozenset({"reaction", "edit", "revoke"})


class Chosen(Form, frozen=True):
    """A chosen button or row."""

    id: str
    title: str
    description: str = ""


class Reply(Form, frozen=True):
    """A reply to buttons or a list."""

    reply: Chosen


class Item(Form, frozen=True):
    """A product in a cart; the price is a decimal string."""

    retailer_id: str
    quantity: Annotated[int, Meta(ge=1)]
    price: Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?\Z")]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]


class Cart(Form, frozen=True):
    """The items of an order."""

    items: Annotated[list[Item], Meta(min_length=1)]
    catalog_id: str = ""
    text: str = ""


class Order(Form, frozen=True):
    """An order."""

    order: Cart


class Votes(Form, frozen=True):
    """The chosen options; an empty list withdraws the vote."""

    options: list[str]
    message_id: str = ""


class PollVote(Form, frozen=True):
    """A vote in a poll."""

    poll: Votes


class Ringing(Form, frozen=True):
    """An incoming call, which cannot be answered."""

    kind: str


class Call(Form, frozen=True):
    """A phone call."""

    call: Ringing


class Revised(Form, frozen=True):
    """The new content of a message."""

    type: str
    content: dict[str, Any]


class Edited(Form, frozen=True):
    """An edit of an earlier message."""

    edit: Revised


class Revoked(Form, frozen=True):
    """The deletion of an earlier message."""


RECEIVED: dict[str, type[msgspec.Struct]] = {
    **OUTGOING,
    **dict.fromkeys(FILES, IncomingFile),
    "button_reply": Reply,
    "list_reply": Reply,
    "order": Order,
    "poll_vote": PollVote,
    "call": Call,
    "edit": Edited,
    "revoke": Revoked,
}


def check_incoming(kind: str, content: dict[str, Any]) -> str | None:
    """Return what is wrong with a message from a person, or None; the content of an unknown type is not checked."""
    form = RECEIVED.get(kind)
    return None if form is None else check_form(form, content)
