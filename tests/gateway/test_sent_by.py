"""Who sent a message: a key, a person, the operator, or the channel's own phone."""

from uuid import UUID

from gatepost.model import ids
from gatepost.model.account import Principal
from gatepost.model.sender import LABEL_MAX, PHONE, Sender, read_sender
from tests.gateway.checks import PERSON, SEND, feed
from tests.gateway.people import new_person
from tests.running_gateway import Gateway

ONE, TWO = UUID(int=1), UUID(int=2)


def test_the_stored_form() -> None:
    for principal, expected in (
        (Principal("key", ONE, frozenset(), label="A|b"), Sender("key", ids.format_id("key", ONE), "A|b")),
        (Principal("key", ONE, frozenset()), Sender("key", ids.format_id("key", ONE), None)),
        (
            Principal("session", ONE, frozenset(), user_id=TWO, label="x" * 99),
            Sender("user", ids.format_id("usr", TWO), "x" * LABEL_MAX),
        ),
        (Principal("operator", ids.ZERO, frozenset()), Sender("operator")),
    ):
        assert read_sender(principal.sender_text) == expected
    assert read_sender(PHONE) == Sender("phone")
    assert read_sender(None) is None


async def test_keys_and_people(gateway: Gateway) -> None:
    by_key = await gateway.send(phone=PERSON, body="Hello")
    person = await new_person(gateway, "agent")
    answer = await person.call("POST", SEND, {"phone": PERSON, "body": "Hello"})
    by_person = answer.json()["data"]["key"]["id"]
    key = (await gateway.call("GET", f"/api/v1/messages/{by_key}")).json()["data"]["sent_by"]
    assert (key["kind"], key["id"][:4]) == ("key", "key_")
    listed = (await gateway.call("GET", "/api/v1/messages?direction=out")).json()["data"]
    assert {message["key"]["id"]: message["sent_by"] for message in listed} == {
        by_key: key,
        by_person: {"kind": "user", "id": ids.format_id("usr", person.user.id), "label": person.user.email},
    }
    batch = {"messages": [{"phone": PERSON, "body": "Hello"}]}
    made = (await gateway.call("POST", "/api/v1/messages/batch", batch)).json()["data"]["results"][0]
    found = await gateway.call("GET", f"/api/v1/messages/{made['data']['key']['id']}")
    assert found.json()["data"]["sent_by"] == key
    events = [event["data"] for event in await feed(gateway) if event["type"] == "message_notification"]
    assert {data["key"]["id"]: data["sent_by"] for data in events} == {
        message["key"]["id"]: message["sent_by"]
        for message in (await gateway.call("GET", "/api/v1/messages?direction=out")).json()["data"]
    }
