"""Receipts: late, double and out of order they change nothing; only ever forward."""

import pytest

from tests.conformance.line import Line, new_person

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_double_receipts_are_reported_once(line: Line) -> None:
    person = new_person()
    await line.fault(fault="duplicate", copies=3, to=person)
    message_id = await line.send(person, body="Hello")
    await line.until_status(message_id, "READ")
    after = await line.send(person, body="Hello again")
    await line.until_status(after, "READ")
    assert await line.acks(message_id) == ["SENT", "DELIVERED", "READ"]


async def test_receipts_out_of_order(line: Line) -> None:
    person = new_person()
    await line.fault(fault="reorder", hold=3, seconds=600, to=person, labels=["sent", "delivered", "read"])
    message_id = await line.send(person, body="Hello")
    message = await line.until_status(message_id, "READ")
    assert await line.acks(message_id) in (["SENT", "READ"], ["READ"])
    assert message["read_at"] is not None


async def test_late_receipts_change_nothing(line: Line) -> None:
    person = new_person()
    message_id = await line.send(person, body="Hello")
    message = await line.until_status(message_id, "READ")
    for status in ("sent", "delivered", "read"):
        await line.receipt(message, status)
    after = await line.send(person, body="Hello again")
    await line.until_status(after, "READ")
    assert await line.acks(message_id) == ["SENT", "DELIVERED", "READ"]
    assert await line.message(message_id) == message


async def test_read_without_delivered(line: Line) -> None:
    person = new_person()
    await line.fault(fault="suppress", to=person, labels=["delivered"])
    message_id = await line.send(person, body="Hello")
    message = await line.until_status(message_id, "READ")
    assert await line.acks(message_id) == ["SENT", "READ"]
    await line.receipt(message, "delivered")
    await line.receipt(message, "played")
    assert (await line.until_status(message_id, "PLAYED"))["played_at"] is not None
    assert await line.acks(message_id) == ["SENT", "READ", "PLAYED"]


async def test_delayed_receipts_come_in_the_end(line: Line) -> None:
    person = new_person()
    await line.fault(fault="delay", seconds=3600, to=person, labels=["delivered", "read"])
    message_id = await line.send(person, body="Hello")
    await line.until_status(message_id, "SENT")
    other = await line.send(new_person(), body="Meanwhile")
    await line.until_status(other, "READ")
    await line.advance(3601)
    await line.until_status(message_id, "READ")
    assert await line.acks(message_id) == ["SENT", "DELIVERED", "READ"]


@pytest.mark.parametrize(("character", "last"), [("silent", "DELIVERED"), ("offline", "SENT"), ("in_chat", "READ")])
async def test_people_who_are_not_like_others(line: Line, character: str, last: str) -> None:
    person = new_person()
    await line.introduce(person, name="Ana", character=character)
    message_id = await line.send(person, body="Hello")
    await line.until_status(message_id, last)
    other = await line.send(new_person(), body="Hello")
    await line.until_status(other, "READ")
    steps = {"silent": ["SENT", "DELIVERED"], "offline": ["SENT"], "in_chat": ["SENT", "READ"]}
    assert await line.acks(message_id) == steps[character]
