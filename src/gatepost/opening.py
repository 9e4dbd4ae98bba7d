"""Opening the database: the one that the settings name, or our own in the data folder; migrated in any case.

And the clock: the system's, unless this is a test set-up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from gatepost.clock import Clock, FollowingClock, SystemClock
from gatepost.networks.sandbox_clock import SandboxClockFeed
from gatepost.settings import Settings
from gatepost.store.embedded import EmbeddedPostgres, lock_data_folder, running_dsn
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost")


@asynccontextmanager
async def opened_clock(settings: Settings) -> AsyncIterator[Clock]:
    """The clock that a gateway goes by."""
    if not settings.clock.follow:
        yield SystemClock()
        return
    clock = FollowingClock()
    feed = SandboxClockFeed(settings.clock.follow, clock.set_time)
    await feed.start()
    log.warning("the clock is that of the sandbox", url=settings.clock.follow)
    following = asyncio.create_task(feed.run())
    try:
        yield clock
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await feed.close()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """A migrated database for a command: the given one, or that of the data folder, running or started meanwhile."""
    dsn = settings.database.url or running_dsn(settings.data_folder)
    if dsn is not None:
        async with _connected(dsn, settings) as db:
            yield db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings) as own, _connected(own, settings) as db:
            yield db


@asynccontextmanager
async def opened_for_gateway(settings: Settings) -> AsyncIterator[tuple[str, Database]]:
    """The database of a gateway: the given one, or our own, which nobody else may be running."""
    if settings.database.url:
        async with _connected(settings.database.url, settings) as db:
            yield settings.database.url, db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings) as dsn, _connected(dsn, settings) as db:
            yield dsn, db


@asynccontextmanager
async def _embedded(settings: Settings) -> AsyncIterator[str]:
    server = EmbeddedPostgres(settings.data_folder)
    try:
        yield await server.start()
    finally:
        await server.stop()


@asynccontextmanager
async def _connected(dsn: str, settings: Settings) -> AsyncIterator[Database]:
    await migrate(dsn)
    db = await Database.connect(dsn, connections=settings.database.connections)
    try:
        yield db
    finally:
        await db.close()
