"""How several processes share the channels: each takes its own part at once, and the rest if nobody else does."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from gatepost.admin import accounts, channels
from gatepost.clock import MovableClock
from gatepost.owned_channel import OwnedChannel
from gatepost.owner import Owner
from gatepost.settings import load
from gatepost.store.pool import Database
from tests.running_gateway import FAST_NETWORK

CHANNELS = 8


async def test_a_process_leaves_the_channels_of_another_to_it_for_a_moment(database_url: str) -> None:
    settings, clock = load(environ={}), MovableClock(datetime.now(UTC))
    db = await Database.connect(database_url, connections=4)
    try:
        ids = await new_channels(db, clock)
        mine = {one for one in ids if one.int % 2 == 0}
        owner = Owner(db, clock, settings.lease, no_worker)
        owner.share(uuid4(), mine.__contains__)
        await owner.sweep()
        assert await owned_by(db, owner.id) == mine
        clock.advance(1)
        await owner.sweep()
        assert await owned_by(db, owner.id) == mine
        clock.advance(1)
        await owner.sweep()
        assert await owned_by(db, owner.id) == set(ids)
    finally:
        await db.close()


async def new_channels(db: Database, clock: MovableClock) -> list[UUID]:
    """Return channels that have work and no owner."""
    plans, now = load(environ={}).plans, clock.now()
    account = await accounts.create_account(db, "Test", "unlimited", plans=plans, trial_days=14, now=now)
    made = [
        await channels.create_qr(
            db, account.id, phone=f"155500011{number:02}", name="Test", limits=FAST_NETWORK, now=now
        )
        for number in range(CHANNELS)
    ]
    await db.execute("UPDATE channel_heads SET work_at = $1", now)
    return [one.id for one in made]


async def no_worker(_: OwnedChannel) -> None:
    return None


async def owned_by(db: Database, owner: UUID) -> set[UUID]:
    return {row["channel_id"] for row in await db.fetch("SELECT channel_id FROM channel_heads WHERE owner = $1", owner)}
