"""Events as the world sees them."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gatepost.model import event, ids
from gatepost.model.event import AnyEvent, ChannelRef, NewEvent
from gatepost.model.event.acknowledgements import AckMessage
from gatepost.model.event.messages import MessageContext, MessageCreated, MessageUpdated
from gatepost.model.message import ACK, STATUS, State

NOW = datetime(2026, 11, 15, 10, 0, 0, 123_000, tzinfo=UTC)
CHANNEL = ChannelRef("ch_1", "official", "15550001111")
MESSAGE, CONTACT, ANSWERED = (ids.new_id(NOW) for _ in range(3))
PHONE = "5511999998888"


def message(**changes: Any) -> MessageCreated:
    fields: dict[str, Any] = {
        "id_": MESSAGE,
        "phone": PHONE,
        "contact_id": CONTACT,
        "name": "Ana",
        "incoming": False,
        "type_": "text",
        "content": '{"body":"Hi"}',
        "timestamp": NOW,
        "reply_to": None,
        "client_ref": "order-1",
        "sent_by": "key|key_1|Shop",
    }
    return MessageCreated.of(**fields | changes)


def rendered(data: AnyEvent) -> Any:
    new = NewEvent(ids.new_id(NOW), data)
    body = msgspec.json.decode(event.render(new, 4711, CHANNEL, NOW))
    assert body["id"] == ids.format_id("evt", new.id)
    return body


def test_an_event_has_the_shape_of_the_contract() -> None:
    body = rendered(message())
    assert list(body) == ["id", "type", "action", "timestamp", "sequence", "channel", "data"]
    assert (body["type"], body["action"], body["sequence"]) == ("message_notification", "created", 4711)
    assert body["timestamp"] == "2026-11-15T10:00:00.123Z"
    assert body["channel"] == {"id": "ch_1", "kind": "official", "phone": "15550001111"}


def test_an_outgoing_message_is_reported_with_its_status_and_client_ref() -> None:
    data = rendered(message(reply_to=ANSWERED))["data"]
    assert data == {
        "key": {"remoteJid": PHONE + "@s.whatsapp.net", "fromMe": True, "id": ids.message_id(MESSAGE)},
        "direction": "out",
        "type": "text",
        "content": {"body": "Hi"},
        "timestamp": "2026-11-15T10:00:00.123Z",
        "contact": {"id": ids.format_id("ct", CONTACT), "phone": PHONE, "name": "Ana"},
        "conversation": {"id": ids.format_id("cv", CONTACT)},
        "context": {"reply_to": ids.message_id(ANSWERED)},
        "status": "PENDING",
        "client_ref": "order-1",
        "sent_by": {"kind": "key", "id": "key_1", "label": "Shop"},
    }


def test_a_message_for_later_is_reported_as_scheduled() -> None:
    assert rendered(message(scheduled=True))["data"]["status"] == "SCHEDULED"


def test_an_incoming_message_has_no_status() -> None:
    data = rendered(message(incoming=True, name=None, client_ref=None))["data"]
    assert data["direction"] == "in"
    assert data["key"]["fromMe"] is False
    assert data["contact"]["name"] is None
    assert data["context"] is None
    assert not {"status", "client_ref", "sent_by"} & set(data)


def test_an_acknowledgement_has_name_number_and_the_previous_status() -> None:
    for state, ack in ACK.items():
        data = AckMessage.of(id_=MESSAGE, phone=PHONE, state=state, previous="PENDING", client_ref=None)
        shown = rendered(data)["data"]
        assert (shown["status"], shown["ack"], shown["previous"]) == (STATUS[state], ack, "PENDING")
        assert shown["key"] == {"remoteJid": f"{PHONE}@s.whatsapp.net", "fromMe": True, "id": ids.message_id(MESSAGE)}
        assert "error" not in shown


def test_a_failure_brings_its_reason() -> None:
    error = {"code": 131026, "title": "Undeliverable", "details": None}
    data = AckMessage.of(id_=MESSAGE, phone=PHONE, state=State.FAILED, previous="SENT", client_ref="x", error=error)
    assert rendered(data)["data"]["error"] == error


def test_an_acknowledgement_has_the_details_that_the_network_reports() -> None:
    details = {"pricing": {"billable": True}, "held": True}
    values: dict[str, Any] = {"id_": MESSAGE, "phone": PHONE, "state": State.SENT, "previous": "PENDING"}
    data = rendered(AckMessage.of(**values, client_ref=None, details=details))["data"]
    assert {name: data[name] for name in details} == details
    assert "conversation" not in data


def test_a_change_follows_the_message() -> None:
    fields = list(rendered(MessageUpdated.example())["data"])
    assert fields[-2:] == ["change", "reaction"]
    assert fields[:-2] == list(rendered(MessageCreated.example())["data"])


def test_a_context_has_only_known_fields() -> None:
    assert MessageContext.of(None, None) is MessageContext.of(None, {}) is None
    stored = {"forwarded": True, "of_an_older_version": 1}
    data = rendered(message(reply_to=ANSWERED, context=stored))["data"]
    assert data["context"] == {"reply_to": ids.message_id(ANSWERED), "forwarded": True}


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(body=texts, name=texts)
def test_any_text_survives(body: str, name: str) -> None:
    content = msgspec.json.encode({"body": body}).decode()
    data = rendered(message(content=content, name=name))["data"]
    assert data["content"] == {"body": body}
    assert data["contact"]["name"] == name


def test_there_are_six_types() -> None:
    assert len(set(event.TYPES)) == 6
