"""Results whose parts the OpenAPI document does not describe yet."""

from datetime import datetime
from typing import Any

from gatepost_client.types import Result


class AttemptedDelivery(Result, frozen=True):
    """The state of a delivery."""

    state: str
    next_at: datetime | None = None


class Attempt(Result, frozen=True):
    """One attempt to deliver an event to an endpoint."""

    event: str
    number: int
    at: datetime
    latency_ms: float
    delivery: AttemptedDelivery
    request: dict[str, Any]
    answer: dict[str, Any]
    status: int | None = None
    error: str | None = None
