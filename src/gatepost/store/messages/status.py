"""Changes of a message's state, collected in memory and written in one statement.

Results of our sends and reports of the network are both applied here; `may_follow` decides what changes anything.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import msgspec

from gatepost.model import ids
from gatepost.model.event.acknowledgements import AckMessage
from gatepost.model.message import STATUS, State, may_follow
from gatepost.store.channel_head import ChannelTransaction, EventBuffer, with_events
from gatepost.store.messages.amend import show_own_reaction
from gatepost.store.pool import Connection, Database
from gatepost.store.statement import columns_of, json_text

_SENT = frozenset(STATUS[state] for state in (State.SENT, State.DELIVERED, State.READ, State.PLAYED))
_ENDS = (State.FAILED, State.EXPIRED, State.CANCELED)


class StatusStep(msgspec.Struct, frozen=True):
    """One change of state, which becomes one event."""

    state: State
    previous: str
    error: dict[str, Any] | None
    details: dict[str, Any] | None = None  # what the network reports with it: pricing, conversation, held


class ParkedStatus(msgspec.Struct, frozen=True):
    """A status that arrived before we knew the network's id of its message."""

    state: State
    error: dict[str, Any] | None
    details: dict[str, Any] | None = msgspec.field(default=None, name="told")  # stored under this name


def park(state: State, error: dict[str, Any] | None, details: dict[str, Any] | None) -> str:
    """Return a status as JSON, to be stored until its message is known."""
    return json_text(ParkedStatus(state, error, details))


async def take_parked(
    conn: "Connection[Any]", channel_id: UUID, network_ids: Sequence[str]
) -> dict[str, list[ParkedStatus]]:
    """Delete and return the parked statuses of these messages, each message's in order."""
    rows = await conn.fetch(
        """DELETE FROM parked_statuses WHERE channel_id = $1 AND network_id = ANY ($2::text[])
           RETURNING network_id, status""",
        channel_id,
        list(network_ids),
    )
    parked: dict[str, list[ParkedStatus]] = {}
    for row in rows:
        parked.setdefault(row["network_id"], []).append(msgspec.json.decode(row["status"], type=ParkedStatus))
    return {network_id: sorted(found, key=lambda status: status.state) for network_id, found in parked.items()}


async def forget_parked_statuses(db: Database, now: datetime) -> None:
    """Delete statuses whose message never came: another program sent it from the same number."""
    await db.execute("DELETE FROM parked_statuses WHERE id < $1", ids.floor_id(now - timedelta(days=1)))


class StatusChange(msgspec.Struct):
    """One message's changes within a batch."""

    id: UUID
    contact_id: UUID
    phone: str
    client_ref: str | None
    state: State
    attempt: int
    network_id: str | None
    steps: list[StatusStep] = []
    event_ids: list[UUID] = []
    error: dict[str, Any] | None = None
    history: dict[str, Any] | None = None
    next_at: datetime | None = None
    pricing: dict[str, Any] | None = None
    changed: bool = False
    scheduled: bool = False
    queued: bool = False  # before this batch
    reacts: bool = False  # whether it is a reaction to another message

    @classmethod
    def of(cls, row: Any) -> "StatusChange":
        """Begin from a row (id, contact_id, phone, client_ref, state, attempt, network_id, target_id)."""
        who = row["id"], row["contact_id"], row["phone"], row["client_ref"]
        state = State(row["state"])
        queued, reacts = state is State.QUEUED, row["target_id"] is not None
        return cls(*who, state, row["attempt"], row["network_id"], queued=queued, reacts=reacts)

    def step(self, state: State, error: dict[str, Any] | None, details: dict[str, Any] | None = None) -> None:
        """Apply a report, if it is new."""
        if details and "pricing" in details:
            self.pricing = details["pricing"]
            self.changed = True
        if may_follow(self.state, state):
            before = "SCHEDULED" if self.scheduled and self.state is State.QUEUED else STATUS[self.state]
            self.steps = [*self.steps, StatusStep(state, before, error, details)]
            self.state = state
            self.error = error or self.error
            self.changed = True

    def learn(self, network_id: str) -> None:
        """Save the network's id. The first one stays: a second send of the same message has another."""
        if self.network_id is None:
            self.network_id = network_id
            self.changed = True

    def note(self, attempt: int, error: dict[str, Any] | None, now: datetime, tries: int) -> None:
        """Save a failed attempt, for the trace, and how many attempts count as tries."""
        self.history = {"attempt": attempt, "at": now, "error": error, "tries": tries}
        self.error = error

    def requeue(self, next_at: datetime | None) -> None:
        """Return the message to the queue, not before `next_at`."""
        self.state = State.QUEUED
        self.next_at = next_at
        self.changed = True

    def emit(self, event_buffer: EventBuffer) -> None:
        """Add an event for each step."""
        for step in self.steps:
            data = AckMessage.of(
                id_=self.id,
                phone=self.phone,
                state=step.state,
                previous=step.previous,
                client_ref=self.client_ref,
                error=step.error,
                details=step.details,
            )
            failed = step.state in (State.FAILED, State.EXPIRED)  # usage counts these
            event_id = event_buffer.add(data, self.contact_id, self.id if failed else None)
            self.event_ids = [*self.event_ids, event_id]

    @property
    def reaction(self) -> Literal["appears", "disappears"] | None:
        """What this batch changes on the message that this one reacts to. The network may still refuse a sent one."""
        if not self.reacts or not self.steps:
            return None
        was_sent, is_sent = self.steps[0].previous in _SENT, STATUS[self.state] in _SENT
        if was_sent == is_sent:
            return None
        return "appears" if is_sent else "disappears"

    def reached(self, state: State, now: datetime) -> datetime | None:
        """Return when this batch brought the message to a state; None if it did not."""
        return now if any(step.state is state for step in self.steps) else None

    def ended(self, now: datetime) -> datetime | None:
        return now if self.state in _ENDS else None


async def write_changes(
    transaction: ChannelTransaction, changes: Sequence[StatusChange], *, by_owner: bool = False
) -> None:
    """Write all changes of a batch in key order, with their events, which follow those that are buffered already.

    Unless the owner writes, the head's `queue_version` tells it that messages in its memory have changed.
    """
    if not changes and not transaction.event_buffer.events:
        return
    if not by_owner and any(change.queued and change.state is not State.QUEUED for change in changes):
        await transaction.conn.execute(
            "UPDATE channel_heads SET queue_version = queue_version + 1 WHERE channel_id = $1", transaction.channel_id
        )
    for change in changes:
        change.emit(transaction.event_buffer)
    for change in changes:
        if change.reaction is not None:
            await show_own_reaction(transaction, change.id, removed=change.reaction == "disappears")
    await transaction.write(_UPDATE, **_columns(changes, transaction.now))


# Of the failed attempts, the last 50 are kept: a message may be tried every minute for as long as its `ttl`.
_UPDATE = with_events(
    """UPDATE messages m SET state = c.state, network_id = c.network_id, next_at = c.next_at,
               error = COALESCE(c.error, m.error),
               history = CASE WHEN c.history IS NULL THEN m.history
                              ELSE m.history[cardinality(m.history) - 48 :] || c.history END,
               sent_at = COALESCE(m.sent_at, c.sent_at), delivered_at = COALESCE(m.delivered_at, c.delivered_at),
               read_at = COALESCE(m.read_at, c.read_at), played_at = COALESCE(m.played_at, c.played_at),
               ended_at = COALESCE(m.ended_at, c.ended_at), pricing = COALESCE(c.pricing, m.pricing),
               event_ids = m.event_ids || string_to_array(c.event_ids, ',')::uuid[]
           FROM unnest(:id::uuid[], :state::smallint[], :network_id::text[], :next_at::timestamptz[],
                       :errors::text[], :histories::text[], :sent_ats::timestamptz[], :delivered_ats::timestamptz[],
                       :read_ats::timestamptz[], :played_ats::timestamptz[], :ended_ats::timestamptz[],
                       :own_event_ids::text[], :pricings::text[])
             AS c (id, state, network_id, next_at, error, history,
                   sent_at, delivered_at, read_at, played_at, ended_at, event_ids, pricing)
           WHERE m.channel_id = :channel_id AND m.id = c.id AND m.id = ANY (:id)
             AND m.id BETWEEN :first_id AND :last_id"""
)


def _columns(changes: Sequence[StatusChange], now: datetime) -> dict[str, Any]:
    """Return the parameters of `_UPDATE`, in key order."""
    changes = sorted(changes, key=lambda change: change.id)
    return {
        **columns_of(changes, "id", "state", "network_id", "next_at"),
        "errors": [_json(c.error) for c in changes],
        "histories": [_json(c.history) for c in changes],
        "sent_ats": [c.reached(State.SENT, now) for c in changes],
        "delivered_ats": [c.reached(State.DELIVERED, now) for c in changes],
        "read_ats": [c.reached(State.READ, now) for c in changes],
        "played_ats": [c.reached(State.PLAYED, now) for c in changes],
        "ended_ats": [c.ended(now) for c in changes],
        "own_event_ids": [",".join(map(str, c.event_ids)) for c in changes],
        "pricings": [_json(c.pricing) for c in changes],
        "first_id": changes[0].id if changes else ids.ZERO,  # by the range the planner leaves out other partitions
        "last_id": changes[-1].id if changes else ids.ZERO,
    }


def _json(value: dict[str, Any] | None) -> str | None:
    return json_text(value) if value is not None else None


async def save_waits(conn: "Connection[Any]", channel_id: UUID, noted: Sequence[tuple[UUID, str]]) -> None:
    """Save for the trace what delayed messages that ended without being sent."""
    if noted:
        noted = sorted(noted)
        await conn.execute(
            """UPDATE messages m SET waits = m.waits || i.waits FROM unnest($2::uuid[], $3::text[]) AS i (id, waits)
               WHERE m.channel_id = $1 AND m.id = i.id AND m.id = ANY ($2) AND m.id BETWEEN $4 AND $5""",
            channel_id,
            [id_ for id_, _ in noted],
            [waits for _, waits in noted],
            noted[0][0],
            noted[-1][0],
        )
