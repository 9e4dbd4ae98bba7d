"""What could keep a channel without an owner, or hold it up while it moves: each case once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from gatepost.admin import accounts, channels
from gatepost.background import Supervisor
from gatepost.channel_claims import ChannelClaims
from gatepost.channel_task import ChannelContext
from gatepost.held_leases import LeaseListener
from gatepost.model.errors import database_unavailable
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.outbound.sender_state import SenderState
from gatepost.owned_channel import OwnedChannel
from gatepost.owner import Owner
from gatepost.settings import LeaseSettings, load
from gatepost.store.channels import get_configs
from gatepost.store.leases import report_owner
from gatepost.store.pool import Database
from tests.gateway.test_ownership import Tasks
from tests.movable_clock import MovableClock
from tests.outbound.stage import make_state
from tests.patience import patience
from tests.running_gateway import FAST_NETWORK

CHANNELS = 24  # more than begin or end at the same time
_AT_ONCE = 16
_WAITS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            AND starts_with(query, $1)"""
_RELEASE = "UPDATE channel_heads SET owner = NULL"


class Sender(ChannelSender):
    """A sender that looks at its queue when the test lets it, and counts the senders that end at the same time."""

    ending = most_ending = 0

    def __init__(self, state: SenderState, looks: asyncio.Event) -> None:
        super().__init__(state)
        self._looks = looks

    @property
    def idle(self) -> bool:
        return True

    async def work(self) -> None:
        await self._looks.wait()

    async def stop(self) -> None:
        Sender.ending += 1
        Sender.most_ending = max(Sender.most_ending, Sender.ending)
        for _ in range(10):
            await asyncio.sleep(0)
        Sender.ending -= 1
        await super().stop()


class Process:
    """An owner of channels whose loops run only if the test starts them."""

    def __init__(self, db: Database, lease: LeaseSettings) -> None:
        self.db = db
        self.clock = MovableClock(datetime.now(UTC))
        self.looks = asyncio.Event()
        self.looks.set()
        self.failures: list[str] = []
        self.settings_fail = False
        self.settings_are_read = asyncio.Event()
        self.settings_are_read.set()
        self.owner = Owner(db, self.clock, lease, self.make_workers, LeaseListener(failed=self.failures.append))
        self.supervisor = Supervisor()

    async def make_workers(self, owned: Sequence[OwnedChannel]) -> dict[UUID, Tasks]:
        if self.settings_fail:
            raise database_unavailable()
        await self.settings_are_read.wait()
        configs = await get_configs(self.db, [one.lease.channel_id for one in owned])
        made = {}
        for one in owned:
            context = ChannelContext(self.db, self.clock, one.lease, configs[one.lease.channel_id].ref, one.alive)
            made[one.lease.channel_id] = Tasks(Sender(make_state(context), self.looks), [])
        return made

    async def until_owned(self, count: int) -> None:
        """Wait until so many channels are owned, without a further claim."""
        async with patience(lambda: f"{self.owner.owned} are owned"):
            while await self.count() != count or self.owner.owned != count:
                await asyncio.sleep(0.01)

    async def until_begun(self) -> None:
        """Wait until all channels that are claimed have begun."""
        async with patience(lambda: f"{self.owner.beginning} have not begun"):
            while self.owner.beginning:
                await asyncio.sleep(0.01)

    async def count(self) -> int:
        found = await self.db.fetchval("SELECT count(*) FROM channel_heads WHERE owner = $1", self.owner.id)
        return int(found)

    async def until_waiting(self, sessions: int, statement: str = "") -> None:
        """Wait until so many sessions wait for a lock, with any statement or one that begins like this."""
        async with patience(lambda: "Nobody waits for a lock."):
            while await self.db.fetchval(_WAITS, statement) < sessions:
                await asyncio.sleep(0.01)


@pytest.fixture
async def process(database_url: str) -> AsyncIterator[Process]:
    """Channels that have work and no owner, and a process that claims nothing yet."""
    Sender.ending = Sender.most_ending = 0
    db = await Database.connect(database_url, connections=12)
    one = Process(db, LeaseSettings(ttl=3600, renew=5, sweep=0.05, idle=60))
    plans, now = load(environ={}).plans, one.clock.now()
    account = await accounts.create_account(db, "Test", "unlimited", plans=plans, trial_days=14, now=now)
    for number in range(CHANNELS):
        phone = f"155500011{number:02}"
        await channels.create_qr(db, account.id, phone=phone, name="Test", limits=FAST_NETWORK, now=now)
    await db.execute("UPDATE channel_heads SET work_at = $1", now)
    yield one
    one.looks.set()
    await one.owner.stop(5)
    await one.supervisor.stop()
    await db.close()


@asynccontextmanager
async def locked(url: str, lock: str, *given: Any) -> AsyncIterator[UUID]:
    """Hold the locks of a statement; yield its first value."""
    conn = await asyncpg.connect(url)
    try:
        async with conn.transaction():
            yield await conn.fetchval(lock, *given)
    finally:
        await conn.close()


ONE_HEAD = "SELECT channel_id FROM channel_heads ORDER BY channel_id LIMIT 1 FOR NO KEY UPDATE"
THIS_HEAD = "SELECT channel_id FROM channel_heads WHERE channel_id = $1 FOR UPDATE"


async def test_a_busy_channel_is_claimed_while_many_others_begin(process: Process, database_url: str) -> None:
    process.looks.clear()  # those that begin do not come to an end
    async with locked(database_url, ONE_HEAD):
        await process.owner.claim()
        await process.until_owned(CHANNELS - 1)
    await process.until_owned(CHANNELS)


async def test_a_sweep_knows_nothing_of_a_channel_that_is_claimed_meanwhile(
    process: Process, database_url: str
) -> None:
    async with locked(database_url, ONE_HEAD):
        await process.owner.claim()
        await process.until_owned(CHANNELS - 1)
        await process.until_waiting(1)  # the claim of the locked one
        table = await asyncpg.connect(database_url)
        blocked = asyncio.create_task(table.execute("BEGIN; LOCK TABLE channel_heads"))
        await process.until_waiting(2)
        sweep = asyncio.create_task(process.owner.sweep())
        await process.until_waiting(3)  # it has chosen its channels, and reads them
    await blocked
    await process.until_begun()
    await table.close()
    await sweep
    assert (process.owner.owned, process.failures) == (CHANNELS, [])


async def test_a_sweep_that_waits_for_a_lock_delays_no_claim(process: Process, database_url: str) -> None:
    first = "SELECT channel_id FROM channel_heads ORDER BY channel_id LIMIT 1"
    await process.db.execute(f"UPDATE channel_heads SET work_at = NULL WHERE channel_id <> ({first})")
    await process.owner.claim()
    await process.until_owned(1)
    await process.until_begun()
    for _ in range(5):  # all tasks have looked
        await process.owner.sweep()
    process.clock.advance(120)  # it is idle, and is to be released
    idle = await process.db.fetchval("SELECT channel_id FROM channel_heads WHERE owner IS NOT NULL")
    async with locked(database_url, THIS_HEAD, idle):
        process.owner.start(process.supervisor)
        await process.until_waiting(1, _RELEASE)
        await process.db.execute(
            "UPDATE channel_heads SET work_at = now() WHERE owner IS NULL AND channel_id <> $1", idle
        )
        process.owner.look()
        await process.until_owned(CHANNELS)


async def test_a_sweep_leaves_channels_alone_whose_settings_are_being_read(process: Process) -> None:
    process.settings_are_read.clear()
    claim = asyncio.create_task(process.owner.claim())
    await process.until_owned(CHANNELS)
    await process.owner.sweep()
    process.settings_are_read.set()
    await claim
    await process.until_begun()
    await process.owner.sweep()
    assert (process.owner.owned, process.failures) == (CHANNELS, [])


async def test_a_process_that_was_suspended_before_it_started_channels_gives_them_back(process: Process) -> None:
    process.settings_are_read.clear()
    claim = asyncio.create_task(process.owner.claim())
    await process.until_owned(CHANNELS)
    process.clock.advance(3600)
    process.settings_are_read.set()
    await claim
    await process.owner.renew()  # their leases are valid again, but nothing was started
    await process.until_owned(0)
    await process.owner.claim()
    await process.until_owned(CHANNELS)


async def test_channels_whose_settings_cannot_be_read_are_given_back_at_once(process: Process) -> None:
    process.settings_fail = True
    with pytest.raises(type(database_unavailable())):
        await process.owner.claim()
    await process.until_owned(0)
    process.settings_fail = False
    await process.owner.claim()  # without a pause
    await process.until_owned(CHANNELS)


async def test_the_time_that_a_channel_is_left_to_others_counts_once(process: Process) -> None:
    claims = ChannelClaims(process.db, process.clock, uuid4(), 15)
    await report_owner(process.db, uuid4(), 3600)  # another process, which takes nothing
    found = await claims.find()
    assert len(await claims.choose(found, 0)) == CHANNELS // 2
    process.clock.advance(2)
    assert set(await claims.choose(await claims.find(), 0)) == set(found)
    await claims.find()
    assert await claims.choose([], 0) == []  # their claims wait for locks
    await claims.find()
    assert set(await claims.choose(found, 0)) == set(found)  # the locks took too long


async def test_a_process_that_stops_hands_over_a_few_at_a_time(process: Process) -> None:
    await process.owner.claim()
    await process.until_owned(CHANNELS)
    await process.until_begun()
    await process.owner.stop(5)
    assert await process.count() == 0
    assert 1 < Sender.most_ending <= _AT_ONCE
