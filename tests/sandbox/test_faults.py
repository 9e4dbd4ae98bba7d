"""Each fault, and what a rule strikes."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from pyreqwest.exceptions import PyreqwestError

from gatepost_sandbox import errors
from gatepost_sandbox.errors import TABLE, Refusal, http_status
from gatepost_sandbox.faults import Rule, check_rule, concerns, strikes
from tests.for_each import for_each

from .driver import NUMBER, Driver, Receiver

ANA, BEA = "5511999990000", "5511999991111"


async def fault(sandbox: Driver, **rule: Any) -> str:
    made = await sandbox.control("POST", "faults", rule)
    return str(made["id"])


async def test_refuse(sandbox: Driver, receiver: Receiver) -> None:
    rule = await fault(sandbox, fault="refuse", code=131016, details="come back later", times=1)
    reply = await sandbox.text()
    assert (reply.status, reply.code) == (500, 131016)
    assert reply.json["error"]["error_data"]["details"] == "come back later"
    [entry] = await sandbox.ledger(kind="refused")
    assert (entry["code"], entry["fault"], entry["to"]) == (131016, rule, ANA)
    assert (await sandbox.text()).status == 200
    await sandbox.advance(10)
    assert len(receiver.updates()) == 3


async def test_refuse_with_a_status_of_ones_own(sandbox: Driver) -> None:
    await fault(sandbox, fault="refuse", code=130429, status=400)
    reply = await sandbox.text()
    assert (reply.status, reply.code) == (400, 130429)


async def test_http_error(sandbox: Driver) -> None:
    await fault(sandbox, fault="http_error", status=503, times=1)
    reply = await sandbox.text()
    assert (reply.status, reply.raw) == (503, b"Service temporarily unavailable")
    assert (await sandbox.counts())["refused.fault"] == 1


async def test_drop_accepts_nothing(sandbox: Driver) -> None:
    await fault(sandbox, fault="drop", times=1)
    with pytest.raises(PyreqwestError):
        await sandbox.text()
    assert await sandbox.ledger(kind="accepted") == []
    assert (await sandbox.text()).status == 200


async def test_accept_drop_accepts_and_statuses_flow(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="accept_drop", times=1)
    with pytest.raises(PyreqwestError):
        await sandbox.text(biz_opaque_callback_data="mine")
    [entry] = await sandbox.ledger(kind="accepted")
    assert entry["biz_opaque_callback_data"] == "mine"
    await sandbox.advance(10)
    assert [(update["id"], update["status"]) for update in receiver.updates()] == [
        (entry["wamid"], label) for label in ("sent", "delivered", "read")
    ]


async def test_accept_hang_answers_late_on_the_sandbox_clock(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="accept_hang", seconds=60, times=1)
    pending = asyncio.create_task(sandbox.text())
    while not await sandbox.ledger(kind="accepted"):
        await asyncio.sleep(0.01)
    await sandbox.advance(59)
    assert (len(receiver.updates()), pending.done()) == (3, False)
    await sandbox.advance(1)
    [entry] = await sandbox.ledger(kind="accepted")
    assert (await pending).wamid == entry["wamid"]


async def test_a_hang_ends_with_a_reset(sandbox: Driver) -> None:
    await fault(sandbox, fault="accept_hang", seconds=3600)
    pending = asyncio.create_task(sandbox.text())
    while not await sandbox.ledger(kind="accepted"):
        await asyncio.sleep(0.01)
    await sandbox.control("POST", "reset", {})
    assert (await pending).status == 200


async def test_an_accepting_fault_is_not_spent_on_a_refused_send(sandbox: Driver) -> None:
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"limits": {"pair_burst": 1}})
    await sandbox.text()
    await fault(sandbox, fault="accept_drop", times=1)
    assert (await sandbox.text()).code == 131056
    assert (await sandbox.control("GET", "faults"))[0]["struck"] == 0


async def test_suppress(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="suppress", labels=["delivered"])
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "read"]


async def test_duplicate(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="duplicate", copies=3, labels=["sent"])
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["sent", "sent", "sent", "delivered", "read"]
    assert receiver.bodies[0] == receiver.bodies[1] == receiver.bodies[2]


async def test_delay(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="delay", seconds=30, labels=["sent"])
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["delivered", "read"]
    await sandbox.advance(30)
    assert receiver.labels() == ["delivered", "read", "sent"]


async def test_reorder_turns_a_group_round(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="reorder", hold=3)
    await sandbox.text()
    await sandbox.advance(10)
    assert receiver.labels() == ["read", "delivered", "sent"]


async def test_reorder_lets_go_when_nobody_else_comes(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="reorder", hold=4, seconds=100)
    await sandbox.text()
    await sandbox.advance(90)
    assert receiver.labels() == []
    await sandbox.advance(20)
    assert receiver.labels() == ["read", "delivered", "sent"]


async def test_a_removed_rule_lets_go_of_what_it_holds(sandbox: Driver, receiver: Receiver) -> None:
    rule = await fault(sandbox, fault="reorder", hold=100, seconds=1000)
    await sandbox.text()
    await sandbox.advance(10)
    await sandbox.control("DELETE", f"faults/{rule}")
    await sandbox.advance(0)
    assert receiver.labels() == ["read", "delivered", "sent"]
    assert (await sandbox.call("DELETE", f"/control/faults/{rule}")).status == 404


async def test_drop_echo(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="drop_echo", labels=["sent"])
    await sandbox.text(biz_opaque_callback_data="mine")
    await sandbox.advance(10)
    assert ["biz_opaque_callback_data" in update for update in receiver.updates()] == [False, True, True]


async def test_faults_strike_incoming_messages_too(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="duplicate", labels=["message"])
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": ANA, "text": "hi"})
    await sandbox.advance(1)
    assert receiver.labels() == ["text", "text"]


async def test_a_rule_strikes_the_number_and_person_it_names(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222")
    await fault(sandbox, fault="refuse", code=131000, phone_number_id=NUMBER, to="*1111")
    payload = {"messaging_product": "whatsapp", "to": BEA, "text": {"body": "x"}}
    assert [(await sandbox.text(to)).status for to in (ANA, BEA)] == [200, 500]
    assert (await sandbox.post(payload, number="2002")).status == 200


@pytest.mark.parametrize(
    ("when", "struck"),
    [
        ({"nth": 3}, [3]),
        ({"every": 2}, [2, 4, 6]),
        ({"times": 2}, [1, 2]),
        ({"every": 2, "times": 1}, [2]),
        ({"probability": 0}, []),
        ({"probability": 1}, [1, 2, 3, 4, 5, 6]),
    ],
)
async def test_when_a_rule_strikes(sandbox: Driver, when: dict[str, Any], struck: list[int]) -> None:
    await fault(sandbox, fault="refuse", code=131000, **when)
    statuses = [(await sandbox.text()).status for _ in range(6)]
    assert [index + 1 for index, status in enumerate(statuses) if status == 500] == struck
    [rule] = await sandbox.control("GET", "faults")
    assert (rule["seen"], rule["struck"]) == (6, len(struck))


async def test_probability_comes_from_the_seed(sandbox: Driver) -> None:
    runs = []
    for _ in range(2):
        await sandbox.control("POST", "reset", {"seed": 5, "keep_numbers": True})
        await fault(sandbox, fault="refuse", code=131000, probability=0.5)
        runs.append([(await sandbox.text()).status for _ in range(30)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 500}


async def test_all_rules_can_be_removed_at_once(sandbox: Driver) -> None:
    await fault(sandbox, fault="drop")
    await fault(sandbox, fault="suppress", id="mine")
    assert [rule["id"] for rule in await sandbox.control("GET", "faults")] == ["f1", "mine"]
    assert await sandbox.control("DELETE", "faults") == {"removed": 2}
    assert (await sandbox.text()).status == 200


@for_each(
    "rule",
    [
        {"fault": "explode"},
        {"fault": "refuse"},
        {"fault": "delay"},
        {"fault": "accept_hang"},
        {"fault": "drop", "labels": ["sent"]},
        {"fault": "drop", "times": 0},
        {"fault": "drop", "probability": 1.1},
        {"fault": "http_error", "status": 99},
        {"fault": "delay", "seconds": -1},
        {"fault": "drop", "whom": "all"},
        {},
    ],
)
async def test_impossible_rules(sandbox: Driver, rule: Any) -> None:
    reply = await sandbox.call("POST", "/control/faults", rule)
    assert reply.status == 400
    assert reply.json["error"]


def test_matching_is_pure() -> None:
    rule = Rule(fault="suppress", phone_number_id="1", to="55*", labels=("sent",))
    assert check_rule(rule) is None
    assert concerns(rule, "1", "5511", "sent")
    assert not concerns(rule, "2", "5511", "sent")
    assert not concerns(rule, "1", "4411", "sent")
    assert not concerns(rule, "1", "5511", "read")
    assert strikes(Rule(fault="drop", probability=0.5), seen=1, struck=0, draw=0.49)
    assert not strikes(Rule(fault="drop", probability=0.5), seen=1, struck=0, draw=0.5)


async def test_a_rule_ends_after_its_time(sandbox: Driver) -> None:
    made = await sandbox.control("POST", "faults", {"fault": "http_error", "status": 500, "lasts": 60})
    assert made["ends_at"] == (await sandbox.control("GET", "clock"))["now"] + 60
    await sandbox.advance(59)
    assert (await sandbox.text()).status == 500
    await sandbox.advance(1)
    assert (await sandbox.text()).status == 200
    assert await sandbox.control("GET", "faults") == []


async def test_the_end_of_a_rule_does_not_remove_its_successor(sandbox: Driver) -> None:
    rule = await fault(sandbox, fault="http_error", lasts=60)
    await sandbox.advance(30)
    await sandbox.control("DELETE", f"faults/{rule}")
    await fault(sandbox, id=rule, fault="http_error", lasts=60)
    await sandbox.advance(30)
    assert (await sandbox.text()).status == 500
    await sandbox.advance(30)
    assert (await sandbox.text()).status == 200


async def test_updates_that_a_rule_held_are_released_at_its_end(sandbox: Driver, receiver: Receiver) -> None:
    await fault(sandbox, fault="reorder", hold=100, seconds=1000, lasts=60)
    await sandbox.text()
    await sandbox.advance(59)
    assert receiver.updates() == []
    await sandbox.advance(1)
    assert [update["status"] for update in receiver.updates()] == ["read", "delivered", "sent"]


def test_every_code_that_the_sandbox_refuses_with_has_its_own_title() -> None:
    source = Path(errors.__file__).parent
    used = {int(code) for file in source.rglob("*.py") for code in re.findall(r"Refusal\((\d+)", file.read_text())}
    assert used
    assert used <= TABLE.keys()
    assert [http_status(Refusal(code), 429) for code in (104, 133000, 133005)] == [401, 500, 400]
