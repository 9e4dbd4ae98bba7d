"""The present network, which a reset replaces."""

import msgspec

from gatepost_sandbox.callback_client import CallbackClient
from gatepost_sandbox.chats.show import ChatViews
from gatepost_sandbox.clock import Recorder
from gatepost_sandbox.clock_followers import ClockFollowers
from gatepost_sandbox.feeds import Feeds
from gatepost_sandbox.network import Network
from gatepost_sandbox.qr import QrNetwork
from gatepost_sandbox.settings import SandboxSettings


class World:
    """Holds the present network from start to stop."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self.callback_client = CallbackClient()
        self.followers = ClockFollowers()
        self.feeds = Feeds()
        self._network: Network | None = None
        self._qr: QrNetwork | None = None

    @property
    def network(self) -> Network:
        """The present network."""
        if self._network is None:
            raise RuntimeError("the sandbox has not been started: its ASGI lifespan has not run")
        return self._network

    @property
    def qr(self) -> QrNetwork:
        """The QR network."""
        if self._qr is None:
            raise RuntimeError("the sandbox has not been started: its ASGI lifespan has not run")
        return self._qr

    @property
    def views(self) -> ChatViews:
        """The chats of the present network, as the control API shows them."""
        return ChatViews(self.network, self.qr)

    async def open(self) -> None:
        """Start with the initial settings."""
        self.put(Network(self.settings, self.callback_client))

    def put(self, network: Network, qr: QrNetwork | None = None) -> None:
        """Use this network from now on."""
        self._network, self._qr = network, qr or QrNetwork(network)
        self.feeds.attach(self._network, self._qr)

    def record_to(self, recorder: Recorder) -> None:
        """Record every input of the network."""
        self.network.clock.recorder = recorder

    async def reset(self, *, keep_numbers: bool, changes: dict[str, object]) -> None:
        """Start over with the initial settings and these changes.

        Without a new seed, numbers that are kept do not repeat their ids: clients would take new messages for old ones.
        """
        old, old_qr, settings = self.network, self.qr, msgspec.structs.replace(self.settings, **changes)
        self.put(Network(settings, self.callback_client))
        self._take_over_clock(old)
        if keep_numbers:
            for number in old.numbers.values():
                self.network.register(number.spec)
            self.qr.adopt(old_qr)
            if "seed" not in changes:
                self._continue_ids(old, old_qr)
        old_qr.close()
        await old.close()

    def _continue_ids(self, old: Network, old_qr: QrNetwork) -> None:
        self.network.media.ids = old.media.ids
        for number_id, number in old.numbers.items():
            self.network.numbers[number_id].ids = number.ids
        for phone, qr_phone in old_qr.phones.items():
            self.qr.phones[phone].ids = qr_phone.ids

    def _take_over_clock(self, old: Network) -> None:
        clock, before = self.network.clock, old.clock
        if before.replaying:
            clock.replay_at(before.now())
        before.recorder, clock.recorder = None, before.recorder
        clock.record("pace", clock.frozen, clock.speed)

    async def release(self) -> None:
        """Release delayed requests and drop all timers."""
        self.followers.close()
        self.feeds.close()
        if self._network is not None:
            self._network.clock.close()

    async def close(self) -> None:
        """Stop."""
        if self._network is not None:
            await self._network.close()
        await self.callback_client.close()
