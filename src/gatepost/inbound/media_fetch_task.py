"""The errand of fetching files for one channel: the loop around `MediaFetcher.step`, while the lease holds."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import datetime

from gatepost.background import run_loop
from gatepost.clock import Clock
from gatepost.inbound.media_fetch import MediaFetcher
from gatepost.model.event import ChannelRef
from gatepost.networks.base import Network
from gatepost.store.channel_head import Lease, StaleOwner

_GATHER = 0.25  # every event of a channel rings here, and few bring a file: look at most so often


class MediaFetchTask:
    """Fetches a channel's files as they come due."""

    def __init__(
        self,
        fetcher: MediaFetcher,
        clock: Clock,
        lease: Lease,
        channel: ChannelRef,
        network: Network | None,
        alive: Callable[[], bool],
    ) -> None:
        self.next_work: datetime | None = None
        self._fetcher = fetcher
        self._clock = clock
        self._lease = lease
        self._channel = channel
        self._network = network
        self._alive = alive
        self._wakeup = asyncio.Event()
        self._busy = False
        self._stopping = False

    @property
    def idle(self) -> bool:
        return not self._busy

    def adjust(self, network: Network | None) -> None:
        """The way to the network may have changed."""
        if self._network is None and network is not None:
            self._wakeup.set()
        self._network = network

    def wake(self) -> None:
        self._wakeup.set()

    async def run(self) -> None:
        """Until stopped, or until the lease is lost."""
        await run_loop(
            "fetching of files", self._turn, going=self._going, ends_on=(StaleOwner,), channel=self._channel.id
        )

    def _going(self) -> bool:
        return not self._stopping and self._alive()

    async def _turn(self) -> None:
        self._wakeup.clear()
        await self._step()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wakeup.wait(), self._wait())
        await asyncio.sleep(_GATHER)

    async def stop(self) -> None:
        """Starts nothing more; a file that is under way is fetched anew by the next owner."""
        self._stopping = True
        self._wakeup.set()

    async def _step(self) -> None:
        if self._network is None:
            return
        self._busy = True
        try:
            self.next_work = await self._fetcher.step(self._lease, self._channel, self._network)
        finally:
            self._busy = False

    def _wait(self) -> float | None:
        """Seconds until the next file is due; None: until somebody rings."""
        if self.next_work is None or self._network is None:
            return None
        return max(0.0, (self.next_work - self._clock.now()).total_seconds())
