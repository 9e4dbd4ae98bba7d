"""What the gateway answers, as frozen values. Fields that a newer gateway adds are passed over."""

from datetime import datetime
from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Any result."""


class Key(Result, frozen=True, rename={"remote_jid": "remoteJid", "from_me": "fromMe"}):
    """The name of a message."""

    id: str
    remote_jid: str
    from_me: bool


class Named(Result, frozen=True):
    """Something that is named by its id."""

    id: str


class Person(Named, frozen=True):
    """The other side of a conversation."""

    phone: str | None = None
    name: str | None = None


class Sent(Result, frozen=True):
    """A message that was accepted: it is on disk and will be sent."""

    key: Key
    status: str

    @property
    def id(self) -> str:
        """The id of the message."""
        return self.key.id


class Reaction(Result, frozen=True, rename={"sender": "from"}):
    """An emoji on a message, and who put it there."""

    emoji: str
    sender: str


class Message(Result, frozen=True):
    """A message as it stands, incoming or outgoing."""

    key: Key
    direction: str
    type: str
    status: str
    content: dict[str, Any]
    contact: Person
    conversation: Named
    created_at: datetime
    ack: int | None = None
    reply_to: str | None = None
    about: str | None = None
    context: dict[str, Any] | None = None
    reactions: list[Reaction] = []
    edited_at: datetime | None = None
    deleted_at: datetime | None = None
    network_id: str | None = None
    sent_at: datetime | None = None
    delivered_at: datetime | None = None
    read_at: datetime | None = None
    played_at: datetime | None = None
    ended_at: datetime | None = None
    send_at: datetime | None = None
    expires_at: datetime | None = None
    error: dict[str, Any] | None = None
    client_ref: str | None = None
    priority: str | None = None
    pricing: dict[str, Any] | None = None
    waiting: "Waiting | None" = None

    @property
    def id(self) -> str:
        """The id of the message."""
        return self.key.id


class Canceled(Result, frozen=True):
    """How many messages were canceled, and how many were found too late."""

    canceled: int
    too_late: int
    cursor: str | None = None


class Step(Result, frozen=True):
    """One step of a message's way."""

    step: str
    at: datetime
    attempt: int | None = None
    reason: dict[str, Any] | None = None
    rule: str | None = None
    because: str | None = None
    until: datetime | None = None
    message_id: str | None = None


class Waiting(Result, frozen=True):
    """What holds something back, and until when."""

    because: str
    until: datetime | None = None
    rule: str | None = None
    message_id: str | None = None


class Trace(Result, frozen=True):
    """A message, every step of it, and every attempt to tell of it."""

    message: Message
    steps: list[Step]
    waiting: Waiting | None = None
    events: list[dict[str, Any]] = []


class Media(Named, frozen=True):
    """A file, sent or received."""

    state: str
    created_at: datetime
    mime_type: str | None = None
    size: int | None = None
    sha256: str | None = None
    filename: str | None = None
    message_id: str | None = None
    error: str | None = None
    next_at: datetime | None = None


class Template(Named, frozen=True):
    """A template as the network decided about it."""

    name: str
    language: str
    category: str
    status: str
    components: list[dict[str, Any]]
    created_at: datetime
    updated_at: datetime
    network_id: str | None = None
    reason: str | None = None
    quality: str | None = None
    parameter_format: str | None = None


class TemplateSync(Result, frozen=True):
    """How many templates a sync touched."""

    added: int
    changed: int
    deleted: int
    unchanged: int


class Preview(Result, frozen=True):
    """A template with its variables filled in."""

    body: str | None = None
    header: dict[str, Any] | None = None
    footer: str | None = None
    buttons: list[dict[str, Any]] | None = None


class LiveSecret(Result, frozen=True):
    """A secret that signs deliveries, and until when; None: until it is rotated."""

    signing: str
    public_key: str | None = None
    until: datetime | None = None


class Webhook(Named, frozen=True):
    """An endpoint of yours. `secret`, which verifies its deliveries, is there once: when it is made or rotated."""

    url: str
    events: dict[str, bool]
    headers: dict[str, str]
    active: bool
    state: str
    created_at: datetime
    updated_at: datetime
    reason: str | None = None
    operational: bool = False
    ordered: bool = False
    batch: dict[str, float] | None = None
    rate_limit: int | None = None
    version: int = 1
    signing: str = "v1"
    public_key: str | None = None
    secrets: list[LiveSecret] = []
    failing_since: datetime | None = None
    failures: int = 0
    succeeded_at: datetime | None = None
    next_probe_at: datetime | None = None
    secret: str | None = None


class WebhookTest(Result, frozen=True):
    """A test event: what was posted, and what came back."""

    delivered: bool
    at: datetime
    latency_ms: float
    request: dict[str, Any]
    answer: dict[str, Any]
    status: int | None = None
    error: str | None = None


class WebhookVerdict(Result, frozen=True):
    """Whether a delivery is genuine and, if not, why."""

    valid: bool
    reason: str | None = None
    signed_by: str | None = None
    timestamp: datetime | None = None
    age_seconds: int | None = None


class Delivery(Result, frozen=True):
    """How a delivery stands."""

    state: str
    next_at: datetime | None = None


class Attempt(Result, frozen=True):
    """One try to tell an endpoint of an event."""

    event: str
    number: int
    at: datetime
    latency_ms: float
    delivery: Delivery
    request: dict[str, Any]
    answer: dict[str, Any]
    status: int | None = None
    error: str | None = None


class Connection(Result, frozen=True):
    """How the channel stands with its network."""

    state: str
    reason: str | None = None


class Channel(Named, frozen=True):
    """The key's own channel: what it is, what it carries, how much room its limits leave."""

    kind: str
    phone: str
    connection: Connection
    capabilities: dict[str, Any]
    limits: dict[str, Any]
    throughput: dict[str, Any]
    tier: dict[str, Any]
    queued: int
    name: str | None = None
    quality: str | None = None
    status: str | None = None
    waiting: Waiting | None = None
    link: dict[str, Any] | None = None


class Code(Result, frozen=True):
    """A code to scan or to type."""

    code: str
    until: datetime | None = None


class Profile(Result, frozen=True):
    """How the business shows itself."""

    about: str | None = None
    address: str | None = None
    description: str | None = None
    email: str | None = None
    websites: list[str] | None = None
    vertical: str | None = None
    profile_picture_url: str | None = None


class Health(Result, frozen=True):
    """How the number stands at the network."""

    checked_at: datetime
    status: str | None = None
    quality: str | None = None
    throughput: int | None = None
    tier: int | None = None
    name: str | None = None
    name_status: str | None = None
    can_send: str | None = None
    problems: list[Any] = []
