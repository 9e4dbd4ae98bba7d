"""kill -9 at random moments of a long burst, again and again, while clients go on trying."""

import asyncio
import random

import pytest

from tests.conftest import Receiver
from tests.faults.clients import Clients, plan
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import running_stage
from tests.thorough import choose

KILLS, EACH = choose((4, 10), (2, 5))


@pytest.mark.parametrize("seed", choose([7, 11, 42], [7]))
async def test_kills_at_random_moments_lose_and_double_nothing(
    seed: int, database_url: str, receiver: Receiver
) -> None:
    moments = random.Random(seed)
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel(throughput=40)
        clients, in_doubt = Clients(stage), set[str]()
        sending = asyncio.create_task(clients.send(plan(recipients=20, each=EACH)))
        for _ in range(KILLS):
            node = await stage.start()
            await asyncio.sleep(moments.uniform(0.6, 2.2))
            await node.kill()
            in_doubt |= await find_in_doubt(stage)
        await stage.start()
        await sending
        await until_settled(stage, len(clients.accepted_ids))
        assert len(clients.accepted_ids) == 20 * EACH
        check(await read_records(stage), clients.accepted_ids, in_doubt)
