"""The frames of the link protocol between the gateway and a driver.

gateway ── {"op", "ref", "session", …} ──► driver
gateway ◄─ {"re": ref, …}                  one answer to a request (several for a file)
gateway ◄─ {"event", "session", "seq", …}  an update

Unknown fields and events are ignored: a driver may be newer than its gateway.
"""

from typing import Any, Literal, get_args

import msgspec

from gatepost.networks.base import Person, RemoteMedia
from gatepost.networks.json_cleanup import clean_json

MAX_FRAME = 1 << 20  # bytes, in both directions; files are sent in parts
MAX_PIECE = 256 << 10  # bytes of a file in one frame, before base64


class FrameError(msgspec.Struct, frozen=True):
    code: int = 0
    title: str = ""
    details: str | None = None
    sure: bool | None = None


class FrameAnswer(msgspec.Struct, frozen=True):
    """The answer of a driver to one request."""

    re: int
    ok: bool = False
    error: FrameError | None = None
    sure: bool | None = None  # whether the message was certainly not sent; older drivers set it in `error`
    code: str | None = None
    id: str | None = None
    at: float | None = None
    known: list[Person] = []
    handle: str | None = None
    data: str | None = None
    last: bool = True
    mime: str | None = None
    own_ids: bool = True  # whether messages are sent with the ids that we choose

    @property
    def not_sent(self) -> bool:
        """Whether it was certainly not sent: after a rejection by the network, or if the driver says so."""
        said = self.sure if self.sure is not None or self.error is None else self.error.sure
        return said if said is not None else self.error is not None and self.error.code != 0


def _event_name(class_name: str) -> str:
    """Return the protocol's name of an event: `MessageFrame` is a `message`."""
    return class_name.removesuffix("Frame").lower()


class _Event(msgspec.Struct, frozen=True, tag_field="event", tag=_event_name):
    session: str


class ConnectionFrame(_Event, frozen=True):
    state: Literal["connecting", "waiting_for_scan", "connected", "disconnected", "logged_out", "banned", "limited"]
    reason: str | None = None
    details: str | None = None
    until: float | None = None


class QrFrame(_Event, frozen=True):
    code: str
    seconds: float = 20


class LinkedFrame(_Event, frozen=True):
    phone: str | None = None
    lid: str | None = None
    name: str | None = None
    device: str | None = None


class ReceiptFrame(_Event, frozen=True, rename={"who": "from"}):
    ids: list[str]
    status: Literal["sent", "delivered", "read", "played"]
    at: float
    who: Person = Person()
    seq: int | None = None


class QuotedFrame(msgspec.Struct, frozen=True):
    id: str
    from_me: bool = False


class MessageFrame(_Event, frozen=True, rename={"who": "from"}):
    id: str
    who: Person
    type: str
    content: dict[str, Any]
    at: float
    from_me: bool = False
    quote: QuotedFrame | None = None
    target: str | None = None
    context: dict[str, Any] | None = None
    media: RemoteMedia | None = None
    chat: dict[str, Any] | None = None
    seq: int | None = None


class ContactFrame(_Event, frozen=True):
    person: Person
    at: float
    old_phone: str | None = None
    seq: int | None = None


class LabelFrame(_Event, frozen=True):
    id: str
    action: Literal["changed", "deleted", "assigned", "removed"]
    at: float
    name: str | None = None
    color: int | None = None
    person: Person | None = None
    seq: int | None = None


Event = ConnectionFrame | QrFrame | LinkedFrame | ReceiptFrame | MessageFrame | ContactFrame | LabelFrame
_EVENTS = frozenset(kind.__struct_config__.tag for kind in get_args(Event))


class _Head(msgspec.Struct):
    re: int | None = None
    event: str | None = None


class InvalidFrame(Exception):
    """A frame that does not follow the protocol."""


_read_head = msgspec.json.Decoder(_Head).decode
_read_answer = msgspec.json.Decoder(FrameAnswer).decode
_events: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
encode_frame = msgspec.json.Encoder().encode


def parse_frame(raw: bytes | str) -> FrameAnswer | Event | None:
    """Parse a frame of a driver; None is an unknown event."""
    raw = clean_json(raw if isinstance(raw, bytes) else raw.encode("utf-8", "replace"))
    try:
        head = _read_head(raw)
        if head.re is not None:
            return _read_answer(raw)
        if head.event in _EVENTS:
            return _events.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidFrame(str(error)) from error
    if head.event is None:
        raise InvalidFrame("neither an answer nor an event")
    return None
