"""Messages: the send request, the states, and the order of states.

queued ─► sending ─► sent ─► delivered ─► read ─► played
  │          │         │
  ├─ canceled│         │            only to the right; canceled, expired and failed are final
  ├─ expired ┤         │
  └─ failed ◄┴─────────┘
"""

from datetime import datetime, timedelta
from enum import IntEnum
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.content.fields import MessageReferences
from gatepost.model.errors import Invalid, invalid_field
from gatepost.model.field_readers import check_storable
from gatepost.model.limits import maximum
from gatepost.model.phone import check_phone
from gatepost.model.problem_collector import ProblemCollector
from gatepost.model.send_request import TTL_MAX, SendRequest, check_fields, read_content, unexpected_field
from gatepost.model.template.values import TemplateUse

BODY_MAX = maximum("text.body")
CLIENT_REF_MAX = maximum("send.client_ref")
SEND_AT_MAX = timedelta(days=maximum("send.send_at"))
LONGEST_WAIT = SEND_AT_MAX + timedelta(seconds=TTL_MAX) + timedelta(days=1)  # an older message does not wait any more


class Capabilities(msgspec.Struct, frozen=True):
    """The message types that a channel can send, and the operations on sent messages. Anything else is rejected."""

    types: frozenset[str]
    as_text: frozenset[str] = frozenset()  # types that are sent as numbered text if the request allows it
    templates: bool = False
    window: bool = False  # free text only within 24 hours of the person's last message
    edit: bool = False
    delete: bool = False
    hidden_people: str | None = None  # people without a known number can be written to: the prefix of their addresses
    any_document: bool = False  # a file of any MIME type can be sent as a document


class State(IntEnum):
    CANCELED = -3
    EXPIRED = -2
    FAILED = -1
    QUEUED = 0
    SENDING = 1
    SENT = 2
    DELIVERED = 3
    READ = 4
    PLAYED = 5
    RECEIVED = 10


STATUS = {
    State.CANCELED: "CANCELED",
    State.EXPIRED: "EXPIRED",
    State.FAILED: "FAILED",
    State.QUEUED: "PENDING",
    State.SENDING: "PENDING",
    State.SENT: "SENT",
    State.DELIVERED: "DELIVERED",
    State.READ: "READ",
    State.PLAYED: "PLAYED",
    State.RECEIVED: "RECEIVED",
}
ACK = {
    State.CANCELED: -1,
    State.EXPIRED: -1,
    State.FAILED: -1,
    State.QUEUED: 0,
    State.SENDING: 0,
    State.SENT: 1,
    State.DELIVERED: 2,
    State.READ: 3,
    State.PLAYED: 4,
}


def may_follow(current: State, new: State) -> bool:
    """Return whether a report of `new` changes a message in state `current`. Late and duplicate reports do not."""
    if current < State.QUEUED or current is State.RECEIVED:
        return False
    if new is State.FAILED:
        return current <= State.SENT
    if new in (State.CANCELED, State.EXPIRED):
        return current is State.QUEUED
    return new > current


def status_of(state: State, send_at: datetime | None, now: datetime) -> str:
    """Return the public status of a state. A queued message with a later `send_at` is SCHEDULED."""
    if state is State.QUEUED and send_at is not None and send_at > now:
        return "SCHEDULED"
    return STATUS[state]


class CheckedMessage(msgspec.Struct, frozen=True, gc=False):
    """A checked send request: the values to store, and the references to look up first."""

    phone: str  # the recipient's address; empty until the contact is found
    type: str
    content: str
    bulk: bool
    fail_unknown: bool
    client_ref: str | None
    reply_to: UUID | None
    send_at: datetime | None
    ttl: int
    media_ids: tuple[str, ...] = ()  # med_… of files that must exist
    links: tuple[str, ...] = ()  # URLs of files, which must not lead to internal addresses
    target: UUID | None = None  # the message that a reaction refers to
    template: TemplateUse | None = None
    freeform: bool = True  # everything but templates: official channels accept it only in the 24-hour window
    contact: UUID | None = None  # the recipient, if the request names no number

    def expires_at(self, now: datetime) -> datetime:
        start = now if self.send_at is None else max(now, self.send_at)
        return start + timedelta(seconds=self.ttl)


_encode = msgspec.json.Encoder().encode


def check_send(
    request: SendRequest,
    now: datetime,
    can: Capabilities | None = None,
) -> CheckedMessage:
    """Check the fields of a send against every rule, and what the channel can send (None: everything).

    One error names all invalid fields.
    """
    try:
        return _checked(request, now, can)
    except Invalid as first:
        raise _all_problems(request, now, can) or first from None


def _checked(request: SendRequest, now: datetime, can: Capabilities | None) -> CheckedMessage:
    """Return the checked message, or raise the first violation."""
    phone = check_recipient(request)
    found = None if request.type == "text" else MessageReferences()
    content = _content(request, found, can)
    if request.client_ref is not None:
        check_client_ref("client_ref", request.client_ref)
    if not 1 <= request.ttl <= TTL_MAX:
        raise _wrong_ttl()
    message = CheckedMessage(
        phone,
        request.type,
        content,
        request.priority == "bulk",
        request.on_unknown == "fail",
        request.client_ref,
        None if request.reply_to is None else _reply_to(request),
        None if request.send_at is None else _send_at(request.send_at, now),
        request.ttl,
    )
    if found is not None:
        message = _with_found(message, found)
    return message if request.contact is None else msgspec.structs.replace(message, contact=_contact(request.contact))


def check_recipient(request: SendRequest) -> str:
    """Return the phone number of the recipient; nothing if the request names a contact."""
    if request.contact is None:
        if request.phone is None:
            raise invalid_field("phone", "is required, unless contact is set")
        return check_phone(request.phone)
    if request.phone is not None:
        raise invalid_field("contact", "must not be set together with phone; give one of them")
    _contact(request.contact)
    return ""


def _contact(text: str) -> UUID:
    id_ = ids.parse_id("ct", text)
    if id_ is None:
        raise invalid_field("contact", "is not the id of a contact; it begins with ct_")
    return id_


def _all_problems(request: SendRequest, now: datetime, can: Capabilities | None) -> Invalid | None:
    """Return the error that names every violation: each field is checked alone, in an otherwise valid request."""
    problems = ProblemCollector()
    sound = SendRequest("10000000", "text")
    problems.read(check_recipient, request)
    problems.read(_content, request, None if request.type == "text" else MessageReferences(), can)
    for name in ("client_ref", "ttl", "reply_to", "send_at"):
        alone = msgspec.structs.replace(sound, **{name: getattr(request, name)})
        problems.read(_checked, alone, now, None)
    return problems.error()


def _content(request: SendRequest, found: MessageReferences | None, can: Capabilities | None) -> str:
    falls_back = can is not None and request.type not in can.types and _falls_back(request, can)
    return _text_content(request) if found is None else _other_content(request, found, falls_back=falls_back)


def _wrong_ttl() -> Invalid:
    return invalid_field("ttl", f"must be between 1 and {TTL_MAX} seconds")


def _with_found(message: CheckedMessage, found: MessageReferences) -> CheckedMessage:
    return msgspec.structs.replace(
        message,
        media_ids=tuple(found.media),
        links=tuple(found.links),
        target=found.target,
        template=found.template,
        freeform=found.template is None,
    )


def _falls_back(request: SendRequest, can: Capabilities) -> bool:
    """Return True if a type that the channel does not support is sent as text; otherwise reject it."""
    if request.type in can.as_text and request.fallback == "text":
        return True
    hint = '; add "fallback": "text" to send it as numbered text' if request.type in can.as_text else ""
    raise invalid_field("type", f"'{request.type}' cannot be sent on this channel{hint}", "unsupported_on_channel")


class _Plain(msgspec.Struct, gc=False):
    body: str


class _Previewed(_Plain, gc=False):
    preview_url: bool


def _text_content(request: SendRequest) -> str:
    """Return the content of a text message. Most messages are texts, so this path is kept fast."""
    body = request.body
    if body is None or request.is_beyond_text():
        check_fields(request)
    assert body is not None
    if len(body) > BODY_MAX or "\x00" in body or not body.strip():
        raise _wrong_body(body)
    try:
        return _encode(_Previewed(body, True) if request.preview_url else _Plain(body)).decode()
    except UnicodeEncodeError:
        raise invalid_field("body", "is not valid Unicode text") from None


def _wrong_body(body: str) -> Invalid:
    if not body.strip():
        return invalid_field("body", "is empty; give the text of the message")
    if len(body) > BODY_MAX:
        return invalid_field("body", f"may have at most {BODY_MAX} characters, but has {len(body)}")
    return invalid_field("body", "must not contain the character NUL")


def _other_content(request: SendRequest, found: MessageReferences, *, falls_back: bool) -> str:
    """Return the content of all other types."""
    content = read_content(request, found)
    if falls_back:
        if content.get("header", {}).get("type", "text") != "text":
            raise invalid_field("header.type", "must be text if the message is sent as text")
        content["fallback"] = "text"
    return _encode(content).decode()


def check_client_ref(field: str, text: str) -> str:
    """Check a client_ref, or a prefix of one, and return it."""
    if not 1 <= len(text) <= CLIENT_REF_MAX:
        raise invalid_field(field, f"must have 1 to {CLIENT_REF_MAX} characters, but has {len(text)}")
    check_storable(field, text)
    return text


def _reply_to(request: SendRequest) -> UUID:
    if request.type == "reaction":
        raise unexpected_field("reaction", "reply_to")
    id_ = ids.parse_id("", request.reply_to or "")
    if id_ is None:
        raise invalid_field("reply_to", "is not a message id of this gateway")
    return id_


def _send_at(at: datetime, now: datetime) -> datetime | None:
    if at.tzinfo is None:
        raise invalid_field("send_at", "needs a time zone, e.g. 2026-11-15T10:00:00Z")
    if at > now + SEND_AT_MAX:
        raise invalid_field("send_at", f"may be at most {SEND_AT_MAX.days} days ahead")
    return at if at > now else None
