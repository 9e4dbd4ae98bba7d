"""The log of deliveries, retries and recoveries."""

from collections.abc import Iterable, Sequence

from gatepost_client.calls.builders import act, create, fetch, pages
from gatepost_client.calls.messages import Moment
from gatepost_client.types import Delivery, DeliveryWithAttempts, Recovery, RetryResults
from gatepost_client.wire import Call, Listing, given, show_query


def deliveries(
    *,
    webhook_id: str | None = None,
    status: str | Iterable[str] | None = None,
    type: str | Iterable[str] | None = None,
    http: str | Iterable[str] | None = None,
    message: str | None = None,
    start: Moment | None = None,
    end: Moment | None = None,
    tz: str | None = None,
) -> Listing[Delivery]:
    """List deliveries of events from `start` (inclusive) to `end` (exclusive), newest first. Filters combine."""
    filters = {"endpoint": webhook_id, "status": status, "type": type, "http": http, "message": message}
    query = filters | {"from": start, "to": end, "tz": tz}
    return pages(Delivery, "deliveries", query=query)


def delivery(delivery_id: str) -> Call[DeliveryWithAttempts]:
    """Return one delivery with its attempts: request, answer, latency, what was wrong."""
    return fetch(DeliveryWithAttempts, "deliveries", delivery_id)


def retry_delivery(delivery_id: str) -> Call[Delivery]:
    """Retry a delivery now; its retry schedule starts over."""
    return act(Delivery, "POST", "deliveries", delivery_id, "retry")


def retry_deliveries(delivery_ids: Sequence[str]) -> Call[RetryResults]:
    """Retry up to 100 deliveries now, each with its own result."""
    return act(RetryResults, "POST", "deliveries", "retry", body={"ids": list(delivery_ids)})


def recover(
    webhook_id: str,
    since: Moment,
    *,
    until: Moment | None = None,
    types: Sequence[str] | None = None,
    statuses: Sequence[str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Recovery]:
    """Start a recovery: deliver again every event since a time that did not arrive. The gateway does it on its own."""
    times = show_query({"since": since, "until": until})
    body = times | given(types=types, statuses=statuses)
    return create(Recovery, "webhooks", webhook_id, "recover", body=body, key=idempotency_key)


def recoveries(webhook_id: str) -> Listing[Recovery]:
    """Return the recoveries of an endpoint, the newest first."""
    return pages(Recovery, "webhooks", webhook_id, "recoveries")


def recovery(webhook_id: str, recovery_id: str) -> Call[Recovery]:
    """Return a recovery with its progress."""
    return fetch(Recovery, "webhooks", webhook_id, "recoveries", recovery_id)
