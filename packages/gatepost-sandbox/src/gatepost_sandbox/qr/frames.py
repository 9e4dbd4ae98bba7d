"""The requests of a link: one JSON object per text message, distinguished by `op`.

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
    """A person, by phone number or private id."""

    phone: str | None = None
    lid: str | None = None


class Mention(msgspec.Struct, frozen=True):
    """A reference to another message and its author."""

    id: Name
    from_me: bool
    text: str = ""


class _Asked(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", tag=str.lower):
    ref: int


class Ping(_Asked, frozen=True, kw_only=True):
    """A check that the connection is alive."""


class Open(_Asked, frozen=True, kw_only=True):
    """Open a session: connect its device, or show codes."""

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
    """A message to one person, with an id chosen by the sender."""

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
    """Delete a message for everyone."""

    id: MessageId
    to: Who


class Read(_OfSession, frozen=True, kw_only=True, rename={"person": "from"}):
    """Mark messages of a person as read."""

    ids: Annotated[list[Name], Meta(min_length=1)]
    person: Who


class Typing(_OfSession, frozen=True, kw_only=True):
    """Start or stop the typing indicator."""

    to: Who
    on: bool


class Check(_OfSession, frozen=True, kw_only=True):
    """Check which numbers are on the network."""

    phones: list[str]


class Put(_OfSession, frozen=True, kw_only=True):
    """A chunk of a file; the chunks of one file share their ref."""

    mime: Name
    size: Annotated[int, Meta(ge=0)]
    data: str
    last: bool
    filename: str | None = None


class Get(_OfSession, frozen=True, kw_only=True):
    """Request a file of at most `max` bytes."""

    handle: Name
    most: Annotated[int, Meta(ge=0)]


class Ack(msgspec.Struct, frozen=True, tag_field="op", tag="ack"):
    """Acknowledge all events up to a number."""

    session: Name
    seq: int


Asked = Ping | Open | Close | Logout | Pair | Send | Edit | Delete | Read | Typing | Check | Put | Get | Ack


def read_frame(raw: Frame) -> Asked | str:
    """Return the request of a frame, or what is wrong with it."""
    try:
        asked: Asked = msgspec.convert(raw, Asked)
    except msgspec.ValidationError as problem:
        return str(problem)
    return asked


def answer(ref: int, **more: Any) -> Frame:
    """Return a successful response."""
    return {"re": ref, "ok": True, **more}


def error(ref: Any, code: int, title: str, details: str, *, sure: bool = True) -> Frame:
    """Return an error response; `sure` says whether the request had certainly no effect."""
    return {"re": ref, "error": {"code": code, "title": title, "details": details}, "sure": sure}
