"""Messages that are alike: the whole batch is written, as by the general path, or nothing."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
import pytest

from gatepost.model.person import Person
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import ROUTE
from gatepost.store.channel_head import renew_reads
from gatepost.store.contacts.changes import ContactFields, change_contact
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult, accept_messages
from gatepost.store.messages.accept_alike import AlikeAcceptor, are_alike
from gatepost.store.messages.submission import Submission
from gatepost.store.quota import used_in_month
from tests.for_each import for_each
from tests.inbound.incoming_messages import contact_of, message_from, receive
from tests.outbound.stage import Stage
from tests.patience import PATIENCE
from tests.store.messages.test_accept_plain import (
    ANA,
    BOB,
    TYPES,
    check_log,
    check_rendering,
    know,
    new_id,
    row_of,
    submission,
    with_sender,
)
from tests.store.messages.test_plain_changes import add_endpoint
from tests.store.test_people_at_once import blocked
from tests.store.test_quota import MONTH

TABLES = ("messages", "events", "deliveries", "conversations", "contacts", "channel_heads", "idempotency_keys")
ROOM = "UPDATE channel_heads SET slice_left = $2 WHERE channel_id = $1"


def batch_of(*submissions: Submission) -> list[Submission]:
    """Give messages the same sender."""
    return [msgspec.structs.replace(one, sender=submissions[0].sender) for one in submissions]


async def accept(
    stage: Stage, *submissions: Submission, alike: AlikeAcceptor | None = None
) -> list[AcceptResult] | None:
    """Try to accept messages, in a later millisecond than that of the last ids."""
    stage.clock.advance(0.001)
    alike = alike or AlikeAcceptor(stage.db, stage.clock)
    return await alike.accept(stage.channel_id, batch_of(*submissions))


async def accept_one(stage: Stage, one: Submission) -> UUID:
    accepted = await accept(stage, one)
    assert accepted is not None
    return new_id(accepted[0])


@asynccontextmanager
async def nothing_written(stage: Stage) -> AsyncIterator[None]:
    before = [await stage.rows(table) for table in TABLES]
    yield
    assert [await stage.rows(table) for table in TABLES] == before


def keyed(one: Submission, key: str, body: bytes = b"x") -> Submission:
    return msgspec.structs.replace(one, key=idempotency_key(key, body, ROUTE))


def windowed(one: Submission) -> Submission:
    return msgspec.structs.replace(one, window=True)


# -- the same as the general path --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", TYPES, ids=lambda fields: str(fields.get("type", "text")))
@pytest.mark.parametrize("client_ref", [None, "order 7"])
async def test_rows_are_those_of_the_general_path(stage: Stage, fields: dict[str, Any], client_ref: str | None) -> None:
    await know(stage, ANA, name="Ana")
    one = windowed(submission(stage, **fields, client_ref=client_ref))
    alike_id = await accept_one(stage, one)
    (general,) = await accept_messages(stage.db, stage.channel_id, [one], stage.clock.now())
    assert isinstance(general, AcceptResult)
    rows = [await row_of(stage, "messages", id_) for id_ in (new_id(general), alike_id)]
    assert [row.pop("id") for row in rows] == [new_id(general), alike_id]
    events = [await row_of(stage, "events", row_id) for row_id in (new_id(general), alike_id)]
    assert [row.pop("event_ids") for row in rows] == [[event["id"]] for event in events]
    assert rows[0] == rows[1]
    newest = max(row["id"] for row in await stage.rows("messages"))  # among them one of the person's
    assert (await stage.rows("conversations"))[0]["last_message_id"] == newest >= new_id(general)
    await check_log(stage, 3)


@pytest.mark.parametrize("key", ["k", "!" * 255, "a,b%1$s\\'~"])
async def test_the_answer_under_a_key_is_that_of_the_general_path(stage: Stage, key: str) -> None:
    await know(stage, ANA)
    one = submission(stage, body="100 % \x1e 👍")
    accepted = await accept(stage, keyed(one, key, b"two"))
    assert accepted is not None
    (row,) = await stage.rows("idempotency_keys")
    (general,) = await accept_messages(stage.db, stage.channel_id, [keyed(one, "general")], stage.clock.now())
    (kept,) = await stage.rows("idempotency_keys", "AND key = 'general'")
    assert (row["key"], row["answer"]) == (key, accepted[0].answer)
    assert row["body_hash"] == hashlib.sha256(b"two").digest()
    own: dict[str, Any] = {"key": "", "answer": b"", "body_hash": b""}
    assert dict(row) | own == dict(kept) | own
    assert isinstance(general, AcceptResult)
    ids_ = [new_id(outcome).hex.upper() for outcome in (general, accepted[0])]
    assert general.answer.decode().replace(ids_[0], ids_[1]) == accepted[0].answer.decode()


async def test_events_are_rendered_byte_by_byte_as_by_the_general_path(stage: Stage) -> None:
    await know(stage, ANA)
    await check_rendering(stage, accept_one)


async def test_a_batch_is_written_in_its_order_in_one_commit(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    phones = [ANA, BOB, BOB, ANA, BOB] * 20
    refs = [None if nth % 3 else f"ref {nth}" for nth in range(len(phones))]
    batch = [submission(stage, phone, body=str(nth), client_ref=refs[nth]) for nth, phone in enumerate(phones)]
    accepted = await accept(stage, *batch)
    assert accepted is not None
    rows = {row["id"]: row for row in await stage.rows("messages", "AND NOT incoming")}
    written = [rows[new_id(one)] for one in accepted]
    assert [(row["phone"], row["client_ref"]) for row in written] == list(zip(phones, refs, strict=True))
    assert [msgspec.json.decode(row["content"])["body"] for row in written] == [str(nth) for nth in range(100)]
    last = {row["contact_id"]: row["last_message_id"] for row in await stage.rows("conversations")}
    assert last == {row["contact_id"]: row["id"] for row in written}
    async with stage.db.connection() as conn:
        count = "SELECT count(DISTINCT xmin::text) FROM messages WHERE channel_id = $1 AND id = ANY ($2)"
        assert await conn.fetchval(count, stage.channel_id, [row["id"] for row in written]) == 1
    await check_log(stage, 101)
    assert await used_in_month(stage.db, stage.caller.account_id, MONTH) == 101


async def test_a_number_in_its_other_form_is_of_the_same_contact(stage: Stage) -> None:
    await know(stage, ANA)
    id_ = await accept_one(stage, submission(stage, f"{ANA[:4]}{ANA[5:]}"))
    row = await row_of(stage, "messages", id_)
    assert (row["contact_id"], row["phone"]) == ((await contact_of(stage, ANA))["id"], f"{ANA[:4]}{ANA[5:]}")
    await check_log(stage, 2)


async def test_a_message_that_the_network_dates_later_stays_the_newest(stage: Stage) -> None:
    await know(stage, ANA)
    await receive(stage, message_from(stage, Person(ANA), age=-3600))
    newest = max(row["id"] for row in await stage.rows("messages"))
    assert await accept_one(stage, submission(stage)) < newest
    assert (await stage.rows("conversations"))[0]["last_message_id"] == newest


async def test_ids_and_numbers_go_on_whatever_the_clock_says(stage: Stage) -> None:
    await know(stage, ANA)
    alike = AlikeAcceptor(stage.db, stage.clock)
    for seconds in (0, 3600, -7200, -60, 7260):
        stage.clock.advance(seconds)
        assert await accept(stage, *[submission(stage)] * 3, alike=alike) is not None
    await check_log(stage, 1 + 5 * 3)


async def test_each_endpoint_that_wants_them_gets_a_delivery_of_each(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    wanting = {await add_endpoint(stage) for _ in range(2)}
    await add_endpoint(stage, ["ack_notification"])
    off = await add_endpoint(stage)
    await stage.db.execute("UPDATE endpoints SET state = 'disabled' WHERE id = $1", off)
    accepted = await accept(stage, submission(stage), submission(stage, BOB))
    assert accepted is not None
    events = [(await row_of(stage, "events", new_id(one)))["id"] for one in accepted]
    rows = await stage.rows("deliveries")
    assert sorted((row["endpoint_id"], row["event_id"]) for row in rows) == sorted(product(wanting, events))


async def test_the_owner_of_the_channel_is_woken_after_the_commit(stage: Stage) -> None:
    await know(stage, ANA)
    woken: list[tuple[UUID, bool]] = []

    def listen(channel_id: UUID, *, sending: bool, tasks: bool = True) -> None:
        woken.append((channel_id, sending))

    alike = AlikeAcceptor(stage.db.notifying(listen), stage.clock)
    assert await accept(stage, submission(stage, BOB), alike=alike) is None
    assert woken == []
    assert await accept(stage, submission(stage), alike=alike) is not None
    assert woken == [(stage.channel_id, True)]


# -- nothing is written ------------------------------------------------------------------------------------------------


async def test_one_recipient_who_is_no_contact_is_one_too_many(stage: Stage) -> None:
    await know(stage, ANA)
    async with nothing_written(stage):
        assert await accept(stage, submission(stage), submission(stage, BOB), submission(stage)) is None


async def test_a_closed_window_is_in_the_way_to_the_second(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    stage.clock.advance(86_399)
    await receive(stage, message_from(stage, Person(BOB)))
    batch = [windowed(submission(stage, phone)) for phone in (BOB, ANA)]
    assert await accept(stage, *batch) is not None
    stage.clock.advance(1)
    async with nothing_written(stage):
        assert await accept(stage, *batch) is None
    assert await accept(stage, batch[0]) is not None


async def test_marketing_to_somebody_who_opted_out_is_in_the_way(stage: Stage) -> None:
    await know(stage, ANA, BOB)
    contact = await contact_of(stage, ANA)
    fields = ContactFields(opted_out=True)
    await change_contact(stage.db, stage.ref, stage.channel_id, contact["id"], fields, stage.clock.now())
    bulk = [submission(stage, phone, priority="bulk") for phone in (BOB, ANA)]
    async with nothing_written(stage):
        assert await accept(stage, *bulk) is None
    assert await accept(stage, bulk[0]) is not None
    assert await accept(stage, submission(stage)) is not None


async def test_a_key_that_was_used_is_in_the_way(stage: Stage) -> None:
    await know(stage, ANA)
    one = submission(stage)
    assert await accept(stage, keyed(one, "a"), keyed(one, "b")) is not None
    async with nothing_written(stage):
        assert await accept(stage, keyed(one, "c"), keyed(one, "b")) is None
        assert await accept(stage, keyed(one, "b", b"another body")) is None
    assert await accept(stage, keyed(one, "c")) is not None
    elsewhere = msgspec.structs.replace(one, key=idempotency_key("c", b"x", "POST /api/v1/message/send_batch"))
    assert await accept(stage, elsewhere) is not None


@pytest.mark.parametrize(("left", "written"), [(5, True), (4, False), (0, False)])
async def test_the_quota_slice_has_to_suffice(stage: Stage, left: int, written: bool) -> None:
    await know(stage, ANA)
    await stage.db.execute(ROOM, stage.channel_id, left)
    assert (await accept(stage, *[submission(stage)] * 5) is not None) == written
    (head,) = await stage.rows("channel_heads")
    assert head["slice_left"] == (0 if written else left)


async def test_a_slice_of_another_limit_or_month_is_not_used(stage: Stage) -> None:
    await know(stage, ANA)
    async with nothing_written(stage):
        assert await accept(stage, with_sender(submission(stage), monthly_limit=200)) is None
        stage.clock.advance(40 * 86_400)
        assert await accept(stage, submission(stage)) is None


@pytest.mark.parametrize("column", ["last_event_id", "last_message_id"])
async def test_later_ids_are_in_the_way(stage: Stage, column: str) -> None:
    """They come from a process whose clock is ahead."""
    await know(stage, ANA)
    ahead = f"UPDATE channel_heads SET {column} = 'ffffffff-0000-7000-8000-000000000000' WHERE channel_id = $1"
    await stage.db.execute(ahead, stage.channel_id)
    async with nothing_written(stage):
        assert await accept(stage, submission(stage)) is None


async def test_a_head_that_changed_since_the_statement_began_is_in_the_way(stage: Stage) -> None:
    """The statement has read contacts, endpoints and keys before it waits for the head."""
    await know(stage, ANA)
    async with stage.db.transaction() as conn:
        await renew_reads(conn, stage.channel_id)
        accepting = asyncio.create_task(accept(stage, submission(stage)))
        await blocked(stage)
    assert await accepting is None
    await check_log(stage, 1)


async def test_a_head_that_was_only_locked_is_not(stage: Stage) -> None:
    await know(stage, ANA)
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE", stage.channel_id)
        accepting = asyncio.create_task(accept(stage, submission(stage)))
        await blocked(stage)
    assert await accepting is not None
    await check_log(stage, 2)


async def test_an_error_in_one_value_writes_nothing(stage: Stage) -> None:
    await know(stage, ANA)
    wrong = submission(stage)
    wrong = msgspec.structs.replace(wrong, message=msgspec.structs.replace(wrong.message, content="\x00"))
    async with nothing_written(stage):
        with pytest.raises(asyncpg.DataError):
            await accept(stage, submission(stage), wrong)


# -- which messages are alike ------------------------------------------------------------------------------------------


@for_each(
    "fields",
    [
        {"ttl": 60},
        {"priority": "bulk"},
        {"on_unknown": "fail"},
        {"type": "location", "body": None, "location": TYPES[2]["location"]},
    ],
)
async def test_messages_that_differ_in_what_is_passed_once_are_not_alike(stage: Stage, fields: dict[str, Any]) -> None:
    one = submission(stage)
    assert are_alike(batch_of(one, submission(stage, BOB, body="another", client_ref="a")))
    assert not are_alike(batch_of(one, one, submission(stage, **fields)))


async def test_messages_of_other_senders_windows_or_keys_are_not_alike(stage: Stage) -> None:
    one = submission(stage)
    assert are_alike([one])
    assert not are_alike([one, with_sender(one, sent_by="key|key_2|Shop")])
    assert not are_alike([one, windowed(one)])
    assert not are_alike([one, keyed(one, "a")])
    assert not are_alike([keyed(one, "a"), one])
    assert are_alike([keyed(one, "a"), keyed(one, "b")])
    assert not are_alike([keyed(one, "a"), keyed(one, "b"), keyed(one, "a")])
    async with nothing_written(stage):
        assert await accept(stage, one, keyed(one, "a")) is None


# -- attempts ----------------------------------------------------------------------------------------------------------


async def test_after_failures_fewer_attempts_are_made(stage: Stage) -> None:
    await know(stage, ANA)
    alike, stranger, known = AlikeAcceptor(stage.db, stage.clock), submission(stage, BOB), submission(stage)
    for skipped in (0, 1, 3, 7, 15, 31, 63, 63):
        assert await accept(stage, stranger, alike=alike) is None
        for _ in range(skipped):
            assert await accept(stage, known, alike=alike) is None
    assert await accept(stage, known, alike=alike) is not None
    for _ in range(2):  # begins again after a success: one failure skips nothing
        assert await accept(stage, stranger, alike=alike) is None
        assert await accept(stage, known, alike=alike) is not None
    await check_log(stage, 1 + 3)


async def test_channels_are_forgotten_when_there_are_many(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.store.messages.accept_alike._CHANNELS", 3)
    alike = AlikeAcceptor(stage.db, stage.clock)
    for n in range(10):
        assert await alike.accept(UUID(int=n), [submission(stage)]) is None
        assert len(alike._channels) <= 3


async def test_the_acceptor_falls_back_without_an_error(stage: Stage) -> None:
    """Messages that cannot be written together are accepted or refused one by one."""
    await know(stage, ANA, BOB)
    async with asyncio.timeout(PATIENCE):
        for _ in range(4):
            sends = [SendRequest(phone, "Hi") for phone in (ANA, "5511911112222", BOB, "5511933334444")]
            await asyncio.gather(*[stage.acceptor.accept(stage.caller, one) for one in sends])
    await check_log(stage, 1 + 16)
