"""Deliveries as people look at them: why one did not arrive, what was sent and answered, and once more, please."""

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
from gatepost.model.field_readers import plain
from gatepost.store.deliveries import log as store
from gatepost.store.deliveries.log import (
    DeliveryAttempt,
    DeliveryFilter,
    DeliveryPage,
    LoggedDelivery,
    Place,
    read_attempts,
)
from gatepost.store.deliveries.retry import ATTEMPTS_MAX, RetryCandidate, is_infinite, retry_deliveries
from gatepost.store.pool import Database

FILTERS = ("endpoint", "status", "type", "from", "to", "tz")
SCAN = 5_000  # deliveries that one answer may look at
SELECTION_MAX = 100
_ATTEMPTS_SHOWN = 50  # the newest; a delivery that was asked for again many times has more
_headers = msgspec.json.Decoder(dict[str, str])
_pairs = msgspec.json.Decoder(list[tuple[str, str]])


def read_filter(given: Mapping[str, str]) -> DeliveryFilter:
    """The filters among the parameters."""
    endpoint = given.get("endpoint")
    return DeliveryFilter(
        read_span(given.get("from"), given.get("to"), given.get("tz")),
        None if endpoint is None else _endpoint(endpoint),
        read_states(given.get("status")),
        read_types(given.get("type")),
    )


def _endpoint(text: str) -> UUID:
    found = ids.read("we", text)
    if found is None:
        raise invalid_field("endpoint", "is not the id of a webhook endpoint; these begin with we_")
    return found


def read_states(text: str | None) -> tuple[int, ...] | None:
    """States by their names, with commas between."""
    words = None if text is None else _words("status", text.split(","), STATUSES)
    return None if words is None else tuple(STATUSES.index(word) for word in words)


def read_types(text: str | None) -> tuple[str, ...] | None:
    """Event types with commas between."""
    return None if text is None else tuple(_words("type", text.split(","), ALL_TYPES))


def _words(field: str, asked: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    unknown = [word for word in asked if word not in known]
    if unknown:
        raise invalid_field(field, f"'{plain(unknown[0])}' is not one of them; there are: {', '.join(known)}")
    return asked


async def find_deliveries(
    db: Database, channel_id: UUID, wanted: DeliveryFilter, before: Place | None, most: int
) -> DeliveryPage:
    """A page of deliveries, the newest event first. It may be short, and still have a next one."""
    return await store.read_page(db, channel_id, wanted, before, scan=SCAN, limit=most)


async def access_delivery(db: Database, channel_id: UUID, text: str) -> LoggedDelivery:
    """The delivery behind an id, if it is this channel's."""
    key = read_delivery_id(text)
    found = await store.get_logged(db, channel_id, *key) if key else None
    if found is None:
        raise no_delivery()
    return found


def no_delivery() -> NotFound:
    return NotFound("There is no such delivery on this channel, or its event is past the time that events are kept.")


def why_waiting(one: LoggedDelivery, now: datetime) -> str | None:
    """Return why a pending delivery has not been sent yet."""
    if one.state != PENDING:
        return None
    if one.endpoint_state == DISABLED:
        return "The endpoint is disabled; it goes out when the endpoint is enabled."
    if one.next_at is not None and is_infinite(one.next_at):
        return "It waits for an earlier event of the same conversation, which the endpoint has not taken yet."
    if one.endpoint_state == PAUSED:
        probe = f", next at {times.show(one.probe_at)}" if one.probe_at else ""
        return f"The endpoint fails too often and is paused; single deliveries try it from time to time{probe}."
    if one.next_at is not None and one.next_at > now:
        return "The last attempt failed; it is tried again."
    return "Its turn has not come yet."


async def attempts_of(
    db: Database, channel_id: UUID, one: LoggedDelivery
) -> tuple[list[DeliveryAttempt], dict[UUID, str]]:
    """Return the newest attempts of a delivery, the first of them first, and the bodies of their events."""
    return await read_attempts(db, channel_id, one.endpoint_id, one.event_id, _ATTEMPTS_SHOWN)


async def retry_one(db: Database, channel_id: UUID, text: str, now: datetime) -> LoggedDelivery:
    """Makes one delivery due now, or says why that cannot be."""
    (refusal,) = (await retry_many(db, channel_id, [text], now)).values()
    if refusal is not None:
        raise refusal
    return await access_delivery(db, channel_id, text)


async def retry_many(
    db: Database, channel_id: UUID, texts: Sequence[str], now: datetime
) -> dict[str, GatepostError | None]:
    """Makes deliveries due now; what became of each, by its id."""
    keys = {text: read_delivery_id(text) for text in texts}
    known = [key for key in keys.values() if key]
    verdicts = await retry_deliveries(db, channel_id, known, check_retry, now) if known else {}
    return {text: verdicts[key] if key else no_delivery() for text, key in keys.items()}


def check_retry(asked: RetryCandidate | None) -> GatepostError | None:
    """Why a delivery cannot be made again; None: it can."""
    if asked is None:
        return no_delivery()
    endpoint = ids.show("we", asked.endpoint_id)
    if asked.endpoint_state is None:
        return Conflict(f"The webhook {endpoint} was deleted. Make a new one, and recover the events for it.")
    if asked.endpoint_state == DISABLED:
        why = f" ({asked.reason.rstrip('.')})" if asked.reason else ""
        return Conflict(f"The webhook {endpoint} is disabled{why}. Enable it first, then retry.")
    if asked.attempts >= ATTEMPTS_MAX:
        return Conflict(f"This delivery was tried {asked.attempts} times already, which is as often as can be counted.")
    return None
