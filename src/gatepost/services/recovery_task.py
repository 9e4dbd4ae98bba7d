"""Working off recoveries, which the channel's owner does beside its deliveries; see `store/deliveries/recover.py`."""

from collections.abc import Callable
from datetime import timedelta

from gatepost.clock import Clock
from gatepost.services.channel_task import ChannelTask
from gatepost.store.channel_head import Lease
from gatepost.store.deliveries.recover import RecoveryStep, open_recoveries, recover_next
from gatepost.store.pool import Database

_PAUSE = 0.2  # seconds between looks while others ring
_HELD = 1.0  # seconds before a recovery that cannot go on is looked at again
_HELD_LONG = timedelta(seconds=30)  # the same for whoever owns the channel next


class RecoveryTask(ChannelTask):
    """Carries a channel's recoveries on, a piece of each in turn."""

    name = "recovery"

    def __init__(self, db: Database, clock: Clock, lease: Lease, alive: Callable[[], bool]) -> None:
        super().__init__(lease, alive, _PAUSE)
        self._db = db
        self._clock = clock

    async def step(self) -> list[RecoveryStep]:
        """A piece of every recovery that is not done; returns how each of them stands."""
        found = await open_recoveries(self._db, self._lease.channel_id)
        return [
            await recover_next(self._db, self._lease, recovery_id, self._clock.now())
            for recovery_id in found
            if self.going
        ]

    async def work(self) -> float | None:
        """Carries on as far as it goes."""
        self.next_work = None
        steps = await self.step()
        while "more" in steps:
            steps = await self.step()
        if "held" not in steps:
            return None
        self.next_work = self._clock.now() + _HELD_LONG
        return _HELD
