"""Linked phones as a network kind: a driver per address holds the links of all channels there."""

import asyncio

from gatepost.model.message import Capabilities
from gatepost.model.person import LID
from gatepost.networks.kind import Connector, NetworkChannel, NetworkKind, NetworkParts
from gatepost.networks.qr.child_driver import ChildDriver, Devices
from gatepost.networks.qr.compose import CHOICES, LINK_TYPES, accepted_fields
from gatepost.networks.qr.driver import Driver


class _Drivers:
    """The running drivers: a child process, or a program at a WebSocket address such as the sandbox."""

    def __init__(self, parts: NetworkParts) -> None:
        self._parts = parts
        self._by_url: dict[str, Driver] = {}
        self._starting = asyncio.Lock()

    async def find(self, channel: NetworkChannel) -> Driver:
        url = channel.address.get("link_url") or self._parts.settings.qr.link_url
        async with self._starting:
            driver = self._by_url.get(url)
            if driver is None:
                driver = self._by_url[url] = await self._make(url)
                await driver.start()
            return driver

    async def _make(self, url: str) -> Driver:
        parts, qr = self._parts, self._parts.settings.qr
        if url:
            from gatepost.networks.qr.websocket_driver import WebSocketDriver  # noqa: PLC0415  (needs a large library)

            return WebSocketDriver(url, start_loop=parts.start_loop)
        store = qr.device_store or await parts.device_store()
        return ChildDriver(Devices(store, qr.engine, parts.derive_key(b"linked devices")), start_loop=parts.start_loop)

    async def close(self) -> None:
        for driver in self._by_url.values():
            await driver.close()


def _connect(parts: NetworkParts) -> Connector:
    drivers = _Drivers(parts)
    return Connector(drivers.close, driver=drivers.find)


QR = NetworkKind(
    name="qr",
    capabilities=Capabilities(
        types=frozenset(LINK_TYPES),
        as_text=CHOICES,
        edit=True,
        delete=True,
        hidden_people=LID,
        any_document=True,
    ),
    pacing="warm_up",
    connect=_connect,
    accepted_fields=accepted_fields,
    linked=True,
)
