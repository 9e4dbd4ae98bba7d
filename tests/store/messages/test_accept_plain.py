"""Plain messages, accepted by one statement: the same rows and events as by the general path, and the same refusals."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from gatepost.model.errors import Conflict, Invalid
from gatepost.model.event import NewEvent, render
from gatepost.model.event.messages import MessageCreated
from gatepost.model.person import Person
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import ROUTE, Acceptor
from gatepost.outbound.send_answer import send_answer
from gatepost.store.contacts.changes import ContactFields, change_contact
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult, accept_messages
from gatepost.store.messages.accept_alike import AlikeAcceptor
from gatepost.store.messages.accept_plain import NotPlain, accept_plain, is_plain
from gatepost.store.messages.submission import Submission
from gatepost.store.pool import Database
from gatepost.store.quota import used_in_month
from tests.inbound.incoming_messages import contact_of, message_from, receive
from tests.movable_clock import MovableClock
from tests.outbound.stage import Stage, make_stage
from tests.patience import PATIENCE
from tests.store.test_quota import MONTH, acceptor, more_channels

ANA, BOB = "5511999998888", "5511999997777"
HOSTILE = [
    "",
    "Ana",
    'a"b\\c',
    "\x01\x1e\x1f\x7f\n\r\t\b\f",
    "100 % %s %1$s %%",
    "João 👍🏽 \u2028 \ufeff",
    "{}",
    "null",
    "'",
]


def submission(stage: Stage, phone: str = ANA, *, sent_by: str | None = "key|key_1|Shop", **fields: Any) -> Submission:
    request = SendRequest(**{"phone": phone, "body": "Hi"} | fields)
    checked = stage.acceptor._check(stage.caller, request, None, stage.clock.now())
    return with_sender(checked, sent_by=sent_by)


def with_sender(one: Submission, **changes: Any) -> Submission:
    return msgspec.structs.replace(one, sender=msgspec.structs.replace(one.sender, **changes))


async def know(stage: Stage, *phones: str, name: str | None = None) -> None:
    """Make the channel know people, and give it a quota slice."""
    await receive(stage, *(message_from(stage, Person(phone, name=name)) for phone in phones))
    await accept_messages(stage.db, stage.channel_id, [submission(stage, phones[0])], stage.clock.now())


async def accept_one(stage: Stage, one: Submission) -> UUID | None:
    """Accept one message by the statement. Return its id; None if it is left out."""
    (outcome,) = (await accept_plain(stage.db, {stage.channel_id: [one]}, stage.clock.now(), wait=True))[
        stage.channel_id
    ]
    return new_id(outcome) if isinstance(outcome, AcceptResult) else None


def new_id(outcome: AcceptResult) -> UUID:
    return UUID(hex=msgspec.json.decode(outcome.answer)["data"]["key"]["id"])


async def row_of(stage: Stage, table: str, key: UUID) -> dict[str, Any]:
    column = "message_id" if table == "events" else "id"
    (row,) = [row for row in await stage.rows(table) if row[column] == key]
    return dict(row.items())


# -- the same as the general path --------------------------------------------------------------------------------------


TYPES: list[dict[str, Any]] = [
    {"body": "Hello 100 % \x1e\x1f \u2028 👍", "preview_url": True, "on_unknown": "fail", "ttl": 60},
    {"type": "text", "priority": "bulk"},
    {"type": "location", "body": None, "location": {"latitude": 1.5, "longitude": -2, "name": 'A "b"'}},
    {"type": "buttons", "buttons": [{"id": "a", "title": "A %s"}]},
    {"type": "image", "body": None, "media": {"link": "https://example.org/a%20b.png"}},
]


@pytest.mark.parametrize("fields", TYPES, ids=lambda fields: str(fields.get("type", "text")))
async def test_rows_are_those_of_the_general_path(stage: Stage, fields: dict[str, Any]) -> None:
    await know(stage, ANA, name="Ana")
    one = submission(stage, **fields, client_ref="order 7")
    assert is_plain(one)
    (general,) = await accept_messages(stage.db, stage.channel_id, [one], stage.clock.now())
    assert isinstance(general, AcceptResult)
    plain_id = await accept_one(stage, one)
    assert plain_id is not None
    rows = [await row_of(stage, "messages", id_) for id_ in (new_id(general), plain_id)]
    assert [row.pop("id") for row in rows] == [new_id(general), plain_id]
    assert all(len(row.pop("event_ids")) == 1 for row in rows)
    assert rows[0] == rows[1]
    newest = max(row["id"] for row in await stage.rows("messages"))  # among them one of the person's
    assert (await stage.rows("conversations"))[0]["last_message_id"] == newest >= plain_id


@pytest.mark.parametrize("kind", ["official", "qr"])
@pytest.mark.parametrize("key", ["k", "!" * 255, "a,b%1$s\\'~"])
async def test_the_answer_under_a_key_is_that_of_the_general_path(stage: Stage, kind: str, key: str) -> None:
    await know(stage, ANA)
    shown = partial(send_answer, kind)
    one = with_sender(submission(stage, body="100 % \x1e 👍"), answer=shown)
    keys = [idempotency_key(key, body, ROUTE) for body in (b"one", b"two")]
    general, plain = (msgspec.structs.replace(one, key=key) for key in keys)
    (first,) = await accept_messages(stage.db, stage.channel_id, [general], stage.clock.now())
    (kept,) = await stage.rows("idempotency_keys")
    assert isinstance(first, AcceptResult)
    assert await accept_one(stage, plain) is None  # the key was used before
    async with stage.db.connection() as conn:
        await conn.execute("DELETE FROM idempotency_keys")
    (second,) = (await accept_plain(stage.db, {stage.channel_id: [plain]}, stage.clock.now()))[stage.channel_id]
    assert isinstance(second, AcceptResult)
    (row,) = await stage.rows("idempotency_keys")
    assert row["answer"] == second.answer
    assert dict(row) | {"answer": None, "body_hash": None} == dict(kept) | {"answer": None, "body_hash": None}
    assert row["body_hash"] == hashlib.sha256(b"two").digest()
    ids_ = [new_id(outcome).hex.upper() for outcome in (first, second)]
    assert first.answer.decode().replace(ids_[0], ids_[1]) == second.answer.decode()


async def test_a_key_is_used_once_however_often_it_comes_at_once(stage: Stage) -> None:
    await know(stage, ANA)
    acceptors = [acceptor(stage, None) for _ in range(2)]
    for one in acceptors:
        one._recent.add(stage.channel_id, ANA)
    keys = [idempotency_key(f"k{n % 3}", b"x", ROUTE) for n in range(30)]
    sends = [acceptors[n % 2].accept(stage.caller, SendRequest(ANA, "Hi"), key) for n, key in enumerate(keys)]
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    accepted = [one for one in outcomes if isinstance(one, AcceptResult)]
    assert {type(one) for one in outcomes} <= {AcceptResult, Conflict}
    assert len({one.answer for one in accepted}) == 3 == sum(not one.replayed for one in accepted)
    assert len(await stage.rows("messages", "AND NOT incoming")) == 1 + 3
    with pytest.raises(Invalid, match="used before with another body"):
        await acceptors[0].accept(stage.caller, SendRequest(ANA, "Hi"), idempotency_key("k0", b"y", ROUTE))


async def test_of_messages_with_the_same_key_the_first_is_written(stage: Stage) -> None:
    await know(stage, ANA)
    keys = [idempotency_key(key, b"x", ROUTE) for key in ("a", None, "b", "a", "b", None)]
    batch = [msgspec.structs.replace(submission(stage), key=key) for key in keys]
    outcomes = (await accept_plain(stage.db, {stage.channel_id: batch}, stage.clock.now()))[stage.channel_id]
    written = [AcceptResult, AcceptResult, AcceptResult, NotPlain, NotPlain, AcceptResult]
    assert [type(one) for one in outcomes] == written


async def test_bulk_messages_to_people_who_opted_out_are_left_out(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    contact = await contact_of(stage, ANA)
    fields = ContactFields(opted_out=True)
    await change_contact(stage.db, stage.ref, stage.channel_id, contact["id"], fields, stage.clock.now())
    batch = [submission(stage, phone, priority="bulk") for phone in (ANA, BOB)] + [submission(stage, ANA)]
    outcomes = (await accept_plain(stage.db, {stage.channel_id: batch}, stage.clock.now()))[stage.channel_id]
    assert [type(one) for one in outcomes] == [NotPlain, AcceptResult, AcceptResult]


async def check_rendering(stage: Stage, accept: Callable[[Stage, Submission], Awaitable[UUID | None]]) -> None:
    """Check that the events of accepted messages are those of the general path, byte by byte."""
    contact = await contact_of(stage, ANA)
    for nth, text in enumerate(HOSTILE):
        if text:
            fields, now = ContactFields(name=text), stage.clock.now()
            await change_contact(stage.db, stage.ref, stage.channel_id, contact["id"], fields, now)
        for client_ref in (None, text.replace("\x1e", "") or None):
            sent_by = None if nth == 0 else f"key|key_1|{text}"
            one = submission(stage, body=text or "Hi", client_ref=client_ref, sent_by=sent_by)
            id_ = await accept(stage, one)
            assert id_ is not None, text
            event = await row_of(stage, "events", id_)
            data = MessageCreated.of(
                id_=id_,
                phone=ANA,
                contact_id=contact["id"],
                name=text or None,
                incoming=False,
                type_="text",
                content=one.message.content,
                timestamp=stage.clock.now(),
                reply_to=None,
                client_ref=client_ref,
                sent_by=sent_by,
            )
            new = NewEvent(event["id"], data, contact["id"], id_)
            assert event["body"] == render(new, event["seq"], stage.ref, stage.clock.now())
            assert (event["type"], event["conversation_id"]) == (data.TYPE, contact["id"])
            assert (await row_of(stage, "messages", id_))["event_ids"] == [event["id"]]


async def test_events_are_rendered_byte_by_byte_as_by_the_general_path(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    await check_rendering(stage, accept_one)


async def test_the_names_of_a_form_do_not_pass_for_values(stage: Stage) -> None:
    """A sender's label may look like a part of the statement's template."""
    await know(stage, ANA)
    for label in ("%1$s", "%", "1970-01-01T00:00:00.000Z", str(uuid4())):
        id_ = await accept_one(stage, submission(stage, sent_by=f"key|key_1|{label}"))
        assert id_ is not None
        body = msgspec.json.decode((await row_of(stage, "events", id_))["body"])
        assert body["data"]["sent_by"]["label"] == label


async def test_ids_and_numbers_go_on_whatever_the_clock_says(stage: Stage) -> None:
    await know(stage, ANA)
    for seconds in (0, 3600, -7200, 0):
        stage.clock.advance(seconds)
        batch = {stage.channel_id: [submission(stage) for _ in range(3)]}
        await accept_plain(stage.db, batch, stage.clock.now())
        await accept_messages(stage.db, stage.channel_id, [submission(stage)], stage.clock.now())
    await check_log(stage, 1 + 4 * 4)


async def check_log(stage: Stage, count: int) -> None:
    """Ids and sequence numbers follow the order of the commits, without a gap."""
    events = await stage.rows("events", "ORDER BY seq")
    assert [row["seq"] for row in events] == list(range(1, len(events) + 1))
    assert [row["id"] for row in events] == sorted(row["id"] for row in events)
    messages = [row["message_id"] for row in events if '"direction":"out"' in row["body"]]
    assert messages == sorted(messages)
    (head,) = await stage.rows("channel_heads")
    assert len(messages) == count
    assert (head["seq"], head["last_event_id"], head["last_message_id"]) == (
        len(events),
        events[-1]["id"],
        messages[-1],
    )


# -- what is left out --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"reply_to": "A" * 32},
        {"send_at": timedelta(hours=1)},
        {"client_ref": "a\x1eb"},
        {"type": "image", "body": None, "media": {"id": "med_" + "0" * 32}},
        {"type": "reaction", "body": None, "reaction": {"message_id": "A" * 32, "emoji": "👍"}},
        {"type": "template", "body": None, "template": {"name": "a", "language": "en_US"}},
    ],
    ids=lambda fields: str(*fields.keys() - {"type", "body"}),
)
def test_what_needs_other_rows_is_not_plain(stage: Stage, fields: dict[str, Any]) -> None:
    if "send_at" in fields:
        fields = {"send_at": stage.clock.now() + fields["send_at"]}
    assert not is_plain(submission(stage, **fields))


async def test_strangers_and_closed_windows_are_left_out_and_the_others_are_written(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    stage.clock.advance(86_400)
    await receive(stage, message_from(stage, Person(BOB)))
    windowed = [msgspec.structs.replace(submission(stage, phone), window=True) for phone in (ANA, BOB)]
    batch = [submission(stage, "5511900000000"), *windowed, submission(stage, ANA)]
    outcomes = (await accept_plain(stage.db, {stage.channel_id: batch}, stage.clock.now(), wait=True))[stage.channel_id]
    assert [type(one) for one in outcomes] == [NotPlain, NotPlain, AcceptResult, AcceptResult]
    written = [new_id(one) for one in outcomes if isinstance(one, AcceptResult)]
    assert [(await row_of(stage, "messages", id_))["phone"] for id_ in written] == [BOB, ANA]
    await check_log(stage, 3)
    assert await used_in_month(stage.db, stage.caller.account_id, MONTH) == 3


@pytest.mark.parametrize(("age", "written"), [(86_399, True), (86_400, False)])
async def test_the_window_closes_to_the_second(stage: Stage, age: int, written: bool) -> None:
    await receive(stage, message_from(stage, Person(ANA), age=age))
    await accept_messages(stage.db, stage.channel_id, [submission(stage)], stage.clock.now())
    one = msgspec.structs.replace(submission(stage), window=True)
    assert (await accept_one(stage, one) is not None) == written


async def test_a_batch_of_strangers_writes_nothing(stage: Stage) -> None:
    await know(stage, ANA)
    before = [await stage.rows(table) for table in ("messages", "events", "channel_heads")]
    assert await accept_one(stage, submission(stage, "5511900000000")) is None
    assert [await stage.rows(table) for table in ("messages", "events", "channel_heads")] == before


async def test_a_slice_that_is_used_up_is_refilled_and_the_last_messages_of_a_plan_are_left_to_the_exact_count(
    stage: Stage,
) -> None:
    await know(stage, ANA)
    limited = with_sender(submission(stage), monthly_limit=200)
    batch = {stage.channel_id: [limited] * 30}
    written = 0
    while isinstance((await accept_plain(stage.db, batch, stage.clock.now()))[stage.channel_id][0], AcceptResult):
        written += 30
        assert await used_in_month(stage.db, stage.caller.account_id, MONTH) == 1 + written
    assert 90 <= written <= 199


async def test_of_several_channels_one_that_is_locked_is_missing(stage: Stage) -> None:
    other = await make_stage(stage.db)
    for one in (stage, other):
        await know(one, ANA)
    batches = {one.channel_id: [submission(one)] * 2 for one in (stage, other)}
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", other.channel_id)
        assert list(await accept_plain(stage.db, batches, stage.clock.now())) == [stage.channel_id]
    assert set(await accept_plain(stage.db, batches, stage.clock.now())) == set(batches)
    await check_log(stage, 5)
    await check_log(other, 3)


# -- many at once ------------------------------------------------------------------------------------------------------


async def test_two_processes_on_one_channel_keep_one_order_and_the_exact_quota(stage: Stage, common_url: str) -> None:
    """The clock of one of them is late."""
    await know(stage, ANA, BOB)
    late = MovableClock(stage.clock.now() - timedelta(seconds=2))
    db = await Database.connect(common_url, connections=4)
    one, two = acceptor(stage, 150), acceptor(stage, 150)
    two._db, two._clock, two._alike = db, late, AlikeAcceptor(db, late)
    outcomes: list[str] = []

    async def send(who: Acceptor, phone: str) -> None:
        for _ in range(10):
            try:
                await who.accept(stage.caller, SendRequest(phone, "Hi"))
                outcomes.append("accepted")
            except Exception as error:
                outcomes.append(getattr(error, "code", repr(error)))

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(send(who, phone) for who in (one, two) for phone in (ANA, BOB) * 5))
    await db.close()
    assert (outcomes.count("accepted"), outcomes.count("plan_quota_exceeded")) == (149, 51)
    await check_log(stage, 150)
    assert await used_in_month(stage.db, stage.caller.account_id, MONTH) == 150


async def test_many_channels_share_commits_and_each_keeps_its_order(stage: Stage) -> None:
    callers = await more_channels(stage, 12)
    for turn in range(3):
        sends = [stage.acceptor.accept(caller, SendRequest(ANA, f"{turn}")) for caller in callers for _ in range(4)]
        await asyncio.gather(*sends)
    async with stage.db.connection() as conn:
        rows = await conn.fetch(
            """SELECT channel_id, count(*), count(DISTINCT xmin::text) AS commits FROM messages
               WHERE channel_id = ANY ($1) GROUP BY channel_id""",
            [caller.channel_id for caller in callers],
        )
        commits = await conn.fetchval(
            "SELECT count(DISTINCT xmin::text) FROM messages WHERE channel_id = ANY ($1)",
            [caller.channel_id for caller in callers],
        )
    assert [row["count"] for row in rows] == [12] * 12
    assert commits < sum(row["commits"] for row in rows)
    await check_log(stage, 12)


async def test_a_campaign_to_contacts_is_plain_after_its_first_message(stage: Stage) -> None:
    for one in (stage.acceptor, acceptor(stage, None)):  # the second one has not seen any recipient
        for place in range(5):
            await one.accept(stage.caller, SendRequest(f"551190000000{place}", "Hi"))
        plain = [one._recent.include(stage.channel_id, [f"551190000000{place}"]) for place in range(5, 9)]
        assert plain == [one is not stage.acceptor] * 4
