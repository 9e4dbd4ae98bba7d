"""The owner's fetching of incoming files for one channel: the loop around `MediaFetcher.step`."""

from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.inbound.media_fetch import MediaFetcher
from gatepost.networks.base import Network


class MediaFetchTask(ChannelTask):
    """Fetches a channel's files as they come due. The next owner fetches again what was in progress at the stop."""

    name = "fetching of files"
    gather = 0.25  # every event of a channel wakes this task, and few bring a file

    def __init__(self, context: ChannelContext, fetcher: MediaFetcher, network: Network | None) -> None:
        super().__init__(context)
        self._fetcher = fetcher
        self._network = network

    def adjust(self, network: Network | None) -> None:
        """Use another connection to the network; None: there is none at the moment."""
        if self._network is None and network is not None:
            self._wakeup.set()
        self._network = network

    async def work(self) -> float | None:
        if self._network is None:
            return None
        self._next_work = await self._fetcher.step(self._lease, self._channel, self._network)
        if self._next_work is None:
            return None
        return max(0.0, (self._next_work - self._clock.now()).total_seconds())
