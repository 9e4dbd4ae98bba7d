"""kill -9 on either side of every commit and of every call to the outside: nothing is lost, nothing is doubled."""

import asyncio
import signal

import pytest

from tests.conftest import Receiver
from tests.faults.clients import Clients
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import Stage, running_stage
from tests.thorough import rotated

LEASE = 10.0  # a gateway that gets no CPU for seconds still has its channels, and so no other outcome is unknown
COMMITS = {
    "claim_channels": (1,),
    "take_slice": (1,),
    "accept_messages": (1,),
    "write_plain": (1,),
    "write_alike": (1, 2),
    "mark_sending": (1, 6),
    "mark_results": (1, 4),
    "receive_updates": (1, 8),
    "record_successes": (1, 4),
    "save_cursors": (2,),
    "save_pace": (2,),
}
CALLS = {"CloudNetwork.send": (1, 9), "Poster.send": (1, 15)}
POINTS = [
    f"{name}:{when}:{count}"
    for name, counts in (COMMITS | CALLS).items()
    for count, when in zip((counts[0], counts[-1]), ("before", "after"), strict=True)
]


async def end_leases(stage: Stage) -> None:
    """End the leases of a gateway that was killed, as time does."""
    await stage.rows("UPDATE channel_heads SET expires_at = now() WHERE expires_at > now() RETURNING channel_id")


PLAIN = [
    f"{name}:{when}:{count}"
    for name, count in (("write_plain", 1), ("write_alike", 1), ("write_alike", 4))
    for when in ("before", "after")
]


@pytest.mark.parametrize("point", rotated(PLAIN, 3))
async def test_a_kill_around_the_statements_for_plain_messages_loses_and_doubles_nothing(
    point: str, database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver, lease__ttl=LEASE) as stage:
        await stage.create_channel(throughput=150)
        clients = Clients(stage, keyed=False)
        killed = await stage.start(point=point)
        sending = asyncio.create_task(clients.send_while(lambda: killed.alive, recipients=7, each=5))
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        in_doubt = await find_in_doubt(stage)
        await end_leases(stage)
        clean = await stage.start()
        await sending
        await until_settled(stage, len(clients.accepted_ids))
        check(await read_records(stage), clients.accepted_ids, in_doubt)
        assert await clean.stop() == 0


@pytest.mark.parametrize("point", rotated(POINTS, 3))
async def test_a_kill_at_any_point_loses_and_doubles_nothing(point: str, database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, lease__ttl=LEASE) as stage:
        await stage.create_channel(throughput=150)
        clients = Clients(stage, replies=point.startswith("accept_messages"))
        killed = await stage.start(point=point)
        sending = asyncio.create_task(clients.send_while(lambda: killed.alive, recipients=7, each=4))
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        in_doubt = await find_in_doubt(stage)
        await end_leases(stage)
        clean = await stage.start()
        orders = await sending
        await until_settled(stage, len(clients.accepted_ids))
        check(await read_records(stage), clients.accepted_ids, in_doubt)
        for order in orders:
            assert await clients.ask(order) == clients.accepted_ids[order.key]
        assert await clean.stop() == 0
        assert not [line for line in clean.log_lines() if line["level"] not in ("info", "warning")]
