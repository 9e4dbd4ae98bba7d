"""The network in use, which a reset replaces by a new one."""

import msgspec

from gatepost.sandbox.courier import Courier
from gatepost.sandbox.network import Network
from gatepost.sandbox.qr import QrNetwork
from gatepost.sandbox.settings import SandboxSettings


class World:
    """Holds the one network from start to stop."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._courier = Courier()
        self._network: Network | None = None
        self._qr: QrNetwork | None = None

    @property
    def network(self) -> Network:
        """The network of this moment."""
        if self._network is None:
            raise RuntimeError("the sandbox has not been started: its ASGI lifespan has not run")
        return self._network

    @property
    def qr(self) -> QrNetwork:
        """The same network's side for phones that are linked by a QR code."""
        if self._qr is None:
            raise RuntimeError("the sandbox has not been started: its ASGI lifespan has not run")
        return self._qr

    async def open(self) -> None:
        """Begin with the settings of the start."""
        self._network = Network(self._settings, self._courier)
        self._qr = QrNetwork(self._network)

    async def reset(self, *, keep_numbers: bool, changes: dict[str, object]) -> None:
        """Begin anew with the settings of the start and these changes, as if nothing had ever happened."""
        old, old_qr, settings = self.network, self.qr, msgspec.structs.replace(self._settings, **changes)
        self._network = Network(settings, self._courier)
        self._qr = QrNetwork(self._network)
        if keep_numbers:
            for number in old.numbers.values():
                self._network.register(number.spec)
            self._qr.adopt(old_qr)
        old_qr.close()
        await old.close()

    async def release(self) -> None:
        """Let go of requests that hang and of everything that waits for its time."""
        if self._network is not None:
            self._network.clock.close()

    async def close(self) -> None:
        """Stop."""
        if self._network is not None:
            await self._network.close()
        await self._courier.close()
