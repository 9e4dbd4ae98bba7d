"""Reading templates anew where the network's news did not tell all: the channel's owner does it, until it is done."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import structlog

from gatepost.background import run_loop
from gatepost.services.templates import TemplateService, sync_templates
from gatepost.store.channel_head import Lease, StaleOwner
from gatepost.store.network_updates import STALE_TEMPLATES, clear_stale

log = structlog.get_logger("gatepost.templates")
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 600.0


class TemplateWatch:
    """Syncs a channel's templates when its state says that they are stale."""

    next_work: datetime | None = None

    def __init__(self, lease: Lease, desk: TemplateService, alive: Callable[[], bool]) -> None:
        self._lease = lease
        self._desk = desk
        self._alive = alive
        self._wakeup = asyncio.Event()
        self._stale: str | None = None
        self._stopping = False

    @property
    def idle(self) -> bool:
        return self._stale is None

    def look(self, state: dict[str, object]) -> None:
        """The channel's state was read: begins where it says that templates are stale."""
        mark = state.get(STALE_TEMPLATES)
        if mark is not None and mark != self._stale:
            self._stale = str(mark)
            self._wakeup.set()

    def wake(self) -> None:
        """Its news comes with the channel's state."""

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        await run_loop(
            "reading of templates",
            self._turn,
            going=lambda: not self._stopping and self._alive(),
            ends_on=(StaleOwner,),
            first_wait=_FIRST_WAIT,
            longest_wait=_LONGEST_WAIT,
            wake=self._wakeup,
            channel=self._lease.channel_id.hex,
        )

    async def _turn(self) -> None:
        self._wakeup.clear()
        if self._stale is not None:
            await self._sync(self._stale)
        await self._wakeup.wait()

    async def stop(self) -> None:
        self._stopping = True
        self._wakeup.set()

    async def _sync(self, mark: str) -> None:
        synced = await sync_templates(self._desk)
        await clear_stale(self._desk.db, self._lease, mark)
        log.info("templates read anew", channel=self._lease.channel_id.hex, changed=synced.changed, added=synced.added)
        if self._stale == mark:
            self._stale = None
