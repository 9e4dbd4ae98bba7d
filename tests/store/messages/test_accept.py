"""What only the database can say against a send: the window, templates, files, targets, and the plan's exact count."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids, times
from gatepost.model.account import Caller, Plan
from gatepost.model.errors import GatepostError
from gatepost.model.send_request import SendRequest
from gatepost.model.template.values import Template
from gatepost.networks.base import Person
from gatepost.outbound.accept import ROUTE, Acceptor
from gatepost.store.contacts.rows import find_contacts
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.quota import used_in_month
from gatepost.store.templates import put_template
from tests.inbound.incoming_messages import message_from, receive
from tests.outbound.stage import Stage, check_no_link, make_stage

pytestmark = pytest.mark.usefixtures("each_path")
PHONE = "5511999998888"
DAY = 86_400
Outcome = str  # "accepted", or the code of a refusal


def windowed(stage: Stage) -> Caller:
    """A caller whose channel keeps the customer-service window."""
    return msgspec.structs.replace(stage.caller, window=True)


async def send(stage: Stage, acceptor: Acceptor | None = None, key: str | None = None, **fields: Any) -> Outcome:
    request = SendRequest(**{"phone": PHONE} | fields)
    named = idempotency_key(key, repr(fields).encode(), ROUTE)
    try:
        await (acceptor or stage.acceptor).accept(windowed(stage), request, named)
    except GatepostError as error:
        return error.code
    return "accepted"


async def used(stage: Stage) -> int:
    return await used_in_month(stage.db, stage.caller.account_id, times.month_of(stage.clock.now()))


# -- the window -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "outcome"), [(0, "accepted"), (DAY - 1, "accepted"), (DAY, "window_closed"), (DAY + 1, "window_closed")]
)
async def test_free_text_needs_a_message_of_the_last_day(stage: Stage, age: int, outcome: str) -> None:
    await receive(stage, message_from(stage, Person(PHONE), age=age))
    assert await send(stage, body="Hi") == outcome
    assert await used(stage) == (outcome == "accepted")


async def test_the_refusal_names_the_way_out(stage: Stage) -> None:
    with pytest.raises(GatepostError, match=r"has not written to you yet.*type template") as refused:
        await stage.acceptor.accept(windowed(stage), SendRequest(PHONE, "Hi"))
    assert refused.value.code == "window_closed"
    await receive(stage, message_from(stage, Person(PHONE), age=DAY))
    with pytest.raises(GatepostError, match=r"2026-11-15T10:00:00\.000Z.*type template"):
        await stage.acceptor.accept(windowed(stage), SendRequest(PHONE, "Hi"))


@pytest.mark.parametrize(("ahead", "outcome"), [(DAY - 101, "accepted"), (DAY - 100, "window_closed")])
async def test_what_is_scheduled_is_judged_by_when_it_leaves(stage: Stage, ahead: int, outcome: str) -> None:
    await receive(stage, message_from(stage, Person(PHONE), age=100))
    assert await send(stage, body="Hi", send_at=stage.clock.now() + timedelta(seconds=ahead)) == outcome


async def test_the_window_is_the_persons_whatever_they_are_called(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(PHONE, "7")))
    stage.clock.advance(2 * DAY)
    assert await send(stage, body="Hi") == "window_closed"
    await receive(stage, message_from(stage, Person(lid="7")))
    assert await send(stage, body="Hi") == "accepted"


async def contact_of(stage: Stage, address: str) -> str:
    """The id of the contact with an address."""
    async with stage.db.connection() as conn:
        return ids.format_id("ct", (await find_contacts(conn, stage.channel_id, {address}))[address].id)


@pytest.mark.parametrize(("age", "outcome"), [(DAY - 1, "accepted"), (DAY, "window_closed")])
async def test_the_window_of_a_contact_without_a_number(stage: Stage, age: int, outcome: str) -> None:
    await receive(stage, message_from(stage, Person(user_id="BR.7"), age=age))
    contact = await contact_of(stage, "user:BR.7")
    assert await send(stage, phone=None, contact=contact, body="Hi") == outcome
    assert await used(stage) == (outcome == "accepted")


@pytest.mark.parametrize("type_", ["system", "call"])
async def test_what_a_person_did_not_write_opens_no_window(stage: Stage, type_: str) -> None:
    await receive(
        stage, message_from(stage, Person(PHONE), type_, {type_: {}}), message_from(stage, Person(PHONE), from_me=True)
    )
    assert await send(stage, body="Hi") == "window_closed"


async def test_a_channel_without_windows_asks_for_none(stage: Stage) -> None:
    assert await stage.acceptor.accept(stage.caller, SendRequest(PHONE, "Hi"))


# -- templates --------------------------------------------------------------------------------------------------------


async def add_template(
    stage: Stage, name: str, status: str = "APPROVED", body: str = "Hello {{1}}", category: str = "UTILITY"
) -> None:
    parts = [{"type": "BODY", "text": body, "example": {"body_text": [["Ana"]]}}]
    template = Template(name, "en_US", category, parts, status=status, network_id=name)
    await put_template(stage.db, stage.ref, stage.channel_id, template, stage.clock.now(), stage.clock.now())


async def test_an_authentication_template_needs_a_number(stage: Stage) -> None:
    await add_template(stage, "code", category="AUTHENTICATION")
    await receive(stage, message_from(stage, Person(user_id="BR.7")), message_from(stage, Person(PHONE)))
    use: Any = {
        "type": "template",
        "template": {"name": "code", "language": "en_US", "variables": ["1"]},
        "phone": None,
    }
    assert await send(stage, **use, contact=await contact_of(stage, PHONE)) == "accepted"
    assert await send(stage, **use, contact=await contact_of(stage, "user:BR.7")) == "invalid_field"


async def test_a_template_must_be_there_be_approved_and_fit(stage: Stage) -> None:
    await add_template(stage, "hello")
    await add_template(stage, "young", "PENDING")

    def use(name: str, variables: Any, language: str = "en_US") -> dict[str, Any]:
        return {"type": "template", "template": {"name": name, "language": language, "variables": variables}}

    assert await send(stage, **use("hello", ["Ana"])) == "accepted"
    assert await send(stage, **use("hello", ["Ana"], "pt_BR")) == "template_not_approved"
    assert await send(stage, **use("nobody", ["Ana"])) == "template_not_approved"
    assert await send(stage, **use("young", ["Ana"])) == "template_not_approved"
    assert await send(stage, **use("hello", [])) == "template_variables_mismatch"
    assert await send(stage, **use("hello", ["Ana", "Bob"])) == "template_variables_mismatch"
    other = await make_stage(stage.db)
    assert await send(other, **use("hello", ["Ana"])) == "template_not_approved"
    assert (await used(stage), await used(other)) == (1, 0)


# -- files and targets ------------------------------------------------------------------------------------------------


async def add_file(stage: Stage, mime_type: str = "image/png", state: str = "ready", size: int = 100) -> str:
    media_id = ids.new_id(stage.clock.now())
    async with stage.db.connection() as conn:
        await conn.execute(
            "INSERT INTO media (channel_id, id, state, mime_type, size, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
            stage.channel_id,
            media_id,
            state,
            mime_type,
            size,
            stage.clock.now(),
        )
    return ids.format_id("med", media_id)


async def test_a_file_must_be_here_be_whole_and_fit(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(PHONE)))
    other = await make_stage(stage.db)

    async def image(media_id: str) -> str:
        return await send(stage, type="image", media={"id": media_id})

    most = 5 * 1024 * 1024
    assert await image(await add_file(stage)) == "accepted"
    assert await image(await add_file(stage, size=most)) == "accepted"
    assert await image(await add_file(stage, size=most + 1)) == "media_too_large"
    assert await image(await add_file(other)) == "invalid_field"
    assert await image("med_" + "0" * 32) == "invalid_field"
    assert await image(await add_file(stage, state="waiting")) == "invalid_field"
    assert await image(await add_file(stage, state="failed")) == "invalid_field"
    assert await image(await add_file(stage, "video/mp4")) == "unsupported_media_type"
    header = {"type": "image", "media": {"id": await add_file(stage, "video/mp4")}}
    buttons = [{"id": "a", "title": "A"}]
    assert await send(stage, type="buttons", body="x", buttons=buttons, header=header) == "unsupported_media_type"
    assert await used(stage) == 2


async def test_a_reaction_and_a_reply_need_a_message_of_this_channel(stage: Stage) -> None:
    other = await make_stage(stage.db)
    mine, theirs = await stage.accept(PHONE), await other.accept(PHONE)
    await receive(stage, message_from(stage, Person(PHONE)))

    async def react(id_: UUID) -> str:
        return await send(stage, type="reaction", reaction={"message_id": ids.message_id(id_), "emoji": "👍"})

    assert await react(mine) == "accepted"
    assert await react(theirs) == "invalid_field"
    assert await send(stage, body="Hi", reply_to=ids.message_id(mine)) == "accepted"
    assert await send(stage, body="Hi", reply_to=ids.message_id(theirs)) == "invalid_field"
    (reaction,) = await stage.rows("messages", "AND type = 'reaction'")
    assert reaction["target_id"] == mine


async def test_a_reaction_and_a_reply_need_a_message_of_the_same_conversation(stage: Stage) -> None:
    ana, bea = Person(PHONE, user_id="US.1"), Person("5511999990000")
    await receive(stage, message_from(stage, ana), message_from(stage, bea))
    told = ids.message_id(await stage.accept(PHONE, "Your code is 4711"))
    reaction = {"message_id": told, "emoji": "👍"}
    for stranger in (bea.phone, "5511999990009"):
        assert await send(stage, phone=stranger, body="Hi", reply_to=told) == "invalid_field"
        assert await send(stage, phone=stranger, type="reaction", reaction=reaction) == "invalid_field"
    rows = await stage.rows("contacts")
    contacts = {row["phone"]: ids.format_id("ct", row["id"]) for row in rows}
    assert await send(stage, phone=None, contact=contacts[bea.phone], body="Hi", reply_to=told) == "invalid_field"
    assert await send(stage, phone=None, contact=contacts[PHONE], body="Hi", reply_to=told) == "accepted"


# -- the plan ---------------------------------------------------------------------------------------------------------


def limited(stage: Stage, most: int) -> Acceptor:
    plans = {"unlimited": Plan("Small", messages_per_month=most)}
    return Acceptor(stage.db, stage.clock, plans, 10_000, check_no_link)


GOOD: dict[str, Any] = {"body": "Hi"}
BAD: dict[str, dict[str, Any]] = {
    "window_closed": {"body": "Hi", "phone": "5511999990000"},
    "invalid_field": {"body": "Hi", "reply_to": "0" * 32},
    "template_not_approved": {"type": "template", "template": {"name": "none", "language": "en_US"}},
}


@pytest.mark.parametrize("most", [1000, 12, 11, 1, 0])
async def test_good_and_bad_in_one_batch_each_have_their_own_result_and_the_bad_use_nothing(
    stage: Stage, most: int
) -> None:
    await receive(stage, message_from(stage, Person(PHONE)))
    acceptor = limited(stage, most)
    wanted = [code for _ in range(12) for code in ("accepted", *BAD)]
    outcomes = await asyncio.gather(*(send(stage, acceptor, **(BAD.get(code) or GOOD)) for code in wanted))
    accepted = min(12, most)
    assert [got for got, code in zip(outcomes, wanted, strict=True) if code != "accepted"] == list(BAD) * 12
    good = [got for got, code in zip(outcomes, wanted, strict=True) if code == "accepted"]
    assert sorted(good) == ["accepted"] * accepted + ["plan_quota_exceeded"] * (12 - accepted)
    assert await used(stage) == accepted
    assert len(await stage.rows("messages", "AND NOT incoming")) == accepted


async def test_the_count_is_exact_with_two_acceptors_replays_and_refusals_at_once(stage: Stage) -> None:
    """Two processes' worth of acceptors share one account and one month."""
    await receive(stage, message_from(stage, Person(PHONE)))
    one, two = limited(stage, 50), limited(stage, 50)
    sends = []
    for n in range(60):
        sends += [
            send(stage, (one, two)[n % 2], **GOOD),
            send(stage, (two, one)[n % 2], **BAD["window_closed"]),
            send(stage, (one, two)[n % 2], key=f"key-{n % 5}", body="Same"),
        ]
    outcomes = await asyncio.gather(*sends)
    rows = await stage.rows("messages", "AND NOT incoming")
    assert (len(rows), await used(stage)) == (50, 50)
    assert outcomes.count("window_closed") == 60
    assert set(outcomes) <= {"accepted", "window_closed", "plan_quota_exceeded", "idempotency_in_progress"}


async def test_a_refusal_is_not_remembered_under_its_key(stage: Stage) -> None:
    assert await send(stage, key="k", body="Hi") == "window_closed"
    await receive(stage, message_from(stage, Person(PHONE)))
    assert await send(stage, key="k", body="Hi") == "accepted"
    request, named = SendRequest(PHONE, "Hi"), idempotency_key("k", repr({"body": "Hi"}).encode(), ROUTE)
    stage.clock.advance(2 * DAY)
    replayed = await stage.acceptor.accept(windowed(stage), request, named)
    assert isinstance(replayed, AcceptResult)
    assert replayed.replayed
    assert await used(stage) == 1


async def test_a_new_month_counts_from_zero(stage: Stage) -> None:
    acceptor = limited(stage, 1)
    await receive(stage, message_from(stage, Person(PHONE)))
    assert [await send(stage, acceptor, **GOOD) for _ in range(2)] == ["accepted", "plan_quota_exceeded"]
    end = datetime(2026, 12, 1, tzinfo=stage.clock.now().tzinfo)
    stage.clock.advance((end - stage.clock.now()).total_seconds())
    await receive(stage, message_from(stage, Person(PHONE)))
    assert [await send(stage, acceptor, **GOOD) for _ in range(2)] == ["accepted", "plan_quota_exceeded"]
