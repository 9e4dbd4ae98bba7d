"""Reads something from the network again when the channel's state marks the local copy as stale."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.store.network_updates import clear_stale


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
