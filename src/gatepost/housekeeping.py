"""Housekeeping: what a process does now and then, and nobody waits for.

each 5 s      which keys were used, statistics of young partitions
each minute   the day's counts
each 10 min   partitions ahead of time and past their time, rows and files that nobody needs any more
each day      files that belong to nothing
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from gatepost.clock import Clock
from gatepost.desk.media import forget_old_media, sweep_orphans
from gatepost.model.errors import GatepostError
from gatepost.settings import Settings
from gatepost.store import partitions, upkeep
from gatepost.store.objects import Objects
from gatepost.store.pool import Database
from gatepost.store.recoveries import forget_recoveries
from gatepost.store.storage import forget_reservations
from gatepost.store.usage import count_all
from gatepost.store.word_blocks import forget_blocks

log = structlog.get_logger("gatepost.upkeep")
_TURN = 5.0
_TURNS_PER_MINUTE, _TURNS_PER_DAY = 12, 17_280
_IDEMPOTENCY_DAYS = 7


class Housekeeper:
    """One per process; what several do at once does no harm."""

    def __init__(
        self, settings: Settings, db: Database, objects: Objects, clock: Clock, note_use: Callable[[], Awaitable[None]]
    ) -> None:
        self._settings = settings
        self._db = db
        self._objects = objects
        self._clock = clock
        self._note_use = note_use
        self._analyzed: dict[str, int] = {}

    async def run(self) -> None:
        """Until cancelled; what fails once is done at its next turn."""
        turns = 0
        while True:
            await asyncio.sleep(_TURN)
            try:
                await self.turn(turns)
                turns += 1
            except GatepostError as error:
                log.warning("upkeep failed", reason=error.message)
            except Exception:
                log.exception("upkeep broke")

    async def turn(self, number: int) -> None:
        """All that is due at a turn."""
        await self._note_use()
        await partitions.analyze_young_tables(self._db, self._analyzed)
        if number % _TURNS_PER_MINUTE == 0:
            await count_all(self._db)
        if number % (10 * _TURNS_PER_MINUTE) == 0:
            await self._tidy()
        if number % _TURNS_PER_DAY == 1:
            await sweep_orphans(self._db, self._objects, self._clock.now())

    async def make_partitions(self) -> None:
        """Those of now and of the near future."""
        await partitions.make_partitions(self._db, self._clock.now(), self._settings.retention.partition_days)

    async def _tidy(self) -> None:
        now, retention = self._clock.now(), self._settings.retention
        await self.make_partitions()
        await partitions.drop_old_partitions(self._db, now, retention.messages_days, retention.events_days)
        await upkeep.forget_idempotency_keys(self._db, now, _IDEMPOTENCY_DAYS)
        await upkeep.forget_parked_statuses(self._db, now)
        await upkeep.forget_lost_retries(self._db, await partitions.first_kept_event(self._db))
        await forget_blocks(self._db, now, retention.messages_days)
        await forget_recoveries(self._db, now, retention.events_days)
        await forget_reservations(self._db, now)
        await forget_old_media(self._db, self._objects, now, self._settings.media.days)
