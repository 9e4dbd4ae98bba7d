"""Conversations in the store: lists by the right index whatever the statistics say, in bounded steps, none missed."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gatepost.model import ids
from gatepost.model.errors import NotFound
from gatepost.networks.base import Person
from gatepost.services.conversations import list_history
from gatepost.store.channel_head import channel_transaction
from gatepost.store.conversations import inbox
from gatepost.store.conversations.changes import change_conversation, mark_read
from gatepost.store.conversations.inbox import (
    EXAMINED,
    RARE,
    SPARE,
    STEPS,
    InboxFilter,
    WrittenBetween,
    count_conversations,
    list_conversations,
)
from gatepost.store.messages.history import HistoryFilter, read_history_page
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.inbound.incoming_messages import ANA, contact_of, data, message_from, receive
from tests.outbound.stage import NOW, Stage
from tests.store.query_plans import Explained
from tests.store.test_service_plans import rows_of

CHANNEL, STRANGER = UUID(int=1), UUID(int=2)
COMMON, SELDOM, LOST = UUID(int=3), UUID(int=4), UUID(int=5)
COUNT, PAGE = 2 * STEPS + 100, 20
IN_A_DAY = NOW + timedelta(days=1)


async def fill_database(url: str) -> None:
    plain = await Database.connect(url, connections=1)
    await make_partitions(plain, NOW, 7)
    await plain.close()
    conn = await asyncpg.connect(url)
    for channel_id in (CHANNEL, STRANGER):
        await fill(conn, channel_id)
    await conn.close()


async def fill(conn: "asyncpg.Connection[asyncpg.Record]", channel_id: UUID) -> None:
    """Of the oldest conversations some are unread, closed or archived; one label is common, one seldom, one is lost."""
    for statement in (
        """INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
           SELECT $1, gen_random_uuid(), (4900000000 + i)::text, $2, $2 FROM generate_series(1, $3::int) i""",
        """INSERT INTO conversations (channel_id, contact_id, created_at, last_message_id, unread, status, archived,
                                      assignee, last_in_at)
           SELECT $1, id, $2, (lpad(to_hex($3::bigint + n), 12, '0') || '70008000000000000000')::uuid,
                  (n <= 50)::int, CASE WHEN n BETWEEN 51 AND 100 THEN 'closed' ELSE 'open' END, n BETWEEN 101 AND 150,
                  CASE WHEN n BETWEEN 151 AND 200 THEN 'ana' END, $2::timestamptz + n * interval '1 ms'
           FROM (SELECT id, phone::bigint - 4900000000 AS n FROM contacts WHERE channel_id = $1) c""",
        """INSERT INTO messages (channel_id, id, contact_id, incoming, bulk, state, phone, type, content, created_at,
                                 event_ids)
           SELECT $1, last_message_id, contact_id, true, false, 10, '49', 'text', '{}', $2, '{}' FROM conversations
           WHERE channel_id = $1 AND $3::bigint > 0""",
    ):
        number = COUNT if "generate_series" in statement else ids.milliseconds(NOW)
        await conn.execute(statement, channel_id, NOW, number)
    for label_id, count, order in ((COMMON, COUNT, "DESC"), (SELDOM, RARE, "DESC"), (LOST, RARE + 1, "ASC")):
        await conn.execute(
            f"""INSERT INTO label_uses SELECT $1, $2, 'conversation', contact_id, $3 FROM conversations
                WHERE channel_id = $1 ORDER BY last_message_id {order} LIMIT $4""",
            channel_id,
            label_id,
            NOW,
            count,
        )


async def numbers(db: Database, wanted: InboxFilter, before: UUID | None = None) -> tuple[list[int], UUID | None]:
    """A page of conversations by their numbers, and where the next one begins."""
    page = await list_conversations(db, CHANNEL, wanted, before, PAGE)
    found = [int(one.conversation.phone) - 4_900_000_000 for one in page.conversations]
    assert [one.last_message.id for one in page.conversations if one.last_message] == [
        one.conversation.last_message_id for one in page.conversations
    ]
    return found, page.following


def down(first: int, count: int = PAGE) -> list[int]:
    return list(range(first, first - count, -1))


async def test_a_page_reads_what_it_shows(explained: Explained) -> None:
    db, plans = explained
    for wanted, first in (
        (InboxFilter(), COUNT),
        (InboxFilter(status="open", archived=False, unread=False), COUNT),
        (InboxFilter(unread=True), 50),
        (InboxFilter(status="closed"), 100),
        (InboxFilter(archived=True), 150),
        (InboxFilter(archived=True, status="open"), 150),
        (InboxFilter(label_id=COMMON), COUNT),
        (InboxFilter(assignee="ana"), 200),
        (InboxFilter(assignee="ana", status="open", unread=False), 200),
        (InboxFilter(unassigned=True), COUNT),
        (InboxFilter(last_in=WrittenBetween(NOW + timedelta(milliseconds=COUNT - PAGE - 1), IN_A_DAY)), COUNT),
    ):
        plans.clear()
        found, following = await numbers(db, wanted)
        assert (found, following is not None) == (down(first), True), wanted
        assert sum(rows_of(plan, "conversations") for plan in plans) <= 4 * PAGE, wanted
        assert sum(rows_of(plan, "contacts") for plan in plans) <= 2 * PAGE, wanted
        assert sum(rows_of(plan, "messages") for plan in plans) <= 2 * PAGE, wanted
        assert sum(rows_of(plan, "label_uses") for plan in plans) <= 4 * PAGE + RARE + 1, wanted
        assert [plan.query for plan in plans if plan.seq_scans()] == []


async def test_conversations_found_by_a_search_are_looked_up_by_their_keys(explained: Explained) -> None:
    db, plans = explained
    async with db.connection() as conn:
        rows = await conn.fetch(
            "SELECT id, phone FROM contacts WHERE channel_id = $1 AND phone::bigint % 10 = 0", CHANNEL
        )
    plans.clear()
    found, following = await numbers(db, InboxFilter(contact_ids=tuple(row["id"] for row in rows), archived=False))
    assert found == list(range(COUNT, COUNT - 10 * PAGE, -10))
    assert following is not None
    assert sum(rows_of(plan, "conversations") for plan in plans) <= len(rows) + 2 * PAGE
    assert await numbers(db, InboxFilter(contact_ids=())) == ([], None)


async def test_counts_read_a_bounded_number_of_rows(explained: Explained) -> None:
    db, plans = explained
    closing = WrittenBetween(NOW + timedelta(milliseconds=COUNT - 7), IN_A_DAY)
    found = await count_conversations(db, CHANNEL, "ana", closing)
    assert (found.open, found.unassigned, found.unread) == (COUNT - 100, COUNT - 150, 50)
    assert (found.mine, found.closing, found.complete) == (50, 7, True)
    assert (await count_conversations(db, CHANNEL, None, closing)).mine == 0
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO conversations (channel_id, contact_id, created_at, last_message_id, unread, assignee)
               SELECT channel_id, gen_random_uuid(), created_at, last_message_id, 1, 'ana' FROM conversations
               WHERE channel_id = $1""",
            CHANNEL,
        )
    plans.clear()
    found = await count_conversations(db, CHANNEL, "ana", closing)
    assert (found.mine, found.unread, found.complete) == (COUNT + 50, COUNT + 50, False)
    (plan,) = plans
    assert rows_of(plan, "conversations") <= 4 * EXAMINED
    assert found.open <= EXAMINED


async def test_a_rare_label_is_looked_up_from_its_own_side(explained: Explained) -> None:
    db, plans = explained
    found, following = await numbers(db, InboxFilter(label_id=SELDOM, status="open"))
    assert (found, following is not None) == (down(COUNT), True)
    assert sum(rows_of(plan, "conversations") for plan in plans) <= RARE + 2 * PAGE
    found, following = await numbers(db, InboxFilter(label_id=SELDOM, unread=True))
    assert (found, following) == ([], None)


async def test_a_page_takes_so_many_steps_and_the_next_goes_on(explained: Explained) -> None:
    db, plans = explained
    wanted, pages, before = InboxFilter(label_id=LOST, unread=False), [], None
    while True:
        plans.clear()
        found, before = await numbers(db, wanted, before)
        assert sum(rows_of(plan, "conversations") for plan in plans) <= 2 * STEPS + SPARE + 2 * PAGE
        pages.append(found)
        if before is None:
            break
    assert pages[0] == []
    assert [number for page in pages for number in page] == down(RARE + 1, RARE + 1 - 50)


async def test_conversations_that_move_up_meanwhile_hide_no_others(
    explained: Explained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page stopped reading is looked up after it was read."""
    db, _ = explained
    look_up = inbox._last_step

    async def after_new_messages(conn: Any, *place: Any) -> UUID | None:
        move = f"""UPDATE conversations SET last_message_id = '{ids.floor_id(IN_A_DAY)}'
                   WHERE channel_id = $1 AND last_in_at BETWEEN $2 AND $3"""
        await conn.execute(move, CHANNEL, NOW + timedelta(milliseconds=1001), NOW + timedelta(milliseconds=1030))
        return await look_up(conn, *place)

    wanted = InboxFilter(
        label_id=LOST, unread=False, last_in=WrittenBetween(NOW - timedelta(days=1), NOW + timedelta(milliseconds=80))
    )
    found, before = await numbers(db, wanted)
    monkeypatch.setattr(inbox, "_last_step", after_new_messages)
    while before is not None:
        more, before = await numbers(db, wanted, before)
        found += more
    assert found == down(80, 30)


async def test_uses_of_a_label_are_read_at_once_for_a_large_page(explained: Explained) -> None:
    db, plans = explained
    first = await list_conversations(db, CHANNEL, InboxFilter(label_id=LOST), None, 100)
    assert (first.conversations, first.following is not None) == ([], True)
    looks = [
        node["Actual Loops"] for plan in plans for node in plan.nodes() if node.get("Relation Name") == "label_uses"
    ]
    assert looks == [1, 1]  # counted, and gathered; not one for each step
    second = await list_conversations(db, CHANNEL, InboxFilter(label_id=LOST), first.following, 100)
    phones = [int(one.conversation.phone) - 4_900_000_000 for one in second.conversations]
    assert phones == down(RARE + 1, 100)


async def test_one_persons_conversation_and_since_when(explained: Explained) -> None:
    db, plans = explained
    found, following = await numbers(db, InboxFilter(phone="4900000077", status="closed"))
    assert (found, following) == ([77], None)
    assert sum(rows_of(plan, "conversations") for plan in plans) <= 1
    assert await numbers(db, InboxFilter(phone="4900000077", unread=True)) == ([], None)
    for ago, expected in ((9, down(COUNT, 10)), (10, down(COUNT, 11))):
        since = NOW + timedelta(milliseconds=COUNT - ago)
        assert await numbers(db, InboxFilter(since=since)) == (expected, None)
    late = NOW + timedelta(milliseconds=COUNT - 9, microseconds=1)
    assert (await numbers(db, InboxFilter(since=late)))[0] == down(COUNT, 9)


async def test_history_goes_by_the_contact(explained: Explained) -> None:
    db, plans = explained
    ((one,), _) = await page_of_one(db)
    plans.clear()
    conversation = ids.format_id("cv", one.conversation.contact_id)
    found = await list_history(db, CHANNEL, conversation, None, 100, NOW)
    assert [message.id for message in found.messages] == [one.conversation.last_message_id]
    assert rows_of(plans[-1], "messages") == 1
    with pytest.raises(NotFound):
        await list_history(db, STRANGER, conversation, None, 100, NOW)


async def test_plans_made_for_an_empty_channel_fit_thousands(database_url: str) -> None:
    db = await Database.connect(database_url, connections=1)
    await make_partitions(db, NOW, 7)
    lists = {
        InboxFilter(): 0,
        InboxFilter(unread=True): 0,
        InboxFilter(status="closed"): 0,
        InboxFilter(archived=True): 0,
        InboxFilter(assignee="ana"): 0,
        InboxFilter(label_id=COMMON): 0,
        InboxFilter(label_id=SELDOM): 3 * RARE,  # each use leads to its conversation, down the three levels of an index
    }
    for wanted in lists:
        await numbers(db, wanted)
        with pytest.raises(NotFound):
            await list_history(db, CHANNEL, ids.format_id("cv", UUID(int=9)), None, PAGE, NOW)
        await read_history_page(db, CHANNEL, HistoryFilter(contact_id=UUID(int=9)), NOW, scan=PAGE, limit=PAGE)
    conn = await asyncpg.connect(database_url)
    await fill(conn, CHANNEL)
    await conn.close()  # which tells what it read
    for wanted, more in lists.items():
        before = await blocks_read(db)
        assert len((await numbers(db, wanted))[0]) == PAGE
        assert await blocks_read(db) - before <= 15 * PAGE + more, wanted
    ((one,), _) = await page_of_one(db)
    before = await blocks_read(db)
    found = await list_history(db, CHANNEL, ids.format_id("cv", one.conversation.contact_id), None, PAGE, NOW)
    assert len(found.messages) == 1
    assert await blocks_read(db) - before <= 2 * PAGE
    await db.close()


async def blocks_read(db: Database) -> int:
    """How many blocks of our indexes all statements have looked at so far."""
    async with db.connection() as conn:
        await conn.execute("SELECT pg_stat_force_next_flush()")
        await conn.execute("SELECT 1")
        return int(await conn.fetchval("SELECT sum(idx_blks_hit + idx_blks_read) FROM pg_statio_user_indexes"))


async def page_of_one(db: Database) -> tuple[Any, UUID | None]:
    page = await list_conversations(db, CHANNEL, InboxFilter(), None, 1)
    return page.conversations, page.following


# -- changes ----------------------------------------------------------------------------------------------------------


async def test_nothing_is_reported_when_nothing_changed(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    contact_id = (await contact_of(stage, ANA.phone or ""))["id"]
    for options, known in (({"status": "open", "note": None}, True), ({}, True), ({"note": "x"}, True)):
        async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
            assert await change_conversation(change, contact_id, options) is known
    async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
        assert await change_conversation(change, ids.ZERO, {"note": "x"}) is False
        assert await mark_read(change, ids.ZERO, NOW) is None
    assert [event["changed"] for event in await data(stage, "chat", "updated")] == [["note"]]


async def test_reading_and_writing_at_once_lose_no_count(stage: Stage) -> None:
    await receive(stage, message_from(stage, ANA))
    contact_id = (await contact_of(stage, ANA.phone or ""))["id"]

    async def read() -> None:
        async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
            assert await mark_read(change, contact_id, NOW - timedelta(days=30)) is not None

    await read()
    await asyncio.gather(*(receive(stage, message_from(stage, ANA)) for _ in range(30)))
    (row,) = await stage.rows("conversations")
    assert row["unread"] == 30
    await asyncio.gather(*(receive(stage, message_from(stage, ANA)) for _ in range(10)), read(), read())
    await read()
    (row,) = await stage.rows("conversations")
    assert row["unread"] == 0


async def test_two_conversations_become_one(stage: Stage) -> None:
    """Whatever asks for attention wins, and what people wrote down stays."""
    one, two = Person("4915100000001"), Person(lid="77")
    await receive(stage, message_from(stage, one), message_from(stage, two))
    await receive(stage, message_from(stage, two, age=-2))
    stays, goes = await contact_of(stage, "4915100000001"), await contact_of(stage, "lid:77")
    newest = max(row["last_message_id"] for row in await stage.rows("conversations"))
    for contact, options in (
        (stays, {"status": "closed", "archived": True, "muted": True, "assignee": "ana"}),
        (goes, {"assignee": "bob", "note": "Pays late", "muted": True}),
    ):
        async with channel_transaction(stage.db, stage.ref, stage.channel_id, stage.clock.now()) as change:
            assert await change_conversation(change, contact["id"], options)
    await receive(
        stage, message_from(stage, Person(one.phone, two.lid), "reaction", {"reaction": {"emoji": "x"}}, age=60)
    )
    (row,) = await stage.rows("conversations")
    assert (row["contact_id"], row["unread"], row["last_message_id"]) == (stays["id"], 3, newest)
    assert (row["status"], row["archived"], row["muted"]) == ("open", False, True)
    assert (row["assignee"], row["note"]) == ("ana", "Pays late")
