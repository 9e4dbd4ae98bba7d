"""Deliveries to webhook endpoints, and recoveries, in answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from gatepost.api.contract.fields import (
    LATER,
    ApiObject,
    DeliveryId,
    EndpointId,
    EventId,
    JsonObject,
    MessageId,
    Never,
    Nothing,
    RecoveryId,
    Text,
    Time,
    When,
)
from gatepost.model import ids, times
from gatepost.model.delivery import PENDING, STATUSES, explain_attempt, masked, masked_pairs, show_delivery_id
from gatepost.model.endpoint import DISABLED
from gatepost.services.deliveries import why_waiting
from gatepost.services.recoveries import RECOVERABLE, progress
from gatepost.store.deliveries.log import DeliveryAttempt as AttemptRow
from gatepost.store.deliveries.log import LastAttempt as LastAttemptRow
from gatepost.store.deliveries.log import LoggedDelivery
from gatepost.store.deliveries.recover import RecoveryRow
from gatepost.store.deliveries.retry import is_infinite

URL = "https://shop.example.com/hooks"
Url = Annotated[str, Meta(examples=[URL])]
Latency = Annotated[float, Meta(examples=[41.7])]
HttpStatus = Annotated[int | None, Meta(examples=[200])]
_headers = msgspec.json.Decoder(dict[str, str])
_pairs = msgspec.json.Decoder(list[tuple[str, str]])


class EndpointRef(ApiObject, frozen=True):
    """The endpoint of a delivery. The URL of a deleted endpoint is null."""

    id: EndpointId
    url: Url | None
    state: Literal["active", "paused", "disabled", "deleted"]


class EventRef(ApiObject, frozen=True):
    """The event of a delivery."""

    id: EventId
    type: Annotated[str, Meta(examples=["message_notification"])]
    action: Annotated[Text, Meta(examples=["created"])]
    sequence: Annotated[int, Meta(examples=[4711])]
    timestamp: Time
    message: Annotated[MessageId | None, Meta(description="The message that the event is about, if it is.")]


class LastAttempt(ApiObject, frozen=True):
    """A summary of the newest attempt."""

    number: int
    at: Time
    status: HttpStatus
    error: Nothing
    latency_ms: Latency

    @classmethod
    def of(cls, row: LastAttemptRow) -> "LastAttempt":
        """Return the newest attempt of a delivery."""
        error = explain_attempt(row.status, row.error)
        return cls(row.number, times.format_time(row.at), row.status, error, round(row.latency_ms, 1))


class SentRequest(ApiObject, frozen=True):
    """The request that was sent. The values of your own headers are shown as `***`."""

    url: Url
    headers: Annotated[dict[str, str], Meta(examples=[{"webhook-id": "evt_01a1dd112a6b7f2e8d1c5e0c7a3b9f10"}])]
    body: Annotated[Text, Meta(examples=['{"id": "evt_…"}'])]

    @classmethod
    def of(cls, url: str, headers: str, body: str | None) -> "SentRequest":
        """Return a request without the values of secret headers."""
        return cls(url, masked(_headers.decode(headers)), body)


class GivenAnswer(ApiObject, frozen=True):
    """The response that was received, at most 64 KiB of it."""

    headers: Annotated[list[tuple[str, str]], Meta(examples=[[["content-type", "text/plain"]]])]
    body: Annotated[str, Meta(examples=["thank you"])]

    @classmethod
    def of(cls, headers: str | None, body: bytes | None) -> "GivenAnswer":
        """Return a response without the values of secret headers."""
        return cls(masked_pairs(_pairs.decode(headers or "[]")), (body or b"").decode("utf-8", "replace"))


class DeliveryAttempt(ApiObject, frozen=True):
    """One attempt of a delivery. `batch` lists the events of a POST that carried several."""

    number: int
    at: Time
    latency_ms: Latency
    status: HttpStatus
    error: Nothing
    request: SentRequest
    answer: GivenAnswer
    batch: Annotated[list[str], Meta(examples=[[]])]

    @classmethod
    def of(cls, row: AttemptRow, event_id: UUID, bodies: Mapping[UUID, str]) -> "DeliveryAttempt":
        """Return an attempt; `bodies` are those of the events that are still kept."""
        return cls(
            number=row.number,
            at=times.format_time(row.at),
            latency_ms=round(row.latency_ms, 1),
            status=row.status,
            error=explain_attempt(row.status, row.error),
            request=SentRequest.of(row.url, row.request_headers, _sent_body(row.batch, event_id, bodies)),
            answer=GivenAnswer.of(row.answer_headers, row.answer_body),
            batch=[ids.format_id("evt", id_) for id_ in row.batch],
        )


def _sent_body(batch: Sequence[UUID], event_id: UUID, bodies: Mapping[UUID, str]) -> str | None:
    """Return the body as it was sent; None if an event of it is not kept any more."""
    if not batch:
        return bodies.get(event_id)
    if not all(id_ in bodies for id_ in batch):
        return None
    return '{"events":[' + ",".join(bodies[id_] for id_ in batch) + "]}"


class Delivery(ApiObject, frozen=True):
    """The delivery of an event to an endpoint."""

    id: DeliveryId
    endpoint: EndpointRef
    event: EventRef
    status: Annotated[Literal["pending", "delivered", "exhausted", "dropped", "canceled"], Meta(examples=["delivered"])]
    attempt_count: int
    last_attempt: LastAttempt | None
    next_attempt_at: Never
    waiting: Nothing
    settled_at: When

    @classmethod
    def of(cls, row: LoggedDelivery, now: datetime) -> "Delivery":
        """Return a delivery with its newest attempt."""
        return cls(**_fields(row, now))


class WholeDelivery(Delivery, frozen=True):
    """A delivery with its attempts, the oldest first."""

    attempts: list[DeliveryAttempt]

    @classmethod
    def with_attempts(
        cls, row: LoggedDelivery, attempts: Sequence[AttemptRow], bodies: Mapping[UUID, str], now: datetime
    ) -> "WholeDelivery":
        """Return a delivery with its attempts."""
        return cls(**_fields(row, now), attempts=[DeliveryAttempt.of(one, row.event_id, bodies) for one in attempts])


def _fields(row: LoggedDelivery, now: datetime) -> dict[str, Any]:
    due = None if row.next_at is None or is_infinite(row.next_at) else row.next_at
    goes_out = row.state == PENDING and row.endpoint_state != DISABLED
    sent_at = times.format_time(ids.time_of(row.event_id))
    return {
        "id": show_delivery_id(row.endpoint_id, row.event_id),
        "endpoint": EndpointRef(ids.format_id("we", row.endpoint_id), row.url, row.endpoint_state or "deleted"),  # type: ignore[arg-type]
        "event": EventRef(ids.format_id("evt", row.event_id), row.type, row.action, row.seq, sent_at, row.message),
        "status": STATUSES[row.state],
        "attempt_count": row.attempts,
        "last_attempt": LastAttempt.of(row.last) if row.last else None,
        "next_attempt_at": times.format_optional_time(due) if goes_out else None,
        "waiting": why_waiting(row, now),
        "settled_at": times.format_optional_time(row.settled_at),
    }


class Retry(ApiObject, frozen=True):
    """The result of one delivery."""

    id: DeliveryId
    success: bool
    error: Annotated[JsonObject | None, Meta(examples=[None])]


class Retried(ApiObject, frozen=True):
    """The results, in the order of the request."""

    accepted: int
    refused: Annotated[int, Meta(examples=[0])]
    results: list[Retry]


class Recovery(ApiObject, frozen=True):
    """A request to deliver missed events again, and its progress."""

    id: RecoveryId
    endpoint: EndpointId
    since: Time
    until: Annotated[
        When, Meta(description="Null: there is no event since then, and nothing to recover.", examples=[LATER])
    ]
    types: Annotated[list[str] | None, Meta(examples=[None])]
    statuses: Annotated[list[str] | None, Meta(examples=[None])]
    status: Literal["running", "done"]
    progress: Annotated[float, Meta(examples=[0.0])]
    recovered: Annotated[int, Meta(examples=[0])]
    created_at: Time
    ended_at: Never

    @classmethod
    def of(cls, row: RecoveryRow) -> "Recovery":
        """Return a recovery."""
        return cls(
            id=ids.format_id("rec", row.id),
            endpoint=ids.format_id("we", row.endpoint_id),
            since=times.format_time(ids.time_of(row.first_id)),
            until=times.format_time(ids.time_of(row.end_id)) if row.end_id > row.first_id else None,
            types=None if row.types is None else list(row.types),
            statuses=None if row.states is None else [RECOVERABLE[state] for state in row.states],
            status="running" if row.ended_at is None else "done",
            progress=progress(row),
            recovered=row.recovered,
            created_at=times.format_time(row.created_at),
            ended_at=times.format_optional_time(row.ended_at),
        )
