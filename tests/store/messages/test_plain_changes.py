"""Plain messages while contacts and endpoints change: the next message, and one that waits, are of what is true now."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.endpoint import DeliveryOptions
from gatepost.model.person import Person
from gatepost.model.send_request import SendRequest
from gatepost.outbound.accept import Acceptor
from gatepost.store.channel_head import ChannelTransaction, channel_transaction
from gatepost.store.contacts.changes import ContactFields, change_contact, delete_contact, merge_contacts
from gatepost.store.contacts.identify import ContactResolver
from gatepost.store.endpoints import insert_endpoint
from gatepost.store.pool import Database
from tests.inbound.incoming_messages import contact_of, message_from, receive
from tests.outbound.stage import PLANS, Stage, check_no_link
from tests.patience import PATIENCE
from tests.store.messages.test_accept_plain import ANA, BOB, accept_one, know, new_id, row_of, submission
from tests.store.test_people_at_once import blocked

Change = Callable[[Stage], Awaitable[None]]


async def rename(stage: Stage) -> None:
    contact = await contact_of(stage, ANA)
    await change_contact(
        stage.db, stage.ref, stage.channel_id, contact["id"], ContactFields(name="Ana B"), stage.clock.now()
    )


async def rename_on_the_network(stage: Stage) -> None:
    await receive(stage, message_from(stage, Person(ANA, name="Ana N")))


async def delete(stage: Stage) -> None:
    contact = await contact_of(stage, ANA)
    assert await delete_contact(stage.db, stage.ref, stage.channel_id, contact["id"], stage.clock.now())


async def merge(stage: Stage) -> None:
    stays, goes = (await contact_of(stage, BOB))["id"], (await contact_of(stage, ANA))["id"]
    assert await merge_contacts(stage.db, stage.ref, stage.channel_id, stays, goes, stage.clock.now())


async def renumber(stage: Stage) -> None:
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as transaction:
        await ContactResolver(transaction).renumber(ANA, Person("5511999996666"), stage.clock.now())


@pytest.fixture
async def second(stage: Stage, common_url: str) -> AsyncIterator[Acceptor]:
    """Yield the acceptor of another process."""
    db = await Database.connect(common_url, connections=4)
    yield Acceptor(db, stage.clock, PLANS, 1000, check_no_link)
    await db.close()


@pytest.mark.parametrize("change", [rename, rename_on_the_network, delete, merge, renumber], ids=lambda c: c.__name__)
async def test_the_next_message_is_to_the_person_as_they_are_now(
    stage: Stage, second: Acceptor, change: Change
) -> None:
    await know(stage, ANA, BOB)
    both = (stage.acceptor, second)
    for one in (*both, *both):
        await one.accept(stage.caller, SendRequest(ANA, "before"))
    await change(stage)
    sent = [new_id(await one.accept(stage.caller, SendRequest(ANA, "after"))) for one in both]
    contact = await contact_of(stage, BOB if change is merge else ANA)
    for id_ in sent:
        assert (await row_of(stage, "messages", id_))["contact_id"] == contact["id"]
        body = msgspec.json.decode((await row_of(stage, "events", id_))["body"])
        assert body["data"]["contact"]["name"] == (contact["given_name"] or contact["name"])
    assert {row["contact_id"] for row in await stage.rows("messages")} <= {
        row["id"] for row in await stage.rows("contacts")
    } | ({(await stage.rows("messages"))[0]["contact_id"]} if change is delete else set())


async def add_endpoint(stage: Stage, events: Sequence[str] = ("message_notification",)) -> UUID:
    now = stage.clock.now()
    endpoint = await insert_endpoint(
        stage.db,
        stage.channel_id,
        ids.new_id(now),
        url="http://127.0.0.1:9/",
        events=list(events),
        headers={},
        secret=b"",
        options=DeliveryOptions(),
        limit=10,
        now=now,
    )
    assert endpoint is not None
    return endpoint.id


async def test_each_endpoint_that_wants_it_gets_a_delivery(stage: Stage) -> None:
    await know(stage, ANA)
    endpoints = {await add_endpoint(stage) for _ in range(2)}
    async with stage.db.connection() as conn:
        (off,) = [await add_endpoint(stage)]
        await conn.execute("UPDATE endpoints SET state = 'disabled' WHERE id = $1", off)
    id_ = await accept_one(stage, submission(stage))
    assert id_ is not None
    event = await row_of(stage, "events", id_)
    assert {row["endpoint_id"] for row in await stage.rows("deliveries") if row["event_id"] == event["id"]} == endpoints


async def test_an_endpoint_that_is_added_while_a_batch_waits_gets_its_delivery(stage: Stage) -> None:
    """The statement has read the endpoints when it waits for the head."""
    await know(stage, ANA)
    await stage.accept(ANA)
    async with stage.db.transaction() as conn:
        await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR NO KEY UPDATE", stage.channel_id)
        adding = asyncio.create_task(add_endpoint(stage))
        await blocked(stage)
        sending = asyncio.create_task(stage.accept(ANA))
        await two_blocked(stage)
    endpoint, id_ = await adding, await sending
    event = await row_of(stage, "events", id_)
    assert [row["endpoint_id"] for row in await stage.rows("deliveries") if row["event_id"] == event["id"]] == [
        endpoint
    ]


async def two_blocked(stage: Stage) -> None:
    async with asyncio.timeout(PATIENCE), stage.db.connection() as conn:
        while (
            await conn.fetchval(
                """SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'"""
            )
            < 2
        ):
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("how", ["merged", "deleted"])
async def test_a_contact_that_goes_while_a_batch_waits_gets_no_message(stage: Stage, how: str) -> None:
    await know(stage, ANA, BOB)
    await stage.accept(ANA)
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as transaction:
        sending = asyncio.create_task(stage.accept(ANA))
        await blocked(stage)
        await gone(transaction, how)
    id_ = await sending
    assert (await row_of(stage, "messages", id_))["contact_id"] in {row["id"] for row in await stage.rows("contacts")}


async def gone(transaction: ChannelTransaction, how: str) -> None:
    if how == "merged":
        await ContactResolver(transaction).same((BOB, ANA))
        return
    conn, channel_id = transaction.conn, transaction.channel_id
    await conn.execute("DELETE FROM contacts WHERE channel_id = $1 AND phone = $2", channel_id, ANA)
    await conn.execute("UPDATE channel_heads SET joined = joined + 1 WHERE channel_id = $1", channel_id)


@pytest.mark.parametrize("table", ["channel_heads", "conversations"])
async def test_a_row_that_changes_while_the_statement_waits_for_it_is_followed(stage: Stage, table: str) -> None:
    """It was read as of before, and is written as it is now."""
    changes = {"channel_heads": "slice_left = slice_left - 5", "conversations": "unread = unread + 5"}
    column = changes[table].split()[0]
    await know(stage, ANA, BOB)
    before = (await stage.rows(table, "ORDER BY 1, 2"))[0][column]
    async with stage.db.transaction() as conn:
        await conn.execute(f"UPDATE {table} SET {changes[table]} WHERE channel_id = $1", stage.channel_id)
        accepting = asyncio.create_task(accept_one(stage, submission(stage)))
        await blocked(stage)
    assert await accepting is not None
    after = (await stage.rows(table, "ORDER BY 1, 2"))[0][column]
    assert after - before == (-6 if table == "channel_heads" else 5)
