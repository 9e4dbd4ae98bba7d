"""The owner's work on recoveries of webhooks; see `store/deliveries/recover.py`."""

from datetime import timedelta

from gatepost.channel_task import ChannelTask
from gatepost.store.deliveries.recover import RecoveryStep, open_recoveries, recover_next

_HELD = 1.0  # seconds before a recovery that cannot continue is checked again
_HELD_UNOWNED = timedelta(seconds=30)  # the same for a channel that was released meanwhile


class RecoveryTask(ChannelTask):
    """Advances the recoveries of a channel, one chunk of each in turn."""

    name = "recovery"
    first_wait = 5.0
    gather = 0.2

    async def step(self) -> list[RecoveryStep]:
        """Advance every open recovery by one chunk. Return the result of each."""
        found = await open_recoveries(self._db, self._lease.channel_id)
        return [
            await recover_next(self._db, self._lease, recovery_id, self._clock.now())
            for recovery_id in found
            if self.going
        ]

    async def work(self) -> float | None:
        self._next_work = None
        steps = await self.step()
        while "more" in steps:
            steps = await self.step()
        if "held" not in steps:
            return None
        self._next_work = self._clock.now() + _HELD_UNOWNED
        return _HELD
