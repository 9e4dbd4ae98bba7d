"""Working off recoveries, which the channel's owner does beside its deliveries; see `store/recoveries.py`."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from gatepost.clock import Clock
from gatepost.model.errors import GatepostError
from gatepost.store.heads import Lease, StaleOwner
from gatepost.store.pool import Database
from gatepost.store.recoveries import Step, open_recoveries, recover_piece

log = structlog.get_logger("gatepost.recovering")
_PAUSE = 0.2  # seconds between looks while others ring
_HELD = 1.0  # seconds before a recovery that cannot go on is looked at again
_HELD_LONG = timedelta(seconds=30)  # the same for whoever owns the channel next
_AFTER_TROUBLE = 5.0


class Recovering:
    """Carries a channel's recoveries on, a piece of each in turn, and rings for the deliveries that come of it."""

    next_work: datetime | None = None

    def __init__(
        self, db: Database, clock: Clock, lease: Lease, alive: Callable[[], bool], ring: Callable[[], None]
    ) -> None:
        self._db = db
        self._clock = clock
        self._lease = lease
        self._alive = alive
        self._ring_rounds = ring
        self._bell = asyncio.Event()
        self._bell.set()
        self._stopping = False
        self._busy = True

    @property
    def idle(self) -> bool:
        return not self._busy and not self._bell.is_set()

    def ring(self) -> None:
        """There may be something to recover, or room for more of it."""
        self._bell.set()

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        while not self._stopping and self._alive():
            self._bell.clear()
            self._busy = True
            wait = await self._work()
            self._busy = False
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), wait)
            if not self._stopping:
                await asyncio.sleep(_PAUSE)

    async def stop(self) -> None:
        self._stopping = True
        self._bell.set()

    async def step(self) -> list[Step]:
        """A piece of every recovery that is not done; returns how each of them stands."""
        found = await open_recoveries(self._db, self._lease.channel_id)
        steps = [
            await recover_piece(self._db, self._lease, recovery_id, self._clock.now())
            for recovery_id in found
            if not self._stopping and self._alive()
        ]
        if "more" in steps or "done" in steps:
            self._ring_rounds()
        return steps

    async def _work(self) -> float | None:
        """Carries on as far as it goes; returns how long to wait for the next look, None: until there is a ring.

        Whatever goes wrong here, the channel goes on sending and delivering.
        """
        self.next_work = None
        try:
            steps = await self.step()
            while "more" in steps:
                steps = await self.step()
        except StaleOwner:
            self._stopping = True
            return 0.0
        except GatepostError as error:
            log.warning("recovery waits", channel=self._lease.channel_id.hex, reason=error.message)
            return _AFTER_TROUBLE
        except Exception:
            log.exception("recovery broke", channel=self._lease.channel_id.hex)
            return _AFTER_TROUBLE
        if "held" not in steps:
            return None
        self.next_work = self._clock.now() + _HELD_LONG
        return _HELD
