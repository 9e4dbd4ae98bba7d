"""The plans of the hot statements: no scan of a big table, and one partition where an id is known.

Looked at twice: on tables that have just been filled and have no statistics, and with those of millions of rows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import asyncpg
import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.delivery import DeliveryState
from gatepost.model.message import State
from gatepost.model.send_request import SendRequest
from gatepost.networks.base import Incoming, Person, StatusUpdate
from gatepost.outbound.accept import ROUTE
from gatepost.store.deliveries.log import list_attempts
from gatepost.store.deliveries.queue import next_retry, read_retries
from gatepost.store.deliveries.record import AttemptRecord, record_attempts
from gatepost.store.embedded import admin_dsn
from gatepost.store.events import read_feed_page
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult, accept_messages
from gatepost.store.messages.accept_alike import AlikeAcceptor
from gatepost.store.messages.accept_plain import accept_plain
from gatepost.store.messages.cancel import CancelCursor, CancelSelection, cancel_message, cancel_messages, find_waiting
from gatepost.store.messages.history import get_message, read_trace
from gatepost.store.messages.intents import Intent, mark_sending, mark_sending_together
from gatepost.store.messages.progress import ChannelProgress, write_progress
from gatepost.store.messages.queue import (
    QueueRead,
    count_ahead,
    read_new_messages,
    read_wait_facts,
    save_pace,
    save_paces,
    save_unknown_until,
)
from gatepost.store.messages.receive import ReportBatch, StatusReport, receive_together
from gatepost.store.messages.send import (
    SendResult,
    mark_results,
    mark_results_together,
    read_queue,
    read_scheduled,
    read_states,
)
from gatepost.store.messages.submission import Submission
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store import many_contacts
from tests.store.delivery_rows import pending_of
from tests.store.many_contacts import CONTACT_TABLES, fill_people
from tests.store.many_files import fill_files, live_files
from tests.store.query_plans import BIG, Plan, explained_database, fill

PHONE = "5511999998888"
ENDPOINT = UUID(int=7)


class Scene(msgspec.Struct, frozen=True):
    """A busy channel: its past, ten messages that wait, ten of its contacts, the first and last message of a day."""

    stage: Stage
    waiting: list[UUID]
    contacts: list[UUID]
    far_apart: list[UUID]


Observed = dict[str, list[Plan]]


@pytest.fixture(scope="module", params=["fresh", "huge"])
def observed(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Observed:
    """Give the plans of everything that a busy channel does, without statistics or with those of millions of rows."""
    return run_apart(observe(postgres_server, request.param))


async def observe(server: PostgresServer, statistics: str) -> Observed:
    async with copied_database(server, "gatepost") as url:
        plain = await Database.connect(url, connections=2)
        await make_partitions(plain, NOW - timedelta(days=70), 7)
        await make_partitions(plain, NOW, 7)
        async with explained_database(url) as (db, plans):
            scene = await set_scene(db, url)
            if statistics == "huge":
                async with plain.connection() as conn:
                    await conn.execute("ANALYZE")
                await pretend(url, [*CONTACT_TABLES, "parked_statuses"])
            found: Observed = {}
            for work in WORKS:
                plans.clear()
                await work(scene)
                found[work.__name__] = list(plans)
        await plain.close()
    return found


# The planner takes the density of a table from here: a thousand times what is there.
PRETEND = """UPDATE pg_class SET reltuples = reltuples * 1000
             WHERE relkind = 'r' AND (relname = ANY ($1::text[]) OR relispartition)"""


async def pretend(url: str, tables: list[str]) -> None:
    """Makes tables look huge, which only the superuser may."""
    conn = await asyncpg.connect(admin_dsn(url))
    await conn.execute(PRETEND, tables)
    await conn.close()


async def set_scene(db: Database, url: str) -> Scene:
    """Ten weeks behind it, and most of it in the youngest partition."""
    stage = await make_stage(db)
    await add_endpoint(url, stage.channel_id)
    channel_id, weeks, day = stage.channel_id, timedelta(days=70), timedelta(days=1)
    await fill(url, channel_id, ENDPOINT, count=4_000, start=NOW - weeks, end=NOW - 7 * day, salt="past")
    await fill(url, channel_id, ENDPOINT, count=9_000, start=NOW - day, end=NOW, salt="week")
    await fill_files(url, channel_id, count=5_000, now=NOW)
    await fill_people(url, channel_id, count=3_000, now=NOW)
    waiting = await stage.accept_many([PHONE] * 9 + ["5511999997777"])
    return Scene(stage, waiting, await some_contacts(url, channel_id), await first_and_last(url, channel_id))


async def first_and_last(url: str, channel_id: UUID) -> list[UUID]:
    conn = await asyncpg.connect(url)
    rows = await conn.fetch(
        "SELECT id FROM messages WHERE channel_id = $1 AND network_id = ANY ($2)",
        channel_id,
        ["wamid.week.0", "wamid.week.8999"],
    )
    await conn.close()
    return [row["id"] for row in rows]


async def some_contacts(url: str, channel_id: UUID) -> list[UUID]:
    conn = await asyncpg.connect(url)
    rows = await conn.fetch("SELECT id FROM contacts WHERE channel_id = $1 AND phone LIKE '44001_'", channel_id)
    await conn.close()
    return [row["id"] for row in rows]


async def add_endpoint(url: str, channel_id: UUID) -> None:
    conn = await asyncpg.connect(url)
    await conn.execute(
        """INSERT INTO endpoints (channel_id, id, url, events, headers, secret, state, cursor, created_at, updated_at)
           VALUES ($1, $2, 'http://127.0.0.1/', $3, '{}', '', 'active', $4, $5, $5)""",
        channel_id,
        ENDPOINT,
        ["message_notification", "ack_notification"],
        ids.floor_id(NOW),
        NOW,
    )
    await conn.close()


# -- the hot statements, each by the function that runs it ------------------------------------------------------------


async def accept(s: Scene) -> None:
    assert s.stage.acceptor._recent.include(s.stage.channel_id, [PHONE])
    await s.stage.accept(PHONE, "one more")


async def accept_new_people(s: Scene) -> None:
    """Among them one who is a contact."""
    batches: dict[UUID, list[Submission]] = {}
    for stage in (s.stage, await make_stage(s.stage.db)):
        await stage.accept(PHONE)
        phones = [PHONE, *(f"551198888{n:04}" for n in range(20))]
        requests = [SendRequest(phone, "Hi") for phone in phones]
        batches[stage.channel_id] = [stage.acceptor._check(stage.caller, one, None, NOW) for one in requests]
    for outcomes in (await accept_plain(s.stage.db, batches, NOW, new_people=True)).values():
        assert [isinstance(one, AcceptResult) and one.new_contact for one in outcomes] == [False] + [True] * 20


async def accept_strangers(s: Scene) -> None:
    """By the general path."""
    message = s.stage.acceptor._check(s.stage.caller, SendRequest("5511999996666", "the first"), None, NOW)
    (outcome,) = await accept_messages(s.stage.db, s.stage.channel_id, [message], NOW)
    assert isinstance(outcome, AcceptResult)
    assert outcome.new_contact


async def accept_for_contacts(s: Scene) -> None:
    """The recipients are named by their contacts."""
    requests = [SendRequest(contact=ids.format_id("ct", id_), body="Hi") for id_ in s.contacts]
    accepted = await asyncio.gather(*[s.stage.acceptor.accept(s.stage.caller, request) for request in requests])
    assert len(accepted) == 10


async def accept_on_several(s: Scene) -> None:
    batches: dict[UUID, list[Submission]] = {}
    for stage in (s.stage, await make_stage(s.stage.db)):
        await stage.accept(PHONE)
        message = stage.acceptor._check(stage.caller, SendRequest(PHONE, "Hi"), None, NOW)
        batches[stage.channel_id] = [msgspec.structs.replace(message, window=window) for window in (False, True) * 5]
    assert len(await accept_plain(s.stage.db, batches, NOW)) == 2


async def accept_with_keys(s: Scene) -> None:
    """In bulk, with new Idempotency-Keys and with one that was used before."""
    assert s.stage.acceptor._recent.include(s.stage.channel_id, [PHONE])
    keys = [idempotency_key(key, b"x", ROUTE) for key in ("key-44001", "new-1", "new-2")]
    request = SendRequest(PHONE, "Hi", priority="bulk")
    batch = [s.stage.acceptor._check(s.stage.caller, request, key, NOW) for key in keys]
    (outcomes,) = (await accept_plain(s.stage.db, {s.stage.channel_id: batch}, NOW, wait=True)).values()
    assert [isinstance(one, AcceptResult) for one in outcomes] == [False, True, True]


async def accept_alike(s: Scene) -> None:
    """With and without what may be asked of a recipient; among them one who has another form of a number."""
    await s.stage.receiver.receive(
        s.stage.channel_id, s.stage.ref, [Incoming("in.open", Person(PHONE), "text", "{}", NOW)]
    )
    requests = [SendRequest(PHONE, "Hi", client_ref="a"), SendRequest(f"{PHONE[:4]}{PHONE[5:]}", "Hi", priority="bulk")]
    for nth, request in enumerate(requests):
        for key in (None, idempotency_key(f"alike-{nth}", b"x", ROUTE)):
            s.stage.clock.advance(0.001)
            one = s.stage.acceptor._check(s.stage.caller, request, key, s.stage.clock.now())
            batch = [msgspec.structs.replace(one, window=True)]
            assert await AlikeAcceptor(s.stage.db, s.stage.clock).accept(s.stage.channel_id, batch) is not None


async def read_the_queue(s: Scene) -> None:
    after = UUID(int=s.waiting[0].int - 1)
    for bulk in (False, True):
        found = await read_queue(s.stage.db, s.stage.channel_id, bulk=bulk, after=after, limit=500)
        assert len(found) == (0 if bulk else 10)
    (news,) = (await read_new_messages(s.stage.db, [QueueRead(s.stage.channel_id, after)], limit=500)).values()
    assert len(news.messages) == 10


async def send(s: Scene) -> None:
    await s.stage.take_over()
    now = s.stage.clock.now()
    await mark_sending(s.stage.db, s.stage.lease, [Intent(id_, 1, True) for id_ in s.waiting], now)
    results = [SendResult(id_, 1, State.SENT, f"wamid.{id_.hex}.1") for id_ in s.waiting]
    await mark_results(s.stage.db, s.stage.lease, s.stage.ref, results, now)
    assert set((await read_states(s.stage.db, s.stage.channel_id, s.waiting)).values()) == {State.SENT}


async def write_together(s: Scene) -> None:
    """As for several channels at once."""
    await s.stage.take_over()
    db, lease, now = s.stage.db, s.stage.lease, s.stage.clock.now()
    found = await s.stage.accept_many([PHONE] * 3)
    assert await mark_sending_together(db, {lease: [Intent(id_, 1, True) for id_ in found]}, now)
    results = [SendResult(id_, 1, State.SENT, f"wamid.{id_.hex}.1") for id_ in found]
    assert await mark_results_together(db, {lease: (s.stage.ref, results)}, now)
    reports = [StatusReport(f"wamid.{id_.hex}.1", State.READ, id_, None) for id_ in found]
    assert await receive_together(db, {s.stage.channel_id: (s.stage.ref, ReportBatch(reports))}, now)
    assert await save_paces(db, {lease: (found[0], "{}")})


async def schedule(s: Scene) -> None:
    id_ = await s.stage.accept(PHONE, "later", send_at=NOW + timedelta(seconds=5))
    assert len(await read_scheduled(s.stage.db, s.stage.channel_id, NOW + timedelta(seconds=9), [], 100)) == 1
    await s.stage.take_over()
    result = SendResult(id_, 0, State.EXPIRED, send_at=NOW + timedelta(seconds=5))
    await mark_results(s.stage.db, s.stage.lease, s.stage.ref, [result], NOW)
    assert await s.stage.rows("scheduled_messages") == []


async def cancel(s: Scene) -> None:
    await cancel_message(s.stage.db, s.stage.ref, s.stage.channel_id, s.waiting[0], NOW)
    await cancel_messages(s.stage.db, s.stage.ref, s.stage.channel_id, s.waiting, NOW)


async def explain(s: Scene) -> None:
    db, channel_id = s.stage.db, s.stage.channel_id
    await s.stage.take_over()
    waiting = [await s.stage.accept(PHONE, f"{i}") for i in range(3)]
    await save_pace(db, s.stage.lease, UUID(int=waiting[0].int - 1), "{}")
    message = await get_message(db, channel_id, waiting[-1])
    assert message is not None
    assert len((await read_wait_facts(db, channel_id, message, NOW)).line) == 3
    assert await count_ahead(db, channel_id, message) == 2
    await save_unknown_until(db, s.stage.lease, [(id_, NOW) for id_ in waiting])


async def cancel_many(s: Scene) -> None:
    db, channel_id = s.stage.db, s.stage.channel_id
    await s.stage.take_over()
    await save_pace(db, s.stage.lease, UUID(int=s.waiting[0].int - 1), "{}")
    for chosen in (
        CancelSelection(client_ref="x", label_id=UUID(int=1)),
        CancelSelection(send_from=NOW, send_to=NOW + timedelta(days=1)),
        CancelSelection(ranges=((s.waiting[0], s.waiting[-1]),)),
    ):
        place: CancelCursor | None = CancelCursor(ids.ZERO)
        while place is not None:
            found = await find_waiting(db, channel_id, chosen, place)
            place = found.place


async def look(s: Scene) -> None:
    message = await get_message(s.stage.db, s.stage.channel_id, s.waiting[0])
    assert message is not None
    await read_trace(s.stage.db, s.stage.channel_id, message.event_ids)


async def receive_statuses(s: Scene) -> None:
    updates = [StatusUpdate(f"wamid.{id_.hex}.1", "delivered", NOW, id_, 1) for id_ in s.waiting]
    await s.stage.receiver.receive(s.stage.channel_id, s.stage.ref, updates)


async def receive_statuses_far_apart(s: Scene) -> None:
    """What is between them is not read."""
    once = [StatusReport("wamid.1", State.PLAYED, id_, None) for id_ in s.far_apart]
    for reports in (once, once * 2):  # several reports of a message take another statement
        batch = {s.stage.channel_id: ChannelProgress(s.stage.ref, reports)}
        written = await write_progress(s.stage.db, batch, NOW, wait=True)
        assert written == {s.stage.channel_id: [State.PLAYED] * len(reports)}


async def receive_messages(s: Scene) -> None:
    updates = [Incoming(f"in.{i}", Person(PHONE, name="Ana"), "text", "{}", NOW) for i in range(10)]
    await s.stage.receiver.receive(s.stage.channel_id, s.stage.ref, updates)


async def deliver(s: Scene) -> None:
    await s.stage.take_over()
    db, channel_id = s.stage.db, s.stage.channel_id
    due = await pending_of(db, channel_id, ENDPOINT, ids.floor_id(NOW), 50)
    assert len(due) >= 10
    again = [attempt(item.event_id, 1, DeliveryState.PENDING) for item in due]
    await record_attempts(db, s.stage.lease, again, NOW)
    assert len((await read_retries(db, channel_id, ENDPOINT, NOW, [], 50)).due) == len(due)
    await next_retry(db, channel_id, ENDPOINT, [])
    done = [attempt(item.event_id, 2, DeliveryState.DELIVERED) for item in due]
    await record_attempts(db, s.stage.lease, done, NOW)


def attempt(event_id: UUID, number: int, state: DeliveryState) -> AttemptRecord:
    again, retried = NOW if state is DeliveryState.PENDING else None, number > 1
    return AttemptRecord(
        ENDPOINT, event_id, number, NOW, 5.0, 200, None, "http://x", "{}", None, None, state, again, retried
    )


async def feed(s: Scene) -> None:
    assert len((await read_feed_page(s.stage.db, s.stage.channel_id, ids.floor_id(NOW), None, 100)).events) >= 30
    some = await read_feed_page(s.stage.db, s.stage.channel_id, ids.floor_id(NOW), ["ack_notification"], 5)
    assert len(some.events) == 5


async def read_log(s: Scene) -> None:
    assert len(await list_attempts(s.stage.db, s.stage.channel_id, ENDPOINT, None, 20)) == 20


async def fetch_files(s: Scene) -> None:
    await s.stage.take_over()
    await live_files(s.stage, s.stage.lease, s.waiting[0], [ids.new_id(NOW) for _ in range(3)])


async def meet_people(s: Scene) -> None:
    await many_contacts.receive_from_contacts(s.stage)


async def join_people(s: Scene) -> None:
    await many_contacts.merge_contacts(s.stage)


async def touch_messages(s: Scene) -> None:
    await many_contacts.amend_messages(s.stage)


async def accept_checked(s: Scene) -> None:
    await many_contacts.accept_checked(s.stage)


async def write_twice(s: Scene) -> None:
    await s.stage.take_over()
    await many_contacts.send_to_two_number_forms(s.stage)


async def watch_the_number(s: Scene) -> None:
    await s.stage.take_over()
    await many_contacts.update_number(s.stage)


async def stray_status(s: Scene) -> None:
    await s.stage.receiver.receive(s.stage.channel_id, s.stage.ref, [StatusUpdate("wamid.nobody's", "read", NOW)])


Work = Callable[[Scene], Awaitable[None]]
BY_ID: list[Work] = [
    read_the_queue,
    accept,
    accept_alike,
    accept_new_people,
    accept_strangers,
    accept_for_contacts,
    accept_on_several,
    accept_with_keys,
    look,
    receive_messages,
    schedule,
    cancel_many,
    send,
    write_together,
    cancel,
    receive_statuses,
    receive_statuses_far_apart,
    deliver,
    feed,
    fetch_files,
    accept_checked,
    watch_the_number,
]
WITH_PEOPLE: list[Work] = [meet_people, join_people, touch_messages, accept_checked, write_twice, watch_the_number]
WORKS: list[Work] = [*BY_ID, *(work for work in WITH_PEOPLE if work not in BY_ID), read_log, stray_status, explain]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_no_big_table_is_scanned(observed: Observed, work: Work) -> None:
    assert observed[work.__name__]
    for plan in observed[work.__name__]:
        assert plan.seq_scans() == [], plan.query
        assert plan.rows_read + plan.rows_filtered < 500, plan.query


@pytest.mark.parametrize("work", BY_ID, ids=lambda work: work.__name__)
def test_an_id_leads_to_its_partition(observed: Observed, work: Work) -> None:
    """Only reading on from a cursor may look into the partitions that were made ahead, which are empty.

    Deleted endpoints are found in all deliveries that are kept, as in the log of deliveries.
    """
    for plan in observed[work.__name__]:
        if "wanted (network_id)" not in plan.query and "RECURSIVE had" not in plan.query:
            most = 3 if "LIMIT" in plan.query else 1
            assert all(len(plan.touched(table)) <= most for table in BIG), plan.query


def test_the_networks_id_is_looked_for_in_the_last_thirty_days_only(observed: Observed) -> None:
    (plan,) = [plan for plan in observed["stray_status"] if "wanted (network_id)" in plan.query]
    assert 5 <= len(plan.touched("messages")) <= 8


def test_the_log_reads_no_more_than_it_shows(observed: Observed) -> None:
    assert observed["read_log"][0].buffers < 400


def test_files_are_found_by_their_keys(observed: Observed) -> None:
    looks = [
        n
        for p in observed["fetch_files"]
        for n in p.nodes()
        if n.get("Relation Name") == "media" and "Scan" in n["Node Type"]
    ]
    assert len(looks) >= 8
    for node in looks:
        assert node["Node Type"] in ("Index Scan", "Index Only Scan"), node
        assert node["Actual Rows"] + node.get("Rows Removed by Filter", 0) <= 3, node


@pytest.mark.parametrize(
    "work",
    [
        accept,
        accept_alike,
        accept_for_contacts,
        accept_new_people,
        accept_on_several,
        accept_with_keys,
        receive_messages,
        send,
        *WITH_PEOPLE,
    ],
    ids=lambda work: work.__name__,
)
def test_people_are_found_by_their_keys(observed: Observed, work: Work) -> None:
    """Nothing that a channel has many of is read but by its channel and its own key."""
    for plan in observed[work.__name__]:
        for node in plan.nodes():
            if node.get("Relation Name") in (*CONTACT_TABLES, "parked_statuses") and "Scan" in node["Node Type"]:
                assert node["Node Type"] in ("Index Scan", "Index Only Scan", "Tid Scan"), plan.query
                assert "channel_id = " in node.get("Index Cond", node.get("TID Cond", "") and "channel_id = "), (
                    plan.query
                )
                read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
                assert read <= 50, plan.query
