"""The checker of records finds each kind of fault: a checker that overlooks one proves nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from tests.conftest import Received
from tests.faults.ledger import RunRecords, compare
from tests.for_each import for_each

IDS = [UUID(int=1), UUID(int=2)]
PHONE = "5511999990000"
INTENDED_AT = 1000.0
Change = Callable[[RunRecords], None]


def event(number: int, type_: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"evt_{number}", "sequence": number, "type": type_, "data": data}


def clean() -> RunRecords:
    """Return the records of two messages to one person that were sent once and read."""
    events = [
        event(1, "contact_notifications", {"id": "ct_1"}),
        event(2, "chat_notification", {"contact": {"id": "ct_1"}}),
    ]
    for id_ in IDS:
        key = {"key": {"id": id_.hex.upper()}}
        events.append(
            event(len(events) + 1, "message_notification", key | {"status": "PENDING", "contact": {"id": "ct_1"}})
        )
        for status in ("SENT", "DELIVERED", "READ"):
            events.append(event(len(events) + 1, "ack_notification", key | {"status": status}))
    intended_at = datetime.fromtimestamp(INTENDED_AT, UTC)
    message = {"state": 4, "phone": PHONE, "attempt": 1, "sending_at": intended_at}
    return RunRecords(
        messages=[message | {"id": id_, "client_ref": f"{PHONE}-{number}"} for number, id_ in enumerate(IDS)],
        usage=2,
        events=events,
        unsettled=0,
        received=[received(one) for one in events],
        accepted=[call(number, 1, f"wamid.{number}") for number in (0, 1)],
        callbacks=[],
    )


def received(one: dict[str, Any]) -> Received:
    return Received("POST", "/hook", "", {"webhook-id": one["id"]}, msgspec.json.encode(one), 0.0)


def call(number: int, attempt: int, wamid: str) -> dict[str, Any]:
    """Return a row of the network's ledger."""
    data = f"gp:{IDS[number].hex}:{attempt}"
    return {
        "at": INTENDED_AT,
        "to": PHONE,
        "content": {"body": f"Message {number}"},
        "wamid": wamid,
        "biz_opaque_callback_data": data,
    }


def problems(records: RunRecords, in_doubt: tuple[str, ...] = ()) -> list[str]:
    accepted = {f"{PHONE}-{number}": id_.hex.upper() for number, id_ in enumerate(IDS)}
    return sorted(compare(records, accepted, in_doubt).problems())


def known(records: RunRecords, at: float) -> None:
    """The gateway accepted a status of the first message at this time."""
    records.callbacks.append({"http_status": 200, "at": at, "updates": [["wamid.0", "sent"]]})


def test_records_without_a_fault_have_no_problem() -> None:
    assert problems(clean()) == []


@for_each(
    ("change", "found"),
    [
        (lambda r: r.messages[0].update(client_ref="another"), ["lost"]),
        (lambda r: r.messages[0].update(state=2), ["lost", "steps"]),
        (lambda r: r.messages[0].update(sending_at=None), ["lost"]),
        (lambda r: r.accepted.pop(0), ["lost"]),
        (lambda r: r.messages.append(r.messages[0] | {"id": UUID(int=3)}), ["lost", "steps", "unasked"]),
        (lambda r: r.accepted.append(call(0, 2, "wamid.2")), ["doubled"]),
        (lambda r: r.accepted.reverse(), ["disordered"]),
        (lambda r: r.accepted[0].update(content={"body": "Message 7"}), ["disordered"]),
        (lambda r: r.events.pop(2), ["altered", "gaps", "steps"]),
        (lambda r: r.events[3].update(sequence=9), ["altered", "gaps"]),
        (lambda r: r.events.append(r.events[-1]), ["gaps", "steps"]),
        (lambda r: r.events[3]["data"].update(status="READ"), ["altered", "steps"]),
        (lambda r: r.events[0]["data"].update(id="ct_2"), ["altered", "steps"]),
        (lambda r: r.received.pop(), ["undelivered"]),
        (lambda r: r.received.append(received(r.events[0] | {"sequence": 7})), ["altered"]),
        (lambda r: r.received.append(received(event(99, "chat_notification", {}))), ["altered"]),
    ],
)
def test_what_is_wrong_is_found(change: Change, found: list[str]) -> None:
    records = clean()
    change(records)
    assert problems(records) == found


def test_numbers_that_are_wrong_are_found() -> None:
    assert problems(msgspec.structs.replace(clean(), usage=3)) == ["miscounted"]
    assert problems(msgspec.structs.replace(clean(), unsettled=1)) == ["undelivered"]


def test_a_message_may_go_out_again_as_often_as_its_outcome_was_unknown() -> None:
    first, records = IDS[0].hex, clean()
    records.accepted.append(call(0, 2, "wamid.2"))
    assert problems(records) == ["doubled"]
    assert problems(records, (first,)) == []
    records.accepted.append(call(0, 3, "wamid.3"))
    assert problems(records, (first,)) == ["doubled"]
    assert problems(records, (first, first)) == []


def test_a_message_whose_status_was_known_may_not_go_out_again() -> None:
    records = clean()
    records.accepted.append(call(0, 2, "wamid.2"))
    known(records, INTENDED_AT + 1)
    assert problems(records, (IDS[0].hex,)) == []
    records.callbacks.clear()
    known(records, INTENDED_AT - 1)
    assert problems(records, (IDS[0].hex,)) == ["doubled"]
    # A stopped process sends what it had begun when it continues, after the call of the next owner.
    records.accepted[0], records.accepted[-1] = call(0, 2, "wamid.0"), call(0, 1, "wamid.2")
    assert problems(records, (IDS[0].hex,)) == []


def test_messages_that_must_fail_may_not_succeed() -> None:
    records = clean()
    accepted = {f"{PHONE}-{number}": id_.hex.upper() for number, id_ in enumerate(IDS)}
    assert sorted(compare(records, accepted, (), frozenset({PHONE})).problems()) == ["lost"]
    for row in records.messages:
        row["state"] = -1
    for one in records.events:
        if one["data"].get("status") == "READ":
            one["data"]["status"] = "FAILED"
    records.received[:] = [received(one) for one in records.events]
    records.accepted.clear()
    assert compare(records, accepted, (), frozenset({PHONE})).problems() == {}
