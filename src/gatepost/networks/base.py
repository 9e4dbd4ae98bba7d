"""The interface of a network, and the values that go in and out. No decisions, no store.

send(message) ─► SendAccepted   the network has it, with this id
                 SendRefused    the network rejected it; `reaction` says what to do
                 SendNotMade    it was not sent
                 SendUnknown    it was sent, and the answer was lost

incoming ─► StatusUpdate, Incoming, and updates of contacts, labels, templates, the number and the link
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Protocol
from uuid import UUID

import msgspec

from gatepost.model import network_update, person
from gatepost.model.number_status import NumberHealth
from gatepost.model.template import Template

Person = person.Person
ContactUpdate = network_update.ContactUpdate
LabelUpdate = network_update.LabelUpdate
TemplateUpdate = network_update.TemplateUpdate

# -- out ---------------------------------------------------------------------------------------------------------------


class AcceptedMessage(msgspec.Struct, frozen=True):
    """A message as the response to its send shows it."""

    id: str
    phone: str
    type: str
    content: str  # JSON
    at: datetime


class QuotedRef(msgspec.Struct, frozen=True):
    """The message that another one replies or reacts to, by its id on the network."""

    network_id: str
    from_me: bool
    text: str = ""  # shown as the quoted text on a linked phone


class Outgoing(msgspec.Struct, frozen=True):
    """A message to be sent. `media` maps our id of each file (med_…) to its id on the network."""

    id: UUID
    attempt: int
    phone: str
    type: str
    content: str
    reply_to: QuotedRef | None = None
    target: QuotedRef | None = None  # of a reaction
    media: dict[str, str] = {}


class ErrorReaction(Enum):
    """How the gateway reacts to an error."""

    FINAL = "final"
    RETRY = "retry"
    HOLD_CHANNEL = "hold_channel"
    HOLD_RECIPIENT = "hold_recipient"
    HOLD_NEW = "hold_new"  # no new conversations for a while; open ones continue
    BREAK = "break"  # the number has a problem: sending stops until it is fixed


class NetworkError(msgspec.Struct, frozen=True):
    """An error as the network reported it, with our advice."""

    code: int
    title: str
    details: str | None = None
    advice: str | None = None
    final_advice: str | None = None  # the advice after the last attempt, if it differs
    own_code: str | None = None  # our code of an error that is not the network's
    token_rejected: bool = False  # the credentials of the channel are not valid any more

    def as_final(self) -> "NetworkError":
        """Return the error of a message that has finally failed."""
        return msgspec.structs.replace(self, advice=self.final_advice or self.advice, final_advice=None)


class SendAccepted(msgspec.Struct, frozen=True):
    network_id: str
    held: bool = False  # accepted, but held until the template's quality is known
    wa_id: str | None = None  # the recipient's number as the network writes it


class SendRefused(msgspec.Struct, frozen=True):
    error: NetworkError
    reaction: ErrorReaction
    wait: float = 0.0  # of a retry or a hold: seconds before which a retry would fail again
    tries: int | None = None  # of a retry: the number of attempts, if fewer than usual
    files: bool = False  # the network may have lost the message's file
    within: float | None = None  # of a retry: seconds after the first such error in which retries are made


class SendNotMade(msgspec.Struct, frozen=True):
    reason: str


class SendUnknown(msgspec.Struct, frozen=True):
    reason: str


Receipt = SendAccepted | SendRefused | SendNotMade | SendUnknown


# -- in ----------------------------------------------------------------------------------------------------------------


class RemoteMedia(msgspec.Struct, frozen=True):
    """A file that the network stores for a limited time."""

    handle: str  # the network's media id, or the link's own handle
    mime_type: str = "application/octet-stream"
    sha256: str | None = None  # hex
    size: int | None = None
    filename: str | None = None
    url: str | None = None


class StatusUpdate(msgspec.Struct, frozen=True):
    """The status of a message that we sent."""

    network_id: str
    status: str  # sent, delivered, read, played or failed
    at: datetime
    message_id: UUID | None = None
    attempt: int | None = None
    error: NetworkError | None = None
    pricing: dict[str, Any] | None = None
    conversation: dict[str, Any] | None = None
    reaction: ErrorReaction | None = None  # of a failure


class Incoming(msgspec.Struct, frozen=True):
    """A message from a person, or (`from_me`) one that the business sent from its own phone."""

    network_id: str
    person: Person
    type: str
    content: str  # JSON; a file in it has {"media": {}} until we have stored it
    at: datetime
    reply_to: str | None = None  # network id
    target: str | None = None  # network id of the message that is edited, revoked or reacted to
    context: dict[str, Any] | None = None  # forwarded, referral, referred product
    media: RemoteMedia | None = None
    from_me: bool = False


class NumberUpdate(msgspec.Struct, frozen=True):
    """The number changed on the network. None: no change."""

    event: str  # as the network names it
    throughput: int | None = None
    tier: int | None = None  # conversations in 24 hours; 0 is no limit
    quality: str | None = None
    status: str | None = None
    banned: bool | None = None
    details: dict[str, Any] = {}
    reaction: ErrorReaction | None = None  # of an error, or a restriction
    until: datetime | None = None  # the end of the restriction


class ConnectionUpdate(msgspec.Struct, frozen=True):
    """The state of a link. `reason` is a key in networks/qr/reasons.toml."""

    state: str  # disconnected, connecting, waiting_for_scan, connected, logged_out, banned or limited
    reason: str | None = None
    details: str | None = None
    qr: str | None = None
    qr_seconds: float | None = None
    pairing_code: str | None = None
    phone: str | None = None  # of the linked phone
    lid: str | None = None
    until: datetime | None = None  # when a restriction by the network ends


Update = StatusUpdate | Incoming | ContactUpdate | LabelUpdate | TemplateUpdate | NumberUpdate | ConnectionUpdate


class BadCallback(Exception):
    """The body is not a callback of the network; the text says why."""


class CallbackReader(Protocol):
    """Verifies and parses the callbacks of one channel. A request that is not the network's raises NotAuthenticated."""

    def answer_handshake(self, query: Mapping[str, str]) -> str:
        """Return the response to the request with which the network verifies the callback URL."""

    def check_headers(self, headers: Mapping[bytes, str]) -> None:
        """Check that the headers have a signature. It is called before the body is read; names are in lower case."""

    def check_signature(self, headers: Mapping[bytes, str], body: bytes) -> None:
        """Check that the body is signed with the channel's secret."""

    def parse(self, body: bytes) -> tuple[list[Update], int]:
        """Return the updates of the channel, and how many could not be parsed, or raise BadCallback."""


# -- the network ------------------------------------------------------------------------------------------------------


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


class BusinessAccount(Protocol):
    """The business account of a channel: its templates, its public profile and the state of its number."""

    async def list_templates(self, name: str | None = None) -> list[Template]:
        """Return all templates of the account, or those with one name."""

    async def get_template(self, network_id: str) -> Template:
        """Return one template."""

    async def create_template(self, new: Template) -> Template:
        """Submit a new template; its status says whether it is in review."""

    async def edit_template(self, network_id: str, changes: Mapping[str, Any]) -> None:
        """Change fields of a template; components are replaced as a whole."""

    async def delete_template(self, name: str, network_id: str | None = None) -> None:
        """Delete a template in one language, or without an id in all languages."""

    async def read_number(self) -> NumberHealth:
        """Return the state of the number."""

    async def read_profile(self) -> dict[str, Any]:
        """Return the public business profile."""

    async def update_profile(self, changes: Mapping[str, Any]) -> None:
        """Change fields of the business profile."""


CheckName = Literal["token", "permissions", "number", "app_secret", "business_account", "subscription"]


class CredentialCheck(msgspec.Struct, frozen=True):
    """One finding of a test of credentials. `ok` is None where it could not be found out."""

    name: CheckName
    field: str  # the field of the request that it is about
    ok: bool | None
    message: str
    advice: str | None = None  # what to do
    required: bool = True  # whether a channel that fails it cannot work


class CredentialReport(msgspec.Struct, frozen=True):
    """The result of a test of credentials, and whose number it is according to the network."""

    checks: list[CredentialCheck]
    phone: str | None = None
    name: str | None = None

    @property
    def failed(self) -> list[CredentialCheck]:
        """The checks because of which a channel with these credentials cannot work."""
        return [check for check in self.checks if check.required and check.ok is False]


class NetworkActions(Protocol):
    """What the network of a channel does at once for a request of the API, without a queue."""

    async def mark_read(
        self, network_id: str, person: Person, *, earlier: Sequence[str] = (), typing: bool = False
    ) -> None:
        """Mark a person's message and unread earlier ones as read, and optionally show that a reply is being typed."""

    @property
    def editor(self) -> MessageEditor | None:
        """None if the network cannot change sent messages."""

    @property
    def number_check(self) -> NumberCheck | None:
        """None if the network does not say who is on it."""


class Network(NetworkActions, Protocol):
    """The network of one channel."""

    async def send(self, message: Outgoing) -> Receipt:
        """Send one message."""

    async def put_media(self, content: bytes, mime_type: str, filename: str | None) -> str:
        """Upload a file and return its id on the network."""

    async def get_media(self, media: RemoteMedia, most: int) -> bytes:
        """Download a file of at most `most` bytes."""

    async def close(self) -> None:
        """Close the channel's own connections."""


class CannotCompose(Exception):
    """The network has no form for this message; the text says why."""


class CallFailed(Exception):
    """A call to the network other than a send failed."""

    def __init__(
        self, error: NetworkError, *, retry: bool, status: int = 0, reaction: ErrorReaction | None = None
    ) -> None:
        super().__init__(error.title)
        self.error = error
        self.retry = retry  # whether the same call may succeed later
        self.status = status
        self.reaction = reaction or (ErrorReaction.RETRY if retry else ErrorReaction.FINAL)  # if it was for a message
