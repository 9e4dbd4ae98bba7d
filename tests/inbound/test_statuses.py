"""What statuses contain besides: prices, conversations, what is held; kept once and reported once, in any order."""

from typing import Any

import msgspec
import pytest

from gatepost.networks.base import NetworkError, Outgoing, SendAccepted, StatusUpdate
from tests.inbound.incoming_messages import ANA, data, message_from, receive, snapshot
from tests.outbound.stage import Stage

PRICING = {"billable": True, "pricing_model": "PMP", "category": "marketing"}
CONVERSATION = {"id": "c1", "origin": {"type": "marketing"}}


async def sent(stage: Stage) -> Any:
    if not hasattr(stage, "lane"):
        await stage.take_over()
    id_ = await stage.accept(ANA.phone or "", client_ref="ref")
    await stage.settle()
    return id_


def status(stage: Stage, id_: Any, word: str, **more: Any) -> StatusUpdate:
    return StatusUpdate(f"wamid.{id_.hex}.1", word, stage.clock.now(), **{"message_id": id_, "attempt": 1} | more)


async def pricing(stage: Stage, id_: Any) -> Any:
    (row,) = await stage.rows("messages", f"AND id = '{id_}'")
    return msgspec.json.decode(row["pricing"]) if row["pricing"] else None


async def test_prices_and_conversations_are_stored_and_reported_once(stage: Stage) -> None:
    id_ = await sent(stage)
    report = status(stage, id_, "delivered", pricing=PRICING, conversation=CONVERSATION)
    for _ in range(3):
        await receive(stage, report, report)
    assert await pricing(stage, id_) == PRICING
    acks = [event for event in await data(stage, "ack") if event["status"] == "DELIVERED"]
    assert [(event["pricing"], event["conversation"]) for event in acks] == [(PRICING, CONVERSATION)]
    assert (acks[0]["ack"], acks[0]["previous"], acks[0]["client_ref"]) == (2, "SENT", "ref")


async def test_a_price_that_comes_late_is_kept_though_its_status_is_old(stage: Stage) -> None:
    id_ = await sent(stage)
    await receive(stage, status(stage, id_, "read"))
    seen = len(await data(stage))
    await receive(stage, status(stage, id_, "delivered", pricing=PRICING))
    assert await pricing(stage, id_) == PRICING
    assert (await stage.status(id_), len(await data(stage))) == ("READ", seen)


async def test_a_price_that_waited_for_its_message_is_not_lost(stage: Stage) -> None:
    async def report_first(message: Outgoing) -> SendAccepted:
        name = f"wamid.{message.id.hex}.1"
        await receive(
            stage, StatusUpdate(name, "delivered", stage.clock.now(), pricing=PRICING, conversation=CONVERSATION)
        )
        return SendAccepted(name)

    stage.network.answer = report_first
    id_ = await sent(stage)
    assert await pricing(stage, id_) == PRICING
    last = (await data(stage, "ack"))[-1]
    assert (last["status"], last["pricing"], last["conversation"]) == ("DELIVERED", PRICING, CONVERSATION)


async def test_a_held_message_is_reported_with_its_sent_status(stage: Stage) -> None:
    stage.network.answer = lambda message: SendAccepted(f"wamid.{message.id.hex}.1", held=True)
    id_ = await sent(stage)
    await receive(stage, status(stage, id_, "delivered"))
    assert [(e["status"], e.get("held")) for e in await data(stage, "ack")] == [("SENT", True), ("DELIVERED", None)]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["delivered", "failed"], ["DELIVERED"]),
        (["read", "failed"], ["READ"]),
        (["failed", "delivered", "read"], ["FAILED"]),
        (["read", "played"], ["READ", "PLAYED"]),
        (["played", "read", "delivered"], ["PLAYED"]),
        (["warning", "deleted", "SENT", "", "delivered"], ["DELIVERED"]),
    ],
)
async def test_a_status_only_moves_forward(stage: Stage, words: list[str], wanted: list[str]) -> None:
    error = NetworkError(131049, "Not delivered", "To keep the ecosystem healthy", "Wait before you try again")
    for together in (True, False):
        id_ = await sent(stage)
        reports = [status(stage, id_, word, error=error if word == "failed" else None) for word in words]
        if together:
            await receive(stage, *reports)
        else:
            for report in reports:
                await receive(stage, report)
        assert (await stage.acks(id_))[2:] == wanted


async def test_a_failure_is_reported_with_its_advice(stage: Stage) -> None:
    id_ = await sent(stage)
    error = NetworkError(131049, "Not delivered", None, "Wait before you try again")
    await receive(stage, status(stage, id_, "failed", error=error))
    shown = {"code": 131049, "title": "Not delivered", "details": None, "advice": "Wait before you try again"}
    assert (await data(stage, "ack"))[-1]["error"] == shown


async def test_a_status_of_what_a_person_wrote_changes_nothing_of_it(stage: Stage) -> None:
    theirs = message_from(stage, ANA)
    await receive(stage, theirs)
    before = await snapshot(stage)
    await receive(stage, StatusUpdate(theirs.network_id, "read", stage.clock.now()))
    assert (await snapshot(stage))["messages"] == before["messages"]
    assert (await snapshot(stage))["events"] == before["events"]
