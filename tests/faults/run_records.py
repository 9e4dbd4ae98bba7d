"""Reads the records of a run: those of the gateway and its feed, of the network, and of the receiver."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.faults.ledger import RunRecords, compare, message_of
from tests.faults.stage import Stage, StageChannel
from tests.patience import PATIENCE


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


async def read_records(stage: Stage, channel: StageChannel | None = None) -> RunRecords:
    """Read all records of a channel, the first unless another is given, through the API where it has them."""
    whose = channel or stage.channels[0]
    rows = await stage.rows(
        """SELECT id, state, phone, client_ref, attempt, sending_at FROM messages
           WHERE channel_id = $1 AND NOT incoming ORDER BY id""",
        whose.id,
    )
    [usage] = await stage.rows(
        """SELECT coalesce((SELECT sum(used) FROM account_usage WHERE account_id = $1), 0)
                  - (SELECT slice_left FROM channel_heads WHERE channel_id = $2) AS used""",
        whose.account_id,
        whose.id,
    )
    [open_] = await stage.rows("SELECT count(*) AS n FROM deliveries WHERE channel_id = $1 AND state <> 1", whose.id)
    return RunRecords(
        messages=[dict(row.items()) for row in rows],
        usage=int(usage["used"]),
        events=await read_feed(stage, whose.key),
        unsettled=open_["n"],
        received=[request for request in stage.receiver.requests if request.path == whose.path],
        accepted=await stage.ledger("accepted", phone_number_id=whose.number_id),
        callbacks=await stage.ledger("callback", phone_number_id=whose.number_id),
    )


async def read_feed(stage: Stage, key: str | None = None) -> list[dict[str, Any]]:
    """Return all events of the feed."""
    events: list[dict[str, Any]] = []
    after = ""
    while True:
        page = (await stage.call("GET", f"/api/v1/events?limit=100{after}", key=key)).json()
        if not page["data"]:
            return events
        events.extend(page["data"])
        after = f"&after={page['paging']['next']}"


def check(records: RunRecords, accepted_ids: dict[str, str], in_doubt: Iterable[str]) -> None:
    """Check that nothing is lost, doubled or out of order, and that every event was delivered as it is."""
    problems = compare(records, accepted_ids, in_doubt).problems()
    assert not problems, problems


def repeated(records: RunRecords) -> Counter[str]:
    """Return how often messages were sent, for those that were sent more than once."""
    counts = Counter(message_of(row) for row in records.accepted)
    return Counter({message_id: count for message_id, count in counts.items() if count > 1})
