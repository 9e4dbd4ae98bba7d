"""Changing a message that has left: new words, or deleted for everyone, where the network can."""

import pytest

from tests.conformance.line import Line, new_person

pytestmark = pytest.mark.asyncio(loop_scope="package")
LONGEST = 4096


async def test_an_edit_is_sent_reported_and_stored_or_refused_before_anything_happens(line: Line) -> None:
    person = new_person()
    sent = await line.send(person, body="First words")
    await line.until_status(sent, "READ")
    answer = await line.call("PATCH", f"/messages/{sent}", {"body": "Second words"})
    if not (await line.capabilities())["edit"]:
        assert (answer.status, answer.json()["error"]["code"]) == (422, "unsupported_on_channel")
        assert (await line.message(sent))["content"] == {"body": "First words"}
        return
    assert answer.status == 200, answer.body
    message = await line.message(sent)
    assert message["content"] == {"body": "Second words"}
    assert message["edited_at"]
    assert message["status"] == "READ"
    (seen,) = [e["data"] for e in await line.events(person) if e["action"] == "updated"]
    assert (seen["change"], seen["content"], seen["key"]["id"]) == ("edited", {"body": "Second words"}, sent)


async def test_a_message_is_deleted_for_everyone_once(line: Line) -> None:
    person = new_person()
    sent = await line.send(person, body="A mistake")
    await line.until_status(sent, "READ")
    answer = await line.call("DELETE", f"/messages/{sent}")
    if not (await line.capabilities())["delete"]:
        assert (answer.status, answer.json()["error"]["code"]) == (422, "unsupported_on_channel")
        return
    assert answer.status == 200, answer.body
    assert (await line.message(sent))["deleted_at"]
    again = await line.call("DELETE", f"/messages/{sent}")
    assert (again.status, again.json()["error"]["code"]) == (409, "wrong_state")
    edit = await line.call("PATCH", f"/messages/{sent}", {"body": "Too late"})
    assert edit.status == 409
    assert [e["data"]["change"] for e in await line.events(person) if e["action"] == "updated"] == ["deleted"]


@pytest.mark.parametrize(("body", "status"), [("x" * LONGEST, 200), ("x" * (LONGEST + 1), 422), ("", 422)])
async def test_new_words_have_the_limits_of_a_text(line: Line, body: str, status: int) -> None:
    can = (await line.capabilities())["edit"]
    sent = await line.send(new_person(), body="First words")
    await line.until_status(sent, "READ")
    assert (await line.call("PATCH", f"/messages/{sent}", {"body": body})).status == (status if can else 422)


async def test_what_is_not_ours_cannot_be_touched(line: Line) -> None:
    person = new_person()
    await line.say(person, "text", {"body": "Mine"})
    (event,) = await line.received(person, 1)
    theirs = event["data"]["key"]["id"]
    wanted = 409 if (await line.capabilities())["delete"] else 422
    assert (await line.call("DELETE", f"/messages/{theirs}")).status == wanted
    sent = await line.send(person, body="Ours")
    await line.until_status(sent, "READ")
    assert (await line.gateway.call("DELETE", f"/api/v1/messages/{sent}")).status == 404  # another channel's key
