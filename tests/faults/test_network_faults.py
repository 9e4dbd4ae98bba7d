"""The network says no, says nothing, or says it twice: what becomes of a message, and of its neighbours."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conftest import Receiver
from tests.faults.run_records import read_feed
from tests.faults.stage import Stage, quick_network, running_stage
from tests.patience import PATIENCE

ANA, BEN, EVE = "5511955550001", "5511955550002", "5511955550003"
ATTEMPTS, GRACE = 3, 0.6


@pytest.fixture
def grace() -> float:
    """How long the gateway waits for a status; a test can set it."""
    return GRACE


@pytest.fixture
def timeout() -> float:
    """How long the gateway waits for an answer; a test can set it."""
    return PATIENCE


@pytest.fixture
async def stage(database_url: str, receiver: Receiver, grace: float, timeout: float) -> AsyncIterator[Stage]:
    """A running gateway that waits a short while for statuses, and gives up after three attempts."""
    patience: dict[str, Any] = {
        "cloud__timeout": timeout,
        "sending__unknown_grace": grace,
        "sending__attempts": ATTEMPTS,
    }
    # One connection: the statuses arrive in order, so that each of them has an event.
    network = quick_network(callbacks={"retry": [0.15] * 200, "timeout": 3.0, "connections": 1})
    async with running_stage(database_url, receiver, network=network) as one:
        await one.create_channel()
        await one.start(**patience)
        yield one


async def fault(stage: Stage, kind: str, to: str = ANA, **fields: Any) -> None:
    await stage.sandbox("POST", "/control/faults", {"fault": kind, "to": to, **fields})


async def shown(stage: Stage, message_id: str) -> dict[str, Any]:
    """The message as its sender sees it."""
    data: dict[str, Any] = (await stage.call("GET", f"/api/v1/messages/{message_id}")).json()["data"]
    return data


async def story(stage: Stage, message_id: str) -> list[dict[str, Any]]:
    """What the feed reports about a message."""
    return [event["data"] for event in await read_feed(stage) if event["data"].get("key", {}).get("id") == message_id]


async def count(stage: Stage, kind: str, to: str = ANA) -> int:
    return len(await stage.ledger(kind, to=to))


# -- the answer is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grace", [4.0])  # on a busy machine, statuses take some time
@pytest.mark.parametrize("timeout", [1.2])
@pytest.mark.parametrize(("kind", "fields"), [("accept_drop", {}), ("accept_hang", {"seconds": 5})])
async def test_a_status_settles_a_send_whose_answer_was_lost(
    stage: Stage, kind: str, fields: dict[str, Any], grace: float
) -> None:
    await fault(stage, kind, **fields)
    message_id = await stage.send(phone=ANA, body="Hello")
    await stage.until_status(message_id, "READ")
    await asyncio.sleep(grace + 0.6)  # longer than a wrong second try would wait
    assert await count(stage, "accepted") == 1
    assert [step["status"] for step in await story(stage, message_id)] == ["PENDING", "SENT", "DELIVERED", "READ"]


async def test_a_connection_that_drops_before_the_network_took_it_is_tried_again(stage: Stage) -> None:
    await fault(stage, "drop", times=1)
    await stage.until_status(await stage.send(phone=ANA, body="Hello"), "READ")
    assert (await count(stage, "refused"), await count(stage, "accepted")) == (1, 1)


async def test_an_error_of_the_network_itself_is_tried_again(stage: Stage) -> None:
    for phone, status in ((ANA, 500), (BEN, 503), (EVE, 502)):
        await fault(stage, "http_error", phone, status=status, times=1)
        await stage.until_status(await stage.send(phone=phone, body="Hello"), "READ")
        assert (await count(stage, "refused", phone), await count(stage, "accepted", phone)) == (1, 1), status


async def test_without_a_status_fail_never_sends_again(stage: Stage) -> None:
    await fault(stage, "accept_drop")
    await fault(stage, "suppress")
    message_id = await stage.send(phone=ANA, body="Hello", on_unknown="fail")
    await stage.until_status(message_id, "FAILED")
    assert (await shown(stage, message_id))["error"]["code"] == "unknown_outcome"
    last = (await story(stage, message_id))[-1]
    assert (last["status"], last["ack"], last["error"]["code"]) == ("FAILED", -1, "unknown_outcome")
    assert await count(stage, "accepted") == 1


async def test_without_a_status_retry_sends_once_more(stage: Stage) -> None:
    await fault(stage, "accept_drop", times=1)
    await fault(stage, "suppress")
    message_id = await stage.send(phone=ANA, body="Hello")
    await stage.until_status(message_id, "SENT")
    await asyncio.sleep(GRACE + 0.6)
    assert await count(stage, "accepted") == 2


async def test_a_network_that_never_answers_is_not_asked_for_ever(stage: Stage) -> None:
    await fault(stage, "accept_drop")
    await fault(stage, "suppress")
    message_id = await stage.send(phone=ANA, body="Hello")
    await stage.until_status(message_id, "FAILED")
    assert (await shown(stage, message_id))["error"]["code"] == "unknown_outcome"
    assert await count(stage, "accepted") == ATTEMPTS


# -- the network says no -----------------------------------------------------------------------------------------------


async def test_too_fast_holds_the_whole_channel_and_then_goes_on(stage: Stage) -> None:
    await fault(stage, "refuse", code=130429, times=1)
    first = await stage.send(phone=ANA, body="Hello")
    await until_refused(stage)
    others = [await stage.send(phone=phone, body="Hello") for phone in (BEN, EVE)]
    for message_id in [first, *others]:
        await stage.until_status(message_id, "READ")
    [refused] = await stage.ledger("refused")
    accepted = await stage.ledger("accepted")
    assert len(accepted) == 3
    assert all(row["at"] > refused["at"] + 0.9 for row in accepted), "somebody went ahead while the channel held"


async def test_too_many_to_one_person_holds_that_person_alone(stage: Stage) -> None:
    await fault(stage, "refuse", code=131056)
    mine = [await stage.send(phone=ANA, body=text) for text in ("One", "Two")]
    await until_refused(stage)
    await stage.until_status(await stage.send(phone=BEN, body="Hello"), "READ")
    assert [await stage.status(message_id) for message_id in mine] == ["PENDING", "PENDING"]
    await stage.sandbox("DELETE", "/control/faults")
    for message_id in mine:
        await stage.until_status(message_id, "READ")
    refused = (await stage.ledger("refused"))[0]
    assert [row["content"]["body"] for row in await stage.ledger("accepted", to=ANA)] == ["One", "Two"]
    assert all(row["at"] > refused["at"] + 0.9 for row in await stage.ledger("accepted", to=ANA))


async def test_a_final_error_is_reported_with_the_code_of_the_network(stage: Stage) -> None:
    await fault(stage, "refuse", code=131026, details="Not a number of this network")
    message_id = await stage.send(phone=ANA, body="Hello", client_ref="order-9")
    await stage.until_status(message_id, "FAILED")
    error = (await shown(stage, message_id))["error"]
    assert (error["code"], error["details"]) == (131026, "Not a number of this network")
    seen = (await story(stage, message_id))[-1]
    assert (seen["status"], seen["ack"], seen["client_ref"]) == ("FAILED", -1, "order-9")
    assert seen["error"] == error
    assert (await count(stage, "refused"), await count(stage, "accepted")) == (1, 0)


async def test_one_recipient_who_always_fails_holds_back_nobody(stage: Stage) -> None:
    await fault(stage, "http_error", status=503)
    bad = [await stage.send(phone=ANA, body=f"Message {number}") for number in range(3)]
    good = [await stage.send(phone=f"55119666600{number:02}", body="Hello") for number in range(20)]
    for message_id in good:
        await stage.until_status(message_id, "READ")
    for message_id in bad:
        await stage.until_status(message_id, "FAILED")
    assert await count(stage, "refused") == 3 * ATTEMPTS


async def until_refused(stage: Stage) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await stage.ledger("refused"):
            await asyncio.sleep(0.01)


# -- statuses ----------------------------------------------------------------------------------------------------------


async def test_a_failure_after_acceptance_is_reported_with_its_reason(stage: Stage) -> None:
    await stage.sandbox("PUT", f"/control/people/{ANA}", {"character": "absent"})
    await fault(stage, "delay", labels=["failed"], seconds=3600)
    message_id = await stage.send(phone=ANA, body="Hello")
    await stage.until_status(message_id, "SENT")
    await stage.sandbox("POST", "/control/clock", {"advance": 3600})
    await stage.until_status(message_id, "FAILED")
    assert (await shown(stage, message_id))["error"]["code"] == 131026
    seen = await story(stage, message_id)
    assert [step["status"] for step in seen] == ["PENDING", "SENT", "FAILED"]
    assert seen[-1]["error"]["code"] == 131026


DISORDER: list[list[dict[str, Any]]] = [
    [{"fault": "duplicate", "copies": 10}],
    [{"fault": "reorder", "hold": 3, "seconds": 0.5}],
    [{"fault": "delay", "seconds": 0.3, "every": 2}],
    [{"fault": "duplicate", "copies": 3}, {"fault": "delay", "seconds": 0.2, "probability": 0.5}],
    [{"fault": "drop_echo"}],
    [{"fault": "drop_echo"}, {"fault": "duplicate", "copies": 3}, {"fault": "reorder", "hold": 4, "seconds": 0.5}],
]


async def test_statuses_out_of_order_report_each_change_once(stage: Stage) -> None:
    order = ["PENDING", "SENT", "DELIVERED", "READ"]
    for turn, faults in enumerate(DISORDER):
        for one in faults:
            await stage.sandbox("POST", "/control/faults", one)
        sent = [await stage.send(phone=f"551196666{turn}0{number:02}", body="Hello") for number in range(12)]
        for message_id in sent:
            await stage.until_status(message_id, "READ")
        await stage.sandbox("DELETE", "/control/faults")
        await until_all_told(stage)
        seen: dict[str, list[str]] = defaultdict(list)
        for event in await read_feed(stage):
            seen[event["data"].get("key", {}).get("id")].append(event["data"].get("status"))
        for message_id in sent:
            steps = seen[message_id]
            assert steps == sorted(set(steps), key=order.index), faults
            assert steps[-1] == "READ", faults
        assert len(await stage.ledger("accepted")) == 12 * (turn + 1), faults


async def test_statuses_that_come_before_the_answer_wait_for_it(stage: Stage) -> None:
    await fault(stage, "accept_hang", seconds=3600)
    await fault(stage, "drop_echo")
    message_id = await stage.send(phone=ANA, body="Hello")
    await until_parked(stage, 3)
    await stage.sandbox("POST", "/control/clock", {"advance": 3600})
    await stage.until_status(message_id, "READ")
    assert [step["status"] for step in await story(stage, message_id)] == ["PENDING", "SENT", "DELIVERED", "READ"]
    await until_parked(stage, 0)


async def test_a_failure_that_comes_before_the_answer_keeps_its_reason(stage: Stage) -> None:
    await stage.sandbox("PUT", f"/control/people/{ANA}", {"character": "absent"})
    await fault(stage, "accept_hang", seconds=3600)
    await fault(stage, "drop_echo")
    message_id = await stage.send(phone=ANA, body="Hello")
    await until_parked(stage, 1)
    await stage.sandbox("POST", "/control/clock", {"advance": 3600})
    await stage.until_status(message_id, "FAILED")
    assert (await shown(stage, message_id))["error"]["code"] == 131026
    assert (await story(stage, message_id))[-1]["error"]["code"] == 131026


async def until_parked(stage: Stage, wanted: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(await stage.rows("SELECT 1 FROM parked_statuses")) != wanted:
            await asyncio.sleep(0.01)


async def until_all_told(stage: Stage) -> None:
    """Nothing more is on its way from the network."""
    async with asyncio.timeout(PATIENCE):
        while (await stage.sandbox("GET", "/control/clock"))["waiting"]:
            await asyncio.sleep(0.02)
    seen, now = -1, 0
    while seen != now:
        seen, now = now, len(await stage.ledger("callback"))
        await asyncio.sleep(0.1)
