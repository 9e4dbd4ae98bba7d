"""Webhook endpoints in requests and answers; their secrets, test events and attempts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gatepost.admin.signing import SigningSecret, live_secrets
from gatepost.api.contract.deliveries import GivenAnswer, HttpStatus, Latency, SentRequest, Url
from gatepost.api.contract.fields import AT, ApiObject, EndpointId, EventId, Never, Nothing, Time, When
from gatepost.model import ids, times
from gatepost.model.delivery import STATUSES, explain_attempt
from gatepost.model.endpoint import (
    BATCH_MAX,
    BATCH_WAIT_MAX,
    DISABLED,
    PAUSED,
    RATE_MAX,
    VERSIONS,
    DeliveryOptions,
)
from gatepost.model.errors import invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.model.signing import V1, public_key
from gatepost.store.deliveries.figures import SAMPLE, HourFigures
from gatepost.store.deliveries.log import LoggedAttempt
from gatepost.store.endpoints import Endpoint
from gatepost.webhooks.endpoint_test import EndpointTest
from gatepost.webhooks.verification import VerificationResult

Signing = Literal["v1", "v1a"]
No = Annotated[bool, Meta(examples=[False])]
Events = Annotated[dict[str, bool], Meta(examples=[{"message_notification": True, "system_notification": False}])]


class BatchOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Deliver several events in one POST: at most `most` events, gathered for at most `wait` seconds."""

    most: Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": BATCH_MAX})] = BATCH_MAX
    wait: Annotated[float, Meta(extra_json_schema={"minimum": 0, "maximum": BATCH_WAIT_MAX})] = BATCH_WAIT_MAX


# `check_options` enforces the bounds, with an error that names every invalid field.
_Rate = Annotated[int, Meta(extra_json_schema={"minimum": 1, "maximum": RATE_MAX})]
_Version = Annotated[int, Meta(extra_json_schema={"enum": list(VERSIONS)})]


class CreateEndpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """A new endpoint. Event types that `events` does not name are on, except `system_notification`."""

    url: str
    events: dict[str, bool] | None = None
    headers: dict[str, str] | None = None
    ordered: bool = False
    batch: BatchOptions | None = None
    rate_limit: _Rate | None = None
    version: _Version = VERSIONS[-1]
    signing: Signing = "v1"


class ChangeEndpoint(Struct, frozen=True, forbid_unknown_fields=True):
    """The values to change. Omitted fields, and event types that are not named in `events`, keep their values."""

    url: str | None = None
    events: dict[str, bool] | None = None
    headers: dict[str, str] | None = None
    ordered: bool | None = None
    batch: BatchOptions | UnsetType | None = UNSET
    rate_limit: _Rate | UnsetType | None = UNSET
    version: _Version | None = None
    active: bool | None = None


EndpointRequest = CreateEndpoint | ChangeEndpoint


def options_after(before: DeliveryOptions, request: EndpointRequest) -> DeliveryOptions:
    """Return the delivery options of an endpoint after a request."""
    batch = request.batch if isinstance(request.batch, BatchOptions) else BatchOptions(1, 0.0)
    return DeliveryOptions(
        ordered=before.ordered if request.ordered is None else request.ordered,
        batch=before.batch if request.batch is UNSET else batch.most,
        batch_wait=before.batch_wait if request.batch is UNSET else batch.wait,
        rate=before.rate if request.rate_limit is UNSET else request.rate_limit,
        version=before.version if request.version is None else request.version,
    )


def events_after(before: tuple[str, ...], request: EndpointRequest) -> tuple[str, ...]:
    """Return the event types of an endpoint after a request."""
    switches = request.events or {}
    unknown = sorted(switches.keys() - set(ALL_TYPES))
    if unknown:
        raise invalid_field(f"events.{unknown[0]}", f"is not an event type; there are: {', '.join(ALL_TYPES)}")
    return tuple(type_ for type_ in ALL_TYPES if switches.get(type_, type_ in before))


class Gathering(ApiObject, frozen=True):
    """The maximum number of events in one POST, and for how many seconds they are gathered."""

    most: int
    wait: float

    @classmethod
    def of(cls, options: DeliveryOptions) -> "Gathering | None":
        """Return how an endpoint gathers events; None if each has its own POST."""
        return cls(options.batch, round(options.batch_wait, 3)) if options.batch > 1 else None


class LiveSecret(ApiObject, frozen=True):
    """A secret that signs deliveries, and until when; null: until it is rotated. Its value is not shown."""

    signing: Signing
    public_key: Nothing
    until: Never

    @classmethod
    def of(cls, secret: SigningSecret) -> "LiveSecret":
        """Return a secret without its value."""
        return cls(secret.signing, public_key(secret.secret), times.format_optional_time(secret.until))  # type: ignore[arg-type]


class Webhook(ApiObject, frozen=True):
    """An endpoint that events are delivered to."""

    id: EndpointId
    url: Url
    events: Events
    headers: Annotated[dict[str, str], Meta(examples=[{"X-Shop": "7"}])]
    ordered: No
    batch: Annotated[Gathering | None, Meta(examples=[None])]
    rate_limit: Annotated[int | None, Meta(examples=[None])]
    version: int
    signing: Signing
    public_key: Nothing
    secrets: list[LiveSecret]
    active: bool
    state: Literal["active", "paused", "disabled"]
    reason: Nothing
    failing_since: Never
    failures: Annotated[int, Meta(examples=[0])]
    succeeded_at: When
    next_probe_at: Never
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: Endpoint, secrets: Sequence[SigningSecret], headers: dict[str, str], now: datetime) -> "Webhook":
        """Return an endpoint with its decrypted or masked headers."""
        return cls(**_fields(row, secrets, headers, now))


class NewWebhook(Webhook, frozen=True):
    """An endpoint with the secret or public key that verifies its deliveries, which is shown only once."""

    secret: Annotated[str, Meta(examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])]

    @classmethod
    def with_secret(
        cls, row: Endpoint, secrets: Sequence[SigningSecret], headers: dict[str, str], now: datetime, secret: str
    ) -> "NewWebhook":
        """Return an endpoint with its new secret."""
        return cls(**_fields(row, secrets, headers, now), secret=secret)


def _fields(row: Endpoint, secrets: Sequence[SigningSecret], headers: dict[str, str], now: datetime) -> dict[str, Any]:
    options, health = row.options, row.health
    newest = secrets[0] if secrets else None
    return {
        "id": ids.format_id("we", row.id),
        "url": row.url,
        "events": {type_: type_ in row.events for type_ in ALL_TYPES},
        "headers": headers,
        "ordered": options.ordered,
        "batch": Gathering.of(options),
        "rate_limit": options.rate,
        "version": options.version,
        "signing": newest.signing if newest else V1,
        "public_key": public_key(newest.secret) if newest else None,
        "secrets": [LiveSecret.of(secret) for secret in live_secrets(secrets, now)],
        "active": row.state != DISABLED,
        "state": row.state,
        "reason": row.reason,
        "failing_since": times.format_optional_time(health.failing_since),
        "failures": health.failures,
        "succeeded_at": times.format_optional_time(health.succeeded_at),
        "next_probe_at": times.format_optional_time(health.probe_at) if row.state == PAUSED else None,
        "created_at": times.format_time(row.created_at),
        "updated_at": times.format_time(row.updated_at),
    }


class Verdict(ApiObject, frozen=True):
    """Whether a delivery is genuine and, if not, why."""

    valid: bool
    reason: Nothing
    signed_by: Literal["current", "previous"] | None
    timestamp: Annotated[When, Meta(examples=[AT])]
    age_seconds: int | None

    @classmethod
    def of(cls, result: VerificationResult) -> "Verdict":
        """Return the result of a verification."""
        at = None if result.timestamp is None else datetime.fromtimestamp(result.timestamp, UTC)
        signed_by: Literal["current", "previous"] | None = None
        if result.by is not None:
            signed_by = "current" if result.by == 0 else "previous"
        return cls(result.valid, result.reason, signed_by, times.format_optional_time(at), result.age)


class TrialAnswer(GivenAnswer, frozen=True):
    """The response to a test event, and whether more of it was received than is shown."""

    truncated: bool | UnsetType = UNSET


class Trial(ApiObject, frozen=True):
    """A test event: the request that was sent, and the response."""

    delivered: bool
    at: Time
    latency_ms: Latency
    status: HttpStatus
    error: Nothing
    request: SentRequest
    answer: TrialAnswer

    @classmethod
    def of(cls, test: EndpointTest) -> "Trial":
        """Return the attempt to deliver a test event."""
        answer = test.response
        return cls(
            delivered=test.delivered,
            at=times.format_time(test.at),
            latency_ms=round(answer.latency_ms, 1),
            status=answer.status,
            error=answer.error,
            request=SentRequest(test.url, test.headers, test.body.decode()),
            answer=TrialAnswer(list(answer.headers), answer.body.decode("utf-8", "replace"), answer.truncated),
        )


class AttemptDelivery(ApiObject, frozen=True):
    """The state of a delivery, and when it is attempted again."""

    state: Annotated[str, Meta(examples=["delivered"])]
    next_at: Never


class Attempt(ApiObject, frozen=True):
    """One attempt to deliver an event."""

    event: EventId
    number: int
    at: Time
    latency_ms: Latency
    status: HttpStatus
    error: Nothing
    delivery: AttemptDelivery
    request: SentRequest
    answer: GivenAnswer

    @classmethod
    def of(cls, row: LoggedAttempt) -> "Attempt":
        """Return an attempt."""
        return cls(
            event=ids.format_id("evt", row.event_id),
            number=row.number,
            at=times.format_time(row.at),
            latency_ms=round(row.latency_ms, 1),
            status=row.status,
            error=explain_attempt(row.status, row.error),
            delivery=AttemptDelivery(STATUSES[row.state], times.format_optional_time(row.next_at)),
            request=SentRequest.of(row.url, row.request_headers, row.request_body),
            answer=GivenAnswer.of(row.answer_headers, row.answer_body),
        )


HourLatency = Annotated[float | None, Meta(description="In milliseconds; null without attempts.", examples=[42.0])]


class WebhookHour(ApiObject, frozen=True):
    """The attempts to deliver the events of one hour."""

    hour: Time
    delivered: Annotated[int, Meta(description="Attempts that the endpoint answered with 2xx.", examples=[118])]
    failed: Annotated[int, Meta(description="All other attempts.", examples=[2])]
    p50_ms: HourLatency
    p95_ms: HourLatency
    complete: Annotated[bool, Meta(description=f"false: only the newest {SAMPLE:,} attempts of the hour count.")]

    @classmethod
    def of(cls, row: HourFigures) -> "WebhookHour":
        """Return the figures of one hour."""
        p50, p95 = (None if ms is None else round(ms, 1) for ms in (row.p50_ms, row.p95_ms))
        return cls(times.format_time(row.hour), row.delivered, row.failed, p50, p95, row.complete)
