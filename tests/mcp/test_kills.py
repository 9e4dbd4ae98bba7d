"""kill -9 of the gateway while assistants send: a message exists if and only if its call is recorded."""

import signal
from contextlib import suppress
from typing import Any

import pytest

from gatepost.model.mcp_policy import Policy, Recipients
from gatepost.store.mcp.calls import list_calls
from tests.conftest import Receiver
from tests.faults.stage import Stage, running_stage
from tests.gateway.checks import until
from tests.mcp.assistant import ERAS, Assistant, mcp_key, set_policy
from tests.mcp.transports import connected

PEOPLE = [f"551199999{number:04}" for number in range(12)]
EVERYBODY = Policy(mode="send", no_crossing=False, recipients=Recipients(anyone=True))
POINTS = [
    "accept_messages:before:3",
    "accept_messages:after:3",
    "mark_sending:after:1",
    "CloudNetwork.send:after:2",
]


async def send(mine: Assistant, phone: str) -> Any:
    return await mine.ask("send_text", phone=phone, text="It is ready.")


@pytest.mark.parametrize("point", POINTS)
async def test_a_message_exists_if_and_only_if_its_call_is_recorded(
    point: str, database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        key = await mcp_key(stage)
        await set_policy(stage, key, EVERYBODY)
        killed = await stage.start(point=point)
        answered = {}
        with suppress(Exception):  # however the client reports that the gateway is gone
            async with connected(stage, key) as mine:
                for phone in PEOPLE:
                    answered[phone] = (await send(mine, phone))["message"]
        assert await killed.ended() == -signal.SIGKILL, "the point was never reached"
        await check_records(stage)
        await stage.start()
        async with connected(stage, key) as mine:
            for phone in PEOPLE:
                sent = await send(mine, phone)
                assert sent["message"] == answered.setdefault(phone, sent["message"])
        await until(lambda: all_arrived(stage))
        # A send whose response was lost is repeated if its status is late, as for any message (`tests/faults`).
        assert {entry["to"] for entry in await stage.ledger("accepted")} == set(PEOPLE)
        await check_records(stage)


async def check_records(stage: Stage) -> None:
    """Check that each call that sent has its message, and each message its call."""
    calls = await list_calls(stage.db, stage.channel_id, before=None, limit=1000)
    sent = sorted(id_ for call in calls if call.outcome == "sent" for id_ in call.ids)
    rows = await stage.rows("SELECT id FROM messages WHERE NOT incoming")
    assert sent == sorted(row["id"].hex.upper() for row in rows)


async def all_arrived(stage: Stage) -> bool:
    messages = (await stage.call("GET", "/api/v1/messages?direction=out&limit=100")).json()["data"]
    return len(messages) == len(PEOPLE) and all(message["status"] == "READ" for message in messages)


@pytest.mark.parametrize("era", ERAS)
async def test_a_gateway_that_is_killed_and_started_between_two_calls_over_stdio(
    era: str, database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        key = await mcp_key(stage)
        await set_policy(stage, key, EVERYBODY)
        first = await stage.start()
        port = int(stage.url.rpartition(":")[2])
        async with connected(stage, key, "stdio", era) as mine:
            sent = await send(mine, PEOPLE[0])
            await first.kill()
            await stage.start(server__port=port)
            assert (await send(mine, PEOPLE[0])) == sent | {"repeated": True}
            assert (await send(mine, PEOPLE[1]))["outcome"] == "sent"
        calls = await list_calls(stage.db, stage.channel_id, before=None, limit=10)
        assert [call.outcome for call in reversed(calls)] == ["sent", "repeated", "sent"]
        assert {call.transport for call in calls} == {"stdio"}
