"""Plain messages to people who are no contacts yet: one statement makes the contacts and writes the messages."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gatepost.model import ids, times
from gatepost.model.event import NewEvent, render
from gatepost.model.event.chats import ChatCreated
from gatepost.model.event.contacts import ContactCreated, contact_fields
from gatepost.model.number_forms import other_form
from gatepost.model.person import Person
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import ROUTE
from gatepost.store.contacts.changes import delete_contact
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult, accept_messages
from gatepost.store.messages.accept_plain import PlainOutcome, accept_plain
from gatepost.store.messages.submission import Submission
from gatepost.store.quota import used_in_month
from tests.inbound.incoming_messages import contact_of, message_from, read_aliases, receive
from tests.outbound.stage import Stage, make_stage
from tests.patience import PATIENCE
from tests.store.messages.test_accept_plain import ANA, BOB, check_log, know, new_id, row_of, submission, with_sender
from tests.store.messages.test_plain_changes import add_endpoint
from tests.store.test_people_at_once import deadlocks
from tests.store.test_quota import MONTH, acceptor

NEW, OTHER, GERMAN = "5511988880001", "5511988880002", "4915112345678"


async def accept_all(stage: Stage, batch: Sequence[Submission]) -> list[PlainOutcome]:
    batches = {stage.channel_id: batch}
    return (await accept_plain(stage.db, batches, stage.clock.now(), wait=True, new_people=True))[stage.channel_id]


def shown(outcomes: Sequence[PlainOutcome]) -> list[str]:
    names = {True: "new contact", False: "contact"}
    return [names[one.new_contact] if isinstance(one, AcceptResult) else "left out" for one in outcomes]


async def state_of(stage: Stage) -> Mapping[str, Any]:
    """Return the rows of a channel, with names of their own in place of ids, and without the order of commits."""
    contacts = {row["id"]: row["phone"] for row in await stage.rows("contacts")}
    tables: dict[str, list[dict[str, Any]]] = {}
    for table in ("contacts", "conversations", "contact_aliases", "messages"):
        rows = [dict(row) for row in await stage.rows(table)]
        for row in rows:
            del row["channel_id"]
            row.pop("id", None)
            row.pop("event_ids", None)
            row.pop("last_message_id", None)
            row.pop("network_id", None)
            if "contact_id" in row:
                row["contact_id"] = contacts[row["contact_id"]]
        tables[table] = sorted(rows, key=str)
    return tables


# -- the same as the general path --------------------------------------------------------------------------------------


async def test_rows_are_those_of_the_general_path(stage: Stage) -> None:
    other = await make_stage(stage.db)
    for one in (stage, other):
        await know(one, ANA, name="Ana")
    phones = [NEW, ANA, GERMAN, NEW, OTHER, other_form(ANA) or ""]
    outcomes = await accept_all(stage, [submission(stage, phone) for phone in phones])
    general = [submission(other, phone) for phone in phones]
    expected = await accept_messages(other.db, other.channel_id, general, other.clock.now())
    assert [one.new_contact for one in expected if isinstance(one, AcceptResult)] == [
        one == "new contact" for one in shown(outcomes)
    ]
    assert shown(outcomes) == ["new contact", "contact", "new contact", "new contact", "new contact", "contact"]
    assert await state_of(stage) == await state_of(other)
    assert await read_aliases(stage) == await read_aliases(other)
    await check_log(stage, 1 + len(phones))


async def test_a_new_contact_and_its_conversation_are_reported_before_the_message(stage: Stage) -> None:
    await know(stage, ANA)
    first, second = await accept_all(stage, [submission(stage, NEW), submission(stage, NEW)])
    assert isinstance(first, AcceptResult)
    assert isinstance(second, AcceptResult)
    contact = await contact_of(stage, NEW)
    person, now = (contact["id"], NEW, None), stage.clock.now()
    *_, made, opened, one, two = await stage.rows("events", "ORDER BY seq")
    contact_created = ContactCreated(*contact_fields(*person), times.format_time(now))
    for row, data in ((made, contact_created), (opened, ChatCreated.of(*person, now))):
        assert row["body"] == render(NewEvent(row["id"], data), row["seq"], stage.ref, now)
        assert (row["type"], row["conversation_id"], row["message_id"]) == (data.TYPE, contact["id"], None)
    assert [one["message_id"], two["message_id"]] == [new_id(first), new_id(second)]
    (conversation,) = await stage.rows("conversations", f"AND contact_id = '{contact['id']}'")
    assert conversation["last_message_id"] == new_id(second)
    assert ids.time_of(contact["id"]) == stage.clock.now() == contact["created_at"]


async def test_each_event_goes_to_the_endpoints_that_want_it(stage: Stage) -> None:
    await know(stage, ANA)
    wanted = {
        await add_endpoint(stage, [type_]): type_
        for type_ in ("message_notification", "chat_notification", "contact_notifications", "ack_notification")
    }
    every = await add_endpoint(stage, list(wanted.values()))
    await accept_all(stage, [submission(stage, phone) for phone in (NEW, OTHER, ANA)])
    types = {row["id"]: row["type"] for row in await stage.rows("events")}
    found = sorted((row["endpoint_id"], types[row["event_id"]]) for row in await stage.rows("deliveries"))
    created = ["message_notification"] * 3 + ["chat_notification", "contact_notifications"] * 2
    each = [(endpoint, type_) for endpoint, wants in wanted.items() for type_ in created if type_ == wants]
    assert found == sorted(each + [(every, type_) for type_ in created])


async def test_a_name_of_the_channel_does_not_pass_for_a_value(stage: Stage) -> None:
    """The channel's own number is in the event as well, and may be that of the recipient."""
    await know(stage, ANA)
    assert shown(await accept_all(stage, [submission(stage, stage.caller.phone)])) == ["new contact"]
    body = msgspec.json.decode((await stage.rows("events", "ORDER BY seq DESC"))[2]["body"])
    assert body["data"]["phone"] == stage.caller.phone == body["channel"]["phone"]


# -- who becomes a contact ---------------------------------------------------------------------------------------------


async def test_what_is_refused_or_left_out_makes_no_contact(stage: Stage) -> None:
    await know(stage, ANA)
    windowed = msgspec.structs.replace(submission(stage, NEW), window=True)
    keyed = msgspec.structs.replace(submission(stage, OTHER), key=idempotency_key("k", b"x", ROUTE))
    assert shown(await accept_all(stage, [msgspec.structs.replace(keyed, message=submission(stage).message)])) == [
        "contact"
    ]
    before = await state_of(stage)
    assert shown(await accept_all(stage, [windowed, keyed])) == ["left out"] * 2
    assert await state_of(stage) == before
    bulk = submission(stage, NEW, priority="bulk")
    assert shown(await accept_all(stage, [windowed, bulk, keyed, windowed])) == [
        "left out",
        "new contact",
        "left out",
        "left out",
    ]
    await check_log(stage, 3)


async def test_the_first_message_that_is_written_makes_the_contact(stage: Stage) -> None:
    """Others to the same person, which are left out, come before it and after it."""
    await know(stage, ANA)
    windowed = msgspec.structs.replace(submission(stage, NEW), window=True)
    batch = [windowed, submission(stage, NEW), windowed, submission(stage, NEW), submission(stage, OTHER)]
    outcomes = await accept_all(stage, batch)
    assert shown(outcomes) == ["left out", "new contact", "left out", "new contact", "new contact"]
    assert len(await stage.rows("contacts")) == 3
    await check_log(stage, 4)


async def test_two_forms_of_a_number_are_one_contact(stage: Stage) -> None:
    await know(stage, ANA)
    form = other_form(NEW) or ""
    batch = [submission(stage, phone) for phone in (NEW, form, OTHER, NEW)]
    assert shown(await accept_all(stage, batch)) == ["new contact", "left out", "new contact", "new contact"]
    assert (await read_aliases(stage))[NEW] == {form}
    assert shown(await accept_all(stage, [submission(stage, form)])) == ["contact"]
    sends = [
        stage.acceptor.accept(stage.caller, SendRequest(phone, "Hi")) for phone in ("5511988880003", "551188880003")
    ]
    await asyncio.gather(*sends)
    assert (await read_aliases(stage))["5511988880003"] == {"551188880003"}


async def test_a_person_who_was_deleted_is_new_again(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    contact = await contact_of(stage, BOB)
    await delete_contact(stage.db, stage.ref, stage.channel_id, contact["id"], stage.clock.now())
    assert shown(await accept_all(stage, [submission(stage, BOB)])) == ["new contact"]
    assert (await contact_of(stage, BOB))["id"] != contact["id"]


async def test_a_slice_that_is_too_small_makes_no_contacts(stage: Stage) -> None:
    await know(stage, ANA)
    limited = [with_sender(submission(stage, f"{NEW[:-2]}{n}"), monthly_limit=20) for n in range(30, 50)]
    before = await state_of(stage)
    assert shown(await accept_all(stage, limited)) == ["left out"] * 20
    assert await state_of(stage) == before
    assert await used_in_month(stage.db, stage.caller.account_id, MONTH) == 1


async def test_channels_share_a_commit_and_have_contacts_of_their_own(stage: Stage) -> None:
    other = await make_stage(stage.db)
    for one in (stage, other):
        await know(one, ANA)
    batches = {one.channel_id: [submission(one, phone) for phone in (NEW, ANA, OTHER)] for one in (stage, other)}
    written = await accept_plain(stage.db, batches, stage.clock.now(), new_people=True)
    assert [shown(outcomes) for outcomes in written.values()] == [["new contact", "contact", "new contact"]] * 2
    async with stage.db.connection() as conn:
        commits = "SELECT count(DISTINCT xmin::text) FROM contacts WHERE channel_id = ANY ($1) AND phone <> $2"
        assert await conn.fetchval(commits, list(batches), ANA) == 1
    for one in (stage, other):
        await check_log(one, 4)
        assert (await row_of(one, "messages", (await one.rows("conversations"))[0]["last_message_id"]))["phone"] == ANA


# -- many at once ------------------------------------------------------------------------------------------------------


async def test_new_people_of_two_processes_who_write_meanwhile_are_one_contact_each(stage: Stage) -> None:
    await know(stage, ANA)
    acceptors, before = [acceptor(stage, None) for _ in range(3)], await deadlocks(stage)
    phones = [f"55119{n:08}" for n in range(40)]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(one.accept(stage.caller, SendRequest(phone, "Hi")) for phone in phones for one in acceptors),
            *(receive(stage, message_from(stage, Person(phone, f"9{phone}"))) for phone in reversed(phones)),
        )
    assert await deadlocks(stage) == before
    contacts = {row["phone"]: row["id"] for row in await stage.rows("contacts")}
    assert len(contacts) == 41 == len(await stage.rows("conversations"))
    sent = await stage.rows("messages", "AND NOT incoming")
    assert {(row["phone"], row["contact_id"]) for row in sent} <= set(contacts.items())
    await check_log(stage, 1 + 3 * 40)


async def test_messages_to_new_people_are_written_by_the_statement(stage: Stage) -> None:
    """One commit accepts them, however many are new, and says so: the acceptor then knows them."""
    await stage.accept(ANA)
    phones = [f"55119{n:08}" for n in range(30)]
    await asyncio.gather(*(stage.acceptor.accept(stage.caller, SendRequest(phone, "Hi")) for phone in phones))
    async with stage.db.connection() as conn:
        counts = "SELECT count(DISTINCT xmin::text) FROM contacts WHERE channel_id = $1 AND phone <> $2"
        assert await conn.fetchval(counts, stage.channel_id, ANA) <= 2
    assert stage.acceptor._recent.include(stage.channel_id, phones)
    assert not stage.acceptor._recent.include(stage.channel_id, ["5511988887777"])
