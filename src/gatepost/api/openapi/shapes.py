"""What answers hold, as types. They are read by the reference only; tests compare them with real answers."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gatepost.model.waits import RULES

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Text = str | None
When = Time | None
Status = Literal[
    "SCHEDULED", "PENDING", "SENT", "DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED", "RECEIVED"
]
Object = dict[str, Any]


class Shape(Struct, frozen=True, forbid_unknown_fields=True):
    """An object with these fields and no others."""


class Key(Shape, frozen=True):
    """A message's chat, direction and id."""

    remoteJid: str  # noqa: N815 - as the network writes it
    fromMe: bool  # noqa: N815
    id: str


class Accepted(Struct, frozen=True):
    """A message that is on disk and will be sent. Further fields differ by the kind of channel."""

    key: Key
    status: Literal["PENDING", "SCHEDULED"]


class BatchResult(Shape, frozen=True):
    """What became of many sends, in their order: each as it would have been answered alone."""

    batch_id: Text
    accepted: int
    refused: int
    results: list[Object]


class CanceledMessages(Shape, frozen=True):
    """What a request canceled; `done` is false where the next one, with this cursor, goes on."""

    canceled: int
    too_late: int
    done: bool
    cursor: Text


class ContactRef(Shape, frozen=True):
    """Who it is with."""

    id: str
    phone: Text
    name: Text | UnsetType = UNSET


class ConversationRef(Shape, frozen=True):
    """Where it belongs."""

    id: str


class Waiting(Shape, frozen=True):
    """Which rule holds a message back, why, until when as far as is known, and due to which message ahead of it."""

    rule: Literal[RULES]  # type: ignore[valid-type]
    because: str
    until: When
    message_id: Text


class Message(Struct, frozen=True):
    """A message as it stands."""

    key: Key
    direction: Literal["in", "out"]
    type: str
    content: Object
    status: Status
    ack: int | None
    contact: ContactRef
    conversation: ConversationRef
    reply_to: Text
    about: Text
    context: Object | None
    reactions: list[Object]
    edited_at: When
    deleted_at: When
    network_id: Text
    created_at: Time
    sent_at: When
    error: Object | None
    client_ref: Text | UnsetType = UNSET
    priority: Literal["chat", "bulk"] | UnsetType = UNSET
    send_at: When | UnsetType = UNSET
    expires_at: When | UnsetType = UNSET
    delivered_at: When | UnsetType = UNSET
    read_at: When | UnsetType = UNSET
    played_at: When | UnsetType = UNSET
    ended_at: When | UnsetType = UNSET
    pricing: Object | UnsetType | None = UNSET
    waiting: Waiting | UnsetType = UNSET


class Step(Struct, frozen=True):
    """What happened to a message, and when."""

    step: str
    at: Time


class Trace(Shape, frozen=True):
    """The whole way of a message."""

    message: Message
    steps: list[Step]
    waiting: Waiting | None
    events: list[Object]


class Gathering(Shape, frozen=True):
    """At most so many events in one POST, gathered for at most so many seconds."""

    most: int
    wait: float


class LiveSecret(Shape, frozen=True):
    """A secret that signs deliveries, and until when; null: until it is rotated. What it is stays unsaid."""

    signing: Literal["v1", "v1a"]
    public_key: Text
    until: When


class Webhook(Shape, frozen=True):
    """An endpoint that events are delivered to."""

    id: str
    url: str
    events: dict[str, bool]
    operational: bool
    headers: dict[str, str]
    ordered: bool
    batch: Gathering | None
    rate_limit: int | None
    version: int
    signing: Literal["v1", "v1a"]
    public_key: Text
    secrets: list[LiveSecret]
    active: bool
    state: Literal["active", "paused", "disabled"]
    reason: Text
    failing_since: When
    failures: int
    succeeded_at: When
    next_probe_at: When
    created_at: Time
    updated_at: Time


class NewWebhook(Webhook, frozen=True):
    """An endpoint with what verifies its deliveries, a secret or a public key, which is shown this once."""

    secret: str


class Verdict(Shape, frozen=True):
    """Whether a delivery is genuine and, if not, why."""

    valid: bool
    reason: Text
    signed_by: Literal["current", "previous"] | None
    timestamp: When
    age_seconds: int | None


class Trial(Shape, frozen=True):
    """A test event: what was posted, and what came back."""

    delivered: bool
    at: Time
    latency_ms: float
    status: int | None
    error: Text
    request: Object
    answer: Object


class Attempt(Shape, frozen=True):
    """One try to deliver an event."""

    event: str
    number: int
    at: Time
    latency_ms: float
    status: int | None
    error: Text
    delivery: Object
    request: Object
    answer: Object


class Media(Shape, frozen=True):
    """A file."""

    id: str
    state: str
    mime_type: str
    size: int | None
    sha256: Text
    filename: Text
    created_at: Time
    message_id: str | UnsetType = UNSET
    error: Text | UnsetType = UNSET
    next_at: When | UnsetType = UNSET


class Event(Shape, frozen=True):
    """What happened on the channel. The same in webhook, feed and log."""

    id: str
    type: str
    action: str
    timestamp: Time
    sequence: int
    channel: Object
    data: Object


class Connection(Shape, frozen=True):
    """Whether messages can leave and come, and what keeps them from it."""

    state: str
    reason: Text


class Connecting(Shape, frozen=True):
    """How the link stands."""

    connection: Connection


class Channel(Shape, frozen=True):
    """The caller's own channel."""

    id: str
    kind: Literal["official", "qr"]
    phone: str
    name: str
    connection: Connection
    capabilities: Object
    quality: Text
    status: Text
    limits: Object
    throughput: Object
    tier: Object
    pair: Object
    queued: int
    waiting: Object | None
    link: Object | UnsetType = UNSET


class Code(Shape, frozen=True):
    """A code to scan."""

    code: str
    until: Time


class PairingCode(Shape, frozen=True):
    """A code to type."""

    code: str


class Profile(Shape, frozen=True):
    """How the business shows itself."""

    about: Text
    address: Text
    description: Text
    email: Text
    websites: list[str] | None
    vertical: Text
    profile_picture_url: Text


class Health(Shape, frozen=True):
    """How the number stands at the network."""

    status: Text
    quality: Text
    throughput: int | None
    tier: int | None
    name: Text
    name_status: Text
    can_send: Text
    problems: list[Object]
    checked_at: Time


class TemplateShown(Shape, frozen=True):
    """A template in one language."""

    id: str
    network_id: Text
    name: str
    language: str
    category: str
    status: str
    reason: Text
    quality: Text
    parameter_format: str
    components: list[Object]
    created_at: Time
    updated_at: Time


class Preview(Shape, frozen=True):
    """A template as the person will see it."""

    header: Object | None
    body: str
    footer: Text
    buttons: list[Object]
