"""How several processes, of one gateway or of several, share the channels: each owns an equal part."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from gatepost.admin import accounts, channels
from gatepost.channel_task import ChannelContext
from gatepost.held_leases import LeaseListener
from gatepost.model import ids
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.owned_channel import OwnedChannel
from gatepost.owner import Owner
from gatepost.settings import load
from gatepost.store.channels import get_configs
from gatepost.store.leases import correct_times_ahead, count_owned, report_owner
from gatepost.store.pool import Database
from tests.gateway.test_ownership import Tasks
from tests.movable_clock import MovableClock
from tests.outbound.stage import make_state
from tests.patience import patience
from tests.running_gateway import FAST_NETWORK

CHANNELS = 8


class Sharing:
    """Processes on one database whose steps the test does by hand."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.clock = MovableClock(datetime.now(UTC))
        self.owners: list[Owner] = []
        self.moves: list[str] = []
        self.releases = 0

    def add(self) -> Owner:
        listener = LeaseListener(moved=self.moves.append, released=self._count_release)
        self.owners.append(Owner(self.db, self.clock, load(environ={}).lease, self.make_workers, listener))
        return self.owners[-1]

    def _count_release(self) -> None:
        self.releases += 1

    async def make_workers(self, owned: Sequence[OwnedChannel]) -> dict[UUID, Tasks]:
        configs = await get_configs(self.db, [one.lease.channel_id for one in owned])
        made = {}
        for one in owned:
            context = ChannelContext(self.db, self.clock, one.lease, configs[one.lease.channel_id].ref, one.alive)
            sender = ChannelSender(make_state(context))
            made[one.lease.channel_id] = Tasks(sender, [])
        return made

    async def owned(self) -> list[int]:
        """Return the number of channels of each process, as the database has it."""
        rows = await self.db.fetch("SELECT owner FROM channel_heads")
        return [sum(row["owner"] == owner.id for row in rows) for owner in self.owners]

    async def until_owned(self, *counts: int) -> None:
        """Let all processes claim, and give up what is more than their part, until they have these numbers."""
        found: list[int] = []
        async with patience(lambda: found):
            while (found := await self.owned()) != list(counts):
                for owner in self.owners:
                    await owner.claim()
                    await owner.balance()
                await asyncio.sleep(0.01)


@pytest.fixture
async def sharing(database_url: str) -> AsyncIterator[Sharing]:
    """Some channels that have work and no owner."""
    db = await Database.connect(database_url, connections=8)
    one = Sharing(db)
    plans, now = load(environ={}).plans, one.clock.now()
    account = await accounts.create_account(db, "Test", "unlimited", plans=plans, trial_days=14, now=now)
    for number in range(CHANNELS):
        phone = f"155500011{number:02}"
        await channels.create_qr(db, account.id, phone=phone, name="Test", limits=FAST_NETWORK, now=now)
    await db.execute("UPDATE channel_heads SET work_at = $1", now)
    yield one
    for owner in one.owners:
        await owner.stop(5)
    await db.close()


async def test_a_process_leaves_the_part_of_another_to_it_for_a_moment(sharing: Sharing) -> None:
    owner = sharing.add()
    await report_owner(sharing.db, uuid4(), 3600)  # it works, but is slow to claim
    for owned in (CHANNELS // 2, CHANNELS // 2, CHANNELS):  # at once, after one second, and after two
        await owner.claim()
        assert await sharing.owned() == [owned]
        sharing.clock.advance(1)


async def test_a_process_that_ended_gets_nothing(sharing: Sharing) -> None:
    sharing.add()
    await report_owner(sharing.db, uuid4(), -1)
    await sharing.until_owned(CHANNELS)


async def test_what_was_written_while_the_clock_was_ahead_is_corrected(sharing: Sharing) -> None:
    owner, now, day = sharing.add(), sharing.clock.now(), timedelta(days=1)
    last, ended = ids.floor_id(now + day), uuid4()
    rows = await sharing.db.fetch("SELECT channel_id FROM channel_heads ORDER BY channel_id")
    leased, released, scheduled, *_ = [row["channel_id"] for row in rows]
    await report_owner(sharing.db, ended, day.total_seconds())
    await sharing.db.execute(
        """UPDATE channel_heads SET work_at = $1,
               last_event_id = CASE WHEN channel_id <> $3 THEN $2::uuid ELSE channel_id END,
               owner = CASE WHEN channel_id = $4 THEN $5::uuid END,
               expires_at = CASE WHEN channel_id = $4 THEN $1::timestamptz END""",
        now + day,
        last,
        scheduled,
        leased,
        ended,
    )
    await owner.renew()
    assert list(await count_owned(sharing.db)) == [owner.id]
    assert await correct_times_ahead(sharing.db, now, 15) == CHANNELS - 1
    assert await correct_times_ahead(sharing.db, now, 15) == 0
    await sharing.until_owned(CHANNELS - 2)  # all except one that waits, and one whose lease was shortened
    left = "SELECT expires_at < now() + interval '3 minutes' FROM channel_heads WHERE channel_id = $1"
    assert await sharing.db.fetchval(left, leased)
    await sharing.db.execute("UPDATE channel_heads SET expires_at = now() WHERE channel_id = $1", leased)
    await sharing.until_owned(CHANNELS - 1)
    assert await sharing.db.fetchval("SELECT owner FROM channel_heads WHERE channel_id = $1", scheduled) is None
    assert await sharing.db.fetchval("SELECT expires_at FROM channel_heads WHERE channel_id = $1", released)


async def test_a_new_process_gets_its_part_and_then_nothing_moves(sharing: Sharing) -> None:
    first = sharing.add()
    await first.renew()
    await sharing.until_owned(CHANNELS)
    second = sharing.add()
    await second.renew()
    await sharing.until_owned(CHANNELS // 2, CHANNELS // 2)
    moved = sharing.moves.count("balance")
    assert moved >= CHANNELS // 2
    assert sharing.releases >= moved
    for owner in (first, second):
        await owner.renew()
        await owner.balance()
        await owner.sweep()
    assert sharing.moves.count("balance") == moved
    assert await sharing.owned() == [CHANNELS // 2, CHANNELS // 2]


async def test_the_channels_of_a_process_that_stops_are_taken_at_once(sharing: Sharing) -> None:
    first, second = sharing.add(), sharing.add()
    await first.renew()
    await second.renew()
    await sharing.until_owned(CHANNELS // 2, CHANNELS // 2)
    await first.stop(5)
    assert sharing.releases >= 1  # others are notified
    await second.claim()
    await sharing.until_owned(0, CHANNELS)
    assert sharing.moves.count("stop") == CHANNELS // 2


async def test_a_locked_channel_delays_no_other_and_is_claimed_when_it_is_free(
    sharing: Sharing, database_url: str
) -> None:
    owner = sharing.add()
    blocker = await asyncpg.connect(database_url)
    try:
        async with blocker.transaction():
            await blocker.execute("SELECT 1 FROM channel_heads ORDER BY channel_id LIMIT 1 FOR NO KEY UPDATE")
            await sharing.until_owned(CHANNELS - 1)
            async with patience(lambda: "Nobody waits for the locked channel."):
                while not await sharing.db.fetch("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"):
                    await asyncio.sleep(0.01)
        async with patience(lambda: "The channel was not claimed."):
            while await sharing.owned() != [CHANNELS]:  # without a further claim
                await asyncio.sleep(0.01)
        assert owner.owned == CHANNELS
    finally:
        await blocker.close()
