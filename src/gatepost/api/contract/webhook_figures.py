"""The figures of webhook endpoints in answers."""

from typing import Annotated

from msgspec import Meta

from gatepost.api.contract.fields import ApiObject, Time
from gatepost.model import times
from gatepost.store.deliveries.figures import SAMPLE, HourFigures

Latency = Annotated[float | None, Meta(description="In milliseconds; null without attempts.", examples=[42.0])]


class WebhookHour(ApiObject, frozen=True):
    """The attempts to deliver the events of one hour."""

    hour: Time
    delivered: Annotated[int, Meta(description="Attempts that the endpoint answered with 2xx.", examples=[118])]
    failed: Annotated[int, Meta(description="All other attempts.", examples=[2])]
    p50_ms: Latency
    p95_ms: Latency
    complete: Annotated[bool, Meta(description=f"false: only the newest {SAMPLE:,} attempts of the hour count.")]

    @classmethod
    def of(cls, row: HourFigures) -> "WebhookHour":
        """Return the figures of one hour."""
        p50, p95 = (None if ms is None else round(ms, 1) for ms in (row.p50_ms, row.p95_ms))
        return cls(times.format_time(row.hour), row.delivered, row.failed, p50, p95, row.complete)
