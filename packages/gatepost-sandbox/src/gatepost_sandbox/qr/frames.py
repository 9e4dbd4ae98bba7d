"""What may be asked over a link: one JSON object per text message, told apart by its `op`.

asked    {"op", "ref", "session", …}
answered {"re": ref, "ok": true, …}  or  {"re": ref, "error": {"code", "title", "details"}, "sure": bool}
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatepost_sandbox.settings import Phone

CHUNK_MAX = 256 * 1024  # bytes of a file in one frame
Name = Annotated[str, Meta(min_length=1, max_length=200)]
MessageId = Annotated[str, Meta(pattern=r"^[0-9A-Fa-f]{32}\Z")]
Frame = dict[str, Any]


class Who(msgspec.Struct, frozen=True):
    """Somebody, by phone number or by private id."""

    phone: str | None = None
    lid: str | None = None


class Mention(msgspec.Struct, frozen=True):
    """Another message, and whose it is."""

    id: Name
    from_me: bool
    text: str = ""


class _Asked(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower):
    ref: int


class Ping(_Asked, frozen=True, kw_only=True):
    """Are you there?"""


class Open(_Asked, frozen=True, kw_only=True):
    """Begin a session: connect its device, or show codes."""

    session: Name
    phone: Phone | None = None


class _OfSession(_Asked, frozen=True, kw_only=True):
    session: Name


class Close(_OfSession, frozen=True, kw_only=True):
    """End the connection and keep the device."""


class Logout(_OfSession, frozen=True, kw_only=True):
    """Unlink the device."""


class Pair(_OfSession, frozen=True, kw_only=True):
    """A code to type instead of one to scan."""

    phone: Phone


class Send(_OfSession, frozen=True, kw_only=True):
    """A message to one person, under an id that the sender chose."""

    id: MessageId
    to: Who
    type: str
    content: dict[str, Any]
    quote: Mention | None = None
    target: Mention | None = None


class Edit(_OfSession, frozen=True, kw_only=True):
    """New content for a message that was sent."""

    id: MessageId
    to: Who
    type: str
    content: dict[str, Any]


class Delete(_OfSession, frozen=True, kw_only=True):
    """Take a message back, for everyone."""

    id: MessageId
    to: Who


class Read(_OfSession, frozen=True, kw_only=True, rename={"person": "from"}):
    """Messages of a person have been read."""

    ids: Annotated[list[Name], Meta(min_length=1)]
    person: Who


class Typing(_OfSession, frozen=True, kw_only=True):
    """An answer is being written, or no longer."""

    to: Who
    on: bool


class Check(_OfSession, frozen=True, kw_only=True):
    """Which of these numbers are on the network?"""

    phones: list[str]


class Put(_OfSession, frozen=True, kw_only=True):
    """A piece of a file; the pieces of one file share their ref."""

    mime: Name
    size: Annotated[int, Meta(ge=0)]
    data: str
    last: bool
    filename: str | None = None


class Get(_OfSession, frozen=True, kw_only=True):
    """A file, of at most so many bytes."""

    handle: Name
    most: Annotated[int, Meta(ge=0)]


class Ack(msgspec.Struct, frozen=True, tag_field="op", tag="ack"):
    """Everything up to this number is safe on the other side."""

    session: Name
    seq: int


Asked = Ping | Open | Close | Logout | Pair | Send | Edit | Delete | Read | Typing | Check | Put | Get | Ack


def read_frame(raw: Frame) -> Asked | str:
    """What is asked, or what is wrong with it."""
    try:
        asked: Asked = msgspec.convert(raw, Asked)
    except msgspec.ValidationError as problem:
        return str(problem)
    return asked


def answer(ref: int, **more: Any) -> Frame:
    """It is done."""
    return {"re": ref, "ok": True, **more}


def error(ref: Any, code: int, title: str, details: str, *, sure: bool = True) -> Frame:
    """It is not done; `sure` tells whether that is certain."""
    return {"re": ref, "error": {"code": code, "title": title, "details": details}, "sure": sure}
