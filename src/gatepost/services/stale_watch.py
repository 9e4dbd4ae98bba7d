"""Reads something from the network again when the channel's state marks the local copy as stale."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import ClassVar

import structlog

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.services.templates import TemplateService, sync_templates
from gatepost.store.network_updates import STALE_NUMBER, STALE_TEMPLATES, clear_stale

log = structlog.get_logger("gatepost.templates")


class StaleWatch(ChannelTask):
    """Reads when the channel's state says so. The owner passes every state that it reads to `look`."""

    mark: ClassVar[str]  # the field of the state with the time when the local copy became stale
    first_wait = 5.0
    longest_wait = 600.0
    retry_when_woken = True

    def __init__(self, context: ChannelContext) -> None:
        super().__init__(context)
        self._stale: object = None
        self._due = False

    @abstractmethod
    async def read(self) -> None:
        """Read from the network and store the result."""

    def is_due(self, state: Mapping[str, object]) -> bool:
        return self.mark in state

    @property
    def idle(self) -> bool:
        """Whether there is no stale mark; only a mark keeps the channel from being released."""
        return self._stale is None

    def wake(self) -> None:
        """Do nothing: `look` gets the state that results from the channel's events."""

    def look(self, state: Mapping[str, object]) -> None:
        """Start reading if this state of the channel makes it due."""
        newer = state.get(self.mark) != self._stale
        self._stale = state.get(self.mark)
        if self.is_due(state) and (newer or not self._due):
            self._due = True
            self._wakeup.set()

    async def work(self) -> None:
        if not self._due:
            return
        stale = self._stale
        await self.read()
        if stale is not None:
            await clear_stale(self._db, self._lease, str(stale), self.mark)
        if self._stale in (stale, None):
            self._stale, self._due = None, False


def is_number_due(state: Mapping[str, object], now: datetime, every: timedelta) -> bool:
    """Return whether the number must be read: it never was, not recently, or it has changed since."""
    read_at = state.get("checked_at")
    if STALE_NUMBER in state or not isinstance(read_at, str):
        return True
    return datetime.fromisoformat(read_at) + every <= now


class NumberWatch(StaleWatch):
    """Keeps the state of an official number current: its quality, status, tier and throughput.

        never read, read long ago, or changed since ─► GET the number ─► state, limits, connection
                                       ▲                     │ no answer
                                       └── 5 s, doubling ────┘

    Only the owner of a channel reads its number: an idle channel costs nothing.
    """

    name = "reading of the number"
    mark = STALE_NUMBER

    def __init__(self, context: ChannelContext, read: Callable[[], Awaitable[object]], every: float) -> None:
        super().__init__(context)
        self._read = read
        self._every = timedelta(seconds=every)

    def is_due(self, state: Mapping[str, object]) -> bool:
        return is_number_due(state, self._clock.now(), self._every)

    async def read(self) -> None:
        await self._read()


class TemplateWatch(StaleWatch):
    """Reads the templates again after the network reported a change without all details."""

    name = "reading of templates"
    mark = STALE_TEMPLATES

    def __init__(self, context: ChannelContext, templates: TemplateService) -> None:
        super().__init__(context)
        self._templates = templates

    async def read(self) -> None:
        synced = await sync_templates(self._templates)
        log.info("templates synced", channel=self._channel.id, changed=synced.changed, added=synced.added)
