"""The attempts of an endpoint by the hour of their events, from a bounded sample of each hour."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.store.pool import Database

HOURS = 24
SAMPLE = 1_000  # attempts of each hour that are read at most


class HourFigures(msgspec.Struct, frozen=True):
    """The attempts of one hour. Latencies are None if there was none."""

    hour: datetime
    delivered: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None
    complete: bool  # False: there were more than were read


async def read_hour_figures(db: Database, channel_id: UUID, endpoint_id: UUID, now: datetime) -> list[HourFigures]:
    """Return the figures of the last 24 hours, the oldest first, from the newest attempts of each."""
    last = now.replace(minute=0, second=0, microsecond=0)
    hours = [last - timedelta(hours=ago) for ago in reversed(range(HOURS))]
    rows = await db.fetch(
        f"""SELECT a.* FROM unnest($3::uuid[], $4::uuid[]) WITH ORDINALITY AS h (first_id, end_id, n)
            CROSS JOIN LATERAL (
                SELECT count(*) AS attempts, count(*) FILTER (WHERE status BETWEEN 200 AND 299) AS delivered,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50,
                       percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95
                FROM (SELECT CASE WHEN error IS NULL THEN status END AS status, latency_ms FROM delivery_attempts
                      WHERE channel_id = $1 AND endpoint_id = $2 AND event_id >= h.first_id AND event_id < h.end_id
                      ORDER BY event_id DESC LIMIT {SAMPLE}) newest) a
            ORDER BY h.n""",
        channel_id,
        endpoint_id,
        [ids.floor_id(hour) for hour in hours],
        [ids.floor_id(hour + timedelta(hours=1)) for hour in hours],
    )
    return [
        HourFigures(
            hour=hour,
            delivered=row["delivered"],
            failed=row["attempts"] - row["delivered"],
            p50_ms=row["p50"],
            p95_ms=row["p95"],
            complete=row["attempts"] < SAMPLE,
        )
        for hour, row in zip(hours, rows, strict=True)
    ]
