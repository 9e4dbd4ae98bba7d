"""The progress of endpoints is saved for many channels at once; what is locked, lost or deleted is left out."""

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.endpoint import HealthCounters
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.queue import DeliveryCursor, save_cursors
from gatepost.store.endpoints import get_endpoint, list_delivering
from gatepost.store.pool import Database
from tests.outbound.stage import NOW, Stage, make_stage
from tests.store.delivery_rows import add_endpoint
from tests.store.test_deleted_endpoints import somebody_in_the_way

HEALTH = HealthCounters(NOW, 3, 1, None, 0, NOW)


async def owned_stage(db: Database) -> Stage:
    stage = await make_stage(db)
    await stage.take_over()
    return stage


@pytest.mark.parametrize("wait", [False, True])
async def test_endpoints_of_several_channels_are_saved_together(db: Database, wait: bool) -> None:
    one, other = await owned_stage(db), await owned_stage(db)
    hooks = {stage: [await add_endpoint(db, stage.channel_id) for _ in range(2)] for stage in (one, other)}
    cursors = {stage: [ids.new_id(NOW) for _ in some] for stage, some in hooks.items()}
    given = {}
    for stage, some in hooks.items():
        known = [await get_endpoint(db, stage.channel_id, hook) for hook in some]
        given[stage.lease] = {
            row.id: DeliveryCursor(cursor, HEALTH, row.updated_at)
            for row, cursor in zip(filter(None, known), cursors[stage], strict=True)
        }
    lost = Lease(other.channel_id, other.lease.epoch + 1)
    given[lost] = {hooks[other][1]: msgspec.structs.replace(given[other.lease].pop(hooks[other][1]), cursor=ids.ZERO)}
    given[one.lease][ids.new_id(NOW)] = DeliveryCursor(ids.ZERO, HEALTH, NOW)  # it was deleted
    assert await save_cursors(db, given, wait=wait) == {*hooks[one], hooks[other][0]}
    for stage, some in hooks.items():
        for hook, cursor in zip(some, cursors[stage], strict=True):
            row = await get_endpoint(db, stage.channel_id, hook)
            assert row is not None
            saved = (row.cursor, row.health.failures) == (cursor, 3)
            assert saved == (hook != hooks[other][1])
    assert await save_cursors(db, {}, wait=wait) == set()


async def test_rows_that_are_locked_are_left_out(db: Database, common_url: str) -> None:
    stages = [await owned_stage(db) for _ in range(3)]
    hooks = [await add_endpoint(db, stage.channel_id) for stage in stages]
    given = {
        stage.lease: {hook: DeliveryCursor(ids.new_id(NOW), HEALTH, NOW)}
        for stage, hook in zip(stages, hooks, strict=True)
    }
    head = somebody_in_the_way(
        common_url, "SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE", stages[0].channel_id
    )
    endpoint = somebody_in_the_way(common_url, "SELECT 1 FROM endpoints WHERE id = $1 FOR UPDATE", hooks[1])
    async with head, endpoint:
        assert await save_cursors(db, given, wait=False) == {hooks[2]}
    assert await save_cursors(db, given, wait=False) == set(hooks)


async def test_an_endpoint_says_whether_it_has_retries(db: Database) -> None:
    stage = await make_stage(db)
    first, second = [await add_endpoint(db, stage.channel_id) for _ in range(2)]
    await db.execute(
        "INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at) VALUES ($1, $2, $3, now())",
        stage.channel_id,
        second,
        ids.new_id(NOW),
    )
    listed = (await list_delivering(db, [stage.channel_id]))[stage.channel_id]
    assert {one.id: one.has_retries for one in listed} == {first: False, second: True}
