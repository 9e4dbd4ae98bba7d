"""The composition root: reads nothing and decides nothing, only puts the parts together and owns the loops.

embedded PostgreSQL ─► migrations ─► partitions ─► Database
                                                     │
  api role:    Gate, Acceptor, Receiver ─► REST app ─┤─► uvicorn
  worker role: Owner ─► Lane, Round per channel ─────┘
"""

import asyncio
import contextlib
from collections.abc import Sequence
from uuid import UUID

import msgspec
import structlog

from gatepost.admin.channels import ChannelSecrets
from gatepost.admin.endpoints import SigningSecret
from gatepost.admin.vault import Vault, channel_context, endpoint_context, load_or_make_key
from gatepost.api.app import create_app
from gatepost.api.cache import TimedCache
from gatepost.api.gate import Gate
from gatepost.api.gateway import Doorstep, Gateway
from gatepost.clock import Clock
from gatepost.inbound.receive import Receiver
from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.model.event import ChannelRef
from gatepost.networks.base import Network
from gatepost.networks.cloud.send import CloudNetwork, make_client
from gatepost.outbound.accept import Acceptor
from gatepost.outbound.lane import Lane, Limits
from gatepost.outbound.ledger import Ledger
from gatepost.outbound.verdict import Rules
from gatepost.owner import Holding, Owner
from gatepost.settings import Settings
from gatepost.store import partitions, upkeep
from gatepost.store.bell import Bell
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.deliveries import Target
from gatepost.store.pool import Database
from gatepost.webhooks.deliver import Post, Round, Secret
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.post import Poster
from gatepost.webhooks.sign import decode_secret

log = structlog.get_logger("gatepost")
_IDEMPOTENCY_DAYS = 7
_secrets = msgspec.json.Decoder(ChannelSecrets)
_signing = msgspec.json.Decoder(tuple[SigningSecret, ...])


class Gatepost:
    """All parts of one process."""

    def __init__(self, settings: Settings, db: Database, dsn: str, clock: Clock, role: str) -> None:
        self._settings = settings
        self._db = db
        self._clock = clock
        self._role = role
        self.vault = Vault(load_or_make_key(settings.security.secret_key, settings.data_folder))
        self._guard = Guard(settings.webhooks.allow)
        self._bell = Bell(db, dsn, self._heard)
        self._acceptor = Acceptor(db, clock, settings.plans, self.ring, settings.api.queue)
        self._receiver = Receiver(db, clock, self.ring_events, settings.api.queue, settings.cloud.linger)
        self._gate = Gate(db, clock, settings.api.rate, settings.api.burst, settings.security.key_cache_seconds)
        self._owner: Owner | None = None
        self._loops: list[asyncio.Task[None]] = []
        self.web = create_app(self._gateway(), public_only=role == "worker")

    async def start(self) -> None:
        """Starts the loops that this role has."""
        await partitions.make_partitions(self._db, self._clock.now(), self._settings.retention.partition_days)
        self._loops.append(asyncio.create_task(self._upkeep_loop()))
        if self._role != "api":
            self._make_owner()
            self._loops.append(asyncio.create_task(self._bell.listen()))

    async def stop(self) -> None:
        """Finishes what is in flight, within the time that the settings give."""
        if self._owner:
            await self._owner.stop(self._settings.server.drain_seconds)
            await self._poster.close()
            await self._client.close()
        await self._acceptor.drain()
        await self._receiver.drain()
        with contextlib.suppress(GatepostError):
            await self._gate.note_use()
        for loop in self._loops:
            loop.cancel()

    def ring(self, channel_id: UUID) -> None:
        """There is something new on a channel: wakes its owner, here or elsewhere."""
        if self._owner is None or not self._owner.ring(channel_id):
            self._bell.ring(channel_id)

    def ring_events(self, channel_id: UUID) -> None:
        """There are new events on a channel, but nothing to send."""
        if self._owner is None or not self._owner.ring(channel_id, sending=False):
            self._bell.ring(channel_id)

    def _heard(self, channel_id: UUID) -> None:
        if self._owner is not None:
            self._owner.ring(channel_id)

    # -- the REST door ------------------------------------------------------------------------------------------------

    def _gateway(self) -> Gateway:
        server = self._settings.server
        return Gateway(
            db=self._db,
            clock=self._clock,
            gate=self._gate,
            acceptor=self._acceptor,
            receiver=self._receiver,
            vault=self.vault,
            guard=self._guard,
            doorsteps=TimedCache(self._doorstep, self._settings.security.key_cache_seconds),
            ring=self.ring,
            ready=self._ready,
            body_limit=server.body_limit,
            callback_limit=server.callback_limit,
        )

    async def _doorstep(self, channel_id: UUID) -> Doorstep | None:
        config = await get_config(self._db, channel_id)
        if config is None or config.secrets is None:
            return None
        secrets = self._open(config)
        return Doorstep(
            channel_id, _ref(config), config.network["phone_number_id"], secrets.app_secret, secrets.verify_token
        )

    def _open(self, config: ChannelConfig) -> ChannelSecrets:
        return _secrets.decode(self.vault.open(config.secrets or b"", channel_context(config.id)))

    async def _ready(self) -> dict[str, bool]:
        try:
            await upkeep.ping(self._db)
        except GatepostError:
            return {"database": False, "migrations": True, "owner": False}
        return {"database": True, "migrations": True, "owner": self._owner is None or self._owner.healthy}

    # -- the owner ----------------------------------------------------------------------------------------------------

    def _make_owner(self) -> None:
        sending, webhooks, cloud = self._settings.sending, self._settings.webhooks, self._settings.cloud
        self._ledger = Ledger(self._db, self._clock, sending.linger, self.ring_events)
        self._client = make_client(cloud.timeout, cloud.connect_timeout)
        self._poster = Poster(self._guard, deadline=webhooks.timeout, connect_deadline=webhooks.connect_timeout)
        self._post = Post(self._db, self._clock, self._poster, webhooks.linger)
        self._owner = Owner(self._db, self._clock, self._settings.lease, self._make_lane, self._make_round, self._tune)
        self._owner.start()

    async def _make_lane(self, holding: Holding) -> Lane | None:
        config = await get_config(self._db, holding.lease.channel_id)
        if config is None:
            return None
        sending, limits = self._settings.sending, self._limits(config)
        rules = Rules(
            sending.in_flight,
            sending.read_ahead,
            sending.unknown_grace,
            sending.retry_base,
            sending.retry_most,
            sending.attempts,
        )
        network = self._network(config)
        return Lane(self._ledger, self._clock, holding.lease, _ref(config), network, limits, rules, holding.alive)

    async def _tune(self, lane: Lane) -> None:
        """Follows changes of a channel's limits and secrets."""
        config = await get_config(self._db, lane.lease.channel_id)
        if config is not None:
            lane.adjust(self._network(config), self._limits(config))

    def _limits(self, config: ChannelConfig) -> Limits:
        pace, official = self._settings.pace, config.kind == "official"
        return Limits(
            throughput=config.limits.get("throughput", pace.throughput if official else pace.qr_throughput),
            pair_seconds=config.limits.get("pair_seconds", pace.pair_seconds),
            pair_burst=config.limits.get("pair_burst", pace.pair_burst),
            tier=config.limits.get("tier", pace.tier if official else 0),
        )

    def _network(self, config: ChannelConfig) -> Network | None:
        """The way to the channel's network; None while there is no link."""
        if config.kind != "official":
            return None
        cloud, place = self._settings.cloud, config.network
        return CloudNetwork(
            self._client,
            place.get("base_url") or cloud.base_url,
            place.get("version") or cloud.version,
            place["phone_number_id"],
            self._open(config).token,
        )

    def _make_round(self, holding: Holding, target: Target) -> Round:
        in_flight = self._settings.webhooks.in_flight
        return Round(self._post, holding.lease, target, self._open_signing, in_flight, holding.alive)

    def _open_signing(self, target: Target) -> Sequence[Secret]:
        kept = _signing.decode(self.vault.open(target.secret, endpoint_context(target.id)))
        return [Secret(decode_secret(secret.secret), secret.until) for secret in kept]

    # -- upkeep -------------------------------------------------------------------------------------------------------

    async def _upkeep_loop(self) -> None:
        """Key use, statistics of young partitions, new partitions, old rows: nothing that anyone waits for."""
        analyzed: dict[str, int] = {}
        retention, turns = self._settings.retention, 0
        while True:
            await asyncio.sleep(5)
            try:
                await self._gate.note_use()
                await partitions.analyze_young_tables(self._db, analyzed)
                if turns % 120 == 0:
                    now = self._clock.now()
                    await partitions.make_partitions(self._db, now, retention.partition_days)
                    await partitions.drop_old_partitions(self._db, now, retention.messages_days, retention.events_days)
                    await upkeep.forget_idempotency_keys(self._db, now, _IDEMPOTENCY_DAYS)
                    await upkeep.forget_parked_statuses(self._db, now)
                turns += 1
            except GatepostError as error:
                log.warning("upkeep failed", reason=error.message)
            except Exception:
                log.exception("upkeep broke")


def _ref(config: ChannelConfig) -> ChannelRef:
    return ChannelRef(ids.show("ch", config.id), config.kind, config.phone)
