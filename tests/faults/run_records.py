"""Checks that after a fault the gateway's records and the network's ledger agree.

accepted for clients ─► messages ─► events ─► webhooks        each 200 has one message, each message one end,
                      │                                  each event its webhook, no number is missing
                      └─► the sandbox's ledger           once, in order; twice only where nobody could know
"""

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from gatepost.model.message import State
from tests.conftest import Received
from tests.faults.stage import Stage
from tests.gateway.checks import USED
from tests.patience import PATIENCE

FORWARD = ["PENDING", "SENT", "DELIVERED", "READ"]


class RunRecords(msgspec.Struct, frozen=True):
    """All records of a run."""

    messages: list[dict[str, Any]]
    usage: int
    events: list[dict[str, Any]]
    unsettled: int
    received: list[Received]
    accepted: list[dict[str, Any]]
    callbacks: list[dict[str, Any]]


async def until_settled(stage: Stage, count: int, seconds: float = PATIENCE) -> None:
    """Wait until a number of messages have their last status, and every event is delivered."""
    give_up = asyncio.get_running_loop().time() + seconds
    while not await _is_settled(stage, count):
        assert asyncio.get_running_loop().time() < give_up, await describe_unsettled(stage)
        await asyncio.sleep(0.05)


async def describe_unsettled(stage: Stage) -> str:
    """Describe what is not settled, for the report of a failure."""
    messages = await stage.rows("SELECT state, attempt, count(*) FROM messages GROUP BY 1, 2 ORDER BY 1, 2")
    deliveries = await stage.rows("SELECT state, attempts, count(*) FROM deliveries GROUP BY 1, 2 ORDER BY 1, 2")
    heads = await stage.rows(
        "SELECT owner, epoch, expires_at - now() AS left, work_at - now() AS work FROM channel_heads"
    )
    sessions = await stage.rows(
        """SELECT pid, state, wait_event, pg_blocking_pids(pid) AS blocked_by, now() - state_change AS since,
                  left(query, 100) AS query
           FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()"""
    )
    return "\n".join(
        ["Not settled in time:", *map(str, [*messages, *deliveries, *heads, *sessions]), stage.log_lines()]
    )


async def _is_settled(stage: Stage, count: int) -> bool:
    [row] = await stage.rows(
        """SELECT count(*) FILTER (WHERE state = 4 OR state < 0) AS ended,
                  (SELECT count(*) FROM deliveries WHERE state = 0) AS waiting FROM messages WHERE NOT incoming"""
    )
    return bool(row["ended"] >= count and row["waiting"] == 0)


async def find_in_doubt(stage: Stage) -> set[str]:
    """Return the messages whose outcome is unknown. Call this when a gateway was just killed."""
    return {row["id"].hex for row in await stage.rows("SELECT id FROM messages WHERE state = 1")}


async def read_records(stage: Stage) -> RunRecords:
    """Read all records, through the API where it has them."""
    rows = await stage.rows(
        "SELECT id, state, phone, client_ref, attempt, sending_at FROM messages WHERE NOT incoming ORDER BY id"
    )
    [usage] = await stage.rows(f"SELECT ({USED})::int AS used")
    [open_] = await stage.rows("SELECT count(*) AS n FROM deliveries WHERE state <> 1")
    return RunRecords(
        messages=[dict(row.items()) for row in rows],
        usage=usage["used"],
        events=await read_feed(stage),
        unsettled=open_["n"],
        received=list(stage.receiver.requests),
        accepted=await stage.ledger("accepted"),
        callbacks=await stage.ledger("callback"),
    )


async def read_feed(stage: Stage) -> list[dict[str, Any]]:
    """Return all events of the feed."""
    events: list[dict[str, Any]] = []
    after = ""
    while True:
        page = (await stage.call("GET", f"/api/v1/events?limit=100{after}")).json()
        if not page["data"]:
            return events
        events.extend(page["data"])
        after = f"&after={page['paging']['next']}"


def check(records: RunRecords, accepted_ids: dict[str, str], in_doubt: Iterable[str]) -> None:
    """Check everything."""
    check_messages(records, accepted_ids)
    check_events(records)
    check_webhooks(records)
    check_network(records, set(in_doubt))


def check_messages(records: RunRecords, accepted_ids: dict[str, str]) -> None:
    """Check that each 200 has exactly one message, which was read and counted once, and that there are no others."""
    stored = {row["client_ref"]: row["id"].hex.upper() for row in records.messages if row["sending_at"]}
    assert stored == accepted_ids
    assert len(records.messages) == len(accepted_ids) == records.usage
    assert {State(row["state"]) for row in records.messages} == {State.READ}


def check_events(records: RunRecords) -> None:
    """Check that sequence numbers have no gap and no repeat, and that each status of a message has one event."""
    assert [event["sequence"] for event in records.events] == list(range(1, len(records.events) + 1))
    assert len({event["id"] for event in records.events}) == len(records.events)
    steps: dict[str, list[str]] = defaultdict(list)
    for event in records.events:
        if "key" in event["data"]:
            steps[event["data"]["key"]["id"]].append(event["data"]["status"])
    check_first_contacts(records)
    assert set(steps) == {row["id"].hex.upper() for row in records.messages if row["sending_at"]}
    for statuses in steps.values():
        assert statuses == sorted(set(statuses), key=FORWARD.index), statuses
        assert (statuses[0], statuses[-1]) == ("PENDING", "READ"), statuses


def check_first_contacts(records: RunRecords) -> None:
    """Check that each contact has one event, with its conversation, before its other events."""
    met = [event["data"]["id"] for event in records.events if event["type"] == "contact_notifications"]
    opened = [event["data"]["contact"]["id"] for event in records.events if event["type"] == "chat_notification"]
    assert met == opened
    assert len(set(met)) == len(met) == len({row["phone"] for row in records.messages})
    spoken = [e["data"]["contact"]["id"] for e in records.events if e["type"] == "message_notification"]
    assert set(spoken) == set(met)


def check_webhooks(records: RunRecords) -> None:
    """Check that every event was delivered, always with its own id and the same body."""
    bodies: dict[str, set[bytes]] = defaultdict(set)
    for request in records.received:
        bodies[request.headers["webhook-id"]].add(request.body)
    assert {id_: [msgspec.json.decode(body) for body in sent] for id_, sent in bodies.items()} == {
        event["id"]: [event] for event in records.events
    }
    assert records.unsettled == 0


def check_network(records: RunRecords, in_doubt: set[str]) -> None:
    """Check that each message was sent once, in the order of its conversation; twice only with an unknown outcome."""
    sends: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in records.accepted:
        sends[row["biz_opaque_callback_data"].split(":")[1]].append(row)
    assert set(sends) == {row["id"].hex for row in records.messages}
    known = _first_reports(records.callbacks)
    intended_at = {row["id"].hex: row["sending_at"].timestamp() for row in records.messages if row["sending_at"]}
    for message_id, rows in sends.items():
        if len(rows) > 1:
            assert message_id in in_doubt, f"{message_id} went out {len(rows)} times, and its first answer was not lost"
            assert len(rows) == 2, rows
            # A process that was stopped during a call sends it when it continues, after the call of the next owner.
            # This cannot be prevented.
            first, second = (_attempt(row) for row in rows)
            # A status that is stored after the intent of the second call cannot prevent it.
            in_time = known.get(rows[0]["wamid"], math.inf) >= intended_at[message_id]
            assert in_time or second < first, "sent again, though a status had come"
    check_order(records)


def _attempt(row: dict[str, Any]) -> int:
    """Return the attempt of a call to the network."""
    _, _, attempt = row["biz_opaque_callback_data"].split(":")
    return int(attempt)


def _first_reports(callbacks: list[dict[str, Any]]) -> dict[str, float]:
    """Return the time when the gateway first accepted a status of each network id."""
    first: dict[str, float] = {}
    for row in callbacks:
        if row["http_status"] == 200:
            for wamid, _ in row["updates"]:
                first.setdefault(wamid, row["at"])
    return first


def check_order(records: RunRecords) -> None:
    """Check that the network got the messages of each conversation in the order in which they were accepted."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for row in records.messages:
        wanted[row["phone"]].append(row["id"].hex)
    seen: dict[str, list[str]] = defaultdict(list)
    texts: dict[str, list[int]] = defaultdict(list)
    for row in records.accepted:
        message_id = row["biz_opaque_callback_data"].split(":")[1]
        if message_id not in seen[row["to"]]:
            seen[row["to"]].append(message_id)
            texts[row["to"]].append(int(row["content"]["body"].removeprefix("Message ")))
    assert seen == wanted
    assert all(numbers == sorted(numbers) for numbers in texts.values()), texts


def repeated(records: RunRecords) -> Counter[str]:
    """Return how often messages were sent, for those that were sent more than once."""
    counts = Counter(row["biz_opaque_callback_data"].split(":")[1] for row in records.accepted)
    return Counter({message_id: count for message_id, count in counts.items() if count > 1})
