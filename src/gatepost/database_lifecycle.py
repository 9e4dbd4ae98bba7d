"""Opens and migrates the database: the one in the settings, or the embedded one in the data folder.

Also opens the clock: the database's, or the sandbox's in a test set-up.
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
from gatepost.start_errors import CannotStart
from gatepost.store.embedded import (
    DataFolderInUse,
    EmbeddedPostgres,
    FolderLock,
    is_locked,
    lock_data_folder,
    reach_running,
    running_dsn,
)
from gatepost.store.embedded.command_use import CommandUse
from gatepost.store.embedded.data_folder import check_not_moved, in_use_message, make_data_folder
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from gatepost.store.pooling import check_sessions

log = structlog.get_logger("gatepost")
_PATIENCE = 20.0  # seconds in which a gateway that holds the folder starts or restarts its server
_POLL = 0.1


@asynccontextmanager
async def opened_clock(settings: Settings) -> AsyncIterator[Clock]:
    """Yield the gateway's clock: the database's, or the sandbox's in a test set-up."""
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
    """Yield a migrated database for a command: the configured one, or the embedded one, started if it does not run."""
    async with reached(settings) as dsn, opened_at(dsn, settings) as db:
        yield db


@asynccontextmanager
async def reached(settings: Settings) -> AsyncIterator[str]:
    """Yield the address of the same database, as it is: it may have to be migrated."""
    if settings.database.url:
        await check_sessions(settings.database.url)
        yield settings.database.url
        return
    use = await _begin_use(settings)
    try:
        found = await _running_or_locked(settings)
        if isinstance(found, str):
            yield found
        else:
            with found:
                async with _embedded(settings, use=use) as own:
                    yield own
    finally:
        use.release()
        await _stop_left(settings, use)
        use.close()


@asynccontextmanager
async def reserved(settings: Settings) -> AsyncIterator[str]:
    """Yield the address of the same database for a command that replaces it: the embedded one, if no gateway runs."""
    if settings.database.url:
        yield settings.database.url
        return
    with lock_data_folder(settings.data_folder):
        use = CommandUse(settings.data_folder)
        alone = use.take()
        use.close()
        if not alone:
            raise DataFolderInUse(in_use_message(settings.data_folder, ""))
        async with _embedded(settings) as own:
            yield own


async def _begin_use(settings: Settings) -> CommandUse:
    """Begin to use the embedded server. Another command may be stopping it."""
    make_data_folder(settings.data_folder)
    use, give_up = CommandUse(settings.data_folder), time.monotonic() + _PATIENCE
    while True:
        if use.begin() or time.monotonic() > give_up:
            return use
        await asyncio.sleep(_POLL)


async def _stop_left(settings: Settings, use: CommandUse) -> None:
    """Stop a server that another command has left, unless a gateway or a command uses it."""
    data = settings.data_folder
    while use.left and running_dsn(data) is not None and use.take():
        try:
            with lock_data_folder(data):
                async with _embedded(settings):
                    pass
                use.note(left=False)
                return
        except DataFolderInUse:
            use.release()
            if is_locked(data):
                return  # by a gateway, or by the command that is just leaving it and looks after it then


async def _running_or_locked(settings: Settings) -> str | FolderLock:
    """Return the address of the running server, or a lock on the data folder that allows to start one.

    Another process may hold the folder while its server is down: just started, or being restarted after a crash.
    """
    give_up = time.monotonic() + _PATIENCE
    while True:
        dsn = await reach_running(settings.data_folder, _PATIENCE)
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
    settings: Settings, on_restart: Callable[[], None] = lambda: None, connections: int | None = None
) -> AsyncIterator[tuple[str, Database]]:
    """Yield the address and database of a gateway: the configured one, or the embedded one under an exclusive lock.

    Without a number of connections, it has that of the settings. With several cells, it may be unavailable (`cells/`).
    """
    if settings.database.url and settings.cells:
        async with opened_migrated(settings.database.url, settings, connections) as db:
            yield settings.database.url, db
        return
    if settings.database.url:
        try:
            await check_sessions(settings.database.url)
        except OSError as error:
            why = str(error) or "no response"
            raise CannotStart(
                f"The database of database.url cannot be reached: {why}. Check it, and whether PostgreSQL runs."
            ) from None
        async with opened_at(settings.database.url, settings, connections) as db:
            yield settings.database.url, db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings, on_restart) as dsn, opened_at(dsn, settings, connections) as db:
            yield dsn, db


@asynccontextmanager
async def opened_migrated(dsn: str, settings: Settings, connections: int | None = None) -> AsyncIterator[Database]:
    """Yield a database that is migrated elsewhere, by the supervisor or as a cell. Nothing is connected yet."""
    db = await Database.connect(dsn, connections=connections or settings.database.connections)
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def _embedded(
    settings: Settings, on_restart: Callable[[], None] = lambda: None, use: CommandUse | None = None
) -> AsyncIterator[str]:
    """Yield the address of the embedded server, which is stopped at the end, unless other commands use it."""
    check_not_moved(settings.data_folder)
    server = EmbeddedPostgres(settings.data_folder, on_restart=on_restart, logical=bool(settings.cells))
    try:
        yield await server.start()
    finally:
        if use is None or use.take():
            await server.stop()
            if use is not None:
                use.note(left=False)
        else:
            use.note(left=True)
            await server.leave()


@asynccontextmanager
async def opened_at(dsn: str, settings: Settings, connections: int | None = None) -> AsyncIterator[Database]:
    """Yield a database by its address, migrated."""
    await migrate(dsn)
    async with opened_migrated(dsn, settings, connections) as db:
        yield db
