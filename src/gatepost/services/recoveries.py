"""Recoveries: redelivery of events that an endpoint has missed since a given time, and the owner's work on them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.model import ids
from gatepost.model.dates import first_id, read_moment, read_zone
from gatepost.model.delivery import MISSING, STATUSES
from gatepost.model.endpoint import DISABLED
from gatepost.model.errors import Conflict, invalid_field
from gatepost.model.event import ALL_TYPES
from gatepost.model.field_readers import read_choice, read_choices
from gatepost.services.lookup import existing, read_id
from gatepost.store.deliveries import recover as store
from gatepost.store.deliveries.recover import RecoveryFilter, RecoveryRow, RecoveryStep, recover_next
from gatepost.store.endpoints import Endpoint
from gatepost.store.idempotency import IdempotentRequest
from gatepost.store.pool import Database

_HELD = 1.0  # seconds before a recovery that cannot continue is checked again
_HELD_UNOWNED = timedelta(seconds=30)  # the same for a channel that was released meanwhile
CHOICES = {
    "missing": MISSING,
    **{name: STATUSES.index(name) for name in ("pending", "exhausted", "dropped", "delivered")},
}
RECOVERABLE = {state: name for name, state in CHOICES.items()}


class RecoverRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The time range, and optional filters. Without `statuses`: all events that were not delivered."""

    since: str
    until: str | None = None
    types: list[str] | None = None
    statuses: list[str] | None = None


def read_recovery_filter(request: RecoverRequest, endpoint: Endpoint, now: datetime) -> RecoveryFilter:
    """Return the filter of a request, or raise an error that names the invalid field."""
    zone = read_zone(None)
    since = read_moment("since", request.since, zone)
    until = now if request.until is None else min(now, read_moment("until", request.until, zone))
    if since >= now:
        raise invalid_field("since", "must be in the past")
    if until <= since:
        raise invalid_field("until", "must be later than 'since'")
    # Without `until` the end is the newest event of the channel, independent of the clocks of the nodes.
    end = UUID(int=(1 << 128) - 1) if request.until is None else first_id(until)
    return RecoveryFilter(first_id(since), end, _types(request.types, endpoint), _states(request.statuses))


def _types(types: Sequence[str] | None, endpoint: Endpoint) -> tuple[str, ...] | None:
    if types is None:
        return None
    if not types:
        raise invalid_field("types", "is empty; omit it for all event types of the webhook")
    for i, type_ in enumerate(types):
        read_choice(f"types[{i}]", type_, ALL_TYPES)
        if type_ not in endpoint.events:
            raise invalid_field(f"types[{i}]", f"{type_} is not enabled for this webhook; enable it first")
    return tuple(dict.fromkeys(types))


def _states(names: Sequence[str] | None) -> tuple[int, ...] | None:
    if names is None:
        return None
    if not names:
        raise invalid_field("statuses", f"is empty; there are: {', '.join(CHOICES)}")
    return tuple(dict.fromkeys(CHOICES[name] for name in read_choices("statuses", names, CHOICES)))


async def recover(
    db: Database, endpoint: Endpoint, request: RecoverRequest, once: IdempotentRequest[RecoveryRow], now: datetime
) -> RecoveryRow:
    """Start a recovery, which the channel's owner carries out."""
    if endpoint.state == DISABLED:
        raise Conflict(f"The webhook {ids.format_id('we', endpoint.id)} is disabled. Enable it first, then recover.")
    filter_ = read_recovery_filter(request, endpoint, now)
    return await store.add_recovery(db, endpoint.channel_id, endpoint.id, filter_, once, now)


async def access_recovery(db: Database, channel_id: UUID, endpoint_id: UUID, text: str) -> RecoveryRow:
    """Return the recovery with this id, if it belongs to the endpoint."""
    return existing("rec", await store.get_recovery(db, channel_id, endpoint_id, read_id("rec", text)))


def progress(one: RecoveryRow) -> float:
    """Return how much of the range is done, from 0 to 1."""
    if one.ended_at is not None:
        return 1.0
    whole, done = one.end_id.int - one.first_id.int, one.position.int - one.first_id.int
    return round(min(0.999, max(0.0, done / whole)), 3) if whole > 0 else 0.0


class RecoveryTask(ChannelTask):
    """Advances the recoveries of a channel, one chunk of each in turn."""

    name = "recovery"
    first_wait = 5.0
    gather = 0.2

    def __init__(self, context: ChannelContext, find: Callable[[UUID], Awaitable[list[UUID] | None]]) -> None:
        super().__init__(context)
        self._find = find

    async def step(self) -> list[RecoveryStep]:
        """Advance every open recovery by one chunk. Return the result of each."""
        found = await self._find(self._lease.channel_id) or []
        return [
            await recover_next(self._db, self._lease, recovery_id, self._clock.now())
            for recovery_id in found
            if self.going
        ]

    async def work(self) -> float | None:
        self._next_work = None
        steps = await self.step()
        while "more" in steps:
            steps = await self.step()
        if "held" not in steps:
            return None
        self._next_work = self._clock.now() + _HELD_UNOWNED
        return _HELD
