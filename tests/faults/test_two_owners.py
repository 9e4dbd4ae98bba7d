"""A stopped owner that comes back: another owns the channel by now, and the old one writes and sends nothing."""

import asyncio
import signal
from typing import Any

from tests.conftest import Answer, Received, Receiver
from tests.faults.clients import Clients, Order, plan
from tests.faults.run_records import check, describe_unsettled, find_in_doubt, read_records, until_settled
from tests.faults.stage import Node, Stage, running_stage
from tests.patience import PATIENCE

HELD = "5511977770000"
# The old owner's call hangs and no status reports it; the new owner's try is refused, so that the message waits.
FAULTS: list[dict[str, Any]] = [
    {"fault": "accept_hang", "to": HELD, "seconds": 60.0, "times": 1},
    {"fault": "suppress", "to": HELD, "times": 3},
    {"fault": "http_error", "to": HELD, "status": 503, "nth": 2},
]


async def test_a_stale_owner_writes_nothing_and_sends_nothing(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, sending__retry_base=60, lease__ttl=3, lease__renew=0.4) as stage:
        await stage.create_channel(throughput=60)
        for fault in FAULTS:
            await stage.sandbox("POST", "/control/faults", fault)
        await stage.start(role="api")
        receiver.answer = slow_for_a_while(receiver)
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send([[Order(HELD, 0)], *plan(recipients=8, each=5)]))
        old = await stop_in_the_middle(stage)
        first, in_doubt = await epoch(stage), await find_in_doubt(stage)
        new = stage.launch(role="worker")
        await sending
        held = await until_only_one_waits(stage, first)
        *records, calls = await everything(stage)
        old.signal(signal.SIGCONT)
        await until_it_gave_up(old)
        *after, later = await everything(stage)
        assert after == records
        assert await called_for(stage, set(later) - set(calls)) <= in_doubt
        assert await epoch(stage) == first + 1
        # What waits would be tried again in two minutes: long after everything above. The old owner takes it over now.
        await stage.rows("UPDATE messages SET next_at = now() WHERE phone = $1", HELD)
        await new.kill()
        await until_settled(stage, 41)
        check(await read_records(stage), clients.accepted_ids, in_doubt | {held})
        [row] = await stage.rows("SELECT epoch FROM messages WHERE phone = $1", HELD)
        assert row["epoch"] == await epoch(stage) == first + 2
        await stage.until_status(await stage.send(phone=HELD, body="Message 1"), "READ")


async def test_an_owner_stopped_inside_a_transaction_keeps_its_channel_only_for_seconds(
    database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel(throughput=60)
        await stage.start(role="api")
        old = stage.launch(role="worker", point="mark_results:before:2:SIGSTOP")
        await old.ready()
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send(plan(recipients=5, each=3)))
        while not old.stopped:
            await asyncio.sleep(0.01)
        first, in_doubt = await epoch(stage), await find_in_doubt(stage)
        stage.launch(role="worker")
        async with asyncio.timeout(PATIENCE):
            await sending
            await until_settled(stage, 15)
        *records, calls = await everything(stage)
        old.signal(signal.SIGCONT)
        await until_it_gave_up(old)
        *after, later = await everything(stage)
        assert after == records
        assert await called_for(stage, set(later) - set(calls)) <= in_doubt
        assert await epoch(stage) == first + 1
        check(await read_records(stage), clients.accepted_ids, in_doubt)


async def test_a_rolling_restart_loses_doubles_and_reorders_nothing(database_url: str, receiver: Receiver) -> None:
    """A notification alone moves the channel: the next sweep and the end of the lease are an hour away."""
    async with running_stage(database_url, receiver, lease__ttl=3600, lease__sweep=3600) as stage:
        await stage.create_channel(throughput=40)
        await stage.start(role="api")
        running = [await launched(stage), await launched(stage)]
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send(plan(recipients=10, each=12)))
        for changes in range(1, 4):
            await until_epoch(stage, changes)
            owner = await owner_among(stage, running)
            running.remove(owner)
            assert await owner.stop() == 0
            await until_epoch(stage, changes + 1)
            running.append(await launched(stage))
        await sending
        await until_settled(stage, 120)
        check(await read_records(stage), clients.accepted_ids, ())


async def launched(stage: Stage) -> Node:
    node = stage.launch(role="worker")
    await node.ready()
    return node


async def until_epoch(stage: Stage, wanted: int) -> None:
    """Wait until the channel had so many owners, and has the last of them."""
    async with asyncio.timeout(PATIENCE):
        while True:
            [row] = await stage.rows("SELECT epoch, owner FROM channel_heads")
            if row["epoch"] >= wanted and row["owner"] is not None:
                return
            await asyncio.sleep(0.01)


async def owner_among(stage: Stage, nodes: list[Node]) -> Node:
    """Return the node that owns the channel."""
    [row] = await stage.rows("SELECT owner FROM channel_heads")
    names = {line["owner"]: node for node in nodes for line in node.log_lines() if line["event"] == "owner started"}
    return names[row["owner"].hex]


async def called_for(stage: Stage, numbers: set[int]) -> set[str]:
    """The messages of some lines of the network's ledger.

    A call that the HTTP client had in hand when its process was stopped may still leave: nobody can take it back. That
    an owner past its lease begins none is shown in tests/outbound.
    """
    lines = await stage.ledger("accepted") + await stage.ledger("refused")
    return {line["biz_opaque_callback_data"].split(":")[1] for line in lines if line["seq"] in numbers}


def slow_for_a_while(receiver: Receiver) -> Any:
    """A receiver whose first answers come when the old owner is stopped already."""

    def answer(_: Received) -> Answer:
        return Answer(delay=0.8 if len(receiver.requests) <= 20 else 0.0)

    return answer


async def inside_a_transaction(stage: Stage) -> bool:
    """Whether a stopped process holds a transaction open and does nothing.

    Between the preparing of a statement and its execution the server counts a session as active.
    """
    await asyncio.sleep(0.1)
    return bool(
        await stage.rows(
            """SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND (state = 'idle in transaction'
                   OR (state = 'active' AND wait_event = 'ClientRead' AND xact_start IS NOT NULL))
               AND state_change < clock_timestamp() - interval '80 milliseconds'"""
        )
    )


async def stop_in_the_middle(stage: Stage) -> Node:
    """An owner that has much to send, calls under way to the network, and posts under way to the receiver."""
    node = stage.launch(role="worker")
    async with asyncio.timeout(PATIENCE):
        while not await stage.ledger("accepted", to=HELD) or not stage.receiver.requests:
            await asyncio.sleep(0.005)
        node.signal(signal.SIGSTOP)
        while await inside_a_transaction(stage):  # that is the other test's story
            node.signal(signal.SIGCONT)
            await asyncio.sleep(0.005)
            node.signal(signal.SIGSTOP)
    waiting = await stage.rows("SELECT 1 FROM messages WHERE state IN (0, 1)")
    assert waiting, "the owner had nothing left to do"
    return node


async def epoch(stage: Stage) -> int:
    """The number of the channel's owner: one more with each change."""
    [row] = await stage.rows("SELECT epoch FROM channel_heads")
    return int(row["epoch"])


async def until_only_one_waits(stage: Stage, first: int) -> str:
    """The new owner has done everything but one message, which it has tried and will try again."""
    give_up = asyncio.get_running_loop().time() + PATIENCE
    while True:
        rows = await stage.rows("SELECT id, state, attempt, epoch FROM messages WHERE state <> 4")
        [open_] = await stage.rows("SELECT count(*) AS n FROM deliveries WHERE state = 0")
        tried = [(row["state"], row["attempt"], row["epoch"]) for row in rows]
        if tried == [(0, 2, first + 1)] and not open_["n"]:
            return str(rows[0]["id"].hex)
        assert asyncio.get_running_loop().time() < give_up, await describe_unsettled(stage)
        await asyncio.sleep(0.02)


async def until_it_gave_up(node: Node) -> None:
    """The old owner has found out, and what it had under way has come to its end."""
    async with asyncio.timeout(PATIENCE):
        while not any(line["event"] == "channel dropped" for line in node.log_lines()):
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)


async def everything(stage: Stage) -> list[Any]:
    """All that an owner could change: its rows, and what the network saw of it."""
    return [
        await stage.rows("SELECT * FROM messages ORDER BY id"),
        await stage.rows("SELECT id, seq FROM events ORDER BY id"),
        await stage.rows("SELECT * FROM deliveries ORDER BY endpoint_id, event_id"),
        await stage.rows("SELECT event_id, number, at FROM delivery_attempts ORDER BY event_id, number, at"),
        await stage.rows("SELECT owner, epoch, seq FROM channel_heads"),
        [row["seq"] for row in await stage.ledger("accepted") + await stage.ledger("refused")],
    ]
