"""The owner's work on recoveries of webhooks; see `store/deliveries/recover.py`."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.grouped_lookup import GroupedLookup
from gatepost.store.deliveries.recover import RecoveryStep, open_recoveries, recover_next

_HELD = 1.0  # seconds before a recovery that cannot continue is checked again
_HELD_UNOWNED = timedelta(seconds=30)  # the same for a channel that was released meanwhile


class RecoveryTask(ChannelTask):
    """Advances the recoveries of a channel, one chunk of each in turn."""

    name = "recovery"
    first_wait = 5.0
    gather = 0.2

    def __init__(
        self, context: ChannelContext, find: Callable[[UUID], Awaitable[list[UUID] | None]] | None = None
    ) -> None:
        super().__init__(context)
        self._find = find or GroupedLookup(partial(open_recoveries, context.db)).find

    async def step(self) -> list[RecoveryStep]:
        """Advance every open recovery by one chunk. Return the result of each."""
        found = await self._find(self._lease.channel_id) or []
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
