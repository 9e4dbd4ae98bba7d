"""kill -9 during what people manage: a channel is created whole or not at all, and only unsaved refusals are lost."""

import asyncio
import signal

import pytest
from pyreqwest.exceptions import PyreqwestError

from gatepost.model import ids
from tests.conftest import Receiver
from tests.faults.stage import Stage, running_stage
from tests.gateway.checks import SEND, TEXT
from tests.gateway.people import new_person
from tests.gateway.test_account import CHANNELS
from tests.gateway.test_channel_setup import OFFICIAL, register
from tests.thorough import rotated

NEW = OFFICIAL | {"limits": {"window": 0}}
# Each row that a new channel has, by the id of the channel.
PARTS = {
    "channel": "SELECT id FROM channels",
    "head": "SELECT channel_id AS id FROM channel_heads",
    "log": "SELECT substr(target, 4)::uuid AS id FROM account_log WHERE action = 'channel_created'",
}
STAGES = {  # of the request, and whether the channel is there
    "look:after:1": False,
    "get_account:after:1": False,
    "insert_channel:before:1": False,
    "insert_channel:after:1": True,
}


async def new_channels(stage: Stage) -> dict[str, set[str]]:
    """Return which channels have which rows, without the one of the stage."""
    found = {name: await stage.rows(query) for name, query in PARTS.items()}
    return {name: {ids.format_id("ch", row["id"]) for row in rows} - {stage.channel} for name, rows in found.items()}


@pytest.mark.parametrize("point", rotated(list(STAGES), 2))
async def test_a_channel_is_created_whole_or_not_at_all(point: str, database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        await register(stage)
        there = {"cloud__base_url": stage.sandbox_url}
        killed = await stage.start(role="api", point=point, **there)
        owner = await new_person(stage)
        once = {"idempotency-key": "the-bakery"}
        with pytest.raises(PyreqwestError):
            await owner.call("POST", CHANNELS, NEW, headers=once)
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        before = await new_channels(stage)
        assert [len(found) for found in before.values()] == [STAGES[point]] * len(PARTS)
        await stage.start(role="api", **there)
        made = await owner.call("POST", CHANNELS, NEW, headers=once)
        assert made.status == 201, made.body
        assert ("idempotent-replayed" in made.headers) == STAGES[point]
        channel = made.json()["data"]["id"]
        assert await new_channels(stage) == {part: {channel} for part in PARTS}
        owner.channel = channel
        assert (await owner.call("POST", SEND, TEXT)).status == 200


async def refuse(stage: Stage, count: int) -> None:
    """Send requests that are refused."""
    body = {"phone": "12", "body": "Hello"}
    answers = await asyncio.gather(*(stage.call("POST", SEND, body) for _ in range(count)))
    assert {answer.status for answer in answers} == {422}


async def saved(stage: Stage) -> int:
    (row,) = await stage.rows("SELECT coalesce(sum(count), 0) AS total FROM refused_requests")
    return int(row["total"])


@pytest.mark.parametrize(("point", "kept"), rotated([("save_refused:before:1", 0), ("save_refused:after:1", 2)], 2))
async def test_a_kill_loses_only_refusals_that_are_not_saved(
    point: str, kept: int, database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        first = await stage.start()
        await refuse(stage, 3)
        assert await first.stop() == 0  # it saves what it has
        killed = await stage.start(point=point)
        await refuse(stage, 2)
        killed.signal(signal.SIGTERM)
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        assert await saved(stage) == 3 + kept
        last = await stage.start()
        await refuse(stage, 4)
        await stage.until_status(await stage.send(**TEXT), "READ")
        assert await last.stop() == 0
        assert await saved(stage) == 7 + kept
        assert not [line for line in last.log_lines() if line["level"] not in ("info", "warning")]
