"""Opening the database: the one that the settings name, or our own in the data folder; migrated in any case.

And the clock: the system's, unless this is a test set-up.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from gatepost.background import Loop
from gatepost.clock import Clock, DatabaseClock, FollowingClock, SystemClock
from gatepost.networks.sandbox_clock import SandboxClockFeed
from gatepost.settings import Settings
from gatepost.store.embedded import DataFolderInUse, EmbeddedPostgres, FolderLock, lock_data_folder, reach_running
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database

log = structlog.get_logger("gatepost")
_PATIENCE = 20.0  # a gateway that holds the folder starts its server, or starts it again, within this time
_POLL = 0.1


@asynccontextmanager
async def opened_clock(settings: Settings) -> AsyncIterator[Clock]:
    """The clock that a gateway uses: the database's, or in a test set-up the sandbox's."""
    if not settings.clock.follow:
        yield DatabaseClock(SystemClock())
        return
    clock = FollowingClock()
    feed = SandboxClockFeed(settings.clock.follow, clock.set_time)
    await feed.start()
    log.warning("the clock is that of the sandbox", url=settings.clock.follow)
    following = Loop("clock of the sandbox", feed.step, longest_wait=2.0)
    try:
        yield clock
    finally:
        await following.stop()
        await feed.close()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """A migrated database for a command: the given one, or that of the data folder, running or started meanwhile."""
    if settings.database.url:
        async with _connected(settings.database.url, settings) as db:
            yield db
        return
    found = await _running_or_locked(settings)
    if isinstance(found, str):
        async with _connected(found, settings) as db:
            yield db
        return
    with found:
        async with _embedded(settings) as own, _connected(own, settings) as db:
            yield db


async def _running_or_locked(settings: Settings, patience: float = _PATIENCE) -> str | FolderLock:
    """The address of a server that answers, or the right to start one.

    Another process may hold the folder while its server is not up: just started, or being restarted after a crash.
    """
    give_up = time.monotonic() + patience
    while True:
        dsn = await reach_running(settings.data_folder, patience)
        if dsn is not None:
            return dsn
        try:
            return lock_data_folder(settings.data_folder)
        except DataFolderInUse:
            if time.monotonic() > give_up:
                raise
        await asyncio.sleep(_POLL)


@asynccontextmanager
async def opened_for_gateway(
    settings: Settings, on_restart: Callable[[], None] = lambda: None
) -> AsyncIterator[tuple[str, Database]]:
    """The database of a gateway: the given one, or our own, which no other process may be running."""
    if settings.database.url:
        async with _connected(settings.database.url, settings) as db:
            yield settings.database.url, db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings, on_restart) as dsn, _connected(dsn, settings) as db:
            yield dsn, db


@asynccontextmanager
async def _embedded(settings: Settings, on_restart: Callable[[], None] = lambda: None) -> AsyncIterator[str]:
    server = EmbeddedPostgres(settings.data_folder, on_restart=on_restart)
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
