"""What answers hold, as types. They are read by the reference only; tests compare them with real answers."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Text = str | None
When = Time | None
Status = Literal[
    "SCHEDULED", "PENDING", "SENT", "DELIVERED", "READ", "PLAYED", "FAILED", "EXPIRED", "CANCELED", "RECEIVED"
]
Object = dict[str, Any]


class Shape(Struct, frozen=True, forbid_unknown_fields=True):
    """An object with these fields and no others."""


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
