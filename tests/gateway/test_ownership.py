"""A channel whose parts fail: it is given back all the same, and the others are looked after."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.held_leases import LeaseListener
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.owned_channel import OwnedChannel
from gatepost.owner import Owner
from gatepost.settings import LeaseSettings
from gatepost.store.endpoints import Endpoint
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from tests.outbound.stage import NOW, Stage, make_stage, make_state
from tests.patience import PATIENCE

LEASE = LeaseSettings(ttl=3600, renew=5, sweep=1, idle=60)


class Faulty(ChannelTask):
    """A task that ends at once, and that fails when it is stopped."""

    name = "faulty"

    def __init__(self, context: ChannelContext, error: BaseException) -> None:
        super().__init__(context)
        self._error = error

    async def run(self) -> None:
        raise self._error

    async def work(self) -> None:
        """Never called."""

    async def stop(self) -> None:
        raise self._error


class Unreadable(ChannelTask):
    """A task that fails when it is asked whether it is idle."""

    name = "unreadable"

    @property
    def idle(self) -> bool:
        raise ValueError("no")

    async def work(self) -> None:
        """Does nothing."""


class Counting(ChannelTask):
    """A task that counts its wake-ups."""

    name = "counting"
    woken = 0

    def wake(self) -> None:
        self.woken += 1

    async def work(self) -> None:
        """Does nothing."""


class Tasks:
    """The worker of a channel without endpoints, whose settings do not change."""

    def __init__(self, sender: ChannelSender, others: Sequence[ChannelTask]) -> None:
        self.sender = sender
        self.others = others

    def make_deliverer(self, _target: Endpoint) -> EndpointDeliverer:
        raise AssertionError("no channel has an endpoint here")

    async def tune(self) -> None:
        """Nothing changes."""


async def _leases(conn: Any) -> dict[UUID, datetime]:
    rows = await conn.fetch("SELECT channel_id, expires_at FROM channel_heads")
    return {row["channel_id"]: row["expires_at"] for row in rows}


class Owning:
    """An owner whose sweeps the test does by hand."""

    def __init__(self, db: Database, stage: Stage) -> None:
        self.db = db
        self.stage = stage
        self.make_task: Callable[[ChannelContext], ChannelTask] | None = None
        self.counted: list[str] = []
        listener = LeaseListener(failed=self.counted.append)
        self.owner = Owner(db, stage.clock, LEASE, self.make_workers, listener)

    async def make_workers(self, channels: Sequence[OwnedChannel]) -> dict[UUID, "Tasks"]:
        return {owned.lease.channel_id: self.make_worker(owned) for owned in channels}

    def make_worker(self, owned: OwnedChannel) -> "Tasks":
        context = ChannelContext(self.db, self.stage.clock, owned.lease, self.stage.ref, owned.alive)
        ours = owned.lease.channel_id == self.stage.channel_id
        others = [self.make_task(context)] if self.make_task and ours else []
        return Tasks(ChannelSender(make_state(context, network=self.stage.network)), others)

    async def owners(self) -> dict[UUID, UUID | None]:
        async with self.db.connection() as conn:
            rows = await conn.fetch("SELECT channel_id, owner FROM channel_heads")
        return {row["channel_id"]: row["owner"] for row in rows}

    async def leases(self) -> dict[UUID, datetime]:
        async with self.db.connection() as conn:
            return await _leases(conn)

    async def look(self) -> None:
        """Claim, and check the own channels."""
        await self.owner.claim()
        await self.owner.sweep()

    async def sweep_until(self, count: int) -> None:
        """Owns so many channels; a claim leaves a head that is locked in that moment to the next one."""
        async with asyncio.timeout(PATIENCE):
            while self.owner.owned < count:
                await self.look()

    async def until_free(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await self.owners())[self.stage.channel_id] is not None:
                await asyncio.sleep(0.01)


@pytest.fixture
async def owning(database_url: str) -> AsyncIterator[Owning]:
    db = await Database.connect(database_url, connections=16)
    await make_partitions(db, NOW, days=7)
    one = Owning(db, await make_stage(db))
    yield one
    await one.owner.stop(5)
    await db.close()


async def test_minor_tasks_are_not_woken_by_every_message(owning: Owning) -> None:
    """They are by other changes, and otherwise a few sweeps later."""
    tasks: list[Counting] = []

    def make_task(context: ChannelContext) -> ChannelTask:
        tasks.append(Counting(context))
        return tasks[-1]

    owning.make_task = make_task
    channel_id, owner = owning.stage.channel_id, owning.owner
    await owning.stage.accept("5511999998888")
    await owning.sweep_until(1)
    (task,) = tasks
    before = task.woken
    owner.wake(channel_id, tasks=False)
    await owner.sweep()
    assert task.woken == before
    owner.wake(channel_id)
    assert task.woken == before + 1
    owner.wake(channel_id, tasks=False)
    async with asyncio.timeout(PATIENCE):
        while task.woken < before + 2:
            await owner.sweep()


@pytest.mark.parametrize("fault", [ValueError("no"), asyncio.CancelledError()])
async def test_a_channel_is_released_though_its_end_fails(owning: Owning, fault: BaseException) -> None:
    owning.make_task = lambda context: Faulty(context, fault)
    await owning.stage.accept("5511999998888")
    async with asyncio.timeout(PATIENCE):
        while not owning.counted:
            await owning.look()
    await owning.until_free()
    assert (owning.owner.owned, owning.counted) == (0, ["dropped"])
    owning.make_task = None
    id_ = await owning.stage.accept("5511999997777")  # the outcome of the first one may be unknown
    await owning.sweep_until(1)  # the next owner goes on
    async with asyncio.timeout(PATIENCE):
        while await owning.stage.status(id_) != "SENT":
            await asyncio.sleep(0.01)


async def test_a_stop_releases_a_channel_whose_end_fails(owning: Owning) -> None:
    owning.make_task = lambda context: Faulty(context, ValueError("no"))
    await owning.stage.accept("5511999998888")
    async with asyncio.timeout(PATIENCE):
        while not (owning.owner.owned or owning.counted):
            await owning.look()
    await owning.owner.stop(5)
    assert set((await owning.owners()).values()) == {None}


async def test_a_stop_releases_a_channel_that_was_just_claimed(owning: Owning) -> None:
    """A sweep may be broken off between the commit of a claim and its answer."""
    async with owning.db.connection() as conn:
        await conn.execute("UPDATE channel_heads SET owner = $1, expires_at = now() + '1 hour'", owning.owner.id)
    await owning.owner.stop(5)
    assert set((await owning.owners()).values()) == {None}


async def test_a_channel_that_cannot_be_checked_delays_no_other(owning: Owning) -> None:
    other = await make_stage(owning.db)
    owning.make_task = Unreadable
    await owning.stage.accept("5511999998888")
    await other.accept("5511999997777")
    await owning.sweep_until(2)
    async with asyncio.timeout(PATIENCE):
        while owning.owner.owned == 2:  # once there is nothing new: is it idle?
            await owning.look()
            await asyncio.sleep(0.01)
    await owning.until_free()
    assert (await owning.owners())[other.channel_id] == owning.owner.id


async def test_a_channel_that_is_locked_for_long_costs_the_others_no_lease(owning: Owning, database_url: str) -> None:
    other = await make_stage(owning.db)
    await owning.stage.accept("5511999998888")
    await other.accept("5511999997777")
    await owning.sweep_until(2)
    before = await owning.leases()
    blocker = await asyncpg.connect(database_url)
    try:
        async with asyncio.timeout(PATIENCE), blocker.transaction():
            lock = "SELECT 1 FROM channel_heads WHERE channel_id = $1 FOR UPDATE"
            await blocker.execute(lock, owning.stage.channel_id)
            renewals = [asyncio.create_task(owning.owner.renew())]
            while (await _leases(blocker))[other.channel_id] == before[other.channel_id]:
                await asyncio.sleep(0.2)
                # As the loop does: its own work may have held the other head in the very moment of a renewal.
                if len(renewals) < 3:  # each one that waits for the lock holds a connection
                    renewals.append(asyncio.create_task(owning.owner.renew()))
            assert (await _leases(blocker))[owning.stage.channel_id] == before[owning.stage.channel_id]
            assert not any(renewal.done() for renewal in renewals)
    finally:
        await blocker.close()
    await asyncio.wait_for(asyncio.gather(*renewals), PATIENCE)
    assert (await owning.leases())[owning.stage.channel_id] > before[owning.stage.channel_id]
    assert owning.owner.owned == 2
