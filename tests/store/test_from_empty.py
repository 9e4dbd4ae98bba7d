"""Plans that are made on truly empty tables, and kept: looked at again when the channel has many of everything.

No statistics are gathered in between, as in the first hour of a busy channel. Every statement is prepared once, on a
database in which nothing has happened yet, and what is judged is what that very plan reads later.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gatepost.model import ids
from gatepost.model.delivery import EXHAUSTED, PENDING, DeliveryState
from gatepost.model.endpoint import HealthCounters
from gatepost.model.event.endpoints import EndpointPaused
from gatepost.model.message import State
from gatepost.services.deliveries import check_retry
from gatepost.store.channel_head import read_log_ends
from gatepost.store.deliveries.log import list_attempts
from gatepost.store.deliveries.queue import (
    DeliveryCursor,
    count_retries,
    next_retry,
    read_retries,
    save_cursors,
)
from gatepost.store.deliveries.record import (
    AttemptRecord,
    OrderedWait,
    OrphanedRetry,
    record_attempts,
    release_ordered_waits,
)
from gatepost.store.deliveries.recover import (
    RecoveryFilter,
    add_recovery,
    get_recovery,
    list_recoveries,
    open_recoveries,
    recover_next,
)
from gatepost.store.deliveries.retry import forget_lost_retries, make_retries_due, retry_deliveries
from gatepost.store.endpoints import (
    EndpointNotice,
    EndpointStateChange,
    clear_probe,
    delete_endpoint,
    list_delivering,
    save_probe,
    save_state_change,
)
from gatepost.store.events import newest_event, read_feed_page
from gatepost.store.idempotency import NEVER
from gatepost.store.leases import find_unowned_channels
from gatepost.store.messages.cancel import CancelCursor, CancelSelection, cancel_message, find_waiting
from gatepost.store.messages.history import get_message, read_trace
from gatepost.store.messages.intents import Intent, mark_sending
from gatepost.store.messages.progress import ChannelProgress, write_progress
from gatepost.store.messages.queue import read_marks, read_queued_states, read_wait_facts, save_pace, save_unknown_until
from gatepost.store.messages.receive import StatusReport
from gatepost.store.messages.send import SendResult, mark_results, read_queue, read_scheduled, read_start, read_states
from gatepost.store.partitions import first_kept_event, make_partitions
from gatepost.store.pool import Database
from tests.conftest import PostgresServer, copied_database, run_apart
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store import delivery_rows, many_contacts
from tests.store.delivery_rows import pending_of
from tests.store.many_contacts import fill_people
from tests.store.many_files import fill_files, live_files
from tests.store.query_plans import ExplainingConnection, Plan, explained_database, fill, literal

MANY = 5_000
MOST_ROWS, MOST_PAGES = 120, 600  # of a statement that may be about ten messages and their people
LINE = UUID(int=78)
Observed = dict[str, list[Plan]]


class Remembering(ExplainingConnection):
    """A connection that plans each statement once, when it first meets it, and goes on with that plan."""

    async def _explain(self, query: str, args: tuple[Any, ...]) -> None:
        known: dict[str, str] = self.__dict__.setdefault("known", {})
        if query not in known:
            known[query] = f"kept_{len(known)}"
            await super(ExplainingConnection, self).execute(f"PREPARE {known[query]} AS {query}")
        values = f"({', '.join(map(literal, args))})" if args else ""
        await self._explain_with(query, f"EXECUTE {known[query]} {values}")


class Scene:
    """A channel with one endpoint, and a number for each time that it lives through everything."""

    def __init__(self, stage: Stage, hook: UUID) -> None:
        self.stage, self.hook, self.time = stage, hook, 0
        self.db, self.channel_id = stage.db, stage.channel_id

    async def events(
        self, count: int, state: int, conversation_id: UUID | None = None, attempts: int = 1
    ) -> list[UUID]:
        start = self.stage.clock.now() + timedelta(minutes=1)
        found = await delivery_rows.add_events(
            self.db, self.channel_id, count, conversation_id=conversation_id, start=start
        )
        await delivery_rows.add_deliveries(self.db, self.channel_id, self.hook, found, state, attempts=attempts)
        return found


async def send(s: Scene) -> None:
    stage = s.stage
    phones = [f"55119{s.time}{n:07d}" for n in range(9)]
    waiting = await stage.accept_many(phones)
    now = stage.clock.now()
    later = await stage.accept(phones[0], "later", send_at=now + timedelta(seconds=5))
    after = UUID(int=min(waiting).int - 1)
    for bulk in (False, True):
        await read_queue(s.db, s.channel_id, bulk=bulk, after=after, limit=500)
    await read_start(s.db, s.channel_id, now + timedelta(days=1))
    assert len(await read_scheduled(s.db, s.channel_id, now + timedelta(seconds=9), [], 100)) == 1
    await read_marks(s.db, s.channel_id, [later])
    assert len(await read_queued_states(s.db, s.channel_id, waiting)) == 9
    await cancel_message(s.db, stage.ref, s.channel_id, waiting[0], now)
    queued = await get_message(s.db, s.channel_id, waiting[1])
    assert queued is not None
    await read_wait_facts(s.db, s.channel_id, queued, now + timedelta(seconds=9))
    for chosen in (CancelSelection(client_ref="x"), CancelSelection(ranges=((waiting[0], waiting[-1]),))):
        await find_waiting(s.db, s.channel_id, chosen, CancelCursor(after), page_rows=20)
    await find_waiting(s.db, s.channel_id, CancelSelection(send_from=now, label_id=UUID(int=1)), None, page_rows=20)
    await mark_sending(s.db, stage.lease, [Intent(id_, 1, True) for id_ in waiting], now)
    await save_unknown_until(s.db, stage.lease, [(id_, now) for id_ in waiting])
    results = [SendResult(id_, 1, State.SENT, f"wamid.{id_.hex}.1") for id_ in waiting[1:5]]
    again = [SendResult(id_, 1, State.QUEUED, next_at=now, unopened=True) for id_ in waiting[5:]]
    await mark_results(s.db, stage.lease, stage.ref, [*results, *again], now)
    await mark_results(s.db, stage.lease, stage.ref, [SendResult(later, 0, State.EXPIRED, send_at=now)], now)
    await read_states(s.db, s.channel_id, waiting)
    for word in ("delivered", "read"):
        await stage.report(waiting[1], word)
    message = await get_message(s.db, s.channel_id, waiting[1])
    assert message is not None
    await read_trace(s.db, s.channel_id, message.event_ids)
    await stage.receive_text(phones[1])


async def own(s: Scene) -> None:
    await find_unowned_channels(s.db, s.stage.clock.now(), 100)
    await read_log_ends(s.db, [s.channel_id])
    await save_pace(s.db, s.stage.lease, ids.floor_id(NOW), "{}")


def attempt(s: Scene, event_id: UUID, state: DeliveryState, *, line: UUID | None, retried: bool) -> AttemptRecord:
    again = NOW if state is DeliveryState.PENDING else None
    words = (NOW, 5.0, 200, None, "http://127.0.0.1/", "{}", None, None)
    return AttemptRecord(s.hook, event_id, 1 + retried, *words, state, again, retried=retried, order_key=line)


async def deliver(s: Scene) -> None:
    lease = s.stage.lease
    for line in (None, UUID(int=100 + s.time)):
        events = await s.events(5, PENDING, line, attempts=0)
        after = UUID(int=events[0].int - 1)
        for ordered in (False, True):
            await pending_of(s.db, s.channel_id, s.hook, after, 10, ordered=ordered)
        failed = [attempt(s, events[0], DeliveryState.PENDING, line=line, retried=False)]
        await record_attempts(s.db, lease, failed, NOW)
        if line:
            await record_attempts(s.db, lease, [OrderedWait(s.hook, id_, line) for id_ in events[1:]], NOW)
        for ordered in (False, True):
            await read_retries(s.db, s.channel_id, s.hook, NOW, [], 10, ordered=ordered, busy=[UUID(int=5)])
        await next_retry(s.db, s.channel_id, s.hook, [events[0]], [UUID(int=5)])
        done = attempt(s, events[0], DeliveryState.DELIVERED, line=line, retried=True)
        await record_attempts(s.db, lease, [done, OrphanedRetry(s.hook, ids.new_id(NOW))], NOW)
        await record_attempts(
            s.db, lease, [attempt(s, events[1], DeliveryState.DELIVERED, line=None, retried=False)], NOW
        )


async def ask_again(s: Scene) -> None:
    line = UUID(int=200 + s.time)
    settled = await s.events(3, EXHAUSTED, line)
    behind = await s.events(3, PENDING, line, attempts=0)
    for event, at in zip(
        behind, [NOW + timedelta(hours=1), delivery_rows.INFINITY, delivery_rows.INFINITY], strict=True
    ):
        await delivery_rows.add_retry(s.db, s.channel_id, s.hook, event, at, line)
    keys = [(s.hook, event) for event in (*settled, *behind[1:])]
    refused = await retry_deliveries(s.db, s.channel_id, keys, check_retry, NOW)
    assert not any(refused.values())


async def recover(s: Scene) -> None:
    s = Scene(s.stage, await delivery_rows.add_endpoint(s.db, s.channel_id))
    first = (await s.events(3, EXHAUSTED))[0]
    option = RecoveryFilter(first, UUID(int=(1 << 128) - 1), None, None)
    made = await add_recovery(s.db, s.channel_id, s.hook, option, NEVER, NOW)
    assert await open_recoveries(s.db, [s.channel_id]) == {s.channel_id: [made.id]}
    assert await recover_next(s.db, s.stage.lease, made.id, NOW, chunk=20) == "done"
    await get_recovery(s.db, s.channel_id, s.hook, made.id)
    await list_recoveries(s.db, s.channel_id, s.hook, None, 20)


async def change_endpoints(s: Scene) -> None:
    health = HealthCounters(NOW, 12, 1, None, 0, NOW)
    target = next(t for t in (await list_delivering(s.db, [s.channel_id]))[s.channel_id] if t.id == s.hook)
    cursors = {s.stage.lease: {s.hook: DeliveryCursor(target.cursor, health, target.updated_at)}}
    await save_cursors(s.db, cursors, wait=True)
    await save_cursors(s.db, cursors, wait=False)
    told_of = [EndpointNotice(EndpointPaused, "It failed")]
    ref, lease = s.stage.ref, s.stage.lease
    await save_state_change(s.db, lease, ref, s.hook, EndpointStateChange("active", "paused", health), told_of, NOW)
    await save_probe(s.db, lease, s.hook, health)
    await save_state_change(s.db, lease, ref, s.hook, EndpointStateChange("paused", "active", health), told_of, NOW)
    assert await release_ordered_waits(s.db, lease, s.hook, NOW + timedelta(hours=9), limit=5) <= 5
    assert await make_retries_due(s.db, lease, s.hook, NOW, limit=5) == 5
    await clear_probe(s.db, lease, s.hook, NOW)
    gone = await delivery_rows.add_endpoint(s.db, s.channel_id)
    await delivery_rows.add_retry(s.db, s.channel_id, gone, ids.new_id(NOW), NOW)
    assert await delete_endpoint(s.db, s.channel_id, gone)
    await count_retries(s.db, 50)


async def read_on(s: Scene) -> None:
    end = await newest_event(s.db, s.channel_id)
    for types in (None, ["message_notification"]):
        await read_feed_page(s.db, s.channel_id, UUID(int=end.int - 1), types, 20)
    await list_attempts(s.db, s.channel_id, s.hook, None, 20)


async def know_people(s: Scene) -> None:
    mark = f"{s.time}7"
    await many_contacts.receive_from_contacts(s.stage, mark)
    await many_contacts.merge_contacts(s.stage, mark)
    await many_contacts.amend_messages(s.stage)
    await many_contacts.accept_checked(s.stage)
    await many_contacts.send_to_two_number_forms(s.stage, mark)
    await many_contacts.update_number(s.stage, mark)


async def keep_files(s: Scene) -> None:
    sent = await s.stage.accept(f"55119{s.time}9999999")
    await live_files(s.stage, s.stage.lease, sent, [ids.new_id(s.stage.clock.now()) for _ in range(3)])


async def keep_up(s: Scene) -> None:
    assert await forget_lost_retries(s.db, await first_kept_event(s.db)) == 0


Work = Callable[[Scene], Awaitable[None]]
WORKS: list[Work] = [
    send,
    own,
    deliver,
    ask_again,
    recover,
    change_endpoints,
    read_on,
    know_people,
    keep_files,
    keep_up,
]


@pytest.fixture(scope="module")
def observed(postgres_server: PostgresServer) -> Observed:
    """Give what plans that were made on empty tables read when there is much in them."""
    return run_apart(observe(postgres_server))


async def observe(server: PostgresServer, many: int = MANY) -> Observed:
    async with copied_database(server, "gatepost") as url:
        plain = await Database.connect(url, connections=1)
        await make_partitions(plain, NOW, 7)
        await plain.close()
        async with explained_database(url, Remembering, connections=1) as (db, plans):
            stage = await make_stage(db)
            await stage.take_over()
            scene = Scene(stage, await delivery_rows.add_endpoint(db, stage.channel_id, cursor=ids.floor_id(NOW)))
            found: Observed = {}
            for work in WORKS:
                await work(scene)
            await grow(url, scene, many)
            scene.time += 1
            stage.clock.advance(3600)
            for work in WORKS:
                plans.clear()
                await work(scene)
                found[work.__name__] = list(plans)
    return found


async def grow(url: str, s: Scene, many: int) -> None:
    """Many of everything, and no statistics of it: also deliveries that wait, by their time or behind others."""
    start = NOW + timedelta(seconds=10)
    await fill(url, s.channel_id, s.hook, count=many, start=start, end=start + timedelta(minutes=30), salt="grown")
    await fill_files(url, s.channel_id, count=many, now=NOW + timedelta(days=1))
    await fill_people(url, s.channel_id, count=many, now=NOW, prefix="4410")
    conn = await asyncpg.connect(url)
    await conn.execute(
        """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at, conversation_id)
           SELECT channel_id, endpoint_id, event_id,
                  CASE WHEN n % 3 = 0 THEN $2::timestamptz + n * interval '1 s' ELSE 'infinity' END,
                  CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN $3::uuid ELSE gen_random_uuid() END
           FROM (SELECT *, row_number() OVER (ORDER BY event_id) AS n FROM deliveries
                 WHERE channel_id = $1 AND state = 1 AND next_at IS NULL) d ON CONFLICT DO NOTHING""",
        s.channel_id,
        NOW + timedelta(hours=5),
        LINE,
    )
    await conn.close()


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_a_plan_from_the_first_day_reads_no_more_than_it_needs(observed: Observed, work: Work) -> None:
    assert observed[work.__name__]
    for plan in observed[work.__name__]:
        assert plan.seq_scans() == [], plan.query
        assert plan.buffers <= MOST_PAGES, (plan.buffers, plan.query)
        for node in plan.nodes():
            if "Relation Name" in node and "Scan" in node["Node Type"]:
                dropped = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
                read = (node["Actual Rows"] + dropped) * node["Actual Loops"]
                assert read <= MOST_ROWS, (read, node["Node Type"], node.get("Index Name"), plan.query)
                # An index that is entered without its own column is walked from end to end, and no count shows it.
                assert "contact_id" not in node.get("Index Name", "") or "contact_id = " in node["Index Cond"], (
                    plan.query
                )


@pytest.mark.parametrize("first", [0, 30, 300])
def test_plans_for_statuses_made_with_few_messages_read_no_more_when_there_are_many(
    postgres_server: PostgresServer, first: int
) -> None:
    for plan in run_apart(spread_statuses(postgres_server, first)):
        assert plan.seq_scans() == [], plan.query
        assert plan.rows_scanned <= MOST_ROWS, plan.query


async def spread_statuses(server: PostgresServer, first: int) -> list[Plan]:
    """Receive statuses of messages with many others between them, by plans for the statistics of the first ones."""
    async with copied_database(server, "gatepost") as url:
        plain = await Database.connect(url, connections=1)
        await make_partitions(plain, NOW, 7)
        async with explained_database(url, Remembering, connections=1) as (db, plans):
            stage = await make_stage(db)
            hook = await delivery_rows.add_endpoint(db, stage.channel_id)
            one = [await stage.accept("5511999998888")]
            if first:
                end = NOW + timedelta(seconds=9)
                await fill(url, stage.channel_id, hook, count=first, start=NOW, end=end, salt="first")
                await plain.execute("ANALYZE")
            await receive_read(stage, one)
            start, end = NOW + timedelta(seconds=10), NOW + timedelta(minutes=30)
            await fill(url, stage.channel_id, hook, count=MANY, start=start, end=end, salt="many")
            wanted = [f"wamid.many.{n}" for n in range(0, MANY, MANY // 10)]
            rows = await plain.fetch("SELECT id FROM messages WHERE network_id = ANY ($1)", wanted)
            plans.clear()
            await receive_read(stage, [row["id"] for row in rows], State.PLAYED)
            await plain.close()
            return list(plans)


async def receive_read(stage: Stage, messages: list[UUID], state: State = State.READ) -> None:
    once = [StatusReport("wamid.1", state, id_, None) for id_ in messages]
    for reports in (once, once * 2):  # several reports of a message take another statement
        batch = {stage.channel_id: ChannelProgress(stage.ref, reports)}
        assert await write_progress(stage.db, batch, NOW, wait=True) == {stage.channel_id: [state] * len(reports)}
