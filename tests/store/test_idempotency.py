"""Requests that create, done once: what a key stands for at each moment, and what a look at it costs."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from gatepost.model.errors import Conflict, Invalid
from gatepost.store.idempotency import (
    LEASE,
    NEVER,
    AnswerSeal,
    IdempotencyKey,
    IdempotentRequest,
    Replay,
    check_items,
    nth,
)
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store.query_plans import explained_database

TINY = timedelta(milliseconds=1)
KEY = IdempotencyKey("POST /things", "one", b"hash")


@pytest.fixture
async def stage(database_url: str) -> AsyncIterator[Stage]:
    """Give a channel."""
    db = await Database.connect(database_url, connections=3)
    yield await make_stage(db)
    await db.close()


def _once(stage: Stage, key: IdempotencyKey | None = KEY, **more: Any) -> IdempotentRequest[str]:
    return IdempotentRequest(stage.channel_id, key, str.encode, **more)


async def _keep(stage: Stage, once: IdempotentRequest[str], made: str = "made", at: timedelta = timedelta(0)) -> None:
    async with stage.db.transaction() as conn:
        await once.keep(conn, made, NOW + at)


async def test_an_unknown_key_stands_for_nothing(stage: Stage) -> None:
    async with stage.db.connection() as conn:
        assert await _once(stage).check(conn, NOW) is False
    await _once(stage).look(stage.db, NOW)


async def test_without_a_key_nothing_is_kept(stage: Stage) -> None:
    for once in (_once(stage, None), NEVER):
        assert not once.keyed
        async with stage.db.transaction() as conn:
            await once.begin(conn, NOW)
            await once.keep(conn, "made", NOW)
        await once.renew(stage.db, NOW)
        await once.look(stage.db, NOW)
        await once.forget(stage.db)
    assert await stage.rows("idempotency_keys") == []


async def test_what_was_kept_comes_again(stage: Stage) -> None:
    await _keep(stage, _once(stage))
    with pytest.raises(Replay) as replay:
        await _once(stage).look(stage.db, NOW)
    assert replay.value.answer == b"made"
    with pytest.raises(Invalid) as refused:
        await _once(stage, IdempotencyKey("POST /things", "one", b"other")).look(stage.db, NOW)
    assert refused.value.code == "idempotency_key_reused"
    for other in (IdempotencyKey("POST /others", "one", b"hash"), IdempotencyKey("POST /things", "two", b"hash")):
        await _once(stage, other).look(stage.db, NOW)


async def test_a_second_answer_never_replaces_the_first(stage: Stage) -> None:
    await _keep(stage, _once(stage))
    for key in (KEY, IdempotencyKey("POST /things", "one", b"other")):
        with pytest.raises(Conflict) as refused:
            await _keep(stage, _once(stage, key), "another")
        assert refused.value.code == "idempotency_in_progress"
    with pytest.raises(Replay) as replay:
        await _once(stage).look(stage.db, NOW)
    assert replay.value.answer == b"made"


async def test_what_was_begun_may_be_taken_over_when_its_lease_has_run_out(stage: Stage) -> None:
    async with stage.db.transaction() as conn:
        await _once(stage).begin(conn, NOW)
    async with stage.db.connection() as conn:
        for at in (NOW, NOW + LEASE - TINY):
            with pytest.raises(Conflict) as refused:
                await _once(stage).check(conn, at)
            assert (refused.value.code, refused.value.retry_after) == ("idempotency_in_progress", 1)
        assert await _once(stage).check(conn, NOW + LEASE) is True
        assert await _once(stage).check(conn, NOW - LEASE) is True  # the clock was set back
    await _once(stage).renew(stage.db, NOW + LEASE)
    async with stage.db.connection() as conn:
        with pytest.raises(Conflict):
            await _once(stage).check(conn, NOW + LEASE + LEASE - TINY)
    await _keep(stage, _once(stage), at=LEASE)
    with pytest.raises(Replay):
        await _once(stage).look(stage.db, NOW + LEASE)


async def test_only_what_has_no_answer_is_forgotten(stage: Stage) -> None:
    async with stage.db.transaction() as conn:
        await _once(stage).begin(conn, NOW)
    await _once(stage).forget(stage.db)
    await _once(stage).look(stage.db, NOW)
    await _keep(stage, _once(stage))
    await _once(stage).forget(stage.db)
    with pytest.raises(Replay):
        await _once(stage).look(stage.db, NOW)


async def test_a_failed_commit_keeps_no_answer(stage: Stage) -> None:
    async def fail() -> None:
        async with stage.db.transaction() as conn:
            await _once(stage).keep(conn, "made", NOW)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    await _once(stage).look(stage.db, NOW)


async def test_an_answer_may_be_kept_closed_and_made_of_parts(stage: Stage) -> None:
    seal = AnswerSeal(lambda answer: answer[::-1], lambda kept: kept[::-1])
    once = _once(stage, seal=seal)
    async with stage.db.transaction() as conn:
        await once.through(lambda number: f"number {number}").keep(conn, 7, NOW)
    (row,) = await stage.rows("idempotency_keys")
    assert row["answer"] == b"7 rebmun"
    with pytest.raises(Replay) as replay:
        await once.look(stage.db, NOW)
    assert replay.value.answer == b"number 7"


async def test_a_batch_is_known_by_any_of_its_items(stage: Stage) -> None:
    await check_items(stage.db, stage.channel_id, KEY, 1000)
    await _keep(stage, _once(stage, nth(KEY, 999)))
    await check_items(stage.db, stage.channel_id, KEY, 1000)
    other = IdempotencyKey(KEY.route, KEY.key, b"other")
    with pytest.raises(Invalid) as refused:
        await check_items(stage.db, stage.channel_id, other, 1000)
    assert refused.value.code == "idempotency_key_reused"
    await check_items(stage.db, stage.channel_id, other, 999)


FILL = """INSERT INTO idempotency_keys (channel_id, route, key, body_hash, answer, created_at)
          SELECT $1, 'POST /things', 'key-' || n, 'hash', 'answer', $2 FROM generate_series(1, 20000) n"""


async def test_a_look_reads_one_row_of_many(database_url: str) -> None:
    async with explained_database(database_url) as (db, plans):
        stage = await make_stage(db)
        for full in (False, True):
            if full:
                async with db.connection() as conn:
                    await conn.execute(FILL, stage.channel_id, NOW)
            plans.clear()
            await _once(stage, IdempotencyKey("POST /things", f"fresh-{full}", b"hash")).look(db, NOW)
            await _keep(stage, _once(stage, IdempotencyKey("POST /things", f"kept-{full}", b"hash")))
            await check_items(db, stage.channel_id, KEY, 1000)
            assert len(plans) >= 3
            for plan in plans:
                scans = [node for node in plan.nodes() if node["Node Type"] == "Seq Scan"]
                assert not scans, plan.query
                assert plan.buffers < (5000 if "generate_series" in plan.query else 40), plan.query


async def test_what_another_body_began_is_never_written_over(stage: Stage) -> None:
    """Two that saw the key free at the same moment: the second neither begins nor keeps."""
    other = _once(stage, IdempotencyKey("POST /things", "one", b"other"))
    async with stage.db.transaction() as conn:
        await _once(stage).begin(conn, NOW)
    for done in (other.renew(stage.db, NOW), _keep(stage, other)):
        with pytest.raises(Conflict):
            await done
    await _keep(stage, _once(stage))
    with pytest.raises(Replay):
        await _once(stage).look(stage.db, NOW)
