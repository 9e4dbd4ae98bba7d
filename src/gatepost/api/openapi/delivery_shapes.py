"""What answers about deliveries and recoveries hold."""

from typing import Annotated, Literal

from msgspec import Meta

from gatepost.api.openapi.shapes import Object, Shape, Text, Time, When


class EndpointRef(Shape, frozen=True):
    """Where a delivery goes. One that was deleted has no address any more."""

    id: str
    url: Text
    state: Literal["active", "paused", "disabled", "deleted"]


class EventRef(Shape, frozen=True):
    """What a delivery tells."""

    id: str
    type: str
    action: Text
    sequence: int
    timestamp: Time


class LastAttempt(Shape, frozen=True):
    """The newest attempt, in short."""

    number: int
    at: Time
    status: int | None
    error: Text
    latency_ms: float


class SentRequest(Shape, frozen=True):
    """What was sent. Headers that the customer chose show `***`."""

    url: str
    headers: dict[str, str]
    body: Text


class GivenAnswer(Shape, frozen=True):
    """What came back, 64 KiB of it at most."""

    headers: list[tuple[str, str]]
    body: str


class DeliveryAttempt(Shape, frozen=True):
    """One attempt of a delivery. `batch` lists the events of a POST that carried several."""

    number: int
    at: Time
    latency_ms: float
    status: int | None
    error: Text
    request: SentRequest
    answer: GivenAnswer
    batch: list[str]


class Delivery(Shape, frozen=True):
    """An event on its way to an endpoint."""

    id: str
    endpoint: EndpointRef
    event: EventRef
    status: Literal["pending", "delivered", "exhausted", "dropped", "canceled"]
    attempt_count: int
    last_attempt: LastAttempt | None
    next_attempt_at: When
    waiting: Text
    settled_at: When


class WholeDelivery(Delivery, frozen=True):
    """A delivery with its attempts, the first of them first."""

    attempts: list[DeliveryAttempt]


class Retry(Shape, frozen=True):
    """What became of one delivery of a selection."""

    id: str
    success: bool
    error: Object | None


class Retried(Shape, frozen=True):
    """What became of a selection, in its order."""

    accepted: int
    refused: int
    results: list[Retry]


class Recovery(Shape, frozen=True):
    """Events that an endpoint is to get after all, and how far that is."""

    id: str
    endpoint: str
    since: Time
    until: Annotated[When, Meta(description="Null: nothing has happened since, and there is nothing to recover.")]
    types: list[str] | None
    statuses: list[str] | None
    status: Literal["running", "done"]
    progress: float
    recovered: int
    created_at: Time
    ended_at: When
