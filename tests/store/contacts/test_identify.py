"""Contacts that get names, numbers and each other's history: every change is noted, and told once."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.person import Person
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import ContactUpdate, LabelUpdate, Outgoing, SendAccepted
from tests.inbound.incoming_messages import (
    ANA,
    contact_of,
    data,
    message_from,
    read_aliases,
    read_events,
    receive,
    row_of,
)
from tests.outbound.stage import Stage

# -- changes are told once --------------------------------------------------------------------------------------------


async def test_a_new_contact_is_no_change(stage: Stage) -> None:
    await receive(
        stage,
        message_from(stage, Person(lid="7", name="A", username="a")),
        message_from(stage, Person("5511", "7", name="B")),
        message_from(stage, Person("5511", user_id="u")),
    )
    assert await read_events(stage, "contact") == []
    assert await read_aliases(stage) == {"5511": {"lid:7", "user:u"}}
    row = await contact_of(stage, "5511")
    assert (row["name"], row["username"]) == ("B", "a")


async def test_a_new_name_is_reported_once(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    renamed = Person(ANA.phone, name="Ana Maria", username="ana")
    for _ in range(2):
        await receive(stage, ContactUpdate(renamed, stage.clock.now()), message_from(stage, renamed))
        await receive(stage, message_from(stage, Person(ANA.phone)))
    contact = await contact_of(stage, ANA.phone or "")
    assert await data(stage, "contact") == [
        {
            "id": ids.format_id("ct", contact["id"]),
            "phone": ANA.phone,
            "name": "Ana Maria",
            "username": "ana",
            "conversation": {"id": ids.format_id("cv", contact["id"])},
            "changed": ["name", "username"],
            "joined": [],
        }
    ]


async def test_a_number_that_becomes_known_is_reported(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(lid="7")))
    first = (await data(stage))[0]
    assert (first["contact"]["phone"], first["key"]["remoteJid"]) == (None, "7@lid")
    for _ in range(2):
        await receive(stage, message_from(stage, Person("5511", "7")))
    (event,) = await data(stage, "contact")
    assert (event["phone"], event["changed"], event["joined"]) == ("5511", ["phone"], [])
    assert await read_aliases(stage) == {"5511": {"lid:7"}}


async def test_two_that_turn_out_to_be_one_are_joined_and_reported_once(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person("5511")), message_from(stage, Person(lid="7", name="Ana")))
    gone = (await contact_of(stage, "lid:7"))["id"]
    for _ in range(2):
        await receive(stage, ContactUpdate(Person("5511", "7"), stage.clock.now()))
    (event,) = await data(stage, "contact")
    assert (event["phone"], event["name"], event["changed"]) == ("5511", "Ana", ["history", "name"])
    assert event["joined"] == [ids.format_id("ct", gone)]


async def test_names_and_preferences_are_not_lost_with_the_join(stage: Stage) -> None:
    await receive(
        stage, message_from(stage, Person("5511")), message_from(stage, Person(lid="7", name="Ana", username="ana"))
    )
    target = message_from(stage, Person("5511"))
    reaction = message_from(stage, Person(lid="7"), "reaction", {"reaction": {"emoji": "👍"}}, target=target.network_id)
    await receive(stage, target, reaction)
    async with stage.db.connection() as conn:
        await conn.execute(
            "UPDATE contacts SET opted_out = $2 WHERE channel_id = $1 AND phone = 'lid:7'",
            stage.channel_id,
            stage.clock.now(),
        )
    await receive(stage, message_from(stage, Person("5511", "7")))
    row = await contact_of(stage, "5511")
    assert (row["name"], row["username"], row["opted_out"]) == ("Ana", "ana", stage.clock.now())
    assert list(msgspec.json.decode((await row_of(stage, target))["reactions"])) == [ids.format_id("ct", row["id"])]


# -- another number ---------------------------------------------------------------------------------------------------


def moved(stage: Stage, old: str, new: str, age: float = 0, **more: Any) -> ContactUpdate:
    return ContactUpdate(Person(new, **more), stage.clock.now() - timedelta(seconds=age), old_phone=old)


async def test_a_new_number_takes_the_contact_along(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person("1110000", "7", name="Ana")))
    before = await contact_of(stage, "1110000")
    for _ in range(2):
        await receive(
            stage,
            message_from(stage, Person("1110000"), "system", {"system": {}}, id="sys"),
            moved(stage, "1110000", "2220000"),
        )
    after = await contact_of(stage, "2220000")
    assert (after["id"], after["name"]) == (before["id"], "Ana")
    assert await read_aliases(stage) == {"2220000": {"lid:7"}}
    assert [(e["phone"], e["changed"]) for e in await data(stage, "contact")] == [("2220000", ["phone"])]
    await receive(stage, message_from(stage, Person("1110000", name="Somebody else")))
    assert (await read_aliases(stage)).keys() == {"2220000", "1110000"}


async def test_a_number_change_onto_a_number_that_exists_joins_the_two(stage: Stage) -> None:
    one, two = message_from(stage, Person("1110000", "7")), message_from(stage, Person("2220000", name="Ana"))
    await receive(stage, one, two)
    gone = (await contact_of(stage, "1110000"))["id"]
    for _ in range(2):
        await receive(stage, moved(stage, "1110000", "2220000"))
    assert await read_aliases(stage) == {"2220000": {"lid:7"}}
    assert (await row_of(stage, one))["contact_id"] == (await row_of(stage, two))["contact_id"]
    assert [e["joined"] for e in await data(stage, "contact")] == [[ids.format_id("ct", gone)]]


@pytest.mark.parametrize("how", ["reported", "writes", "joined"])
async def test_messages_that_wait_are_sent_to_the_new_number(stage: Stage, how: str) -> None:
    await receive(stage, message_from(stage, Person("1110000", "7")))
    await stage.take_over(connected=False)
    hour = timedelta(hours=1)
    await stage.accept("1110000", "queued")
    await stage.accept("1110000", "scheduled", send_at=stage.clock.now() + hour)
    if how == "joined":
        await stage.accept("2220000", "queued for the new number")
    await stage.settle()
    writes = message_from(stage, Person("2220000", "7"))
    await receive(stage, writes if how == "writes" else moved(stage, "1110000", "2220000"))
    stage.wake()
    later = await stage.accept("1110000", "to the next owner")
    await stage.settle()
    stage.sender.connect(stage.network)
    await stage.drive(hour.total_seconds() + 60, stride=1.0)
    sent = {call.body: call.message.phone for call in stage.network.calls}
    assert sent.pop("to the next owner") == "1110000"
    assert (len(sent), set(sent.values())) == (3 if how == "joined" else 2, {"2220000"})
    assert (await stage.message(later)).contact_id != (await contact_of(stage, "2220000"))["id"]


async def test_messages_that_wait_are_sent_to_the_new_user_id(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(user_id="BR.1")))
    (contact,) = await stage.rows("contacts")
    await stage.take_over(connected=False)
    await stage.acceptor.accept(stage.caller, SendRequest(contact=ids.format_id("ct", contact["id"]), body="Hello"))
    await stage.settle()
    await receive(stage, ContactUpdate(Person(user_id="BR.2"), stage.clock.now(), old_user_id="BR.1"))
    stage.wake()
    stage.sender.connect(stage.network)
    await stage.drive(5)
    assert [call.message.phone for call in stage.network.calls] == ["user:BR.2"]


async def test_a_person_who_writes_from_a_new_number_has_it_from_then_on(stage: Stage) -> None:
    """Linked phones do not report it: only the hidden id shows that it is the same person."""
    await receive(stage, message_from(stage, Person("1110000", "7", name="Ana")))
    for _ in range(2):
        await receive(stage, message_from(stage, Person("2220000", "7")))
    assert await read_aliases(stage) == {"2220000": {"lid:7"}}
    assert [(e["phone"], e["changed"]) for e in await data(stage, "contact")] == [("2220000", ["phone"])]
    shown = [event["data"]["key"]["remoteJid"].partition("@")[0] for event in await read_events(stage, "message")]
    assert shown == ["1110000", "2220000", "2220000"]
    await receive(stage, message_from(stage, Person("1110000", "8", name="Somebody else")))
    assert await read_aliases(stage) == {"2220000": {"lid:7"}, "1110000": {"lid:8"}}


@pytest.mark.parametrize("taken", [False, True])
async def test_a_late_message_from_a_former_number_leaves_the_number_as_it_is(stage: Stage, taken: bool) -> None:
    await receive(stage, message_from(stage, Person("1110000", "7", name="Ana"), age=90))
    await receive(stage, message_from(stage, Person("2220000", "7"), age=30))
    if taken:  # the former number has another owner
        await receive(stage, message_from(stage, Person("1110000", "8", name="Bob")))
    late = message_from(stage, Person("1110000", "7"), age=60)
    await receive(stage, late)
    assert await read_aliases(stage) == {"2220000": {"lid:7"}} | ({"1110000": {"lid:8"}} if taken else {})
    assert (await row_of(stage, late))["contact_id"] == (await contact_of(stage, "2220000"))["id"]
    assert (await data(stage, "message"))[-1]["contact"]["phone"] == "2220000"
    assert [e["phone"] for e in await data(stage, "contact")] == ["2220000"]


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("known", [None, Person("1110000"), Person("1110000", "7"), Person(lid="7")])
async def test_of_two_numbers_in_one_report_the_newer_one_counts(stage: Stage, known: Person | None, turn: int) -> None:
    if known:
        await receive(stage, message_from(stage, known, age=90))
    old, new = message_from(stage, Person("1110000", "7"), age=60), message_from(stage, Person("2220000", "7"), age=30)
    await receive(stage, *[old, new][::turn])
    await receive(stage, message_from(stage, Person("2220000", "7")))
    assert await read_aliases(stage) == {"2220000": {"lid:7"}}
    assert len({row["contact_id"] for row in await stage.rows("messages")}) == 1


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("turn", [1, -1])
async def test_a_number_and_its_next_owner_in_the_same_report(stage: Stage, turn: int, known: bool) -> None:
    await receive(stage, message_from(stage, Person("1110000", "7", name="Ana")))
    if known:  # the new number is a contact already
        await receive(stage, message_from(stage, Person("2220000")))
    ana, other = message_from(stage, Person("2220000", "7")), message_from(stage, Person("1110000", name="Other"))
    await receive(stage, *[ana, other][::turn])
    await receive(stage, message_from(stage, Person("1110000")))
    assert (await row_of(stage, ana))["contact_id"] == (await contact_of(stage, "2220000"))["id"]
    assert (await read_aliases(stage)).keys() == {"1110000", "2220000"}
    if not known:
        assert (await row_of(stage, other))["contact_id"] == (await contact_of(stage, "1110000"))["id"]


async def test_a_number_as_the_network_writes_it_is_no_new_number(stage: Stage) -> None:
    """What we send to keeps its contact, although answers come from another number, with a hidden id."""
    await stage.take_over()
    stage.network.answer = lambda message: SendAccepted(f"wamid.{message.id.hex}", wa_id="3330001")
    await stage.accept("3330000")
    await stage.settle()
    for _ in range(2):
        await receive(stage, message_from(stage, Person("3330001", "7")))
    assert await read_aliases(stage) == {"3330000": {"3330001", "lid:7"}}


async def test_two_numbers_stay_two_contacts_until_the_network_says_that_they_are_one(stage: Stage) -> None:
    same = {"name": "Ana", "username": "ana"}
    await receive(
        stage, message_from(stage, Person("1110000", "7", **same)), message_from(stage, Person("2220000", "8", **same))
    )
    assert await read_aliases(stage) == {"1110000": {"lid:7"}, "2220000": {"lid:8"}}
    await receive(stage, message_from(stage, Person("2220000", "7")))
    assert await read_aliases(stage) == {"2220000": {"lid:7", "lid:8"}}


async def test_a_number_change_of_somebody_unknown_changes_nothing(stage: Stage) -> None:
    await receive(stage, moved(stage, "1110000", "2220000", name="Ana"))
    await receive(stage, moved(stage, "2220000", "2220000"), moved(stage, "3330000", "2220000"))
    assert await read_aliases(stage) == {"2220000": set()}
    assert await read_events(stage, "contact") == []


@pytest.mark.parametrize(("age", "left"), [(86_400, {"2220000"}), (86_401, {"1110000", "2220000"})])
async def test_an_old_update_that_is_repeated_does_not_change_the_next_owner_of_a_number(
    stage: Stage, age: int, left: set[str]
) -> None:
    await receive(
        stage, message_from(stage, Person("2220000")), message_from(stage, Person("1110000", name="The next owner"))
    )
    await receive(stage, moved(stage, "1110000", "2220000", age))
    assert (await read_aliases(stage)).keys() == left


async def test_a_label_and_a_message_under_the_old_number_in_the_same_report_find_their_contact(stage: Stage) -> None:
    label = LabelUpdate("L1", "assigned", stage.clock.now(), "VIP", 1, Person("1110000"))
    await receive(
        stage,
        message_from(stage, Person("1110000")),
        label,
        moved(stage, "1110000", "2220000"),
        moved(stage, "1110000", "2220000"),
    )
    contact = await contact_of(stage, "2220000")
    assert [row["contact_id"] for row in await stage.rows("label_uses")] == [contact["id"]]
    assert (await read_aliases(stage)).keys() == {"2220000"}


# -- numbers that are written in two ways -----------------------------------------------------------------------------


def written(stage: Stage, phone: str) -> None:
    """The network writes every number in this way."""

    def answer(message: Outgoing) -> SendAccepted:
        return SendAccepted(f"wamid.{message.id.hex}", wa_id=phone)

    stage.network.answer = answer


async def test_an_answer_from_the_number_as_the_network_writes_it_finds_its_contact(stage: Stage) -> None:
    written(stage, "5511988887777")
    await stage.take_over()
    for _ in range(2):
        await stage.accept("551188887777")
        await stage.settle()
    answer = message_from(stage, Person("5511988887777"))
    await receive(stage, answer)
    assert await read_aliases(stage) == {"551188887777": {"5511988887777"}}
    assert await read_events(stage, "contact") == []
    row = await row_of(stage, answer)
    assert {r["contact_id"] for r in await stage.rows("messages")} == {row["contact_id"]}


async def test_somebody_who_wrote_first_is_the_one_we_write_to(stage: Stage) -> None:
    written(stage, "4915188887777")
    await receive(stage, message_from(stage, Person("4915188887777", name="Ana")))
    await stage.take_over()
    await stage.accept("49015188887777")
    await stage.accept("49015188887777")
    await stage.settle()
    assert await read_aliases(stage) == {"4915188887777": {"49015188887777"}}
    (event,) = await data(stage, "contact")
    assert event["changed"] == ["history"]
    assert len({row["contact_id"] for row in await stage.rows("messages")}) == 1
    await stage.accept("49015188887777")
    await stage.settle()
    assert len(stage.network.calls) == 3


async def test_both_forms_of_a_number_are_one_person_without_a_word_of_the_network(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person("553188887777", name="Ana")))
    await stage.take_over()
    await stage.accept("5531988887777")
    await stage.settle()
    assert await read_aliases(stage) == {"553188887777": {"5531988887777"}}
    assert await data(stage, "contact") == []
    assert len({row["contact_id"] for row in await stage.rows("messages")}) == 1
