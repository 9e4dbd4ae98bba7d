"""What people may send to a phone: the forms that are only ever received, beside those that go both ways."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatepost_sandbox.qr.content import FILES, OUTGOING, Form, IncomingFile, check_form

TARGETED = frozenset({"reaction", "edit", "revoke"})


class Chosen(Form, frozen=True):
    """A button or a row."""

    id: str
    title: str
    description: str = ""


class Reply(Form, frozen=True):
    """What was chosen."""

    reply: Chosen


class Item(Form, frozen=True):
    """A product in a cart; the price is decimal text."""

    retailer_id: str
    quantity: Annotated[int, Meta(ge=1)]
    price: Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?\Z")]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]


class Cart(Form, frozen=True):
    """What is ordered."""

    items: Annotated[list[Item], Meta(min_length=1)]
    catalog_id: str = ""
    text: str = ""


class Order(Form, frozen=True):
    """An order."""

    order: Cart


class Votes(Form, frozen=True):
    """The options that were chosen; none takes the vote back."""

    options: list[str]
    message_id: str = ""


class PollVote(Form, frozen=True):
    """An answer to a poll."""

    poll: Votes


class Ringing(Form, frozen=True):
    """A call, which nobody here can take."""

    kind: str


class Call(Form, frozen=True):
    """A phone call."""

    call: Ringing


class Revised(Form, frozen=True):
    """A message as it reads now."""

    type: str
    content: dict[str, Any]


class Edited(Form, frozen=True):
    """A change of an earlier message."""

    edit: Revised


class Revoked(Form, frozen=True):
    """The end of an earlier message."""


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
    """What is wrong with a message from a person, or None; a type nobody knows may hold anything."""
    form = RECEIVED.get(kind)
    return None if form is None else check_form(form, content)
