"""The log of deliveries: how each stands, what was sent and answered, and what is recovered."""

from datetime import datetime

import msgspec

from gatepost_client.results import Named, Result


class DeliveryEndpoint(Named, frozen=True):
    """Where a delivery goes; one that was deleted has no address any more."""

    state: str
    url: str | None = None


class DeliveryEvent(Named, frozen=True):
    """What a delivery tells."""

    type: str
    sequence: int
    timestamp: datetime
    action: str | None = None


class LastAttempt(Result, frozen=True):
    """The newest attempt, in short."""

    number: int
    at: datetime
    latency_ms: float
    status: int | None = None
    error: str | None = None


class SentRequest(Result, frozen=True):
    """What was sent; headers that carry a credential show `***`."""

    url: str
    headers: dict[str, str]
    body: str | None = None


class GivenAnswer(Result, frozen=True):
    """What came back, 64 KiB of it at most."""

    headers: list[tuple[str, str]]
    body: str


class DeliveryAttempt(LastAttempt, frozen=True, kw_only=True):
    """One attempt; `batch` lists the events of a POST that carried several."""

    request: SentRequest
    answer: GivenAnswer
    batch: list[str] = msgspec.field(default_factory=list)


class LoggedDelivery(Named, frozen=True):
    """An event on its way to an endpoint; `waiting` says why a pending one has not arrived yet."""

    endpoint: DeliveryEndpoint
    event: DeliveryEvent
    status: str
    attempt_count: int
    last_attempt: LastAttempt | None = None
    next_attempt_at: datetime | None = None
    waiting: str | None = None
    settled_at: datetime | None = None
    attempts: list[DeliveryAttempt] = msgspec.field(default_factory=list)  # with one delivery, not in lists


class RetryResult(Named, frozen=True):
    """What became of one delivery of a selection."""

    success: bool
    error: dict[str, str] | None = None


class Retried(Result, frozen=True):
    """What became of a selection, in its order."""

    accepted: int
    refused: int
    results: list[RetryResult]


class Recovery(Named, frozen=True):
    """Events that an endpoint is to get after all, and how far that is; `progress` goes from 0 to 1."""

    endpoint: str
    since: datetime
    until: datetime | None  # none: nothing has happened since
    status: str
    progress: float
    recovered: int
    created_at: datetime
    types: list[str] | None = None
    statuses: list[str] | None = None
    ended_at: datetime | None = None
