"""The delivery log: deliveries with their requests, responses and errors, and retries."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from gatepost.model import ids, times
from gatepost.model.dates import read_span
from gatepost.model.delivery import (
    PENDING,
    STATUSES,
    read_delivery_id,
)
from gatepost.model.endpoint import DISABLED, PAUSED
from gatepost.model.errors import Conflict, GatepostError, NotFound, invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.model.field_readers import read_choices
from gatepost.services.messages import access_message
from gatepost.store.deliveries import log as store
from gatepost.store.deliveries.log import (
    DeliveryAttempt,
    DeliveryFilter,
    DeliveryPage,
    LoggedDelivery,
    LogPosition,
    read_attempts,
)
from gatepost.store.deliveries.retry import ATTEMPTS_MAX, RetryCandidate, is_infinite, retry_deliveries
from gatepost.store.pool import Database

CLASSES = {"2xx": 2, "3xx": 3, "4xx": 4, "5xx": 5, "none": 0}
SCAN = 5_000  # deliveries that one response may check
SELECTION_MAX = 100
_ATTEMPTS_SHOWN = 50  # the newest; a delivery that was retried often may have more


def read_filter(given: Mapping[str, str]) -> DeliveryFilter:
    """Return the filter of the query parameters."""
    endpoint = given.get("endpoint")
    return DeliveryFilter(
        read_span(given.get("from"), given.get("to"), given.get("tz")),
        None if endpoint is None else _endpoint(endpoint),
        read_states(given.get("status")),
        read_types(given.get("type")),
        _read_classes(given.get("http")),
    )


def _read_classes(text: str | None) -> tuple[int, ...] | None:
    """Return the classes of HTTP statuses of a comma-separated list; 0 for no response."""
    return None if text is None else tuple(CLASSES[name] for name in read_choices("http", text.split(","), [*CLASSES]))


async def of_message(db: Database, channel_id: UUID, filter_: DeliveryFilter, text: str) -> DeliveryFilter:
    """Return the filter with the events of one message only."""
    message = await access_message(db, channel_id, text)
    return msgspec.structs.replace(filter_, event_ids=tuple(message.event_ids))


def _endpoint(text: str) -> UUID:
    found = ids.parse_id("we", text)
    if found is None:
        raise invalid_field("endpoint", "is not the id of a webhook endpoint; these begin with we_")
    return found


def read_states(text: str | None) -> tuple[int, ...] | None:
    """Return the states of a comma-separated list of names."""
    if text is None:
        return None
    return tuple(STATUSES.index(name) for name in read_choices("status", text.split(","), STATUSES))


def read_types(text: str | None) -> tuple[str, ...] | None:
    """Return the event types of a comma-separated list."""
    return None if text is None else tuple(read_choices("type", text.split(","), ALL_TYPES))


async def find_deliveries(
    db: Database, channel_id: UUID, filter_: DeliveryFilter, before: LogPosition | None, limit: int
) -> DeliveryPage:
    """Return a page of deliveries, newest event first. A short page may have a next one."""
    return await store.read_page(db, channel_id, filter_, before, scan=SCAN, limit=limit)


async def access_delivery(db: Database, channel_id: UUID, text: str) -> LoggedDelivery:
    """Return the delivery with this id, if it belongs to the channel."""
    key = read_delivery_id(text)
    found = await store.get_logged(db, channel_id, *key) if key else None
    if found is None:
        raise no_delivery()
    return found


def no_delivery() -> NotFound:
    return NotFound("There is no such delivery on this channel, or its event is past its retention.")


def why_waiting(one: LoggedDelivery, now: datetime) -> str | None:
    """Return why a pending delivery has not been sent yet."""
    if one.state != PENDING:
        return None
    if one.endpoint_state == DISABLED:
        return "The endpoint is disabled; the delivery starts when the endpoint is enabled."
    if one.next_at is not None and is_infinite(one.next_at):
        return "It waits for an earlier event of the same conversation that is not delivered yet."
    if one.endpoint_state == PAUSED:
        probe = f", next at {times.format_time(one.probe_at)}" if one.probe_at else ""
        return f"The endpoint fails too often and is paused; it is probed with single deliveries{probe}."
    if one.next_at is not None and one.next_at > now:
        return "The last attempt failed; it will be retried."
    return "It is queued."


async def attempts_of(
    db: Database, channel_id: UUID, one: LoggedDelivery
) -> tuple[list[DeliveryAttempt], dict[UUID, str]]:
    """Return the newest attempts of a delivery, the first of them first, and the bodies of their events."""
    return await read_attempts(db, channel_id, one.endpoint_id, one.event_id, _ATTEMPTS_SHOWN)


async def retry_one(db: Database, channel_id: UUID, text: str, now: datetime) -> LoggedDelivery:
    """Make one delivery due now, or raise why it cannot be retried."""
    (error,) = (await retry_many(db, channel_id, [text], now)).values()
    if error is not None:
        raise error
    return await access_delivery(db, channel_id, text)


async def retry_many(
    db: Database, channel_id: UUID, texts: Sequence[str], now: datetime
) -> dict[str, GatepostError | None]:
    """Make deliveries due now; return the error of each by its id, or None."""
    keys = {text: read_delivery_id(text) for text in texts}
    known = [key for key in keys.values() if key]
    errors = await retry_deliveries(db, channel_id, known, check_retry, now) if known else {}
    return {text: errors[key] if key else no_delivery() for text, key in keys.items()}


def check_retry(candidate: RetryCandidate | None) -> GatepostError | None:
    """Return why a delivery cannot be retried; None if it can."""
    if candidate is None:
        return no_delivery()
    endpoint = ids.format_id("we", candidate.endpoint_id)
    if candidate.endpoint_state is None:
        return Conflict(f"The webhook {endpoint} was deleted. Create a new one, and recover the events for it.")
    if candidate.endpoint_state == DISABLED:
        why = f" ({candidate.reason.rstrip('.')})" if candidate.reason else ""
        return Conflict(f"The webhook {endpoint} is disabled{why}. Enable it first, then retry.")
    if candidate.attempts >= ATTEMPTS_MAX:
        return Conflict(f"This delivery has {candidate.attempts} attempts, which is the maximum.")
    return None
