"""What the gateway asks of any network, and what a network may answer. Values only; no decisions, no store.

send(message) ─► Sent       the network has it, under this id
                 Refused    the network said no; `reaction` says what its no means
                 Unsent     it never left this machine
                 Unknown    it left, and the answer was lost

what comes back ─► Status, Incoming, and news of contacts, labels, templates, the number and the link
"""

from datetime import datetime
from enum import Enum
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec

from gatepost.model import person

Person = person.Person

# -- out ---------------------------------------------------------------------------------------------------------------


class QuotedRef(msgspec.Struct, frozen=True):
    """The message that another one answers or is about, as the network knows it."""

    network_id: str
    from_me: bool
    text: str = ""  # what a linked phone shows in the quoted bubble


class Outgoing(msgspec.Struct, frozen=True):
    """A message on its way to the network. `media` holds the network's own name of each file: med_… → its id there."""

    id: UUID
    attempt: int
    phone: str
    type: str
    content: str
    reply_to: QuotedRef | None = None
    target: QuotedRef | None = None  # what a reaction is about
    media: dict[str, str] = {}


class ErrorReaction(Enum):
    """What a refusal asks for."""

    FINAL = "final"
    RETRY = "retry"
    HOLD_CHANNEL = "hold_channel"
    HOLD_RECIPIENT = "hold_recipient"
    HOLD_NEW = "hold_new"  # no new conversations for a while; those that are open go on
    BREAK = "break"  # the number itself is in trouble: nothing more leaves until somebody or time has mended it


class NetworkError(msgspec.Struct, frozen=True):
    """The network's own words, and ours about what to do."""

    code: int
    title: str
    details: str | None = None
    advice: str | None = None
    final_advice: str | None = None  # once nothing more is tried, where that is another one
    own_code: str | None = None  # of an error that is none of the network's

    def as_final(self) -> "NetworkError":
        """The same of a message that has failed for good."""
        return msgspec.structs.replace(self, advice=self.final_advice or self.advice, final_advice=None)


class SendAccepted(msgspec.Struct, frozen=True):
    network_id: str
    held: bool = False  # accepted, but kept back until the template's quality is known
    wa_id: str | None = None  # the recipient's number as the network writes it


class SendRefused(msgspec.Struct, frozen=True):
    error: NetworkError
    reaction: ErrorReaction
    wait: float = 0.0  # of a retry or a hold: seconds before which another try is in vain
    tries: int | None = None  # of a retry: how many are worth it, where that is fewer than usual
    files: bool = False  # perhaps the network has forgotten a file that the message names
    within: float | None = None  # of a retry: seconds after the first such refusal in which others are worth it


class SendNotMade(msgspec.Struct, frozen=True):
    reason: str


class SendUnknown(msgspec.Struct, frozen=True):
    reason: str


Receipt = SendAccepted | SendRefused | SendNotMade | SendUnknown


# -- in ----------------------------------------------------------------------------------------------------------------


class RemoteMedia(msgspec.Struct, frozen=True):
    """A file that the network holds for us, until it forgets it."""

    handle: str  # the network's media id, or the link's own handle
    mime_type: str
    sha256: str | None = None  # hex
    size: int | None = None
    filename: str | None = None
    url: str | None = None


class StatusUpdate(msgspec.Struct, frozen=True):
    """A report about a message that we sent."""

    network_id: str
    status: str  # sent, delivered, read, played or failed
    at: datetime
    message_id: UUID | None = None
    attempt: int | None = None
    error: NetworkError | None = None
    pricing: dict[str, Any] | None = None
    conversation: dict[str, Any] | None = None
    reaction: ErrorReaction | None = None  # of a failure: what its code asks for


class Incoming(msgspec.Struct, frozen=True):
    """A message from a person, or (`from_me`) one that the business sent from its own phone."""

    network_id: str
    person: Person
    type: str
    content: str  # JSON; a file in it has {"media": {}} until it has an id of ours
    at: datetime
    reply_to: str | None = None  # network id
    target: str | None = None  # network id of what an edit, a revoke or a reaction is about
    context: dict[str, Any] | None = None  # forwarded, referral, referred product
    media: RemoteMedia | None = None
    from_me: bool = False


class ContactUpdate(msgspec.Struct, frozen=True):
    """Somebody's names changed, or two of them turned out to be one person."""

    person: Person
    at: datetime
    old_phone: str | None = None  # the number that was theirs before


class LabelUpdate(msgspec.Struct, frozen=True):
    """A label of the network was made, changed or deleted, or put on somebody or taken off."""

    network_id: str
    action: Literal["changed", "deleted", "assigned", "removed"]
    at: datetime
    name: str | None = None
    color: int | None = None
    person: Person | None = None


class TemplateUpdate(msgspec.Struct, frozen=True):
    """The network changed its mind about a template. What is None did not change."""

    network_id: str
    name: str
    language: str
    status: str | None = None
    reason: str | None = None
    quality: str | None = None
    category: str | None = None
    changed: bool = False  # its components changed: read it anew


class NumberUpdate(msgspec.Struct, frozen=True):
    """The network said something about the number itself. What is None did not change."""

    event: str  # the network's own word
    throughput: int | None = None
    tier: int | None = None  # conversations in 24 hours; 0 is no limit
    quality: str | None = None
    status: str | None = None
    banned: bool | None = None
    details: dict[str, Any] = {}
    reaction: ErrorReaction | None = None  # of an error: what its code asks for


class ConnectionUpdate(msgspec.Struct, frozen=True):
    """How the link stands. `reason` is one of the words in networks/qr/reasons.toml."""

    state: str  # disconnected, connecting, waiting_for_scan, connected, logged_out, banned or limited
    reason: str | None = None
    details: str | None = None
    qr: str | None = None
    qr_seconds: float | None = None
    pairing_code: str | None = None
    phone: str | None = None  # whose phone was linked
    lid: str | None = None
    until: datetime | None = None  # when the network will lift what it imposed


Update = StatusUpdate | Incoming | ContactUpdate | LabelUpdate | TemplateUpdate | NumberUpdate | ConnectionUpdate


# -- the way to it -----------------------------------------------------------------------------------------------------


class MessageEditor(Protocol):
    """Changes messages that were sent."""

    async def edit(self, network_id: str, person: Person, type_: str, content: str) -> None:
        """Change a message on the recipient's phone."""

    async def delete(self, network_id: str, person: Person) -> None:
        """Delete a message for everyone."""


class NumberCheck(Protocol):
    """Looks up phone numbers."""

    async def check(self, phones: list[str]) -> list[Person]:
        """Return the people among these numbers who are on the network."""


class Network(Protocol):
    """One channel's way to its network."""

    async def send(self, message: Outgoing) -> Receipt:
        """Hands one message to the network."""

    async def mark_read(self, network_id: str, person: Person, *, typing: bool = False) -> None:
        """Shows a person that their message was read, and that an answer is being written."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        """Hands a file to the network; returns its name there."""

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        """Fetches a file of the network, of at most `most` bytes."""

    async def close(self) -> None:
        """Close what belongs to this channel alone."""

    @property
    def editor(self) -> MessageEditor | None:
        """None if the network cannot change sent messages."""

    @property
    def number_check(self) -> NumberCheck | None:
        """None if the network does not say who is on it."""


class CannotCompose(Exception):
    """The network has no form for this message; the text says why."""


class CallFailed(Exception):
    """A call to the network other than a send did not succeed."""

    def __init__(self, error: NetworkError, *, retry: bool, status: int = 0) -> None:
        super().__init__(error.title)
        self.error = error
        self.retry = retry  # whether the same call may succeed later
        self.status = status
