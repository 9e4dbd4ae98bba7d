"""The composition root: reads nothing and decides nothing, only puts the parts together and owns the loops.

embedded PostgreSQL ─► migrations ─► partitions ─► Database
                                                     │
  api role:    Gate, Acceptor, Receiver ─► REST app ─┤─► uvicorn
  worker role: Owner ─► Lane, Round per channel ─────┘
"""

import contextlib
from functools import partial
from uuid import UUID

import structlog

from gatepost import __version__
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.api.app import create_app
from gatepost.api.body_memory import BodyMemory
from gatepost.api.cache import TimedCache
from gatepost.api.costly import CostlyRequests
from gatepost.api.figures import Figures
from gatepost.api.gate import Gate
from gatepost.api.gateway import Doorstep, Gateway
from gatepost.api.minute import PerMinute
from gatepost.api.webhook_trial import TRIALS
from gatepost.background import Supervisor
from gatepost.channel_worker import ChannelWorkers, WorkerParts, channel_ref
from gatepost.clock import Clock, DatabaseClock
from gatepost.clock_sync import follow_database, keep_following
from gatepost.desk.media import Files
from gatepost.desk.watchers import Watchers
from gatepost.housekeeping import Housekeeper
from gatepost.inbound.receive import Receiver
from gatepost.loop_watchdog import LoopWatchdog
from gatepost.meters import Meters
from gatepost.model.errors import GatepostError
from gatepost.networks.base import Network
from gatepost.outbound.accept import Acceptor
from gatepost.owner import Owner
from gatepost.readiness import Readiness
from gatepost.settings import Settings
from gatepost.store.bell import Bell
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.objects import Objects
from gatepost.store.pool import Database
from gatepost.ways import Ways
from gatepost.webhooks.fetch import check_link
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.post import Poster
from gatepost.webhooks.resolver import Resolver

log = structlog.get_logger("gatepost")


class Gatepost:
    """All parts of one process."""

    def __init__(
        self, settings: Settings, db: Database, dsn: str, clock: Clock, role: str, meters: Meters | None = None
    ) -> None:
        self._settings = settings
        self._db, self._api_db = db.reserved("work"), db  # what each may use: `store/slots.py`
        self._own_db, self._receive_db, accept_db = db.reserved("own"), db.reserved("receive"), db.reserved("accept")
        self._clock = clock
        self._role = role
        self._meters = meters or Meters(__version__, role)
        self.count_answer = self._meters.answered  # for what is answered before the application
        self._watchdog = LoopWatchdog(settings.watchdog.stall, settings.watchdog.interval, self._meters.loop_lag)
        self.vault = Vault(load_or_make_key(settings.security.secret_key, settings.data_folder))
        self._resolver = Resolver(meter=self._meters)
        self._guard = Guard(settings.webhooks.allow, self._resolver)
        self._poster = Poster(
            self._guard, deadline=settings.webhooks.timeout, connect_deadline=settings.webhooks.connect_timeout
        )
        self._objects = Objects.open(settings.media.url, settings.data_folder / "media")
        self.supervisor = Supervisor()
        self._ways = Ways(settings, self.vault, dsn, self._guard, self.supervisor.start)
        self._bell = Bell(self._db, dsn, self._heard)
        self._acceptor = Acceptor(
            accept_db, clock, settings.plans, self.ring, settings.api.queue, self._check_link, self._meters.accepted
        )
        self._receiver = Receiver(self._receive_db, clock, self.ring_events, settings.api.queue, settings.cloud.linger)
        api, cached = settings.api, settings.security.key_cache_seconds
        self._gate = Gate(accept_db, clock, api.rate, api.burst, cached, api.wrong_keys)
        self._watchers = Watchers(self._own_db, settings.api.streams)
        self._housekeeper = Housekeeper(settings, self._db, self._objects, clock, self._gate.note_use)
        self._owner: Owner | None = None
        self._workers: ChannelWorkers | None = None
        self.web = create_app(self._gateway(), public_only=role == "worker")

    async def start(self) -> None:
        """Starts the loops that this role has."""
        self._watchdog.start()
        start = self.supervisor.start
        if isinstance(self._clock, DatabaseClock):
            await follow_database(self._db, self._clock)
            start("clock", partial(keep_following, self._db, self._clock))
        await self._housekeeper.make_partitions()
        start("housekeeping", self._housekeeper.step)
        start("look for events", self._watchers.step, longest_wait=2.0)
        if self._role != "api":
            self._make_owner()
            start("notifications", self._bell.listen, longest_wait=5.0)

    def end_streams(self) -> None:
        """Lets open streams and waiting requests come to their end, so that a server that stops need not wait."""
        self._watchers.end()

    async def stop(self) -> None:
        """Finishes what is in flight, within the time that the settings give."""
        self.end_streams()
        if self._owner:
            try:
                await self._owner.stop(self._settings.server.drain_seconds)
            except GatepostError as error:  # the database is gone: leases expire, and the rest ends all the same
                log.warning("channels could not be given back", reason=error.message)
        await self._poster.close()
        await self._resolver.close()
        await self._acceptor.drain()
        await self._receiver.drain()
        with contextlib.suppress(GatepostError):
            await self._gate.note_use()
        await self._ways.close()
        await self.supervisor.stop()
        self._watchdog.stop()

    def ring(self, channel_id: UUID) -> None:
        """There is something new on a channel: wakes its owner, here or elsewhere."""
        self._watchers.ring(channel_id)
        if self._owner is None or not self._owner.ring(channel_id):
            self._bell.ring(channel_id)

    def ring_events(self, channel_id: UUID) -> None:
        """There are new events on a channel, but nothing to send."""
        self._watchers.ring(channel_id)
        if self._owner is None or not self._owner.ring(channel_id, sending=False):
            self._bell.ring(channel_id)

    def _heard(self, channel_id: UUID) -> None:
        self._watchers.ring(channel_id)
        if self._owner is not None:
            self._owner.ring(channel_id)

    # -- the REST door ------------------------------------------------------------------------------------------------

    def _gateway(self) -> Gateway:
        server, files = self._settings.server, self._settings.media
        return Gateway(
            db=self._api_db,
            clock=self._clock,
            gate=self._gate,
            acceptor=self._acceptor,
            receiver=self._receiver,
            vault=self.vault,
            guard=self._guard,
            poster=self._poster,
            media=Files(self._api_db, self._objects, self._clock, most=files.most_bytes, timeout=files.timeout),
            business=self._ways.business,
            speak=self._speak,
            watchers=self._watchers,
            trials=PerMinute(TRIALS, self._clock),
            costly=CostlyRequests(self._settings.api.costly_per_key, self._settings.api.costly),
            limits=self._ways.limits_shown,
            doorsteps=TimedCache(self._doorstep, self._settings.security.key_cache_seconds),
            ring=self.ring,
            ready=Readiness(self._own_db, self._clock, self._owner_healthy).checks,
            figures=Figures(self._api_db, self._clock, self._meters, self._owned, self._settings.metrics.token),
            public_url=server.public_url.rstrip("/"),
            plans=self._settings.plans,
            rate=self._settings.api.rate,
            burst=self._settings.api.burst,
            cors_origins=self._settings.api.cors_origins,
            heartbeat=self._settings.api.heartbeat,
            events_days=self._settings.retention.events_days,
            body_limit=server.body_limit,
            callback_limit=server.callback_limit,
            callback_memory=BodyMemory(server.callback_memory),
        )

    async def _speak(self, config: ChannelConfig) -> Network | None:
        """A way to a channel's network from this process: a link is only where its owner is."""
        if config.kind == "official":
            return self._ways.official(config)
        keeper = self._workers.keepers.get(config.id) if self._workers else None
        return keeper.network if keeper else None

    async def _check_link(self, link: str) -> None:
        check_link(self._guard, link)

    async def _doorstep(self, channel_id: UUID) -> Doorstep | None:
        config = await get_config(self._receive_db, channel_id)
        if config is None or config.secrets is None:
            return None
        secrets, place = self._ways.secrets(config), config.network
        return Doorstep(
            channel_id,
            channel_ref(config),
            place["phone_number_id"],
            place.get("waba_id"),
            secrets.app_secret,
            secrets.verify_token,
        )

    def _owned(self) -> int:
        return self._owner.owned if self._owner else 0

    def _owner_healthy(self) -> bool:
        return self._owner is None or self._owner.healthy

    # -- the owner ----------------------------------------------------------------------------------------------------

    def _make_owner(self) -> None:
        workers = self._workers = ChannelWorkers(
            WorkerParts(
                settings=self._settings,
                db=self._db,
                own_db=self._own_db,
                clock=self._clock,
                meters=self._meters,
                vault=self.vault,
                guard=self._guard,
                poster=self._poster,
                objects=self._objects,
                ways=self._ways,
                receiver=self._receiver,
                ring_events=self.ring_events,
            )
        )
        make = workers.make_lane, workers.make_round, workers.tune
        self._owner = Owner(self._own_db, self._clock, self._settings.lease, *make, self._meters.lease_event)
        self._owner.start(self.supervisor)
