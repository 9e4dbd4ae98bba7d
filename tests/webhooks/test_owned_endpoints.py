"""The endpoints of an owned channel: read again after an outage of the database, and never twice at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from functools import partial

import asyncpg
import msgspec
import pytest

from gatepost.channel_task import ChannelTask
from gatepost.clock import Clock, SystemClock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model.endpoint import HealthCounters
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.owned_channel import OwnedChannel
from gatepost.store.channel_head import Lease
from gatepost.store.endpoints import Endpoint, EndpointChange, delete_endpoint, list_delivering, set_endpoint_state
from gatepost.webhooks.delivery_context import ChannelDelivery
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from tests.conftest import Answer
from tests.outbound import stage as outbound
from tests.webhooks.stage import Stage, open_target
from tests.webhooks.test_wakeups import away, until


def own(stage: Stage, clock: Clock, lease: Lease) -> OwnedChannel:
    find = GroupedLookup(partial(list_delivering, stage.db)).find
    return OwnedChannel(stage.db, clock, lease, float("inf"), find)


class Owned:
    """An owned channel with the sender of another stage: nothing is sent here."""

    def __init__(self, stage: Stage, sender: ChannelSender, lease: Lease) -> None:
        self.stage, self.sender, self.made = stage, sender, 0
        self.others: Sequence[ChannelTask] = ()
        self.owned = own(stage, SystemClock(), lease)
        self.lease = lease

    def make_deliverer(self, target: Endpoint) -> EndpointDeliverer:
        self.made += 1
        stage, alive = self.stage, self.owned.alive
        return EndpointDeliverer(ChannelDelivery(stage.context, self.lease, stage.ref, open_target, 8, alive), target)

    async def tune(self) -> None:
        pass


@pytest.fixture
async def owned(stage: Stage) -> AsyncIterator[Owned]:
    await stage.take_over()
    assert stage.lease is not None
    sending = await outbound.make_stage(stage.db)
    one = Owned(stage, await sending.take_over(), stage.lease)
    yield one
    await one.owned.end()


async def test_a_wakeup_before_the_start_makes_no_deliverer(owned: Owned) -> None:
    """Until then the reference of the channel in events is not known."""
    await owned.stage.add()
    owned.owned.wake()
    await asyncio.sleep(0.1)
    assert owned.made == 0
    await owned.owned.begin(owned)
    owned.owned.wake()
    await owned.stage.emit(1)
    owned.owned.wake()
    await owned.stage.receiver.wait_for(1)
    assert owned.made == 1


async def test_a_failed_read_of_endpoints_is_repeated(owned: Owned, common_url: str) -> None:
    await owned.owned.begin(owned)
    await owned.stage.add()
    async with away(common_url, "endpoints") as break_off:
        owned.owned.refresh()
        await break_off()
    await until(lambda: owned.made == 1)


async def test_a_deliverer_continues_after_an_error_that_is_no_outage(owned: Owned, common_url: str) -> None:
    """Its table is missing for a moment."""
    await owned.stage.add()
    conn = await asyncpg.connect(common_url)
    await conn.execute("ALTER TABLE deliveries RENAME TO elsewhere")
    try:
        await owned.owned.begin(owned)
        await until(lambda: owned.sender.idle)
        await asyncio.sleep(0.2)
        assert not owned.owned.idle
    finally:
        await conn.execute("ALTER TABLE elsewhere RENAME TO deliveries")
        await conn.close()
    await owned.stage.emit(1)
    await owned.stage.receiver.wait_for(1)
    assert owned.made == 1


async def test_the_end_waits_for_the_post_of_an_endpoint_that_was_just_deleted(owned: Owned) -> None:
    stage, hook = owned.stage, await owned.stage.add()
    stage.receiver.answer = Answer(200, delay=0.5)
    await owned.owned.begin(owned)
    (deliverer,) = owned.owned._deliverers.values()
    await stage.emit(1)
    owned.owned.wake()
    await until(lambda: deliverer.in_flight == 1)
    assert await delete_endpoint(stage.db, stage.channel_id, hook)
    owned.owned.refresh()
    await until(lambda: deliverer._stopping)
    await owned.owned.end()
    assert deliverer.in_flight == 0


async def test_saved_health_does_not_overwrite_a_change_by_a_user(stage: Stage) -> None:
    hook = await stage.add()
    await stage.take_over()
    stage.receiver.answer = Answer(500)
    await stage.emit(1)
    await stage.settle()
    stage.clock.advance(1)
    on = EndpointChange(state="active")
    await set_endpoint_state(stage.db, stage.ref, stage.channel_id, hook, on, stage.clock.now())
    await stage.save()  # by a deliverer that does not know of the change
    health = (await stage.endpoint(hook)).health
    assert (health.failures, health.failing_since) == (0, None)


async def test_a_row_that_was_read_before_our_own_write_is_not_adopted(stage: Stage) -> None:
    hook = await stage.add()
    await stage.take_over()
    one, (target,) = stage.deliverers[hook], (await list_delivering(stage.db, [stage.channel_id]))[stage.channel_id]
    old = msgspec.structs.replace(target, health=HealthCounters(stage.clock.now(), 7), updated_at=stage.clock.now())
    assert not one.change(old, one.changes - 1)
    assert one.progress.health.failures == 0
    later = msgspec.structs.replace(old, updated_at=stage.clock.now() + timedelta(seconds=1))
    assert one.change(later, one.changes)
    assert one.progress.health.failures == 7
