"""The composition root: reads nothing and decides nothing, only puts the parts together and owns the loops.

embedded PostgreSQL ─► migrations ─► partitions ─► Database
                                                     │
  api role:    Gate, Acceptor, Receiver ─► REST app ─┤─► uvicorn
  worker role: Owner ─► Lane, Round per channel ─────┘
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

import msgspec
import structlog
import uvicorn

from gatepost import __version__
from gatepost.admin.channels import ChannelSecrets
from gatepost.admin.endpoints import SigningSecret
from gatepost.admin.vault import Vault, channel_context, endpoint_context, load_or_make_key
from gatepost.api.app import create_app
from gatepost.api.cache import TimedCache
from gatepost.api.gate import Gate
from gatepost.api.gateway import Doorstep, Gateway
from gatepost.clock import Clock, SystemClock
from gatepost.inbound.receive import Receiver
from gatepost.logs import configure_logs
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
from gatepost.store.embedded import EmbeddedPostgres, lock_data_folder, running_dsn
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from gatepost.webhooks.deliver import Post, Round, Secret
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.post import Poster
from gatepost.webhooks.sign import decode_secret

log = structlog.get_logger("gatepost")
_IDEMPOTENCY_DAYS = 7
_secrets = msgspec.json.Decoder(ChannelSecrets)
_signing = msgspec.json.Decoder(tuple[SigningSecret, ...])


class CannotStart(Exception):
    """Something outside keeps the gateway from starting."""


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
        self._receiver = Receiver(db, clock, self.ring, settings.api.queue)
        self._gate = Gate(db, clock, settings.api.rate, settings.api.burst, settings.security.key_cache_seconds)
        self._owner: Owner | None = None
        self._loops: list[asyncio.Task[None]] = []
        self.web = create_app(self._gateway(), __version__, public_only=role == "worker")

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
        self._ledger = Ledger(self._db, self._clock, sending.linger)
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
                await partitions.analyze_young_partitions(self._db, analyzed)
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


# -- running --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """A migrated database for a command: the given one, or that of the data folder, running or started for now."""
    dsn = settings.database.url or running_dsn(settings.data_folder)
    if dsn is not None:
        async with _connected(dsn, settings) as db:
            yield db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings) as own, _connected(own, settings) as db:
            yield db


async def serve(
    settings: Settings,
    *,
    role: str = "all",
    on_ready: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Runs the gateway until SIGTERM or SIGINT."""
    configure_logs(settings.log.level, settings.log.format)
    with _listener(settings) as listener:
        async with _database(settings) as (dsn, db):
            gatepost = Gatepost(settings, db, dsn, SystemClock(), role)
            await gatepost.start()
            try:
                await _serve_http(gatepost, settings, listener, on_ready)
            finally:
                await gatepost.stop()
    log.info("stopped")


async def _serve_http(
    gatepost: Gatepost,
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[str], Awaitable[None]] | None,
) -> None:
    config = uvicorn.Config(
        gatepost.web,
        http="httptools",
        ws="none",
        proxy_headers=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=int(settings.server.drain_seconds),
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, server.ask_to_stop)
    await asyncio.wait([serving, asyncio.create_task(server.up.wait())], return_when=asyncio.FIRST_COMPLETED)
    url = settings.server.public_url.rstrip("/") or _address(listener)
    log.info("ready", url=url, version=__version__)
    if on_ready and not serving.done():
        await on_ready(url)
    await serving


class _Server(uvicorn.Server):
    """A server that leaves signals to us: we stop the rest of the house after it."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def ask_to_stop(self) -> None:
        self.should_exit = True


def _listener(settings: Settings) -> socket.socket:
    server = settings.server
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise CannotStart(f"Cannot listen on {server.host}:{server.port}: {error.strerror}.") from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[tuple[str, Database]]:
    """The database of a gateway: the given one, or our own, which nobody else may be running."""
    if settings.database.url:
        async with _connected(settings.database.url, settings) as db:
            yield settings.database.url, db
        return
    with lock_data_folder(settings.data_folder):
        async with _embedded(settings) as dsn, _connected(dsn, settings) as db:
            yield dsn, db


@asynccontextmanager
async def _embedded(settings: Settings) -> AsyncIterator[str]:
    server = EmbeddedPostgres(settings.data_folder)
    try:
        yield await server.start()
    finally:
        await server.stop()


@asynccontextmanager
async def _connected(dsn: str, settings: Settings) -> AsyncIterator[Database]:
    await migrate(dsn)
    db = await Database.connect(dsn, connections=settings.database.connections)
    try:
        yield db
    finally:
        await db.close()
