"""Errors: what is final fails with the network's words, what passes is tried again, and nothing is sent twice."""

import pytest

from tests.conformance.conftest import over
from tests.conformance.line import Line, new_person

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_somebody_who_is_not_on_the_network(line: Line) -> None:
    person = new_person()
    await line.introduce(person, name="Nobody", character="absent")
    message_id = await line.send(person, body="Hello")
    message = await line.until_status(message_id, "FAILED")
    error = message["error"]
    assert isinstance(error["code"], int)
    assert error["code"] > 0
    assert error["title"]
    assert error["advice"].endswith(".")
    (failed,) = [event for event in await line.events(person) if event["data"].get("status") == "FAILED"]
    assert (failed["data"]["error"], failed["data"]["ack"]) == (error, -1)


async def test_the_networks_own_words_are_kept(line: Line) -> None:
    person = new_person()
    await line.fault(fault="refuse", code=line.final_code, details="not from this number", to=person)
    message = await line.until_status(await line.send(person, body="Hello"), "FAILED")
    assert message["error"]["code"] == line.final_code
    assert ("not from this number" in str(message["error"])) is line.tells_why
    assert message["error"]["advice"]
    assert not [taken for taken in await line.taken() if taken.to == person]


async def test_temporary_errors_are_retried(line: Line) -> None:
    await tried_again(line, "refuse")


@over("cloud", "qr")  # phones speak no HTTP
async def test_an_error_of_http_is_tried_again(line: Line) -> None:
    await tried_again(line, "http_error")


async def tried_again(line: Line, fault: str) -> None:
    person = new_person()
    await line.fault(fault=fault, status=500, code=line.passing_code, to=person, times=2)
    message_id = await line.send(person, body="Hello")
    await line.until_status(message_id, "READ")
    assert (await line.taken_once(message_id)).content == {"body": "Hello"}
    trace = await line.get(f"/messages/{message_id}/trace")
    assert [step["step"] for step in trace["steps"]][-1] == "read"


@over("cloud", "qr")  # phones answer at once or never: see test_phone_alone
async def test_an_answer_that_hangs(line: Line) -> None:
    person = new_person()
    await line.fault(fault="accept_hang", seconds=0.3, to=person, times=1)
    first = await line.send(person, body="First")
    second = await line.send(person, body="Second")
    await line.until_status(first, "READ")
    await line.until_status(second, "READ")
    assert [taken.id for taken in await line.taken() if taken.to == person] == [first, second]
