"""The ways to the networks: for each channel the adapter that carries its messages, and what it may carry.

official ─► CloudNetwork, CloudAccount over one shared client
qr       ─► a driver of links: our own child process, or one at an address (the sandbox's)
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from gatepost.admin.channels import ChannelSecrets
from gatepost.admin.vault import Vault, channel_context
from gatepost.background import Loop
from gatepost.model import ids
from gatepost.networks.cloud.file_hosts import FileHosts
from gatepost.networks.cloud.manage import CloudAccount
from gatepost.networks.cloud.send import CloudNetwork, make_client
from gatepost.networks.qr.child_driver import ChildDriver, Devices
from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.websocket_driver import WebSocketDriver
from gatepost.outbound import pace
from gatepost.outbound.number_limits import NumberLimits
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig
from gatepost.store.device_role import device_address
from gatepost.store.links import LinkRow
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.link_fetch import dial_network_file

_secrets = msgspec.json.Decoder(ChannelSecrets)


class NetworkFactory:
    """Opens them, and closes what they share."""

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        database_url: str,
        guard: Guard,
        start_loop: Callable[..., Loop] = Loop,
    ) -> None:
        self._settings = settings
        self._start_loop = start_loop
        self._vault = vault
        self._database_url = database_url
        self._guard = guard
        self._client = make_client(settings.cloud.timeout, settings.cloud.connect_timeout)
        self._drivers: dict[str, Driver] = {}
        self._starting = asyncio.Lock()

    def secrets(self, config: ChannelConfig) -> ChannelSecrets:
        """What an official number calls with."""
        return _secrets.decode(self._vault.open(config.secrets or b"", channel_context(config.id)))

    def official(self, config: ChannelConfig) -> CloudNetwork:
        """The way of an official channel's messages."""
        cloud = self._settings.cloud
        dial = partial(dial_network_file, self._guard, cloud.connect_timeout, config.id)
        files = FileHosts(frozenset(cloud.media_hosts), dial)
        return CloudNetwork(self._client, *self._place(config), self.secrets(config).token, files)

    def business(self, config: ChannelConfig) -> CloudAccount:
        """The management side of an official channel."""
        waba_id = config.network.get("waba_id", "")
        return CloudAccount(self._client, *self._place(config), waba_id, self.secrets(config).token)

    def _place(self, config: ChannelConfig) -> tuple[str, str, str]:
        cloud, place = self._settings.cloud, config.network
        version = place.get("version") or cloud.version
        return place.get("base_url") or cloud.base_url, version, place["phone_number_id"]

    async def driver(self, config: ChannelConfig) -> Driver:
        """Who holds a QR channel's link. One driver serves all channels with the same address."""
        url = config.network.get("link_url") or self._settings.qr.link_url
        async with self._starting:
            driver = self._drivers.get(url)
            if driver is None:
                driver = self._drivers[url] = await self._new_driver(url)
                await driver.start()
            return driver

    async def _new_driver(self, url: str) -> Driver:
        start = self._start_loop
        return WebSocketDriver(url, start_loop=start) if url else ChildDriver(await self._devices(), start_loop=start)

    async def _devices(self) -> Devices:
        qr, vault = self._settings.qr, self._vault
        store = qr.device_store or await device_address(self._database_url, vault.derived(b"role of linked devices"))
        return Devices(store, qr.engine, vault.derived(b"linked devices"))

    def limits(self, config: ChannelConfig, link: LinkRow | None, now: datetime) -> NumberLimits:
        """What the network allows a number: what is set for it, and otherwise the settings."""
        limits = self._official_limits(config) if config.kind == "official" else self._qr_limits(link, now)
        by_hand = {name: value for name, value in config.limits.items() if name in _SET_BY_HAND}
        return msgspec.structs.replace(limits, **by_hand, warm_up=limits.warm_up and "tier" not in by_hand)

    def limits_shown(self, config: ChannelConfig, link: LinkRow | None, now: datetime) -> dict[str, Any]:
        """The limits in force, for `GET /channel`."""
        limits = self.limits(config, link, now)
        shown = {name: getattr(limits, name) for name in _SET_BY_HAND}
        return shown | ({"window": config.limits.get("window", 1)} if config.kind == "official" else {})

    def _official_limits(self, config: ChannelConfig) -> NumberLimits:
        """What the settings say of a new number, until the network has said how this one stands."""
        pace_, state = self._settings.pace, config.state
        since, told = state.get("tier_since"), state.get("tier")
        return NumberLimits(
            throughput=state.get("throughput") or pace_.throughput,
            pair_seconds=pace_.pair_seconds,
            pair_burst=pace_.pair_burst,
            tier=pace_.tier if told is None else told,
            # The network's own word goes first.
            ladder=() if state.get("tier_from") == "network" else pace.up_to(pace_.ladder, told),
            rise_after=timedelta(hours=pace_.rise_hours),
            tier_since=datetime.fromisoformat(since) if since else ids.time_of(config.id),
            quality=state.get("quality"),
        )

    def _qr_limits(self, link: LinkRow | None, now: datetime) -> NumberLimits:
        """A linked number is not official: it goes gently, and writes to few new people at first."""
        pace_ = self._settings.pace
        linked = (link.linked_at if link else None) or now
        days = (now - linked) / timedelta(days=1)
        return NumberLimits(
            throughput=pace_.qr_throughput,
            pair_seconds=pace_.qr_pair_seconds,
            pair_burst=pace_.qr_pair_burst,
            tier=pace.warm_up(days, pace_.qr_first_day, pace_.qr_growth, pace_.qr_new_per_day),
            warm_up=True,
        )

    async def close(self) -> None:
        """Ends drivers and connections."""
        for driver in self._drivers.values():
            await driver.close()
        await self._client.close()


_SET_BY_HAND = ("throughput", "pair_seconds", "pair_burst", "tier")
