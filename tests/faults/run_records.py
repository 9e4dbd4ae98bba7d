"""The checker: after a fault, the gateway's books and the network's ledger must tell the same story.

told to clients ─► messages ─► events ─► webhooks        each 200 has one message, each message one end,
                      │                                  each event its webhook, no number is missing
                      └─► the sandbox's ledger           once, in order; twice only where nobody could know
"""

import asyncio
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
    """Everything there is to know after a run."""

    messages: list[dict[str, Any]]
    usage: int
    events: list[dict[str, Any]]
    unsettled: int
    received: list[Received]
    accepted: list[dict[str, Any]]
    callbacks: list[dict[str, Any]]


async def until_settled(stage: Stage, count: int, seconds: float = PATIENCE) -> None:
    """Waits until so many messages have come to their end, and every event to its receiver."""
    give_up = asyncio.get_running_loop().time() + seconds
    while not await _is_settled(stage, count):
        assert asyncio.get_running_loop().time() < give_up, await describe_unsettled(stage)
        await asyncio.sleep(0.05)


async def describe_unsettled(stage: Stage) -> str:
    """What is stuck, for whoever has to find out why."""
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
    return "\n".join(["Not settled in time:", *map(str, [*messages, *deliveries, *heads, *sessions]), stage.said()])


async def _is_settled(stage: Stage, count: int) -> bool:
    [row] = await stage.rows(
        """SELECT count(*) FILTER (WHERE state = 4 OR state < 0) AS ended,
                  (SELECT count(*) FROM deliveries WHERE state = 0) AS waiting FROM messages WHERE NOT incoming"""
    )
    return bool(row["ended"] >= count and row["waiting"] == 0)


async def in_doubt(stage: Stage) -> set[str]:
    """The messages that the network was, or was about to be, called for: asked when a gateway has just died."""
    return {row["id"].hex for row in await stage.rows("SELECT id FROM messages WHERE state = 1")}


async def open_books(stage: Stage) -> RunRecords:
    """Reads everything, by the doors that users have where there is one."""
    rows = await stage.rows("SELECT id, state, phone, client_ref, attempt FROM messages WHERE NOT incoming ORDER BY id")
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
    """All events, page by page, as a receiver that was down would."""
    events: list[dict[str, Any]] = []
    after = ""
    while True:
        page = (await stage.call("GET", f"/api/v1/events?limit=100{after}")).json()
        if not page["data"]:
            return events
        events.extend(page["data"])
        after = f"&after={page['paging']['next']}"


def check(books: RunRecords, told: dict[str, str], doubted: Iterable[str]) -> None:
    """Every promise at once."""
    check_fates(books, told)
    check_events(books)
    check_webhooks(books)
    check_network(books, set(doubted))


def check_fates(books: RunRecords, told: dict[str, str]) -> None:
    """Each 200 has exactly one message, which is read; there is no other; and each was counted once."""
    stored = {row["client_ref"]: row["id"].hex.upper() for row in books.messages}
    assert stored == told
    assert len(books.messages) == len(told) == books.usage
    assert {State(row["state"]) for row in books.messages} == {State.READ}


def check_events(books: RunRecords) -> None:
    """No gap and no double in the numbers; each message goes forward, one event for each real change."""
    assert [event["sequence"] for event in books.events] == list(range(1, len(books.events) + 1))
    assert len({event["id"] for event in books.events}) == len(books.events)
    steps: dict[str, list[str]] = defaultdict(list)
    for event in books.events:
        if "key" in event["data"]:
            steps[event["data"]["key"]["id"]].append(event["data"]["status"])
    check_greetings(books)
    assert set(steps) == {row["id"].hex.upper() for row in books.messages}
    for told in steps.values():
        assert told == sorted(set(told), key=FORWARD.index), told
        assert (told[0], told[-1]) == ("PENDING", "READ"), told


def check_greetings(books: RunRecords) -> None:
    """Everybody is told of once, with their conversation, and before anything else that concerns them."""
    met = [event["data"]["id"] for event in books.events if event["type"] == "contact_notifications"]
    opened = [event["data"]["contact"]["id"] for event in books.events if event["type"] == "chat_notification"]
    assert met == opened
    assert len(set(met)) == len(met) == len({row["phone"] for row in books.messages})
    spoken = [e["data"]["contact"]["id"] for e in books.events if e["type"] == "message_notification"]
    assert set(spoken) == set(met)


def check_webhooks(books: RunRecords) -> None:
    """Every event came at least once, always under its own id and always with the same words."""
    bodies: dict[str, set[bytes]] = defaultdict(set)
    for request in books.received:
        bodies[request.headers["webhook-id"]].add(request.body)
    assert {id_: [msgspec.json.decode(body) for body in said] for id_, said in bodies.items()} == {
        event["id"]: [event] for event in books.events
    }
    assert books.unsettled == 0


def check_network(books: RunRecords, doubted: set[str]) -> None:
    """Each message went out once, in the order of its conversation; once more only where nobody could know."""
    sends: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in books.accepted:
        sends[row["biz_opaque_callback_data"].split(":")[1]].append(row)
    assert set(sends) == {row["id"].hex for row in books.messages}
    known = _first_reports(books.callbacks)
    for message_id, rows in sends.items():
        if len(rows) > 1:
            assert message_id in doubted, f"{message_id} went out {len(rows)} times, and its first answer was not lost"
            assert len(rows) == 2, rows
            # A process that was stopped with a call in the hands of its HTTP client lets it go when it goes on, after
            # its successor's call. Nobody decides that, and nobody can take it back.
            first, second = (_attempt(row) for row in rows)
            in_time = known.get(rows[0]["wamid"], rows[1]["seq"]) >= rows[1]["seq"]
            assert in_time or second < first, "sent again, though a status had come"
    check_order(books)


def _attempt(row: dict[str, Any]) -> int:
    """Which attempt a call to the network was."""
    _, _, attempt = row["biz_opaque_callback_data"].split(":")
    return int(attempt)


def _first_reports(callbacks: list[dict[str, Any]]) -> dict[str, int]:
    """When the gateway first said yes to a status of each network id."""
    first: dict[str, int] = {}
    for row in callbacks:
        if row["http_status"] == 200:
            for wamid, _ in row["updates"]:
                first.setdefault(wamid, row["seq"])
    return first


def check_order(books: RunRecords) -> None:
    """Within each conversation the network got the messages in the order in which they were accepted and asked for."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for row in books.messages:
        wanted[row["phone"]].append(row["id"].hex)
    seen: dict[str, list[str]] = defaultdict(list)
    texts: dict[str, list[int]] = defaultdict(list)
    for row in books.accepted:
        message_id = row["biz_opaque_callback_data"].split(":")[1]
        if message_id not in seen[row["to"]]:
            seen[row["to"]].append(message_id)
            texts[row["to"]].append(int(row["content"]["body"].removeprefix("Message ")))
    assert seen == wanted
    assert all(numbers == sorted(numbers) for numbers in texts.values()), texts


def repeated(books: RunRecords) -> Counter[str]:
    """How often each message went out, for those that went out more than once."""
    counts = Counter(row["biz_opaque_callback_data"].split(":")[1] for row in books.accepted)
    return Counter({message_id: count for message_id, count in counts.items() if count > 1})
