"""Bodies of POSTs: events in the endpoint's payload version, alone or in batches.

A batch is collected until it has as many events as the endpoint takes, or the first has waited long enough.

Events are stored in the newest version; an endpoint that is pinned to an older one gets it by steps:

    stored (newest) ─► step to the version before ─► … ─► the endpoint's version

Each step is a pure function from the event of one version to that of the version before. There is only one version
today, and so no step; a second version adds a row to STEPS.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.endpoint import VERSIONS, DeliveryOptions
from gatepost.store.deliveries.queue import DueDelivery

Step = Callable[[dict[str, Any]], dict[str, Any]]
NEWEST = VERSIONS[-1]
STEPS: Mapping[int, Step] = {}  # version → the step to it from the version after it


def body_for(version: int, body: bytes) -> bytes:
    """Return a stored event in the version of an endpoint."""
    if version >= NEWEST:
        return body
    return step_down(body, [STEPS[step] for step in range(NEWEST - 1, version - 1, -1)])


def step_down(body: bytes, steps: list[Step]) -> bytes:
    """Return an event after these steps, the one from the newest version first."""
    event: dict[str, Any] = msgspec.json.decode(body)
    for step in steps:
        event = step(event)
    return msgspec.json.encode(event)


class DeliveryBody(msgspec.Struct, frozen=True):
    """The body of one POST, and the id that it is signed under."""

    id: str
    body: bytes


class BatchCollector:
    """The deliveries of the next POST to one endpoint. After each `add` the caller checks whether the batch is full."""

    def __init__(self) -> None:
        self._items: list[DueDelivery] = []
        self._keys: set[UUID] = set()
        self._since = 0.0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, due: DueDelivery, now: float) -> None:
        if not self._items:
            self._since = now
        self._items.append(due)
        self._keys.add(due.key)

    def contains(self, key: UUID) -> bool:
        """Return whether a conversation is in the batch, so that more of its events may join."""
        return key in self._keys

    def due_at(self, options: DeliveryOptions) -> float | None:
        """When the batch is sent at the latest."""
        return self._since + options.batch_wait if self._items else None

    def take(self, options: DeliveryOptions, now: float, *, at_once: bool = False) -> tuple[DueDelivery, ...]:
        """Remove and return the batch in the order of the events if it is full, or has waited long enough."""
        if not self._items:
            return ()
        if len(self._items) < options.batch and not at_once and now < self._since + options.batch_wait:
            return ()
        taken = sorted(self._items, key=lambda due: due.event_id)
        self.clear()
        return tuple(taken)

    def clear(self) -> None:
        self._items, self._keys = [], set()


def build_body(options: DeliveryOptions, items: Sequence[DueDelivery]) -> DeliveryBody:
    """Return the POST of these events: a single event, or a batch in the order of their ids."""
    bodies = [body_for(options.version, item.body) for item in items]
    if options.batch == 1:
        return DeliveryBody(ids.format_id("evt", items[0].event_id), bodies[0])
    return DeliveryBody(batch_id([item.event_id for item in items]), b'{"events":[%b]}' % b",".join(bodies))


def batch_id(event_ids: Sequence[UUID]) -> str:
    """Return the same id for the same events, so that a receiver recognizes a repeated batch."""
    names = ".".join(ids.format_id("evt", id_) for id_ in event_ids)
    return "bat_" + hashlib.sha256(names.encode()).hexdigest()[:32]
