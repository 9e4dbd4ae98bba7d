"""Housekeeping: periodic work that no request waits for.

every 5 s     times of use of keys and sessions, refused requests, statistics of new partitions
every minute  daily message counts
every 10 min  create and drop partitions, correct times ahead, delete rows and files past their retention
every day     delete orphaned files

Nothing is deleted in the first ten minutes, in which the clock of a machine that has just started may be corrected.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

import structlog

from gatepost.background import attempt
from gatepost.clock import Clock
from gatepost.services.media import forget_old_media, sweep_orphans
from gatepost.settings import Settings
from gatepost.store import partitions
from gatepost.store.account_log import forget_entries
from gatepost.store.deliveries.recover import delete_old_recoveries
from gatepost.store.deliveries.retry import forget_lost_retries
from gatepost.store.devices import forget_devices
from gatepost.store.drafts import expire_drafts, forget_drafts
from gatepost.store.idempotency import forget_idempotency_keys
from gatepost.store.leases import correct_times_ahead
from gatepost.store.mcp.calls import forget_calls
from gatepost.store.mcp.conversations import forget_reads
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.media.storage import forget_reservations
from gatepost.store.messages.accept_rows import forget_batches
from gatepost.store.messages.status import forget_parked_statuses
from gatepost.store.one_time_links import forget_links
from gatepost.store.pool import Database
from gatepost.store.refused_requests import forget_refused
from gatepost.store.search.index import forget_blocks
from gatepost.store.sessions import forget_sessions
from gatepost.store.usage import count_all

log = structlog.get_logger("gatepost")
_TURN = 5.0
_TURNS_PER_MINUTE, _TURNS_PER_DAY = 12, 17_280
_IDEMPOTENCY_DAYS = 7
START_SECONDS = 600.0
HOLD_SECONDS = 3_600.0  # after a leap of the clock, in which somebody may correct it
_LEAP = timedelta(hours=12)  # the clock was moved, or the machine slept: partitions may be missing


class Housekeeper:
    """Runs the periodic jobs of one process. Several processes may run them at the same time."""

    def __init__(
        self,
        settings: Settings,
        db: Database,
        objects: ObjectStorage,
        clock: Clock,
        note_use: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._db = db
        self._objects = objects
        self._clock = clock
        self._note_use = note_use
        self._analyzed: dict[str, int] = {}
        self._turns = 0
        self._tidied: datetime | None = None
        self._seen: tuple[datetime, float] | None = None  # both clocks at the last turn
        self._hold_until = clock.monotonic() + START_SECONDS

    async def step(self) -> None:
        """Wait, then run the jobs that are due."""
        await asyncio.sleep(_TURN)
        number, self._turns = self._turns, self._turns + 1
        await self.turn(number)

    async def turn(self, number: int) -> None:
        """Run all jobs that are due. A job that fails does not stop the others, and runs again at its next time."""
        now, db = self._clock.now(), self._db
        self._notice_leap(now)
        await self._do("use of keys", self._note_use)
        await self._do("statistics", partial(partitions.analyze_young_tables, db, self._analyzed))
        if number % _TURNS_PER_MINUTE == 0:
            await self._do("daily counts", partial(count_all, db))
        leapt = self._tidied is not None and now - self._tidied > _LEAP
        if number % (10 * _TURNS_PER_MINUTE) == 0 or leapt:
            await self._tidy()
            self._tidied = now
        if number % _TURNS_PER_DAY == 10 * _TURNS_PER_MINUTE and not self._holding:
            await self._do("orphaned files", partial(sweep_orphans, db, self._objects, now))

    def _notice_leap(self, now: datetime) -> None:
        """Delete nothing for a while after the clock was set forward: if that is a mistake, all data is "too old"."""
        moment = self._clock.monotonic()
        before, began = self._seen or (now, moment)
        self._seen = now, moment
        leap = now - before - timedelta(seconds=moment - began)
        if leap > _LEAP:
            self._hold_until = moment + HOLD_SECONDS
            log.warning("the clock leapt: nothing is deleted for a while", hours=leap // timedelta(hours=1))

    @property
    def _holding(self) -> bool:
        return self._clock.monotonic() < self._hold_until

    async def _tidy(self) -> None:
        now, db, retention = self._clock.now(), self._db, self._settings.retention
        await self._do("new partitions", self.make_partitions)
        await self._do("times ahead", partial(correct_times_ahead, db, now, self._settings.lease.ttl))
        if self._holding:
            return
        old = (now, retention.messages_days, retention.events_days)
        await self._do("old partitions", partial(partitions.drop_old_partitions, db, *old))
        await self._do("idempotency keys", partial(forget_idempotency_keys, db, now, _IDEMPOTENCY_DAYS))
        await self._do("parked statuses", partial(forget_parked_statuses, db, now))
        await self._do("lost retries", self._forget_lost_retries)
        await self._do("old words", partial(forget_blocks, db, now, retention.messages_days))
        await self._do("old recoveries", partial(delete_old_recoveries, db, now, retention.events_days))
        await self._do("old batches", partial(forget_batches, db, now, retention.messages_days))
        await self._do("ended sessions", partial(forget_sessions, db, now))
        await self._do("expired links", partial(forget_links, db, now))
        await self._do("old refused requests", partial(forget_refused, db, now))
        await self._do("old log entries", partial(forget_entries, db, now, retention.messages_days))
        await self._do("expired drafts", partial(expire_drafts, db, now))
        await self._do("old drafts", partial(forget_drafts, db, now, retention.mcp_calls_days))
        await self._do("old calls of assistants", partial(forget_calls, db, now, retention.mcp_calls_days))
        await self._do("old reads of assistants", partial(forget_reads, db, now))
        await self._do("linked devices", partial(forget_devices, db, self._settings.qr.device_store))
        await self._do("storage reservations", partial(forget_reservations, db, now))
        await self._do("old media", partial(forget_old_media, db, self._objects, now, self._settings.media.days))

    async def _do(self, what: str, job: Callable[[], Awaitable[object]]) -> None:
        await attempt("housekeeping", job, job=what)

    async def make_partitions(self) -> None:
        """Create the partitions of today and of the next days."""
        await partitions.make_partitions(self._db, self._clock.now(), self._settings.retention.partition_days)

    async def _forget_lost_retries(self) -> None:
        await forget_lost_retries(self._db, await partitions.first_kept_event(self._db))
