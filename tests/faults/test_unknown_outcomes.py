"""A kill between the network's acceptance and our record of it, and no status: `on_unknown` decides, once."""

import asyncio
import signal

from tests.conftest import Receiver
from tests.faults.clients import Clients, plan
from tests.faults.run_records import check, find_in_doubt, read_records, repeated, until_settled
from tests.faults.stage import Stage, running_stage
from tests.patience import PATIENCE

SILENCE = {"fault": "suppress", "times": 3}  # sent, delivered, read of the first message


async def die_after_the_first_yes(stage: Stage) -> None:
    """The network has the first message, this is recorded nowhere, and its statuses are never reported."""
    killed = await stage.start(point="CloudNetwork.send:after:1")
    await stage.sandbox("POST", "/control/faults", SILENCE)
    stage_is_dark = asyncio.create_task(killed.ended())
    await Clients(stage).ask(plan(1, 1)[0][0])
    assert await stage_is_dark == -signal.SIGKILL
    async with asyncio.timeout(PATIENCE):
        while (await stage.sandbox("GET", "/control/faults"))[0]["struck"] < 3:
            await asyncio.sleep(0.01)


async def test_retry_sends_it_at_most_once_more(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        await die_after_the_first_yes(stage)
        in_doubt = await find_in_doubt(stage)
        await stage.start()
        clients = Clients(stage)
        await clients.send(plan(recipients=1, each=3))
        await until_settled(stage, 3)
        records = await read_records(stage)
        check(records, clients.accepted_ids, in_doubt)
        assert repeated(records) == {in_doubt.pop(): 2}


async def test_fail_sends_it_never_again(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        killed = await stage.start(point="CloudNetwork.send:after:1")
        await stage.sandbox("POST", "/control/faults", SILENCE)
        message_id = await stage.send(phone="5511900000000", body="Message 0", on_unknown="fail")
        assert await killed.ended() == -signal.SIGKILL
        await stage.start()
        next_id = await stage.send(phone="5511900000000", body="Message 1")
        await until_settled(stage, 2)
        shown = (await stage.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
        assert (shown["status"], shown["error"]["code"]) == ("FAILED", "unknown_outcome")
        assert await stage.status(next_id) == "READ"
        assert [row["content"]["body"] for row in await stage.ledger("accepted")] == ["Message 0", "Message 1"]


async def test_a_status_within_the_time_of_grace_spares_the_second_send(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, sending__unknown_grace=PATIENCE) as stage:
        await stage.create_channel()
        await stage.sandbox("POST", "/control/faults", {"fault": "suppress", "labels": ["sent", "delivered"]})
        await stage.sandbox("POST", "/control/faults", {"fault": "delay", "seconds": 3600})
        killed = await stage.start(point="CloudNetwork.send:after:1")
        message_id = await stage.send(phone="5511900000000", body="Message 0")
        assert await killed.ended() == -signal.SIGKILL
        await stage.start()
        async with asyncio.timeout(PATIENCE):
            while (await stage.rows("SELECT epoch FROM channel_heads"))[0]["epoch"] < 2:
                await asyncio.sleep(0.01)
        assert await stage.status(message_id) == "PENDING", "the status came before the new owner: nothing was tested"
        await stage.sandbox("POST", "/control/clock", {"advance": 3600})
        await stage.until_status(message_id, "READ")
        await stage.sandbox("DELETE", "/control/faults")
        next_id = await stage.send(phone="5511900000000", body="Message 1")
        await stage.until_status(next_id, "READ")
        assert [row["content"]["body"] for row in await stage.ledger("accepted")] == ["Message 0", "Message 1"]
