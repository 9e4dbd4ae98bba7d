"""News of the queues of several channels in one read, and contacts of several channels in one statement."""

import asyncio
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import msgspec
import pytest

from gatepost.grouped_lookup import GroupedLookup
from gatepost.model import ids
from gatepost.store.contacts.rows import KnownContact, MissingContacts, add_missing, find_contacts
from gatepost.store.messages.queue import _NEW_MESSAGES, PAGE, QueueRead, read_new_messages
from gatepost.store.pool import Database
from gatepost.store.statement import statement
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store.query_plans import explained_database

ANA, BOB, CARL = "551199998888", "4915100001", "4915100002"


@pytest.fixture
async def two(db: Database) -> list[Stage]:
    return [await make_stage(db), await make_stage(db)]


async def test_the_updates_of_each_channel_are_its_own(db: Database, two: list[Stage]) -> None:
    one, other = two
    first, second = await one.accept(ANA), await one.accept(BOB)
    foreign = await other.accept(ANA, send_at=NOW + timedelta(days=1))
    reads = [QueueRead(other.channel_id, ids.ZERO), QueueRead(one.channel_id, first), QueueRead(uuid4(), ids.ZERO)]
    news = await read_new_messages(db, reads)
    assert set(news) == set(reads[:2])  # there is no third channel
    assert [message.id for message in news[reads[1]].messages] == [second]
    assert news[reads[0]].messages == []
    assert news[reads[0]].marks.next_scheduled is not None
    loaded = QueueRead(other.channel_id, ids.ZERO, (foreign,))
    assert (await read_new_messages(db, [loaded]))[loaded].marks.next_scheduled is None


@pytest.mark.parametrize("waiting", [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 1])
async def test_all_messages_are_queued_whatever_fits_into_one_read(stage: Stage, waiting: int) -> None:
    found = await stage.accept_many([ANA] * (waiting // 2), priority="bulk")
    found += await stage.accept_many([ANA] * (waiting - len(found)))
    sender = await stage.take_over(connected=False)
    await sender._reader.read()
    assert {message.id for message in sender._queue.messages()} == set(found)
    later = await stage.accept(ANA)
    sender._reader.more = True
    await sender._reader.read()
    assert {message.id for message in sender._queue.messages()} == {*found, later}


async def test_contacts_of_several_channels_are_added_at_once(db: Database, two: list[Stage]) -> None:
    one, other = two
    await one.accept(BOB)
    known: dict[UUID, dict[str, KnownContact]] = {stage.channel_id: {} for stage in two}
    batches = {
        one.channel_id: MissingContacts(known[one.channel_id], [ANA, "5511999998888", BOB], {ANA: "Ana"}),
        other.channel_id: MissingContacts(known[other.channel_id], [CARL]),
    }
    async with db.transaction() as conn:
        made = await add_missing(conn, batches, NOW)
    assert {id_: [c.phone for c in found] for id_, found in made.items()} == {
        one.channel_id: [ANA],
        other.channel_id: [CARL],
    }
    assert known[one.channel_id][ANA] == known[one.channel_id]["5511999998888"]  # both forms of the number
    assert known[one.channel_id][BOB].name is None  # who was there already
    assert known[other.channel_id].keys() == {CARL}
    for stage in two:
        stored = await find_contacts(db, stage.channel_id, set(known[stage.channel_id]))
        assert stored == known[stage.channel_id]
        rows = await stage.rows("conversations")
        assert {row["contact_id"] for row in rows} == {contact.id for contact in stored.values()}


async def test_received_messages_are_not_read_when_there_is_nothing_to_send(common_url: str, stage: Stage) -> None:
    last = await stage.accept(ANA)
    stage.clock.advance(1)
    for _ in range(20):
        await stage.receive_text(BOB)
    read = QueueRead(stage.channel_id, last)
    async with explained_database(common_url) as (db, plans):
        assert (await read_new_messages(db, [read]))[read].messages == []
        assert plans[-1].rows_scanned < 5
        new = await stage.accept(ANA)
        assert [message.id for message in (await read_new_messages(db, [read]))[read].messages] == [new]


async def test_a_row_that_cannot_be_read_holds_up_no_other_channel_and_loses_no_wake_up(
    db: Database, two: list[Stage]
) -> None:
    spoiled, other = two
    lookup = GroupedLookup(partial(read_new_messages, db))
    for stage in two:
        await stage.take_over()
        stage.sender._reader._read_new_messages = lookup.find
        await stage.settle()
    quoted = await spoiled.accept(ANA)
    await spoiled.settle()
    reply, sent = await spoiled.accept(ANA, reply_to=ids.message_id(quoted)), await other.accept(BOB)
    content = (await spoiled.message(quoted)).content
    await write_content(db, spoiled, quoted, "no JSON")
    failed, done = await asyncio.gather(spoiled.sender.step(), other.settle(), return_exceptions=True)
    assert isinstance(failed, msgspec.DecodeError)
    assert not isinstance(done, BaseException)
    assert await other.status(sent) == "SENT"
    assert not spoiled.sender.idle  # the channel is not released with an unsent message
    await write_content(db, spoiled, quoted, content)
    await spoiled.settle()  # no wake-up comes again
    assert await spoiled.status(reply) == "SENT"


async def write_content(db: Database, stage: Stage, message_id: UUID, content: str) -> None:
    await db.execute(
        "UPDATE messages SET content = $3 WHERE channel_id = $1 AND id = $2", stage.channel_id, message_id, content
    )


async def test_scheduled_messages_in_memory_are_found_by_a_hash(db: Database, stage: Stage) -> None:
    """Thousands may be due at once; compared one by one, with five thousand each read took half a minute."""
    some = [stage.channel_id]
    values = {"channel_ids": some, "afters": some, "loaded": some, "first": ids.ZERO, "limit": PAGE}
    async with db.connection() as conn:
        plan = await conn.fetch(*statement("EXPLAIN " + _NEW_MESSAGES, **values))
    assert "hashed SubPlan" in str(plan)
