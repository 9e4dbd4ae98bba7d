"""Broken connections: nothing lost, nothing double, and every conversation in its order."""

from collections import Counter

import pytest

from tests.conformance.line import Line, new_person

pytestmark = pytest.mark.asyncio(loop_scope="package")
PEOPLE, EACH = 3, 10


def order_of(bodies: list[tuple[str, str]], people: list[str]) -> dict[str, list[str]]:
    return {person: [body for who, body in bodies if who == person] for person in people}


async def test_an_answer_lost_after_acceptance_is_not_sent_twice(line: Line) -> None:
    person = new_person()
    await line.fault(fault="accept_drop", to=person, nth=2)
    sent = [await line.send(person, body=f"Number {number}") for number in range(4)]
    for message_id in sent:
        await line.until_status(message_id, "READ")
    assert [taken.id for taken in await line.taken() if taken.to == person] == sent
    assert (await line.offered(sent[1])) <= 2


async def test_thirty_go_out_over_a_cut(line: Line) -> None:
    people = [new_person() for _ in range(PEOPLE)]
    turns = [(person, f"Number {number}") for number in range(EACH) for person in people]
    sent = [(person, await line.send(person, body=body)) for person, body in turns[:15]]
    await line.cut()
    sent += [(person, await line.send(person, body=body)) for person, body in turns[15:]]
    await line.repair()
    for _, message_id in sent:
        await line.until_status(message_id, "READ")
    taken = [(one.to, one.id) for one in await line.taken() if one.to in people]
    assert set(Counter(taken).values()) == {1}
    assert order_of(taken, people) == order_of(sent, people)
    for _, message_id in sent:
        seen = await line.acks(message_id)
        assert seen == [step for step in ("SENT", "DELIVERED", "READ") if step in seen]


async def test_thirty_come_in_over_a_cut(line: Line) -> None:
    people = [new_person() for _ in range(PEOPLE)]
    said = [(person, f"Number {number}") for number in range(EACH) for person in people]
    for number, (person, body) in enumerate(said):
        if number == 12:
            await line.cut()
        await line.say(person, "text", {"body": body})
    await line.repair()
    for person in people:
        await line.received(person, EACH)
    received = [
        (event["data"]["contact"]["phone"], event["data"]["content"]["body"])
        for event in await line.events()
        if event["type"] == "message_notification" and event["data"]["contact"]["phone"] in people
    ]
    assert sorted(received) == sorted(said)
    assert order_of(received, people) == order_of(said, people)
