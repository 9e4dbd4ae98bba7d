"""What a person sends in a chat: one shape for both networks, turned into what each network's own code delivers.

send ─► official: the body of /control/numbers/…/incoming ─► incoming
     └► QR: the body of /control/phones/…/incoming ─► qr.incoming
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatepost_sandbox.qr.content import FILES

FILE_MAX = 16 * 1024 * 1024  # bytes of a file
BASE64_MAX = (FILE_MAX + 2) // 3 * 4
BODY_MAX = BASE64_MAX + 256 * 1024  # bytes of a whole request
TEXT_MAX = 65_536

Id = Annotated[str, Meta(min_length=1, max_length=512)]
Body = Annotated[str, Meta(max_length=TEXT_MAX, pattern=r"\S")]
Line = Annotated[str, Meta(max_length=1024)]
Digits = Annotated[str, Meta(pattern=r"^\+?[0-9 ()-]{3,30}$")]
Emoji = Annotated[str, Meta(max_length=32)]


class PersonSend(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type", tag=str.lower
):
    """Anything that a person sends."""

    quote: Id | None = None


class Text(PersonSend, frozen=True):
    """A text."""

    text: Body


class Media(PersonSend, frozen=True):
    """A file in base64."""

    kind: Literal["image", "video", "audio", "document", "sticker"]
    data: Annotated[str, Meta(min_length=1, max_length=BASE64_MAX)]
    mime_type: Annotated[str, Meta(max_length=200, pattern=r"^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+(;.*)?$")]
    filename: Annotated[str, Meta(max_length=255)] | None = None
    caption: Line = ""
    voice: bool = False


class Location(PersonSend, frozen=True):
    """A place."""

    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]
    name: Line | None = None
    address: Line | None = None


class Contact(PersonSend, frozen=True):
    """A contact card."""

    name: Annotated[str, Meta(max_length=200, pattern=r"\S")]
    phone: Digits


class Reaction(PersonSend, frozen=True):
    """A reaction; an empty emoji removes it."""

    target: Id
    emoji: Emoji = ""


class Button(PersonSend, frozen=True):
    """A tap on a reply button."""

    target: Id
    button: Annotated[str, Meta(max_length=512)]


class Row(PersonSend, frozen=True):
    """A row chosen from a list."""

    target: Id
    row: Annotated[str, Meta(max_length=512)]


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A product in a cart."""

    id: Id
    quantity: Annotated[int, Meta(ge=1, le=10_000)] = 1
    price: Annotated[float, Meta(ge=0)] = 10
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}$")] = "USD"


class Order(PersonSend, frozen=True):
    """An order."""

    catalog_id: Line
    items: Annotated[list[Item], Meta(min_length=1, max_length=100)]
    target: Id | None = None
    text: Line = ""


class Vote(PersonSend, frozen=True):
    """A vote in a poll; no option withdraws it."""

    target: Id
    options: Annotated[list[Line], Meta(max_length=12)]


class Form(PersonSend, frozen=True):
    """A form (flow or address) that was filled in."""

    target: Id
    answers: dict[str, Any]


class Edit(PersonSend, frozen=True):
    """A new text for a message of the person."""

    target: Id
    text: Body


class Delete(PersonSend, frozen=True):
    """The deletion of a message of the person, for both sides."""

    target: Id


AnySend = Text | Media | Location | Contact | Reaction | Button | Row | Order | Vote | Form | Edit | Delete


class Impossible(Exception):
    """The chat does not allow this."""


def check_media(send: Media) -> str | None:
    """Return what is wrong with a file, or None."""
    if len(send.data) // 4 * 3 - send.data[-2:].count("=") > FILE_MAX:
        return f"a file may have {FILE_MAX} bytes at most"
    fits = send.mime_type.lower().startswith(FILES[send.kind])
    return None if fits else f"a file of type {send.mime_type} cannot be sent as {send.kind}"
