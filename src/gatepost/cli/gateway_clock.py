"""The clock of the gateway that a command works with: the database's, or that of the sandbox, which can be moved."""

import asyncio
from contextlib import suppress
from pathlib import Path

from gatepost.clock import Clock, DatabaseClock, FollowingClock, SystemClock
from gatepost.settings import Settings
from gatepost.store.embedded.data_folder import read_lock
from gatepost.store.pool import Database

_PATIENCE = 2.0


async def gateway_clock(settings: Settings, db: Database | None) -> Clock:
    """Return the clock that the gateway of these settings uses. Imports wait: most commands start faster without."""
    url = settings.clock.follow or (await _sandbox_of_demo(settings.data_folder, db) if db else "")
    if url:
        from gatepost.cli.http_call import call

        with suppress(OSError, ValueError):
            shown = await asyncio.to_thread(call, f"{url.rstrip('/')}/control/clock", timeout=_PATIENCE)
            clock = FollowingClock()
            clock.set_time(shown["now"], 0.0 if shown["frozen"] else shown["speed"])
            return clock
    return DatabaseClock(SystemClock())


async def _sandbox_of_demo(folder: Path, db: Database) -> str:
    """Return the address of the sandbox of `gatepost up` if it runs in this folder and with this database."""
    running = None
    with suppress(OSError):  # the folder may be another user's
        running = read_lock(folder / "sandbox" / "lock")
    if running is None:
        return ""
    from gatepost.admin import demo
    from gatepost.store.accounts import get_account

    quickstart = demo.read_quickstart(folder)
    return quickstart.sandbox_url if quickstart and await get_account(db, demo.ACCOUNT_ID) else ""
