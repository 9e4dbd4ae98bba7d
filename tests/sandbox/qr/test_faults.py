"""The same rules as for official numbers: a phone is known to them by its number."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.sandbox.driver import Driver

from .conftest import Dial
from .peer import ANA, BEN, PHONE, Peer, S, hex_id, message


async def arm(driver: Driver, fault: str, **fields: Any) -> None:
    await driver.control("POST", "faults", {"fault": fault, "phone_number_id": PHONE} | fields)


async def offers(driver: Driver) -> list[tuple[str, int]]:
    found = (await driver.control("GET", f"phones/{PHONE}/messages"))["messages"]
    return [(message["id"], message["offered"]) for message in found]


async def test_a_recipient_is_refused_by_code(empty: Driver, linked: Peer) -> None:
    await arm(empty, "refuse", code=429, to=ANA, times=2, details="slow down")
    for _ in range(2):
        assert await linked.send(1, ANA) == {
            "re": max(linked.answers),
            "error": {"code": 429, "title": "Rate overlimit", "details": "slow down"},
            "sure": True,
        }
    assert (await linked.send(2, BEN))["ok"] is True
    assert (await linked.send(1, ANA))["ok"] is True
    seen = await empty.control("GET", f"phones/{PHONE}/messages")
    assert (await offers(empty), seen["refused"]) == ([(hex_id(2), 1), (hex_id(1), 1)], {hex_id(1): 2})


async def test_a_rule_may_strike_one_type_only(empty: Driver, linked: Peer) -> None:
    await arm(empty, "refuse", code=500, types=["location"])
    place = {"location": {"latitude": 1, "longitude": 2}}
    assert (await linked.send(1))["ok"] is True
    assert (await linked.send(2, type="location", content=place))["error"]["code"] == 500


async def test_rules_of_other_numbers_do_not_strike(empty: Driver, linked: Peer) -> None:
    await arm(empty, "refuse", code=1, phone_number_id="106540352242922")
    assert (await linked.send())["ok"] is True


@pytest.mark.parametrize(
    ("rule", "struck"), [({"nth": 2}, [2]), ({"every": 2}, [2, 4]), ({"probability": 1.0, "times": 1}, [1])]
)
async def test_which_sends_a_rule_strikes(empty: Driver, linked: Peer, rule: dict[str, Any], struck: list[int]) -> None:
    await arm(empty, "refuse", code=500, **rule)
    answers = [await linked.send(number) for number in range(1, 5)]
    assert [number for number, answer in enumerate(answers, 1) if "error" in answer] == struck


async def test_an_answer_lost_after_acceptance(empty: Driver, linked: Peer, dial: Dial) -> None:
    await arm(empty, "accept_drop", times=1)
    with pytest.raises(ConnectionClosed):
        await linked.send(1)
    again = await dial()
    await again.open()
    assert (await again.send(1))["ok"] is True
    assert await offers(empty) == [(hex_id(1), 2)]
    await empty.advance(10)
    assert [event["status"] for event in await again.take_numbered()] == ["sent", "delivered", "read"]


async def test_a_connection_cut_before_acceptance(empty: Driver, linked: Peer, dial: Dial) -> None:
    await arm(empty, "drop", times=1)
    with pytest.raises(ConnectionClosed):
        await linked.send(1)
    assert await offers(empty) == []
    again = await dial()
    await again.open()
    assert (await again.send(1))["ok"] is True
    assert await offers(empty) == [(hex_id(1), 1)]


async def test_an_answer_that_hangs(empty: Driver, linked: Peer) -> None:
    await arm(empty, "accept_hang", seconds=30, times=1)
    ref = await linked.post("send", session=S, **message(1))
    assert (await linked.send(2))["ok"] is True
    await empty.advance(29.999)
    await linked.settle()
    assert ref not in linked.answers
    await empty.advance(0.001)
    assert (await linked.answer(ref))["id"] == hex_id(1)
    assert await offers(empty) == [(hex_id(1), 1), (hex_id(2), 1)]


async def test_an_answer_that_leaves_it_open(empty: Driver, linked: Peer) -> None:
    await arm(empty, "http_error", status=503, times=1)
    unsure = await linked.send(1)
    assert (unsure["error"]["code"], unsure["sure"]) == (503, False)
    assert await offers(empty) == []


async def test_events_left_out_doubled_late_and_out_of_order(empty: Driver, linked: Peer) -> None:
    await arm(empty, "suppress", labels=["delivered"])
    await arm(empty, "duplicate", labels=["sent"], copies=3)
    await arm(empty, "delay", labels=["read"], seconds=100)
    await linked.send()
    await empty.advance(50)
    assert [(e["status"], e["seq"]) for e in await linked.take()] == [("sent", 1), ("sent", 2), ("sent", 3)]
    await empty.advance(60)
    assert [(e["status"], e["seq"]) for e in await linked.take()] == [("read", 4)]


async def test_messages_out_of_order(empty: Driver, linked: Peer) -> None:
    await arm(empty, "reorder", labels=["message"], hold=2)
    for text in ("one", "two"):
        await empty.control("POST", f"phones/{PHONE}/incoming", {"from": {"phone": ANA}, "content": {"body": text}})
    assert [(e["content"]["body"], e["seq"]) for e in await linked.take()] == [("two", 1), ("one", 2)]
