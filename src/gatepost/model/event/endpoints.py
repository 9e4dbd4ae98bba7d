"""Notifications for operators: the health of the channel's own webhook endpoints."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Self, TypeAlias
from uuid import UUID

from msgspec import Meta

from gatepost.model import ids, times
from gatepost.model.endpoint import ACTIVE, DISABLED, PAUSED
from gatepost.model.event.parts import AT, EVENT_ID, SYSTEM, EventId, EventObject, Text, Time, id_with, one_of

EndpointState = Annotated[str, one_of([ACTIVE, PAUSED, DISABLED])]
_FAILED = "The endpoint answered 503."


class Endpoint(EventObject, frozen=True):
    """The state and the health of an endpoint."""

    TYPE = SYSTEM
    EXAMPLE: ClassVar[tuple[str, str, str | None]] = (ACTIVE, ACTIVE, _FAILED)  # state, previous, reason

    id: Annotated[str, id_with("we")]
    url: str
    state: EndpointState
    previous: EndpointState
    reason: Text
    failing_since: Time | None
    failures: Annotated[int, Meta(ge=0, description="Since the last success.")]

    @classmethod
    def of(
        cls,
        endpoint_id: UUID,
        url: str,
        state: str,
        *,
        previous: str,
        reason: str | None,
        failing_since: datetime | None,
        failures: int,
        **more: Any,
    ) -> Self:
        """Return the data of an event. `more` are the fields of `EndpointExhausted`."""
        since = times.format_optional_time(failing_since)
        return cls(ids.format_id("we", endpoint_id), url, state, previous, reason, since, failures, **more)

    @classmethod
    def example(cls, **more: Any) -> Self:
        state, previous, reason = cls.EXAMPLE
        since, failures = (AT - timedelta(minutes=5), 12) if reason else (None, 0)
        health: dict[str, Any] = {"failing_since": since, "failures": failures}
        endpoint_id, url = ids.derived_id(AT, "endpoint"), "https://shop.example.com/hooks"
        return cls.of(endpoint_id, url, state, previous=previous, reason=reason, **health, **more)


class EndpointFailing(Endpoint, frozen=True):
    """Deliveries to the endpoint fail."""

    ACTION = "endpoint_failing"


class EndpointPaused(Endpoint, frozen=True):
    """The endpoint was paused, because deliveries fail."""

    ACTION, EXAMPLE = "endpoint_paused", (PAUSED, ACTIVE, _FAILED)


class EndpointResumed(Endpoint, frozen=True):
    """The endpoint accepts deliveries again."""

    ACTION, EXAMPLE = "endpoint_resumed", (ACTIVE, PAUSED, None)


class EndpointDisabled(Endpoint, frozen=True):
    """The endpoint was disabled: it gets no more deliveries."""

    ACTION, EXAMPLE = "endpoint_disabled", (DISABLED, PAUSED, "The endpoint is gone: it answered 410.")


class EndpointEnabled(Endpoint, frozen=True):
    """The endpoint was enabled by a person."""

    ACTION, EXAMPLE = "endpoint_enabled", (ACTIVE, DISABLED, None)


class EndpointExhausted(Endpoint, frozen=True):
    """Deliveries failed finally: `exhausted` since the last such event, the last one that of `event`."""

    ACTION = "endpoint_exhausted"

    exhausted: Annotated[int, Meta(ge=1)]
    event: EventId

    @classmethod
    def example(cls, **more: Any) -> Self:
        return super().example(**{"exhausted": 3, "event": ids.format_id("evt", EVENT_ID)} | more)


EndpointEvent: TypeAlias = (
    EndpointFailing | EndpointPaused | EndpointResumed | EndpointDisabled | EndpointEnabled | EndpointExhausted
)
