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
from gatepost.admin.headers import open_headers
from gatepost.admin.signing import open_secrets
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
from gatepost.clock import Clock, DatabaseClock
from gatepost.clock_sync import follow_database, keep_following
from gatepost.desk.media import Files
from gatepost.desk.number_watch import NumberWatch
from gatepost.desk.profile import check_health
from gatepost.desk.recovering import Recovering
from gatepost.desk.search_index import SearchIndex
from gatepost.desk.template_watch import TemplateWatch
from gatepost.desk.templates import TemplateDesk
from gatepost.desk.watchers import Watchers
from gatepost.holding import Holding
from gatepost.housekeeping import Housekeeper
from gatepost.inbound.errand import Errand
from gatepost.inbound.fetch import Fetcher
from gatepost.inbound.link import Keeper
from gatepost.inbound.receive import Receiver
from gatepost.loop_watchdog import LoopWatchdog
from gatepost.meters import Meters
from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.model.event import ChannelRef
from gatepost.model.file import Fetched, Unfetched
from gatepost.model.standing import TROUBLE
from gatepost.networks.base import Network, Receipt
from gatepost.outbound.accept import Acceptor
from gatepost.outbound.attach import Attacher
from gatepost.outbound.carry import Attach, Tell, forget_nothing
from gatepost.outbound.lane import Lane
from gatepost.outbound.ledger import Ledger
from gatepost.outbound.verdict import Rules
from gatepost.owner import Owner
from gatepost.readiness import Readiness
from gatepost.settings import Settings
from gatepost.store.bell import Bell
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.connection import tell_connection
from gatepost.store.deliveries import Target
from gatepost.store.objects import Objects
from gatepost.store.pool import Database
from gatepost.ways import Ways
from gatepost.webhooks.courier import Credentials, Secret
from gatepost.webhooks.deliver import Round
from gatepost.webhooks.fetch import check_link, fetch_guarded
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.office import Post
from gatepost.webhooks.post import Poster
from gatepost.webhooks.resolver import Resolver
from gatepost.webhooks.sign import decode_secret

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
        self._keepers: dict[UUID, Keeper] = {}
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
        keeper = self._keepers.get(config.id)
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
            _ref(config),
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
        sending, webhooks = self._settings.sending, self._settings.webhooks
        self._ledger = Ledger(self._db, self._clock, sending.linger, self.ring_events, self._meters.sent)
        self._post = Post(
            self._db,
            self._clock,
            self._poster,
            webhooks.linger,
            total=webhooks.total_in_flight,
            meter=self._meters,
            ring=self.ring_events,
        )
        files = self._settings.media
        room = {"most": files.most_bytes, "in_flight": files.in_flight}
        self._attacher = Attacher(
            self._db, self._objects, self._clock, self._fetch_link, link_seconds=files.link_seconds, **room
        )
        self._fetcher = Fetcher(
            self._db,
            self._objects,
            self._clock,
            self.ring_events,
            attempts=files.attempts,
            timeout=files.timeout,
            plans=self._settings.plans,
            **room,
        )
        make = self._make_lane, self._make_round, self._tune
        self._owner = Owner(self._own_db, self._clock, self._settings.lease, *make, self._meters.lease_event)
        self._owner.start(self.supervisor)

    async def _fetch_link(self, link: str, most: int, channel_id: UUID) -> Fetched | Unfetched:
        files = self._settings.media
        deadline = min(files.timeout, files.link_seconds)
        return await fetch_guarded(self._guard, link, most, deadline=deadline, channel=channel_id)

    async def _make_lane(self, holding: Holding) -> Lane | None:
        """All that an owner does for a channel: its lane, and what goes on beside it."""
        config = await get_config(self._own_db, holding.lease.channel_id)
        if config is None:
            return None
        channel, sending = _ref(config), self._settings.sending
        holding.channel = channel
        keeper = self._make_keeper(holding, config) if config.kind == "qr" else None
        network = self._ways.official(config) if keeper is None else None
        files = Errand(self._fetcher, self._clock, holding.lease, channel, network, holding.alive)
        words = SearchIndex(self._db, holding.lease, holding.alive, count=self._meters.set_aside)
        ring = partial(self.ring_events, config.id)
        recovering = Recovering(self._db, self._clock, holding.lease, holding.alive, ring)
        own = [keeper] if keeper else [self._make_watch(holding, config), self._make_number_watch(holding, config)]
        holding.duties = [*own, files, words, recovering]
        rules = Rules(
            sending.in_flight,
            sending.read_ahead,
            sending.unknown_grace,
            sending.retry_base,
            sending.retry_most,
            sending.attempts,
        )
        limits = self._ways.limits(config, keeper.row if keeper else None, self._clock.now())
        tell, attach = self._teller(holding, channel), self._attaching(config, keeper)
        lane = Lane(
            self._ledger,
            self._clock,
            holding.lease,
            channel,
            network,
            limits,
            rules,
            holding.alive,
            tell,
            attach,
            forget=partial(self._attacher.forget, config.id) if keeper is None else forget_nothing,
            limited=config.connection == "limited",
        )
        if keeper:
            keeper.changed = lambda: _follow(holding, keeper, lane, files)
        return lane

    def _make_keeper(self, holding: Holding, config: ChannelConfig) -> Keeper:
        keeper = Keeper(
            self._db,
            self._clock,
            holding.lease,
            _ref(config),
            lambda: self._ways.driver(config),  # nobody starts a driver before a link is wanted
            self._receiver,
            holding.alive,
            groups=self._settings.qr.groups,
        )
        self._keepers[config.id] = keeper
        return keeper

    def _make_watch(self, holding: Holding, config: ChannelConfig) -> TemplateWatch:
        desk = TemplateDesk(self._db, self._clock, config.id, self._ways.business(config))
        watch = TemplateWatch(holding.lease, desk, holding.alive)
        watch.look(config.state)
        return watch

    def _make_number_watch(self, holding: Holding, config: ChannelConfig) -> NumberWatch:
        every, read = self._settings.cloud.number_every, partial(self._read_number, config.id)
        watch = NumberWatch(self._db, self._clock, holding.lease, read, holding.alive, every)
        watch.look(config.state)
        return watch

    async def _read_number(self, channel_id: UUID) -> None:
        """Follows how an official number stands at the network, whatever its secrets and addresses are by now."""
        config = await get_config(self._db, channel_id)
        if config is not None:
            await check_health(self._db, config, self._ways.business(config), self._clock.now())
            self.ring_events(channel_id)

    def _teller(self, holding: Holding, channel: ChannelRef) -> Tell:
        async def tell(state: str, reason: str | None) -> None:
            lease = holding.lease
            await tell_connection(
                self._db, channel, lease.channel_id, state, reason, self._clock.now(), epoch=lease.epoch
            )
            self.ring_events(lease.channel_id)

        return tell

    def _attaching(self, config: ChannelConfig, keeper: Keeper | None) -> Attach:
        async def attach(network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
            if keeper is None:
                return await self._attacher.attach(config.id, network, content)
            # a link's names of files live as long as the link
            return await self._attacher.attach(config.id, network, content, session=network, links=False, type_=type_)

        return attach

    async def _tune(self, holding: Holding, lane: Lane) -> None:
        """Follows changes of a channel's limits, secrets and link."""
        config = await get_config(self._db, lane.lease.channel_id)
        if config is None:
            return
        keeper = next((duty for duty in holding.duties if isinstance(duty, Keeper)), None)
        network = self._ways.official(config) if keeper is None else keeper.network
        lane.adjust(network, self._ways.limits(config, keeper.row if keeper else None, self._clock.now()))
        await lane.mind(config.state.get(TROUBLE))
        if keeper:
            lane.lock_new(keeper.locked_until)
        for duty in holding.duties:
            if isinstance(duty, Errand):
                duty.adjust(network)
            elif isinstance(duty, TemplateWatch | NumberWatch):
                duty.look(config.state)

    def _make_round(self, holding: Holding, target: Target) -> Round:
        assert holding.channel is not None  # its lane was made before
        channel, signing, in_flight = holding.channel, self._open_target, self._settings.webhooks.in_flight
        return Round(self._post, holding.lease, channel, target, signing, in_flight, holding.alive)

    def _open_target(self, target: Target) -> Credentials:
        kept = open_secrets(self.vault, target.id, target.secret)
        secrets = [Secret(decode_secret(secret.secret), secret.until) for secret in kept]
        return Credentials(secrets, open_headers(self.vault, target.id, target.headers))


def _ref(config: ChannelConfig) -> ChannelRef:
    return ChannelRef(ids.show("ch", config.id), config.kind, config.phone)


def _follow(holding: Holding, keeper: Keeper, lane: Lane, files: Errand) -> None:
    """Those who use a link learn at once how it stands: under a lock, each try to write to somebody new does harm."""
    lane.connect(keeper.network)
    lane.lock_new(keeper.locked_until)
    files.adjust(keeper.network)
    holding.refresh()
