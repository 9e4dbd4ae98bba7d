"""Spans of the life of a message, for OpenTelemetry. Without an exporter there is no `Tracer`, and nothing is computed.

    trace id   the id of the message
    span id    a hash of the message's id and of the stage: any process can name the span of another one
    sampled    by a hash of the message's id: all processes choose the same messages

So nothing about traces is stored, and a trace goes on after a restart and in another process. No attribute may be a
phone number, a text, an address or a secret: only ids, codes and names of states.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

LIMIT = 10_000  # spans that wait for the export; more are dropped
ACCEPT = "accept"  # the stage that all others of a message belong to
INTERNAL, SERVER, CLIENT = 1, 2, 3
_ERROR = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRACEPARENT = re.compile(r"^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$")


class SpanLink(msgspec.Struct, frozen=True, rename="camel"):
    """Another trace that a span belongs to."""

    trace_id: str
    span_id: str


class Span(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A span as OTLP encodes it in JSON: ids in hex, 64-bit numbers as strings."""

    trace_id: str
    span_id: str
    name: str
    start_time_unix_nano: str
    end_time_unix_nano: str
    kind: int = 0
    parent_span_id: str = ""
    attributes: list[dict[str, str | dict[str, str]]] = []
    links: list[SpanLink] = []
    status: dict[str, int] = {}


class Tracer:
    """Collects spans until they are exported. Recording never waits: above a limit, spans are dropped and counted."""

    def __init__(self, sample: float, count: Callable[[str, int], None], limit: int = LIMIT) -> None:
        self._below = int(sample * 2**32)
        self._count = count
        self._limit = limit
        self._spans: deque[Span] = deque()

    def __len__(self) -> int:
        return len(self._spans)

    def takes(self, message_id: UUID) -> bool:
        """Return whether a message is among the sample."""
        return int.from_bytes(_digest(message_id, "sample")[:4], "big") < self._below

    def record(
        self,
        message_id: UUID,
        stage: str,
        name: str,
        began: datetime,
        ended: datetime,
        attributes: Mapping[str, str | int | None],
        *,
        parent: str | None = ACCEPT,
        kind: int = INTERNAL,
        failed: bool = False,
        link: SpanLink | None = None,
    ) -> None:
        """Record the span of a stage of a message. `parent` is a stage too."""
        if not self.takes(message_id):
            return
        if len(self._spans) >= self._limit:
            self._count("dropped", 1)
            return
        shown = {"gatepost.message.id": message_id.hex.upper(), **attributes}
        self._spans.append(
            Span(
                trace_id=message_id.hex,
                span_id=_digest(message_id, stage).hex(),
                name=name,
                start_time_unix_nano=_nanoseconds(min(began, ended)),
                end_time_unix_nano=_nanoseconds(ended),
                kind=kind,
                parent_span_id=_digest(message_id, parent).hex() if parent is not None else "",
                attributes=[_attribute(key, value) for key, value in shown.items() if value is not None],
                links=[link] if link is not None else [],
                status={"code": _ERROR} if failed else {},
            )
        )

    def take(self, count: int) -> list[Span]:
        """Remove and return the oldest spans."""
        return [self._spans.popleft() for _ in range(min(count, len(self._spans)))]


def parse_traceparent(header: str | None) -> SpanLink | None:
    """Return the span that a `traceparent` header names; None if there is none, or if it is not valid."""
    found = _TRACEPARENT.match(header) if header else None
    return SpanLink(found[1], found[2]) if found else None


def _digest(message_id: UUID, stage: str) -> bytes:
    return hashlib.blake2b(stage.encode(), digest_size=8, key=message_id.bytes).digest()


def _nanoseconds(at: datetime) -> str:
    return f"{(at - _EPOCH) // timedelta(microseconds=1)}000"


def _attribute(key: str, value: str | int) -> dict[str, str | dict[str, str]]:
    kind = "stringValue" if isinstance(value, str) else "intValue"
    return {"key": key, "value": {kind: str(value)}}
