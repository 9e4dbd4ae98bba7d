"""Opens the networks of channels, and decides which limits are in force."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from gatepost.admin.vault import Vault, channel_context
from gatepost.api.contract.channel import ChannelLimits
from gatepost.background import Loop
from gatepost.model import ids
from gatepost.networks.base import BusinessAccount, CallbackReader, CredentialReport, Network
from gatepost.networks.kind import NetworkChannel, NetworkParts
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.networks.qr.driver import Driver
from gatepost.outbound import pace
from gatepost.outbound.number_limits import NumberLimits
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig
from gatepost.store.devices import device_address
from gatepost.store.links import LinkRow
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.link_fetch import open_network_file


class NetworkFactory:
    """Opens the networks of a process.

    Their HTTP clients are made at the start: if the first one of a process cannot be made, for example because too many
    files are open, the library keeps this error until the process ends.
    """

    def __init__(
        self,
        settings: Settings,
        vault: Vault,
        database_url: str,
        guard: Guard,
        start_loop: Callable[..., Loop] = Loop,
    ) -> None:
        self._settings = settings
        self._vault = vault
        self._database_url = database_url
        guarded_client = partial(open_network_file, guard, settings.cloud.connect_timeout)
        self._parts = NetworkParts(settings, guarded_client, self._device_store, vault.derived, start_loop)
        self._connectors = {name: kind.connect(self._parts) for name, kind in NETWORK_KINDS.items()}

    def open(self, config: ChannelConfig) -> Network | None:
        """Return a channel's network; None if it is only reached through the link that the channel's owner holds."""
        connect = self._connectors[config.kind].open
        return connect(self._channel(config)) if connect else None

    def business(self, config: ChannelConfig) -> BusinessAccount | None:
        """Return the business account of a channel; None if its network has none."""
        connect = self._connectors[config.kind].business
        return connect(self._channel(config)) if connect else None

    async def check_credentials(self, kind: str, address: Mapping[str, Any], secrets: bytes) -> CredentialReport:
        """Test credentials that are not those of a channel yet."""
        check = self._connectors[kind].test
        assert check is not None  # its kind has credentials
        return await check(NetworkChannel(ids.ZERO, "", address, secrets))

    def callback_reader(self, config: ChannelConfig) -> CallbackReader | None:
        """Return the reader of a channel's callbacks; None if its network does not call us."""
        callbacks = NETWORK_KINDS[config.kind].callbacks
        return callbacks.open(self._channel(config)) if callbacks else None

    async def driver(self, config: ChannelConfig) -> Driver:
        """Return the driver that holds the link of a linked channel."""
        connect = self._connectors[config.kind].driver
        assert connect is not None  # its kind is linked
        return await connect(self._channel(config))

    def _channel(self, config: ChannelConfig) -> NetworkChannel:
        secrets = self._vault.open(config.secrets, channel_context(config.id)) if config.secrets else b""
        return NetworkChannel(config.id, config.phone, config.network, secrets)

    async def _device_store(self) -> str:
        return await device_address(self._database_url, self._vault.newest.derived(b"role of linked devices"))

    def limits(self, config: ChannelConfig, link: LinkRow | None, now: datetime) -> NumberLimits:
        """Return the limits in force: those set for the channel, and otherwise those of the settings."""
        tiers = NETWORK_KINDS[config.kind].pacing == "tiers"
        limits = self._tier_limits(config) if tiers else self._warm_up_limits(link, now)
        overrides = {name: value for name, value in config.limits.items() if name in _OVERRIDABLE}
        return msgspec.structs.replace(limits, **overrides, warm_up=limits.warm_up and "tier" not in overrides)

    def limits_view(self, config: ChannelConfig, link: LinkRow | None, now: datetime) -> ChannelLimits:
        """Return the limits in force for `GET /channel`."""
        limits = self.limits(config, link, now)
        window = config.limits.get("window", 1) if NETWORK_KINDS[config.kind].capabilities.window else msgspec.UNSET
        return ChannelLimits(**{name: getattr(limits, name) for name in _OVERRIDABLE}, window=window)

    def _tier_limits(self, config: ChannelConfig) -> NumberLimits:
        """Return the limits that the network reported for the number, or else those of a new number in the settings."""
        pace_, state = self._settings.pace, config.state
        since, reported = state.get("tier_since"), state.get("tier")
        return NumberLimits(
            throughput=state.get("throughput") or pace_.throughput,
            pair_seconds=pace_.pair_seconds,
            pair_burst=pace_.pair_burst,
            tier=pace_.tier if reported is None else reported,
            # A tier that the network reported takes precedence over our own promotion.
            ladder=() if state.get("tier_from") == "network" else pace.promotable_tiers(pace_.ladder, reported),
            rise_after=timedelta(hours=pace_.rise_hours),
            tier_since=datetime.fromisoformat(since) if since else ids.time_of(config.id),
            quality=state.get("quality"),
        )

    def _warm_up_limits(self, link: LinkRow | None, now: datetime) -> NumberLimits:
        """Return limits that grow from day to day: networks ban newly linked numbers that write to many new people."""
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
        """Close drivers and connections."""
        for connector in self._connectors.values():
            await connector.close()


_OVERRIDABLE = ("throughput", "pair_seconds", "pair_burst", "tier")
