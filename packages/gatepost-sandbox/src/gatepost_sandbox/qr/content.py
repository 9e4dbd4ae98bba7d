"""The content of messages, outgoing and incoming: one struct for each type."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

TEXT_MAX = 65_536
CAPTION_MAX = 1024
QUESTION_MAX, OPTION_MAX, OPTIONS_MIN, OPTIONS_MAX = 255, 100, 2, 12
CONTACTS_MAX = 257
# type: how its file's MIME type must begin
FILES = {"image": "image/", "video": "video/", "audio": "audio/", "document": "", "sticker": "image/webp"}

Words = Annotated[str, Meta(pattern=r"\S")]
Body = Annotated[str, Meta(max_length=TEXT_MAX, pattern=r"\S")]
Caption = Annotated[str, Meta(max_length=CAPTION_MAX)]
Option = Annotated[str, Meta(max_length=OPTION_MAX, pattern=r"\S")]


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of one type, and no others."""


class Text(Form, frozen=True):
    """A text."""

    body: Body
    preview_url: bool = False


class File(Form, frozen=True):
    """A file that the network stores."""

    handle: Annotated[str, Meta(min_length=1)]


class NoFile(Form, frozen=True):
    """A file whose handle is sent beside the content."""


class Image(Form, frozen=True):
    """An image."""

    media: File
    caption: Caption = ""


class Video(Image, frozen=True):
    """A video."""


class Audio(Form, frozen=True):
    """An audio file, or a voice message."""

    media: File
    voice: bool = False


class Document(Image, frozen=True):
    """Any file."""

    filename: str = ""


class Sticker(Form, frozen=True):
    """A sticker."""

    media: File


class IncomingFile(Form, frozen=True):
    """The content of an incoming file."""

    media: NoFile = NoFile()
    caption: Caption = ""
    filename: str = ""
    voice: bool = False
    animated: bool = False


class Place(Form, frozen=True):
    """A point on the map."""

    latitude: Annotated[float, Meta(ge=-90, le=90)]
    longitude: Annotated[float, Meta(ge=-180, le=180)]
    name: str = ""
    address: str = ""
    url: str = ""
    live: bool = False


class Location(Form, frozen=True):
    """A location message."""

    location: Place


class CardName(Form, frozen=True):
    """The name on a contact card."""

    formatted_name: Words
    first_name: str = ""
    last_name: str = ""
    middle_name: str = ""
    prefix: str = ""
    suffix: str = ""


class Card(Form, frozen=True):
    """A contact card."""

    name: CardName
    phones: list[dict[str, str]] = []
    emails: list[dict[str, str]] = []
    urls: list[dict[str, str]] = []
    addresses: list[dict[str, str]] = []
    org: dict[str, str] = {}
    birthday: str = ""


class Contacts(Form, frozen=True):
    """Contact cards."""

    contacts: Annotated[list[Card], Meta(min_length=1, max_length=CONTACTS_MAX)]


class Feeling(Form, frozen=True):
    """An emoji; an empty one removes the reaction."""

    emoji: Annotated[str, Meta(max_length=32)]
    message_id: str = ""


class Reaction(Form, frozen=True):
    """A reaction to another message."""

    reaction: Feeling


class Question(Form, frozen=True):
    """A question with its options."""

    question: Annotated[str, Meta(max_length=QUESTION_MAX, pattern=r"\S")]
    options: Annotated[list[Option], Meta(min_length=OPTIONS_MIN, max_length=OPTIONS_MAX)]
    multiple: bool = False


class Poll(Form, frozen=True):
    """A poll."""

    poll: Question


OUTGOING: dict[str, type[msgspec.Struct]] = {
    "text": Text,
    "image": Image,
    "video": Video,
    "audio": Audio,
    "document": Document,
    "sticker": Sticker,
    "location": Location,
    "contacts": Contacts,
    "reaction": Reaction,
    "poll": Poll,
}


def check_outgoing(kind: str, content: dict[str, Any]) -> str | None:
    """Return what is wrong with an outgoing message, or None."""
    form = OUTGOING.get(kind)
    return f"type {kind[:64]!r} is not supported" if form is None else check_form(form, content)


def check_form(form: type[msgspec.Struct], content: dict[str, Any]) -> str | None:
    """Return why content does not have this form, or None."""
    try:
        read = msgspec.convert(content, form)
    except msgspec.ValidationError as error:
        return str(error)
    if isinstance(read, Poll) and len(set(read.poll.options)) < len(read.poll.options):
        return "the options of a poll must differ"
    return None
