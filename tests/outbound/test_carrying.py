"""Carrying one message: its files, what the network says of the recipient, and what it holds back."""

import asyncio
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.networks.base import (
    ErrorReaction,
    Network,
    NetworkError,
    Outgoing,
    Receipt,
    SendAccepted,
    SendNotMade,
    SendRefused,
    SendUnknown,
)
from tests.outbound.stage import FAST, Stage
from tests.patience import PATIENCE

PHONES = [f"55119000000{i:02d}" for i in range(60)]
TOO_LARGE = SendRefused(NetworkError(131053, "Media upload error", "Too large"), ErrorReaction.FINAL)


def taken(message: Outgoing) -> Receipt:
    return SendAccepted(f"wamid.{message.id.hex}.{message.attempt}")


async def ack_data(stage: Stage, message_id: UUID) -> list[dict[str, Any]]:
    """What the events have reported about a message."""
    bodies = [msgspec.json.decode(row["body"]) for row in await stage.rows("events", "ORDER BY seq")]
    return [body["data"] for body in bodies if body["data"].get("key", {}).get("id") == message_id.hex.upper()]


# -- files ------------------------------------------------------------------------------------------------------------


async def test_files_are_attached_before_the_call_under_the_networks_own_names(stage: Stage) -> None:
    asked = []

    async def attach(network: Network, content: str, _type: str) -> dict[str, str]:
        asked.append((network, msgspec.json.decode(content)["body"]))
        return {"med_1": f"network-{len(asked)}"}

    stage.attach = attach
    await stage.take_over()
    await stage.accept(PHONES[0], "with a file")
    await stage.drive(1)
    assert asked == [(stage.network, "with a file")]
    assert [call.message.media for call in stage.network.calls] == [{"med_1": "network-1"}]


@pytest.mark.parametrize(
    ("receipt", "status", "times"),
    [(TOO_LARGE, "FAILED", []), (SendNotMade("no route"), "SENT", [1]), (SendUnknown("lost"), "SENT", [30])],
)
async def test_a_file_that_cannot_be_attached_answers_for_the_network(
    stage: Stage, receipt: Receipt, status: str, times: list[float]
) -> None:
    answers: list[dict[str, str] | Receipt] = [receipt, {}]

    async def attach(_network: Network, _content: str, _type: str) -> dict[str, str] | Receipt:
        return answers.pop(0)

    stage.attach = attach
    await stage.take_over()
    id_ = await stage.accept(PHONES[0])
    await stage.drive(40)
    assert (await stage.status(id_), stage.network.times) == (status, times)


async def test_files_that_break_fail_their_message_and_the_lane_lives_on(stage: Stage) -> None:
    async def attach(_network: Network, content: str, _type: str) -> dict[str, str]:
        if "broken" in content:
            raise OSError("the disk is gone")
        return {}

    stage.attach = attach
    await stage.take_over()
    bad, good = await stage.accept(PHONES[0], "broken"), await stage.accept(PHONES[1])
    await stage.drive(1)
    assert [await stage.status(id_) for id_ in (bad, good)] == ["FAILED", "SENT"]
    assert "the disk is gone" in ((await stage.message(bad)).error or "")


async def test_a_lease_that_ends_while_files_are_attached_sends_nothing(stage: Stage) -> None:
    alive = True

    async def attach(_network: Network, _content: str, _type: str) -> dict[str, str]:
        nonlocal alive
        alive = False
        return {}

    stage.attach = attach
    await stage.take_over(alive=lambda: alive)
    await stage.accept(PHONES[0])
    await stage.sender.step()
    await stage.sender.settled()
    assert stage.network.calls == []
    assert (await stage.rows("messages"))[0]["state"] == 1, "the next owner finds it with an unknown outcome"


# -- what the network says --------------------------------------------------------------------------------------------


async def test_a_message_that_the_network_holds_back_is_sent_and_says_so(stage: Stage) -> None:
    stage.network.answer = lambda m: SendAccepted(f"wamid.{m.id.hex}", held=m.phone == PHONES[0])
    await stage.take_over()
    held, other = await stage.accept(PHONES[0]), await stage.accept(PHONES[1])
    await stage.drive(1)
    assert [(seen["status"], seen.get("held")) for seen in await ack_data(stage, held)][1:] == [("SENT", True)]
    assert [(seen["status"], seen.get("held")) for seen in await ack_data(stage, other)][1:] == [("SENT", None)]


async def test_an_answer_from_the_networks_way_of_writing_a_number_finds_the_same_contact(stage: Stage) -> None:
    ours, theirs = "5511987654321", "551187654321"
    stage.network.answer = lambda m: SendAccepted(f"wamid.{m.id.hex}.{m.attempt}", wa_id=theirs)
    await stage.take_over(msgspec.structs.replace(FAST, tier=1))
    await stage.accept(ours, "Hello")
    await stage.drive(1)
    await stage.receive_text(theirs, "Hello yourself")
    await stage.receive_text(ours, "both ways")
    assert len(await stage.rows("contacts")) == len(await stage.rows("conversations")) == 1
    messages = await stage.rows("messages", "ORDER BY id")
    assert len({row["contact_id"] for row in messages}) == 1
    assert [row["incoming"] for row in messages] == [False, True, True]


async def test_two_ways_of_writing_that_turn_out_to_be_one_number_become_one_contact(stage: Stage) -> None:
    stage.network.answer = lambda m: SendAccepted(f"wamid.{m.id.hex}.{m.attempt}", wa_id=PHONES[1])
    await stage.take_over()
    ids = [await stage.accept(PHONES[1], "as they write it"), await stage.accept(PHONES[0], "as we write it")]
    await stage.drive(1)
    await stage.receive_text(PHONES[1])
    assert len({row["contact_id"] for row in await stage.rows("messages")}) == 1
    later = await stage.accept(PHONES[0], "later")
    await stage.drive(1)
    assert [await stage.status(id_) for id_ in (*ids, later)] == ["SENT"] * 3


# -- the rate where the network counts --------------------------------------------------------------------------------


async def test_what_a_slow_commit_held_up_does_not_reach_the_network_all_at_once(stage: Stage) -> None:
    """Intents are committed together: the rate has to be kept where the network counts, at the call."""
    await stage.take_over(msgspec.structs.replace(FAST, throughput=10))
    await stage.accept_many(PHONES[:12])
    async with stage.db.transaction() as conn:  # holds up the commit of every intent
        await conn.execute("SELECT 1 FROM messages WHERE channel_id = $1 FOR UPDATE", stage.channel_id)
        for _ in range(14):
            await stage.sender.step()
            stage.clock.advance(0.1)
        await asyncio.sleep(0.05)
        assert stage.network.calls == []
    async with asyncio.timeout(PATIENCE):
        while len(stage.network.calls) < 12:
            stage.clock.advance(0.05)
            await asyncio.sleep(0.005)
    await stage.sender.settled()
    times = stage.network.times
    assert max(sum(start <= at < start + 0.999 for at in times) for start in times) <= 10
    assert times[-1] - times[0] >= 1


async def test_a_lane_whose_lease_ends_in_the_line_before_the_call_sends_no_more(stage: Stage) -> None:
    alive = True
    await stage.take_over(msgspec.structs.replace(FAST, throughput=2), alive=lambda: alive)
    await stage.accept_many(PHONES[:4])
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM messages WHERE channel_id = $1 FOR UPDATE", stage.channel_id)
        for _ in range(4):
            await stage.sender.step()
            stage.clock.advance(0.5)
    async with asyncio.timeout(PATIENCE):
        while len(stage.network.calls) < 2:
            await asyncio.sleep(0.005)
        alive = False
        stage.clock.advance(10)
        await stage.sender.settled()
    assert len(stage.network.calls) == 2
