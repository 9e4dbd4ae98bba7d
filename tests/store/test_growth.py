"""A plan outlives the empty table it was made for: what is planned on the first message must fit the ten-thousandth."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from gatepost.model import ids
from gatepost.model.delivery import DeliveryState
from gatepost.store.deliveries.record import AttemptRecord, record_attempts
from gatepost.store.events import read_feed_page
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store import many_contacts
from tests.store.delivery_rows import pending_of
from tests.store.many_contacts import fill_people
from tests.store.many_files import fill_files, live_files
from tests.store.query_plans import fill
from tests.store.test_plans import ENDPOINT, add_endpoint

GROWN = 10_000


@pytest.fixture
async def narrow(database_url: str) -> AsyncIterator[Database]:
    """A database behind one connection, so that every plan is made once, on the first message."""
    db = await Database.connect(database_url, connections=1)
    await make_partitions(db, NOW, 7)
    yield db
    await db.close()


async def live(stage: Stage, phones: list[str]) -> None:
    """The whole life of some messages, and all that is done with people."""
    sent = await stage.accept_many(phones)
    await stage.settle()
    for word in ("delivered", "read"):
        for id_ in sent:
            await stage.report(id_, word)
    await stage.receive_text(phones[0])
    due = await pending_of(stage.db, stage.channel_id, ENDPOINT, ids.floor_id(NOW), 100)
    attempts = [
        AttemptRecord(
            ENDPOINT, d.event_id, 1, NOW, 1.0, 200, None, "http://x", "{}", None, None, DeliveryState.DELIVERED, None
        )
        for d in due
    ]
    await record_attempts(stage.db, stage.lease, attempts, NOW)
    await read_feed_page(stage.db, stage.channel_id, due[0].event_id, None, 20)
    await live_files(stage, stage.lease, sent[0], [ids.new_id(NOW) for _ in range(3)])
    await live_with_people(stage, phones[0][-3:])


async def live_with_people(stage: Stage, mark: str) -> None:
    await many_contacts.receive_from_contacts(stage, mark)
    await many_contacts.merge_contacts(stage, mark)
    await many_contacts.amend_messages(stage)
    await many_contacts.accept_checked(stage)
    await many_contacts.send_to_two_number_forms(stage, mark)
    await many_contacts.update_number(stage, mark)


async def entries_read(db: Database) -> int:
    """How many index entries all statements have read so far."""
    async with db.connection() as conn:
        await conn.execute("SELECT pg_stat_force_next_flush()")
        await conn.execute("SELECT 1")
        return int(await conn.fetchval("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes"))


async def test_work_does_not_grow_with_the_channel(narrow: Database, database_url: str) -> None:
    stage = await make_stage(narrow)
    await add_endpoint(database_url, stage.channel_id)
    await stage.take_over()
    await live(stage, ["5511999998881", "5511999998882"])
    small = await entries_read(narrow)
    await live(stage, [f"551199999{n}" for n in range(7000, 7010)])
    usual = await entries_read(narrow) - small
    await grow(database_url, stage.channel_id)
    before = await entries_read(narrow)
    await live(stage, [f"551199999{n}" for n in range(8000, 8010)])
    grown = await entries_read(narrow) - before
    assert grown < usual + 500


async def grow(url: str, channel_id: UUID) -> None:
    """Ten thousand people, conversations, messages, events, deliveries and files more, and no statistics of them."""
    await fill(url, channel_id, ENDPOINT, count=GROWN, start=NOW.replace(hour=0), end=NOW, salt="grown")
    await fill_files(url, channel_id, count=GROWN, now=NOW)
    await fill_people(url, channel_id, count=GROWN, now=NOW, prefix="4410")
