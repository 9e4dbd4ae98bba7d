"""Intents, results and statuses of several channels in one commit; and the same outcome as the general path has."""

import asyncio
import random
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.inbound.receive import UpdateReceiver
from gatepost.model.event import NewEvent, render
from gatepost.model.event.acknowledgements import AckMessage
from gatepost.model.message import STATUS, State
from gatepost.networks.base import StatusUpdate
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.store.channel_head import StaleOwner, lock_head
from gatepost.store.messages.intents import Intent, IntentResult, mark_sending, mark_sending_together
from gatepost.store.messages.progress import ChannelProgress, write_progress
from gatepost.store.messages.queue import save_paces
from gatepost.store.messages.receive import ReportBatch, StatusReport, receive_any_updates, receive_updates
from gatepost.store.messages.send import SendResult, mark_any_results, mark_results
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.patience import PATIENCE

PHONE = "5511999998888"
PRICING = {"billable": True, "category": "marketing\x1e", "note": "50 % \\ ü"}
WRITES = {True: receive_updates, False: receive_any_updates}


async def make_stages(db: Database, count: int) -> list[Stage]:
    """Return stages whose owners have claimed them, in the order of their channels."""
    stages = sorted([await make_stage(db) for _ in range(count)], key=lambda stage: stage.channel_id)
    for stage in stages:
        await stage.take_over()
    return stages


async def sending(stage: Stage, **fields: Any) -> UUID:
    """Accept a message, and save the intent to send it."""
    id_ = await stage.accept(PHONE, **fields)
    await mark_sending(stage.db, stage.lease, [Intent(id_, 1, False)], NOW)
    return id_


def sent(id_: UUID) -> SendResult:
    return SendResult(id_, 1, State.SENT, f"wamid.{id_.hex}")


def status(id_: UUID, state: State, **more: Any) -> StatusReport:
    return StatusReport(f"wamid.{id_.hex}", state, id_, None, 1, **more)


async def check_log(stage: Stage) -> list[Any]:
    """Check that the events have no gap, and that the head is their end; return them."""
    rows = await stage.rows("events", "ORDER BY id")
    (head,) = await stage.rows("channel_heads")
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert (head["seq"], head["last_event_id"]) == (len(rows), rows[-1]["id"])
    return rows


# -- the same as the general path -------------------------------------------------------------------------------------


@pytest.mark.parametrize("phone", ["5511999998888", "lid:1203", 'user:US."1\\3'])
@pytest.mark.parametrize("client_ref", [None, "ref-1", 'a"b\\c/d é 😀 <&>', "\x01\x1f\x7f\u2028\t\n\r\b\f %s %1$s"])
async def test_the_text_of_an_event_is_the_one_of_the_renderer(
    stage: Stage, phone: str, client_ref: str | None
) -> None:
    id_ = await stage.accept(PHONE)
    await stage.db.execute("UPDATE messages SET phone = $2, client_ref = $3 WHERE id = $1", id_, phone, client_ref)
    details: list[dict[str, Any] | None] = [
        None,
        {"held": True},
        {"pricing": PRICING, "conversation": {"id": "c\x1e"}},
        {"conversation": {}},
    ]
    before = "PENDING"
    states = (State.SENT, State.DELIVERED, State.READ, State.PLAYED)
    for state, more in zip(states, details, strict=True):
        batch = {stage.channel_id: ChannelProgress(stage.ref, [status(id_, state, details=more)])}
        assert await write_progress(stage.db, batch, NOW, wait=True) == {stage.channel_id: [state]}
        row = (await check_log(stage))[-1]
        data = AckMessage.of(
            id_=id_, phone=phone, state=state, previous=before, client_ref=client_ref, error=None, details=more
        )
        assert row["body"] == render(NewEvent(row["id"], data), row["seq"], stage.ref, NOW)
        before = STATUS[state]


def comparable(stage: Stage, events: list[Any], messages: list[Any]) -> Any:
    """Return what both paths must agree on: everything but ids."""
    names = {message["id"].hex.upper(): str(place) for place, message in enumerate(messages)}
    data = [msgspec.json.decode(event["body"]) for event in events]
    told = [{**d["data"], "key": names[d["data"]["key"]["id"]]} for d in data if d["type"] == "ack_notification"]
    hidden = ("channel_id", "id", "contact_id", "event_ids", "network_id", "epoch", "sent_by")
    rows = [{k: v for k, v in row.items() if k not in hidden} for row in messages]
    by_message = sorted(told, key=lambda one: str(one["key"]))
    return rows, by_message, [(row["network_id"] is None, len(row["event_ids"])) for row in messages]


@pytest.mark.parametrize("seed", range(12))
async def test_both_paths_agree_on_any_statuses(db: Database, seed: int) -> None:
    dice, seen = random.Random(seed), []
    words = [State.SENT, State.DELIVERED, State.READ, State.PLAYED]
    plan = [
        [(dice.randrange(4), dice.choice(words), dice.random() < 0.2) for _ in range(dice.randint(1, 6))]
        for _ in range(5)
    ]
    for plain in (True, False):
        stage = await make_stage(db)
        found = await stage.accept_many([PHONE] * 4, client_ref="ref")
        for round_ in plan:
            reports = [
                status(found[at], state, details={"pricing": {"seed": at}} if priced else None)
                for at, state, priced in round_
            ]
            await WRITES[plain](stage.db, stage.ref, stage.channel_id, ReportBatch(reports), NOW)
        seen.append(comparable(stage, await check_log(stage), await stage.rows("messages", "ORDER BY id")))
        (head,) = await stage.rows("channel_heads")
        seen[-1] += (head["queue_version"] > 0,)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("current", [-3, -2, -1, 0, 1, 2, 3, 4, 5])
async def test_both_paths_agree_on_a_result_in_every_state(db: Database, current: int) -> None:
    seen = []
    for write in (mark_results, mark_any_results):
        stage = await make_stage(db)
        await stage.take_over()
        id_ = await sending(stage)
        await db.execute("UPDATE messages SET state = $2, ended_at = $3 WHERE id = $1", id_, current, NOW)
        states = await write(stage.db, stage.lease, stage.ref, [sent(id_)], NOW)
        seen.append((states, *comparable(stage, await check_log(stage), await stage.rows("messages"))))
    assert seen[0] == seen[1]


# -- several channels -------------------------------------------------------------------------------------------------


async def commits(db: Database, table: str, stages: list[Stage]) -> int:
    """Return how many transactions wrote the rows of these channels."""
    count: int = await db.fetchval(
        f"SELECT count(DISTINCT xmin::text) FROM {table} WHERE channel_id = ANY ($1::uuid[])",
        [stage.channel_id for stage in stages],
    )
    return count


async def test_intents_results_and_statuses_of_several_channels_take_one_commit_each(db: Database) -> None:
    stages = await make_stages(db, 5)
    found = {stage.channel_id: await stage.accept(PHONE) for stage in stages}
    recorder = SendRecorder(db, stages[0].clock, 0.01)
    intents = (recorder.intend(s.lease, Intent(found[s.channel_id], 1, True)) for s in stages)
    assert await asyncio.gather(*intents) == [IntentResult(True, True)] * 5
    assert await commits(db, "messages", stages) == 1
    results = (recorder.finish(s.lease, s.ref, sent(found[s.channel_id])) for s in stages)
    assert await asyncio.gather(*results) == [State.SENT] * 5
    assert await commits(db, "messages", stages) == 1
    receiver = UpdateReceiver(db, stages[0].clock, 1000, 0.01)
    updates = {s: StatusUpdate(f"wamid.{found[s.channel_id].hex}", "read", NOW, found[s.channel_id]) for s in stages}
    await asyncio.gather(*(receiver.receive(s.channel_id, s.ref, [update]) for s, update in updates.items()))
    assert await commits(db, "messages", stages) == await commits(db, "channel_heads", stages) == 1
    for stage in stages:
        assert await stage.acks(found[stage.channel_id]) == ["PENDING", "SENT", "READ"]
        await check_log(stage)
    ids = [row["id"] for stage in stages for row in await stage.rows("events")]
    assert len(ids) == len(set(ids))


async def test_a_stale_lease_fails_for_its_own_channel_only(db: Database) -> None:
    stages = await make_stages(db, 3)
    found = [await stage.accept(PHONE) for stage in stages]
    leases = [stage.lease for stage in stages]
    await stages[1].take_over()
    recorder = SendRecorder(db, stages[0].clock, 0.01)
    intents = (recorder.intend(lease, Intent(id_, 1, False)) for lease, id_ in zip(leases, found, strict=True))
    one, two, three = await asyncio.gather(*intents, return_exceptions=True)
    assert one == three == IntentResult(True, False)
    assert isinstance(two, StaleOwner)
    assert (await stages[1].message(found[1])).state is State.QUEUED
    results = (
        recorder.finish(lease, stage.ref, sent(id_)) for lease, stage, id_ in zip(leases, stages, found, strict=True)
    )
    first, second, third = await asyncio.gather(*results, return_exceptions=True)
    assert first == third == State.SENT
    assert isinstance(second, StaleOwner)
    assert (await stages[1].message(found[1])).state is State.QUEUED


async def test_two_leases_of_one_channel_in_one_batch(db: Database) -> None:
    (stage,) = await make_stages(db, 1)
    old, id_ = stage.lease, await stage.accept(PHONE)
    await stage.take_over()
    recorder = SendRecorder(db, stage.clock, 0.01)
    late, new = await asyncio.gather(
        recorder.intend(old, Intent(id_, 1, False)),
        recorder.intend(stage.lease, Intent(id_, 1, False)),
        return_exceptions=True,
    )
    assert isinstance(late, StaleOwner)
    assert new == IntentResult(True, False)
    late_result, result = await asyncio.gather(
        recorder.finish(old, stage.ref, sent(id_)),
        recorder.finish(stage.lease, stage.ref, sent(id_)),
        return_exceptions=True,
    )
    assert isinstance(late_result, StaleOwner)
    assert result == State.SENT


async def test_a_locked_channel_does_not_delay_the_others(db: Database) -> None:
    stages = await make_stages(db, 3)
    found = [await sending(stage) for stage in stages]
    recorder = SendRecorder(db, stages[0].clock, 0.01)
    async with db.transaction() as conn:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await conn.execute("SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", stages[0].channel_id)
        results = [
            asyncio.create_task(recorder.finish(s.lease, s.ref, sent(id_)))
            for s, id_ in zip(stages, found, strict=True)
        ]
        async with asyncio.timeout(PATIENCE):
            assert [await results[1], await results[2]] == [State.SENT] * 2
        assert not results[0].done()
    assert await results[0] is State.SENT


@pytest.mark.parametrize("changed", [0, 1])
async def test_a_message_that_changes_meanwhile_leaves_out_its_channel_only(db: Database, changed: int) -> None:
    """PostgreSQL 18 may find no more messages after it, or crash, if it chooses partitions while the statement runs."""
    stages = await make_stages(db, 3)
    found = [[await sending(stage) for _ in range(3)] for stage in stages]
    for state in (State.SENT, State.DELIVERED, State.READ):
        batch = {
            stage.channel_id: ChannelProgress(stage.ref, [status(id_, state) for id_ in some])
            for stage, some in zip(stages, found, strict=True)
        }
        async with db.transaction() as conn:  # as an intent does, which does not lock the head
            await conn.execute("UPDATE messages SET sending_at = now() WHERE id = $1", found[changed][1])
            writing = asyncio.create_task(write_progress(db, batch, NOW, wait=False))
            await until_blocked(db)
        written = await writing
        left = stages[changed].channel_id
        assert written == {stage.channel_id: [state] * 3 for stage in stages if stage.channel_id != left}
        assert await write_progress(db, {left: batch[left]}, NOW, wait=True) == {left: [state] * 3}
    for stage in stages:
        await check_log(stage)


async def test_messages_are_locked_in_key_order_wherever_the_heads_are(db: Database) -> None:
    """Intents lock them in key order, too: in any other order, both could wait for each other."""
    first, second = await make_stages(db, 2)
    columns = await db.fetchval(
        """SELECT string_agg(column_name, ', ') FROM information_schema.columns
           WHERE table_name = 'channel_heads' AND is_generated = 'NEVER'"""
    )
    await db.execute(
        f"""WITH moved AS (DELETE FROM channel_heads WHERE channel_id = $1 RETURNING {columns})
            INSERT INTO channel_heads ({columns}) SELECT * FROM moved""",
        first.channel_id,
    )
    found = [await sending(stage) for stage in (first, second)]
    batch = {
        stage.channel_id: ChannelProgress(stage.ref, [status(id_, State.DELIVERED)])
        for stage, id_ in zip((first, second), found, strict=True)
    }
    async with db.transaction() as conn:
        await conn.execute("UPDATE messages SET sending_at = now() WHERE id = $1", found[1])
        writing = asyncio.create_task(write_progress(db, batch, NOW, wait=False))
        await until_blocked(db)
        free = await conn.fetchval("SELECT id FROM messages WHERE id = $1 FOR UPDATE SKIP LOCKED", found[0])
        assert free is None
    assert await writing == {first.channel_id: [State.DELIVERED]}


async def test_a_locked_head_is_waited_for_and_what_it_changed_is_seen(db: Database) -> None:
    (stage,) = await make_stages(db, 1)
    id_ = await sending(stage)
    async with db.transaction() as conn:
        await lock_head(conn, stage.channel_id)
        writing = asyncio.create_task(
            receive_updates(db, stage.ref, stage.channel_id, ReportBatch([status(id_, State.DELIVERED)]), NOW)
        )
        await until_blocked(db)
        await conn.execute("UPDATE messages SET state = $2 WHERE id = $1", id_, State.READ.value)
    await writing
    assert [row["state"] for row in await stage.rows("messages")] == [State.READ.value]
    assert await stage.acks(id_) == ["PENDING"]


async def test_a_status_that_is_parked_changes_the_head(db: Database) -> None:
    """Otherwise the statement could write a result without noticing a status that was parked after it had begun."""
    (stage,) = await make_stages(db, 1)
    (before,) = await stage.rows("channel_heads")
    unknown = StatusReport("wamid.unknown", State.READ, None, None)
    await receive_updates(db, stage.ref, stage.channel_id, ReportBatch([unknown]), NOW)
    (after,) = await stage.rows("channel_heads")
    assert len(await stage.rows("parked_statuses")) == 1
    assert after["joined"] > before["joined"]


async def test_a_result_waits_for_its_parked_status(db: Database) -> None:
    (stage,) = await make_stages(db, 1)
    id_ = await sending(stage)
    early = StatusReport(f"wamid.{id_.hex}", State.READ, None, None)
    await receive_updates(db, stage.ref, stage.channel_id, ReportBatch([early]), NOW)
    batch = {stage.channel_id: ChannelProgress(stage.ref, [sent(id_)], stage.lease.epoch)}
    assert await write_progress(db, batch, NOW, wait=True) == {}
    assert await mark_results(db, stage.lease, stage.ref, [sent(id_)], NOW) == [State.READ]


async def until_blocked(db: Database) -> None:
    """Wait until a statement waits for a lock."""
    async with asyncio.timeout(PATIENCE):
        while not await db.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            await asyncio.sleep(0.01)


async def test_an_unfit_report_fails_alone(db: Database) -> None:
    stages = await make_stages(db, 3)
    found = [await sending(stage) for stage in stages]
    names = [f"wamid.{found[0].hex}", "nul \x00", f"wamid.{found[2].hex}"]
    recorder = SendRecorder(db, stages[0].clock, 0.01)
    results = [
        recorder.finish(stage.lease, stage.ref, SendResult(id_, 1, State.SENT, name))
        for stage, id_, name in zip(stages, found, names, strict=True)
    ]
    one, two, three = await asyncio.gather(*results, return_exceptions=True)
    assert one == three == State.SENT
    assert isinstance(two, Exception)


async def test_a_message_that_is_not_found_leaves_its_channel_to_the_general_path(db: Database) -> None:
    one, two = await make_stages(db, 2)
    first, second = await sending(one), await sending(two)
    reports = [status(first, State.DELIVERED), status(UUID(int=first.int + 99), State.READ)]
    batch = {
        one.channel_id: ChannelProgress(one.ref, reports),
        two.channel_id: ChannelProgress(two.ref, [status(second, State.READ)]),
    }
    assert await write_progress(db, batch, NOW, wait=False) == {two.channel_id: [State.READ]}
    assert await one.acks(first) == ["PENDING"]
    await receive_updates(db, one.ref, one.channel_id, ReportBatch(reports), NOW)
    assert await one.acks(first) == ["PENDING", "DELIVERED"]
    assert len(await one.rows("parked_statuses")) == 1


@pytest.mark.parametrize("alias", ["551199998888", PHONE])
async def test_a_known_alias_needs_nothing_more(db: Database, alias: str) -> None:
    (stage,) = await make_stages(db, 1)
    first = await stage.accept(PHONE)
    second = await stage.accept("551199998888")  # another form of the same number
    messages = [first, second]
    await mark_sending(db, stage.lease, [Intent(id_, 1, False) for id_ in messages], NOW)
    aliases = [alias, None] if alias != PHONE else [None, alias]
    batch = ChannelProgress(stage.ref, [sent(id_) for id_ in messages], stage.lease.epoch, aliases)
    before = await stage.rows("contact_aliases"), await stage.rows("contacts")
    assert await write_progress(db, {stage.channel_id: batch}, NOW, wait=True) == {stage.channel_id: [State.SENT] * 2}
    assert (await stage.rows("contact_aliases"), await stage.rows("contacts")) == before


async def test_a_new_alias_leaves_its_channel_to_the_general_path(db: Database) -> None:
    one, two = await make_stages(db, 2)
    first, second = await sending(one), await sending(two)
    batch = {
        one.channel_id: ChannelProgress(one.ref, [sent(first)], one.lease.epoch, ["4915100001"]),
        two.channel_id: ChannelProgress(two.ref, [sent(second)], two.lease.epoch, [None]),
    }
    assert await write_progress(db, batch, NOW, wait=False) == {two.channel_id: [State.SENT]}
    result = msgspec.structs.replace(sent(first), alias="4915100001")
    assert await mark_results(db, one.lease, one.ref, [result], NOW) == [State.SENT]
    assert "4915100001" in {row["alias"] for row in await one.rows("contact_aliases")}


async def test_several_new_aliases_are_saved_at_once(db: Database) -> None:
    (stage,) = await make_stages(db, 1)
    phones = ["4915100001", "4915100002", "4915100003"]
    found = [await stage.accept(phone) for phone in phones]
    await mark_sending(db, stage.lease, [Intent(id_, 1, False) for id_ in found], NOW)
    aliases = ["4915100009", "4915100001", "4915100008"]  # new, of another contact: the same person, new
    results = [msgspec.structs.replace(sent(id_), alias=alias) for id_, alias in zip(found, aliases, strict=True)]
    assert await mark_results(db, stage.lease, stage.ref, results, NOW) == [State.SENT] * 3
    rows = await stage.rows("messages", "ORDER BY id")
    assert [row["contact_id"] == rows[0]["contact_id"] for row in rows] == [True, True, False]
    owners = {row["alias"]: row["contact_id"] for row in await stage.rows("contact_aliases")}
    assert owners["4915100009"] == owners["4915100002"] == rows[0]["contact_id"]
    assert owners["4915100008"] == rows[2]["contact_id"]


# -- races ------------------------------------------------------------------------------------------------------------


async def test_a_status_before_the_result_of_its_send(stage: Stage) -> None:
    await stage.take_over()
    id_ = await sending(stage)
    await receive_updates(stage.db, stage.ref, stage.channel_id, ReportBatch([status(id_, State.DELIVERED)]), NOW)
    assert await mark_results(stage.db, stage.lease, stage.ref, [sent(id_)], NOW) == [State.DELIVERED]
    assert await stage.acks(id_) == ["PENDING", "DELIVERED"]
    (row,) = await stage.rows("messages")
    assert (row["network_id"], row["sent_at"]) == (f"wamid.{id_.hex}", None)


async def waiting_for_lock(db: Database, task: "asyncio.Task[Any]") -> None:
    """Wait until a statement waits for a lock."""
    async with asyncio.timeout(PATIENCE):
        while not await db.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ):
            assert not task.done()
            await asyncio.sleep(0.005)


async def test_a_status_that_is_parked_while_the_result_waits_is_not_missed(stage: Stage) -> None:
    await stage.take_over()
    id_ = await sending(stage)
    async with stage.db.transaction() as conn:
        await lock_head(conn, stage.channel_id)
        result = asyncio.create_task(mark_results(stage.db, stage.lease, stage.ref, [sent(id_)], NOW))
        await waiting_for_lock(stage.db, result)
        parked = '{"state":3,"error":null,"told":null}'
        await conn.execute(
            "INSERT INTO parked_statuses VALUES ($1, $2, $3, $4)", stage.channel_id, f"wamid.{id_.hex}", id_, parked
        )
    assert await result == [State.DELIVERED]
    assert await stage.acks(id_) == ["PENDING", "SENT", "DELIVERED"]
    assert await stage.rows("parked_statuses") == []


async def test_an_event_while_a_report_waits_gets_the_number_before(stage: Stage) -> None:
    await stage.take_over()
    one, two = await sending(stage), await sending(stage)
    async with stage.db.transaction() as conn:
        await lock_head(conn, stage.channel_id)
        result = asyncio.create_task(mark_results(stage.db, stage.lease, stage.ref, [sent(one)], NOW))
        await waiting_for_lock(stage.db, result)
        other = asyncio.create_task(mark_results(stage.db, stage.lease, stage.ref, [sent(two)], NOW))
    assert [await result, await other] == [[State.SENT], [State.SENT]]
    await check_log(stage)


async def test_a_message_that_changes_while_a_report_waits_for_it(stage: Stage) -> None:
    """An intent does not lock the head. Messages of two weeks are in two partitions."""
    await stage.take_over()
    old = await sending(stage)
    stage.clock.advance(8 * 86_400)
    new = await sending(stage)
    assert await stage.db.fetchval("SELECT count(DISTINCT tableoid) FROM messages WHERE id = ANY ($1)", [old, new]) == 2
    for state in (State.DELIVERED, State.READ):
        async with stage.db.transaction() as conn:
            await conn.execute("UPDATE messages SET attempt = 2 WHERE id = ANY ($1)", [old, new])
            reports = ReportBatch([status(old, state), status(new, state)])
            receiving = asyncio.create_task(receive_updates(stage.db, stage.ref, stage.channel_id, reports, NOW))
            await waiting_for_lock(stage.db, receiving)
        await receiving
    rows = await stage.rows("messages", "ORDER BY id")
    assert [(row["attempt"], row["state"]) for row in rows] == [(2, State.READ)] * 2
    await check_log(stage)


async def test_no_deadlock_over_channels_in_any_order(db: Database, common_url: str) -> None:
    """Two nodes write intents, results and statuses of the same channels, while single channels are locked too."""
    stages = await make_stages(db, 6)
    other = await Database.connect(common_url, connections=8)
    rounds, dice = 12, random.Random(3)
    found = {s.channel_id: await s.accept_many([PHONE] * rounds) for s in stages}
    before = await db.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")

    async def send(node: Database, chosen: list[Stage], number: int) -> None:
        recorder = SendRecorder(node, stages[0].clock, 0.0)
        order = dice.sample(chosen, len(chosen))
        ids = [found[s.channel_id][number] for s in order]
        await asyncio.gather(*(recorder.intend(s.lease, Intent(i, 1, True)) for s, i in zip(order, ids, strict=True)))
        await asyncio.gather(*(recorder.finish(s.lease, s.ref, sent(i)) for s, i in zip(order, ids, strict=True)))

    async def receive_status(node: Database, number: int) -> None:
        receiver = UpdateReceiver(node, stages[0].clock, 1000, 0.0)
        order = dice.sample(stages, len(stages))
        for word in ("sent", "delivered", "read"):
            await asyncio.gather(
                *(
                    receiver.receive(
                        s.channel_id, s.ref, [StatusUpdate(f"wamid.{i.hex}", word, NOW, i) for i in [ids[number]]]
                    )
                    for s in order
                    for ids in [found[s.channel_id]]
                )
            )

    async with asyncio.timeout(PATIENCE):
        for number in range(rounds):
            await asyncio.gather(
                send(db, stages[:4], number),
                send(other, stages[2:], number),
                receive_status(db, number),
                receive_status(other, number),
            )
    await other.close()
    for stage in stages:
        await check_log(stage)
        assert {row["state"] for row in await stage.rows("messages")} == {State.READ}
    assert await db.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == before


async def test_intents_together_leave_out_what_is_not_theirs(db: Database) -> None:
    one, two = await make_stages(db, 2)
    first, canceled, second = await one.accept(PHONE), await one.accept(PHONE), await two.accept(PHONE)
    await db.execute("UPDATE messages SET state = -3 WHERE id = $1", canceled)
    stale = msgspec.structs.replace(two.lease, epoch=two.lease.epoch - 1)
    batches = {one.lease: [Intent(canceled, 1, True), Intent(first, 1, True)], stale: [Intent(second, 1, False)]}
    assert await mark_sending_together(db, batches, NOW) == {
        one.lease: [IntentResult(False, False), IntentResult(True, True)]
    }


async def test_the_pace_of_several_channels_is_saved_at_once(db: Database) -> None:
    """One with another owner, or whose head is locked, is left out."""
    one, two, three = await make_stages(db, 3)
    stale = msgspec.structs.replace(two.lease, epoch=two.lease.epoch - 1)
    floor = UUID(int=7)
    async with db.transaction() as conn:
        await lock_head(conn, three.channel_id)
        saved = await save_paces(db, dict.fromkeys((one.lease, stale, three.lease), (floor, '{"queued":1}')))
    assert saved == {one.lease}
    heads = [(await stage.rows("channel_heads"))[0] for stage in (one, two, three)]
    assert [head["send_floor"] == floor for head in heads] == [True, False, False]
    assert await one.pace() == {"queued": 1}
