"""The record of one attempt to deliver an event."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model.delivery import DeliveryState


class AttemptRecord(msgspec.Struct, frozen=True):
    """One attempt and what follows from it."""

    endpoint_id: UUID
    event_id: UUID
    number: int
    at: datetime
    latency_ms: float
    status: int | None
    error: str | None
    url: str
    request_headers: str
    answer_headers: str | None
    answer_body: bytes | None
    state: DeliveryState
    next_at: datetime | None  # None while pending: it waits for another delivery of its conversation
    retried: bool = False  # it was in delivery_retries
    order_key: UUID | None = None  # of an ordered endpoint: its conversation
    batch_first: UUID | None = None  # of a batch: its first event
    batch: Sequence[UUID] | None = None  # at the first event of a batch: all of its events
