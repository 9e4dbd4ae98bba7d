"""Synchronizes this process's clock with the database's, which all nodes share; see docs/decisions/clocks.md."""

import asyncio
from datetime import timedelta

import structlog

from gatepost.clock import DatabaseClock
from gatepost.store.checks import read_time
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost.clock")
_EVERY = 5.0
_WORTH_A_WARNING = timedelta(seconds=1)


async def follow_database(db: Database, clock: DatabaseClock) -> None:
    """Read the database's time once and correct the clock by it."""
    before = clock.offset
    if clock.correct(*await read_time(db, clock.local.now)) and abs(clock.offset - before) >= _WORTH_A_WARNING:
        log.warning(
            "this machine's clock differs from the database's, whose time is used",
            seconds=round(clock.offset.total_seconds(), 3),
        )


async def keep_following(db: Database, clock: DatabaseClock) -> None:
    """Wait, then correct the clock once. This is the step of a loop."""
    await asyncio.sleep(_EVERY)
    await follow_database(db, clock)
