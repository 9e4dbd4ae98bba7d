"""The composition root: creates and connects the parts of a process and starts its loops. It has no logic of its own.

embedded PostgreSQL ─► migrations ─► partitions ─► Database
                                                     │
  api role:    Gate, Acceptor, Receiver ─► REST app ─┤─► uvicorn
  worker role: Owner ─► ChannelTasks per channel ────┘
"""

import contextlib
from collections.abc import Callable, Hashable, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import msgspec
import structlog

from gatepost import __version__
from gatepost.access.authentication import Authenticator
from gatepost.access.client_address import TrustedProxies
from gatepost.access.origin import origin_of
from gatepost.access.refusal_recorder import RefusalRecorder
from gatepost.access.session_authentication import SessionAuthenticator
from gatepost.access.shared_dues import SharedDues
from gatepost.access.sliding_limit import SlidingLimit
from gatepost.access.timed_cache import TimedCache
from gatepost.admin.sign_in import FailureLog
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.api.account_presence import PRESENCES
from gatepost.api.app import create_app
from gatepost.api.context import ApiContext, CallbackConfig
from gatepost.api.credential_test import CREDENTIAL_TESTS
from gatepost.api.dispatcher import Dispatcher
from gatepost.api.metrics_source import AskOthers, MetricsSource
from gatepost.api.session_cookie import SessionCookie
from gatepost.api.webhook_test import TRIALS
from gatepost.background import Supervisor
from gatepost.channel_worker import ChannelWorkers, WorkerParts
from gatepost.clock import Clock, DatabaseClock
from gatepost.clock_sync import follow_database, keep_following
from gatepost.console.dashboard import Dashboard, load_files
from gatepost.grouped_lookup import GroupedLookup
from gatepost.held_leases import LeaseListener
from gatepost.housekeeping import Housekeeper
from gatepost.inbound.link_keeper import LinkKeeper
from gatepost.inbound.receive import UpdateReceiver
from gatepost.loop_watchdog import LoopWatchdog
from gatepost.mcp.tool_call import McpContext
from gatepost.mcp.transport import McpServer
from gatepost.metrics import CurrentFigures, ProcessMetrics
from gatepost.metrics_totals import MetricFamily
from gatepost.model.databases import MAIN
from gatepost.model.errors import GatepostError
from gatepost.network_factory import NetworkFactory
from gatepost.outbound.accept import Acceptor
from gatepost.owner import Owner
from gatepost.process_limits import LimitExchange, ProcessLimits
from gatepost.readiness import Readiness
from gatepost.services.account_streams import AccountStreams
from gatepost.services.assistant_calls import McpRecorder, read_policy_in_force
from gatepost.services.event_waiters import EventWaiters
from gatepost.services.link_calls import LinkCalls
from gatepost.services.media import MediaService
from gatepost.services.presence_board import PresenceBoard
from gatepost.settings import Settings
from gatepost.store.channel_notifier import ChannelNotifier
from gatepost.store.channels import get_configs
from gatepost.store.media.objects import ObjectStorage, media_place
from gatepost.store.notifications import AccountChange, LimitCounts, Presence, TextPiece
from gatepost.store.pool import Database
from gatepost.trace_export import TraceExporter
from gatepost.tracing import Tracer
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import check_link
from gatepost.webhooks.resolver import Resolver

log = structlog.get_logger("gatepost")


class ProcessPlace(msgspec.Struct, frozen=True):
    """Which of several processes of a gateway this is."""

    owner: UUID  # its id as the owner of channels
    rates: SharedDues  # of keys, in all processes
    ask_others: AskOthers
    count: Callable[[str, Hashable, bool], None]  # tells the others what a limit has counted
    gateway: UUID  # the id of all of them
    number: int  # from 1


class Gatepost:
    """All parts of one process."""

    def __init__(
        self,
        settings: Settings,
        db: Database,
        dsn: str,
        clock: Clock,
        role: str,
        metrics: ProcessMetrics | None = None,
        place: ProcessPlace | None = None,
        cell: str = MAIN,
        limits: ProcessLimits | None = None,
    ) -> None:
        self._settings = settings
        self._place = place
        rates, count = (place.rates, place.count) if place else (None, None)
        shared = self.limits = limits or ProcessLimits(settings, clock, rates, count)
        db = db.notifying(self._on_commit)
        self._db, self._api_db = db.reserved("work"), db  # connection slots of each: `store/slots.py`
        self._own_db, self._receive_db, accept_db = db.reserved("own"), db.reserved("receive"), db.reserved("accept")
        self._clock, self._cell, self._role = clock, cell, role
        self._metrics = metrics or ProcessMetrics(__version__, role)
        self.count_answer = self._metrics.answered  # for responses sent before the request reaches the application
        self._watchdog = LoopWatchdog(settings.watchdog.stall, settings.watchdog.interval, self._metrics.loop_lag)
        traced = settings.tracing
        self._tracer = Tracer(traced.sample, self._metrics.spans) if traced.endpoint else None
        self._exporter = TraceExporter.of(self._tracer, traced.endpoint, traced.header_fields, self._metrics.spans)
        self.vault = Vault(load_or_make_key(settings.security.secret_key, settings.data_folder))
        self._resolver = Resolver(metrics=self._metrics)
        self._guard = Guard(settings.webhooks.allow, self._resolver)
        self._poster = Poster(
            self._guard, deadline=settings.webhooks.timeout, connect_deadline=settings.webhooks.connect_timeout
        )
        self._objects = ObjectStorage.open(*media_place(settings.media.url, settings.data_folder, cell))
        self.supervisor = Supervisor()
        self._networks = NetworkFactory(settings, self.vault, dsn, self._guard, self.supervisor.start)
        self._notifier = ChannelNotifier(self._db, dsn, self)
        self._link_calls = LinkCalls(db, self._find_keeper, self._networks.open)
        self._exchange: LimitExchange | None = None
        if limits is None:  # otherwise the process has cells, and the first one exchanges them
            gateway, number = (place.gateway, place.number) if place else (uuid4(), 1)
            self._exchange = LimitExchange(self._own_db, shared, gateway, first=number == 1)
        self._acceptor = Acceptor(
            accept_db,
            clock,
            settings.plans,
            settings.api.queue,
            self._check_link,
            self._metrics.accepted,
            timedelta(hours=settings.mcp.draft_hours),
            self._metrics.committed,
            self._tracer,
            settings.media.days,
        )
        self._callback_channels = GroupedLookup(partial(get_configs, self._receive_db))
        self._receiver = UpdateReceiver(
            self._receive_db,
            clock,
            settings.api.queue,
            settings.cloud.linger,
            self._metrics.received,
            self._metrics.committed,
            self._tracer,
            settings.retention.messages_days,
        )
        cached = settings.security.key_cache_seconds
        self._gate = Authenticator(accept_db, clock, shared.rate, shared.wrong, cached)
        self._sessions = SessionAuthenticator(accept_db, clock, shared.rate, shared.wrong, cached)
        self._refused = RefusalRecorder(self._db, clock)
        self._waiters = EventWaiters(self._own_db, settings.api.streams)
        self._account_streams = AccountStreams(self._own_db, clock, self._waiters, settings.api.streams)
        self._presence = PresenceBoard(self._account_streams, clock)
        files = settings.media
        self._media = MediaService(db, self._objects, clock, most=files.most_bytes, timeout=files.timeout)
        self._recorder = McpRecorder(db)
        self._mcp = McpServer(self._mcp_context(), self.supervisor.start)
        self._housekeeper = Housekeeper(settings, self._db, self._objects, clock, self._note_use)
        others, token = place.ask_others if place else None, settings.metrics.token
        self.figures = MetricsSource(db, clock, self._metrics, self._read_current, token, others)
        self.readiness = Readiness(self._own_db, clock, self._owner_healthy)
        self._owner: Owner | None = None
        self._workers: ChannelWorkers | None = None
        self.api = create_app(self._gateway(), public_only=role == "worker")
        dashboard = Dashboard(self.api, load_files(), self._metrics.answered, self.api.new_request_id)
        self.web: Dispatcher | Dashboard = self.api if role == "worker" else dashboard

    async def start(self) -> None:
        """Start the loops of this process's role. If that fails, nothing was started, and it can be tried again."""
        if isinstance(self._clock, DatabaseClock):
            await follow_database(self._db, self._clock)
        await self._housekeeper.make_partitions()
        start = self.supervisor.start
        if isinstance(self._clock, DatabaseClock):
            start("clock", partial(keep_following, self._db, self._clock))
        if self._cell == MAIN:
            self._watchdog.start()
        start("housekeeping", self._housekeeper.step)
        if self._exporter is not None:
            start("export of traces", self._exporter.step)
        start("look for events", self._waiters.step, longest_wait=2.0)
        start("account streams", self._account_streams.step, longest_wait=2.0)
        start("channels of account streams", self._account_streams.look_step, longest_wait=2.0)
        if self._role != "api":
            self._make_owner()
        if self._exchange is not None:
            start("exchange of limits", self._exchange.step, longest_wait=5.0)
        start("notifications", self._notifier.listen, longest_wait=5.0)

    def end_streams(self) -> None:
        """End open streams and waiting requests, so that a stopping server does not wait for them."""
        self._waiters.end()
        self._account_streams.end()

    async def stop(self) -> None:
        """Stop all parts after work in flight is finished, within the time limit of the settings."""
        self.end_streams()
        if self._owner:
            try:
                await self._owner.stop(self._settings.server.drain_seconds)
            except GatepostError as error:  # the database is unavailable: leases expire, and the rest is stopped anyway
                log.warning("channels could not be released", reason=error.message)
        await self._poster.close()
        await self._resolver.close()
        await self._acceptor.drain()
        await self._recorder.drain()
        await self._receiver.drain()
        with contextlib.suppress(GatepostError):
            await self._note_use()
        await self._networks.close()
        await self._notifier.drain()
        await self.supervisor.stop()
        if self._exporter is not None:
            await self._exporter.close()
        self._watchdog.stop()

    def measure(self) -> list[MetricFamily]:
        """Return the metrics of this process."""
        return self.figures.measure()

    async def _note_use(self) -> None:
        await self._gate.note_use()
        await self._sessions.note_use()
        await self._refused.save()

    def _on_commit(self, channel_id: UUID, *, sending: bool, tasks: bool = True) -> None:
        """Wake the requests that wait for a channel's events, and the channel's owner, on this node or another."""
        self._waiters.wake(channel_id)
        if self._owner is None or not self._owner.wake(channel_id, sending=sending, tasks=tasks):
            self._notifier.notify(channel_id)

    def on_listening(self) -> None:
        """Read what notifications would have told about. The sweep finds events and messages without them."""
        self._account_streams.report(None)
        if self._owner is not None:
            self._owner.look(lost=True)

    def on_channel(self, channel_id: UUID) -> None:
        """Wake what waits for a channel on this node."""
        self._waiters.wake(channel_id)
        if self._owner is not None:
            self._owner.wake(channel_id)

    def on_release(self) -> None:
        """Look for channels that another process has released."""
        if self._owner is not None:
            self._owner.look()

    def on_release_request(self, channels: Sequence[UUID]) -> None:
        """Release channels that another program wants."""
        if self._owner is not None:
            self._owner.hand_over(channels)

    def on_presence(self, presence: Presence) -> None:
        """Tell the open pages of an account where a person is."""
        self._presence.put(presence)

    def on_account_change(self, change: AccountChange) -> None:
        """Tell the open pages of an account what has changed."""
        self._account_streams.report(change)

    def on_limit_counts(self, counts: LimitCounts) -> None:
        """Count what another gateway has counted."""
        if self._exchange is not None:
            self._exchange.receive(counts)

    def on_link_piece(self, name: str, piece: TextPiece) -> None:
        """Make calls over links for other processes, and take their answers."""
        self._link_calls.receive(name, piece)

    # -- the API ------------------------------------------------------------------------------------------------------

    def _gateway(self) -> ApiContext:
        server = self._settings.server
        return ApiContext(
            db=self._api_db,
            clock=self._clock,
            gate=self._gate,
            sessions=self._sessions,
            sign_ins=self.limits.sign_ins,
            failures=FailureLog(self._api_db),
            wrong=self.limits.wrong,
            refused=self._refused,
            proxies=TrustedProxies(server.trusted_proxies),
            cookie=SessionCookie(secure=origin_of(server.public_url).startswith("https:")),
            acceptor=self._acceptor,
            mcp=self._mcp,
            receiver=self._receiver,
            vault=self.vault,
            guard=self._guard,
            poster=self._poster,
            media=self._media,
            business=self._networks.business,
            speak=self._link_calls.speak,
            waiters=self._waiters,
            account_streams=self._account_streams,
            presence=self._presence,
            presences=SlidingLimit(PRESENCES, self._clock),
            trials=SlidingLimit(TRIALS, self._clock),
            credential_tests=SlidingLimit(CREDENTIAL_TESTS, self._clock),
            check_credentials=self._networks.check_credentials,
            costly=self.limits.costly,
            limits=self._networks.limits_view,
            callback_configs=TimedCache(self._callback_config, self._settings.security.key_cache_seconds, grouped=True),
            ready=self.readiness.checks,
            figures=self.figures,
            public_url=server.public_url.rstrip("/"),
            origin=origin_of(server.public_url),
            sandbox_url=self._settings.clock.follow.rstrip("/"),
            plans=self._settings.plans,
            rate=self._settings.api.rate,
            burst=self._settings.api.burst,
            cors_origins=self._settings.api.cors_origins,
            heartbeat=self._settings.api.heartbeat,
            events_days=self._settings.retention.events_days,
            body_limit=server.body_limit,
            callback_limit=server.callback_limit,
            callback_memory=self.limits.callback_memory,
        )

    def _mcp_context(self) -> McpContext:
        return McpContext(
            db=self._api_db,
            clock=self._clock,
            acceptor=self._acceptor,
            media=self._media,
            speak=self._link_calls.speak,
            costly=self.limits.costly,
            limits=self._networks.limits_view,
            policies=TimedCache(partial(read_policy_in_force, self._api_db), self._settings.security.key_cache_seconds),
            recorder=self._recorder,
            count=self._metrics.tool_called,
        )

    def _find_keeper(self, channel_id: UUID) -> LinkKeeper | None:
        return self._workers.keepers.get(channel_id) if self._workers else None

    async def _check_link(self, link: str) -> None:
        check_link(self._guard, link)

    async def _callback_config(self, channel_id: UUID) -> CallbackConfig | None:
        config = await self._callback_channels.find(channel_id)
        reader = self._networks.callback_reader(config) if config else None
        return CallbackConfig(channel_id, config.ref, reader) if config and reader else None

    def _read_current(self) -> CurrentFigures:
        """Return what this process has at the moment, from numbers in memory."""
        slots = self._api_db.slots
        mine = CurrentFigures(
            uncommitted={"accept": self._acceptor.waiting, "receive": self._receiver.waiting},
            connections=slots.used(),
            without_connection=slots.waiting(),
            connection_timeouts=dict(slots.timeouts),
            connections_most=slots.total,
        )
        if self._owner is None or self._workers is None:
            return mine
        return self._workers.add_current(msgspec.structs.replace(mine, channels=self._owner.owned))

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
                metrics=self._metrics,
                vault=self.vault,
                guard=self._guard,
                poster=self._poster,
                objects=self._objects,
                networks=self._networks,
                receiver=self._receiver,
                tracer=self._tracer,
            )
        )
        metrics, id_ = self._metrics, self._place.owner if self._place else None
        leases = LeaseListener(metrics.lease_event, metrics.lease_moved, self._notifier.notify_released)
        self._owner = Owner(self._own_db, self._clock, self._settings.lease, workers.make_workers, leases, id_)
        self._owner.start(self.supervisor)
