"""Compares the records of one channel after a fault, and names everything in them that must not be.

accepted for clients ─► messages ─► events ─► webhooks        each 200 has one message, each message one end,
                      │                                  each event its webhook, no number is missing
                      └─► the sandbox's ledger           once, in order; twice only where nobody could know
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gatepost.model.event.parts import SYSTEM
from gatepost.model.message import State
from tests.conftest import Received

FORWARD = ["PENDING", "SENT", "DELIVERED", "READ", "FAILED"]


class RunRecords(msgspec.Struct, frozen=True):
    """All records of a channel."""

    messages: list[dict[str, Any]]
    usage: int
    events: list[dict[str, Any]]
    unsettled: int
    received: list[Received]
    accepted: list[dict[str, Any]]
    callbacks: list[dict[str, Any]]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with the records, and `repeated`: messages that went out twice because nobody could know."""

    lost: list[str]  # answered 200, and not stored, not sent, or without its last status
    unasked: list[str]  # stored or sent, though no client got a response for it
    doubled: list[str]  # sent again, though the outcome was known, or more often than its outcome was lost
    disordered: list[str]  # recipients who got their messages in another order
    gaps: list[str]  # numbers of events that are missing, come twice, or in another order
    steps: list[str]  # messages, contacts or conversations whose events are incomplete, or go backward
    undelivered: list[str]  # events without a webhook, of those that every endpoint gets
    altered: list[str]  # webhooks that are not their event
    miscounted: int  # messages that the plan counts, less those that were accepted
    repeated: list[str]

    def problems(self) -> dict[str, Any]:
        """Return what is wrong, by its kind."""
        found = msgspec.structs.asdict(self)
        return {kind: what for kind, what in found.items() if what and kind != "repeated"}


def compare(
    records: RunRecords,
    accepted_ids: Mapping[str, str],
    in_doubt: Iterable[str],
    failing: frozenset[str] = frozenset(),
) -> Verdict:
    """Return everything that is wrong. Messages to `failing` phones must have failed, all others must be read.

    `in_doubt` names a message once for each time that its outcome was unknown.
    """
    wanted = set(accepted_ids.values())
    stored = {row["client_ref"]: row["id"].hex.upper() for row in records.messages}
    sends = _sends(records)
    reaching = {row["id"].hex for row in records.messages if row["phone"] not in failing}
    repeated, doubled = _repeats(records, sends, Counter(in_doubt))
    events = {event["id"]: event for event in records.events}
    bodies: dict[str, list[Any]] = defaultdict(list)
    for request in records.received:
        bodies[request.headers["webhook-id"]].append(request.json())
    return Verdict(
        lost=sorted(
            {ref for ref, id_ in accepted_ids.items() if stored.get(ref) != id_}
            | {id_ for id_ in reaching if id_ not in sends}
            | {row["id"].hex for row in records.messages if not _ended(row, failing)}
        ),
        unasked=sorted(
            {row["id"].hex for row in records.messages if row["id"].hex.upper() not in wanted}
            | {id_ for id_ in sends if id_.upper() not in wanted}
        ),
        doubled=doubled,
        disordered=_disordered(records, reaching),
        gaps=_gaps(records),
        steps=_wrong_steps(records) + _wrong_contacts(records),
        undelivered=sorted({id_ for id_, event in events.items() if event["type"] != SYSTEM} - set(bodies))
        + ["deliveries that are not done"] * records.unsettled,
        altered=sorted(id_ for id_, sent in bodies.items() if any(body != events.get(id_) for body in sent)),
        miscounted=records.usage - len(accepted_ids),
        repeated=repeated,
    )


def message_of(row: dict[str, Any]) -> str:
    """Return the id of the message of a row of the sandbox's ledger."""
    return str(row["biz_opaque_callback_data"].split(":")[1])


def _attempt(row: dict[str, Any]) -> int:
    """Return the attempt of a call to the network."""
    return int(row["biz_opaque_callback_data"].split(":")[2])


def _sends(records: RunRecords) -> dict[str, list[dict[str, Any]]]:
    """Return the calls that the network accepted, by message."""
    sends: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in records.accepted:
        sends[message_of(row)].append(row)
    return dict(sends)


def _ended(row: dict[str, Any], failing: frozenset[str]) -> bool:
    wanted = State.FAILED if row["phone"] in failing else State.READ
    return State(row["state"]) == wanted and row["sending_at"] is not None


def _repeats(
    records: RunRecords, sends: Mapping[str, list[dict[str, Any]]], in_doubt: Counter[str]
) -> tuple[list[str], list[str]]:
    """Return the messages that were rightly, and those that were wrongly sent more than once."""
    known = _first_reports(records.callbacks)
    intended_at = {row["id"].hex: row["sending_at"].timestamp() for row in records.messages if row["sending_at"]}
    right: list[str] = []
    wrong: list[str] = []
    for id_, rows in sends.items():
        if len(rows) == 1:
            continue
        # A process that was stopped during a call sends it when it continues, after the call of the next owner.
        # This cannot be prevented.
        first, *_, last = (_attempt(row) for row in rows)
        # A status that is stored after the intent of the last call cannot prevent it.
        in_time = min(known.get(row["wamid"], math.inf) for row in rows[:-1]) >= intended_at.get(id_, -math.inf)
        if len(rows) <= 1 + in_doubt[id_] and (in_time or last < first):
            right.append(id_)
        else:
            wrong.append(_describe_repeat(id_, rows, in_doubt[id_], intended_at.get(id_), known))
    return sorted(right), sorted(wrong)


def _describe_repeat(
    id_: str, rows: list[dict[str, Any]], doubts: int, intended_at: float | None, known: Mapping[str, float]
) -> str:
    """Describe when a message was sent and what was known, for the report of a failure."""
    begin = rows[0]["at"]
    calls = ", ".join(f"attempt {_attempt(row)} {row['at'] - begin:+.2f} s" for row in rows)
    reports = ", ".join(f"{known[row['wamid']] - begin:+.2f} s" for row in rows if row["wamid"] in known)
    last_intent = "" if intended_at is None else f"; last intent {intended_at - begin:+.2f} s"
    seen = f"{calls}; statuses {reports or 'none'}{last_intent}; {doubts} times in doubt; first at {begin:.2f}"
    return f"{id_}: {seen}, number {rows[0].get('phone_number_id')}"


def _first_reports(callbacks: list[dict[str, Any]]) -> dict[str, float]:
    """Return the time when the gateway first accepted a status of each network id."""
    first: dict[str, float] = {}
    for row in callbacks:
        if row["http_status"] == 200:
            for wamid, _ in row["updates"]:
                first.setdefault(wamid, row["at"])
    return first


def _disordered(records: RunRecords, reaching: set[str]) -> list[str]:
    """Return the phones that got their messages in another order than that in which they were accepted."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for row in records.messages:
        if row["id"].hex in reaching:
            wanted[row["phone"]].append(row["id"].hex)
    seen: dict[str, dict[str, int]] = defaultdict(dict)
    for row in records.accepted:
        seen[row["to"]].setdefault(message_of(row), int(row["content"]["body"].removeprefix("Message ")))
    return sorted(
        phone
        for phone in wanted
        if [id_ for id_ in wanted[phone] if id_ in seen[phone]] != list(seen[phone])
        or list(seen[phone].values()) != sorted(seen[phone].values())
    )


def _gaps(records: RunRecords) -> list[str]:
    numbers = [event["sequence"] for event in records.events]
    expected = range(1, len(numbers) + 1)
    wrong = [f"{found} instead of {number}" for found, number in zip(numbers, expected, strict=True) if found != number]
    twice = [id_ for id_, count in Counter(event["id"] for event in records.events).items() if count > 1]
    return wrong[:10] + twice


def _wrong_steps(records: RunRecords) -> list[str]:
    """Return the messages whose events do not go forward once from PENDING to the status that the message has."""
    steps: dict[str, list[str]] = {row["id"].hex.upper(): [] for row in records.messages}
    for event in records.events:
        if "key" in event["data"]:
            steps.setdefault(event["data"]["key"]["id"], []).append(event["data"]["status"])
    last = {row["id"].hex.upper(): State(row["state"]).name for row in records.messages}
    return [
        f"{id_}: {', '.join(found)}"
        for id_, found in steps.items()
        if found != sorted(set(found), key=FORWARD.index) or found[:1] != ["PENDING"] or found[-1] != last.get(id_)
    ]


def _wrong_contacts(records: RunRecords) -> list[str]:
    """Return whether each contact has one event, with its conversation, before its other events."""
    met = [event["data"]["id"] for event in records.events if event["type"] == "contact_notifications"]
    opened = [event["data"]["contact"]["id"] for event in records.events if event["type"] == "chat_notification"]
    spoken = {e["data"]["contact"]["id"] for e in records.events if e["type"] == "message_notification"}
    phones = {row["phone"] for row in records.messages}
    fine = met == opened and len(set(met)) == len(met) == len(phones) and spoken == set(met)
    return [] if fine else [f"{len(phones)} contacts have {len(met)} and {len(opened)} events, {len(spoken)} spoke"]
