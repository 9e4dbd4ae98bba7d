"""Creates the tasks of an owned channel: sending, delivering, the link, files, templates, the search index."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

import msgspec

from gatepost.admin.headers import open_headers
from gatepost.admin.signing import open_signing_secrets
from gatepost.admin.vault import Vault
from gatepost.background import log_failure
from gatepost.channel_task import ChannelContext, ChannelTask
from gatepost.clock import Clock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.inbound.link_keeper import LinkKeeper
from gatepost.inbound.media_fetch import MediaFetchContext, MediaFetchTask
from gatepost.inbound.receive import UpdateReceiver
from gatepost.metrics import CurrentFigures, ProcessMetrics
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.model.number_status import NEW_TROUBLE, TROUBLE
from gatepost.model.signing import decode_secret
from gatepost.network_factory import NetworkFactory
from gatepost.networks.base import Network, Receipt
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.outbound.attachments import AttachmentUploader
from gatepost.outbound.backoff import Backoff
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.outbound.number_limits import NumberLimits
from gatepost.outbound.send_decision import BackoffScope, SendRules
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.outbound.sender_state import SenderState
from gatepost.outbound.senders_now import SendersNow
from gatepost.owned_channel import OwnedChannel
from gatepost.services.profile import check_health
from gatepost.services.recoveries import RecoveryTask
from gatepost.services.search_indexing import SearchIndexTask
from gatepost.services.stale_watch import NumberWatch, StaleWatch, TemplateWatch
from gatepost.services.templates import TemplateService
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig, get_configs, save_connection
from gatepost.store.deliveries.recover import open_recoveries
from gatepost.store.endpoints import Endpoint
from gatepost.store.media.files import next_waiting
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.messages.queue import read_new_messages
from gatepost.store.pool import Database
from gatepost.store.search.index import find_unindexed
from gatepost.tracing import Tracer
from gatepost.webhooks.delivery_context import ChannelDelivery, DeliveryContext
from gatepost.webhooks.delivery_request import DeliveryCredentials, SigningKey
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import fetch_guarded

_QUEUES = 16  # whose messages are read at once


class WorkerParts(msgspec.Struct, frozen=True):
    """The parts of the process that the tasks of channels use."""

    settings: Settings
    db: Database
    own_db: Database
    clock: Clock
    metrics: ProcessMetrics
    vault: Vault
    guard: Guard
    poster: Poster
    objects: ObjectStorage
    networks: NetworkFactory
    receiver: UpdateReceiver
    tracer: Tracer | None


class ChannelReads:
    """What tasks read when they are woken: those of channels that are woken together with one statement."""

    def __init__(self, db: Database) -> None:
        self.config = GroupedLookup(partial(get_configs, db)).find
        self.new_messages = GroupedLookup(partial(read_new_messages, db), _QUEUES).find
        self.next_file = GroupedLookup(partial(next_waiting, db)).find
        self.unindexed = GroupedLookup(partial(find_unindexed, db)).find
        self.recoveries = GroupedLookup(partial(open_recoveries, db)).find


class ChannelWorkers:
    """Creates the worker of each owned channel, with the parts that all of them share."""

    def __init__(self, parts: WorkerParts) -> None:
        self.parts = parts
        self.keepers: WeakValueDictionary[UUID, LinkKeeper] = WeakValueDictionary()  # while their channels are owned
        db, clock, settings = parts.db, parts.clock, parts.settings
        sending, webhooks, files = settings.sending, settings.webhooks, settings.media
        self.reads = ChannelReads(db)
        self.recorder = SendRecorder(db, clock, sending.linger, parts.metrics)
        self.senders = SendersNow()
        self.rules = SendRules(
            sending.in_flight,
            sending.read_ahead,
            sending.unknown_grace,
            sending.retry_base,
            sending.retry_most,
            sending.attempts,
        )
        self.deliveries = DeliveryContext(
            db,
            clock,
            parts.poster,
            webhooks.linger,
            total=webhooks.total_in_flight,
            metrics=parts.metrics,
            tracer=parts.tracer,
        )
        room = {"most": files.most_bytes, "in_flight": files.in_flight}
        self.attacher = AttachmentUploader(
            db, parts.objects, clock, self._fetch_link, link_seconds=files.link_seconds, **room
        )
        self.fetching = MediaFetchContext(
            parts.objects, attempts=files.attempts, timeout=files.timeout, plans=settings.plans, **room
        )

    def add_current(self, mine: CurrentFigures) -> CurrentFigures:
        """Add what senders and deliverers have at the moment to the figures of the process."""
        sending, deliveries = self.senders.total(), self.deliveries
        return msgspec.structs.replace(
            mine,
            queued=sending.queued,
            oldest=sending.oldest,
            conversations=sending.conversations,
            held=sending.held,
            posting=deliveries.pool.used,
            uncommitted={**mine.uncommitted, **self.recorder.waiting, "delivery": deliveries.waiting},
        )

    async def _fetch_link(self, link: str, most: int, channel_id: UUID) -> FetchedFile | FetchFailure:
        files = self.parts.settings.media
        deadline = min(files.timeout, files.link_seconds)
        return await fetch_guarded(self.parts.guard, link, most, deadline=deadline, channel=channel_id)

    async def make_workers(self, channels: Sequence[OwnedChannel]) -> "dict[UUID, ChannelWorker]":
        """Return the workers of channels, without those that do not exist or whose settings cannot be used."""
        configs = await get_configs(self.parts.own_db, [owned.lease.channel_id for owned in channels])
        made: dict[UUID, ChannelWorker] = {}
        for owned in channels:
            config = configs.get(owned.lease.channel_id)
            worker = self._make_worker(owned, config) if config is not None else None
            if worker is not None:
                made[owned.lease.channel_id] = worker
            await asyncio.sleep(0)  # many may be claimed at once
        return made

    def _make_worker(self, owned: OwnedChannel, config: ChannelConfig) -> "ChannelWorker | None":
        try:
            worker = ChannelWorker(self, owned, config)
        except Exception as error:
            log_failure("start of a channel", error, channel=config.id.hex)
            return None
        if worker.keeper:
            self.keepers[config.id] = worker.keeper
        return worker


class ChannelWorker:
    """The tasks of one owned channel. Changes of its settings and of its link are applied to them."""

    def __init__(self, shared: ChannelWorkers, owned: OwnedChannel, config: ChannelConfig) -> None:
        self._shared = shared
        self._parts = parts = shared.parts
        self._owned = owned
        context = ChannelContext(parts.db, parts.clock, owned.lease, config.ref, owned.alive)
        self._context = context
        self._kind = NETWORK_KINDS[config.kind]
        self._access = config.secrets, config.network
        network = parts.networks.open(config)
        self.keeper = self._make_keeper(config) if self._kind.linked else None
        self._media = MediaFetchTask(context, shared.fetching, network, shared.reads.next_file)
        self._watches = self._make_watches(config)
        self.sender = ChannelSender(
            SenderState(
                context,
                shared.recorder,
                shared.rules,
                self._limits(config),
                network,
                report_connection=self._report_connection,
                attach=self._attach,
                forget_media=self._forget_media,
                tracer=parts.tracer,
                read_new_messages=shared.reads.new_messages,
                senders=shared.senders,
                backoff=Backoff(limited=config.connection == "limited"),
            )
        )
        index = SearchIndexTask(context, count=parts.metrics.set_aside, find=shared.reads.unindexed)
        recovery = RecoveryTask(context, shared.reads.recoveries)
        link = [self.keeper] if self.keeper else []
        self.others: Sequence[ChannelTask] = [*link, *self._watches, self._media, index, recovery]

    def _make_keeper(self, config: ChannelConfig) -> LinkKeeper:
        find = partial(self._parts.networks.driver, config)  # the driver is started only when a link is requested
        groups = self._parts.settings.qr.groups
        return LinkKeeper(self._context, find, self._parts.receiver, self._follow_link, groups=groups)

    def _make_watches(self, config: ChannelConfig) -> list[StaleWatch]:
        parts = self._parts
        business = parts.networks.business(config)
        if business is None:
            return []
        templates = TemplateService(parts.db, parts.clock, config.ref, config.id, business)
        every = parts.settings.cloud.number_every
        watches = [TemplateWatch(self._context, templates), NumberWatch(self._context, self._read_number, every)]
        for watch in watches:
            watch.look(config.state)
        return watches

    async def _read_number(self) -> None:
        """Read the state of an official number, with its current secrets and addresses."""
        config = await self._config()
        business = self._parts.networks.business(config) if config else None
        if config is not None and business is not None:
            await check_health(self._parts.db, config, business, self._parts.clock.now())

    async def _config(self) -> ChannelConfig | None:
        return await self._shared.reads.config(self._context.lease.channel_id)

    def _limits(self, config: ChannelConfig) -> NumberLimits:
        return self._parts.networks.limits(config, self.keeper.row if self.keeper else None, self._parts.clock.now())

    async def _report_connection(self, state: str, reason: str | None, token_rejected: bool) -> None:
        context, lease = self._context, self._context.lease
        known = True if token_rejected else False if state == "connected" else None
        await save_connection(
            context.db,
            context.channel,
            lease.channel_id,
            state,
            reason,
            context.clock.now(),
            epoch=lease.epoch,
            token_rejected=known,
        )

    async def _attach(self, network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
        channel_id, kind = self._context.lease.channel_id, self._kind
        # without a time, uploads are valid only while the connection is open
        options: dict[str, Any] = {"keep": kind.keeps_uploads} if kind.keeps_uploads else {"session": network}
        return await self._shared.attacher.attach(
            channel_id, network, content, links=kind.fetches_links, type_=type_, **options
        )

    async def _forget_media(self, names: Mapping[str, str]) -> bool:
        channel_id, keep = self._context.lease.channel_id, self._kind.keeps_uploads
        return keep is not None and await self._shared.attacher.forget(channel_id, names, keep=keep)

    async def tune(self) -> None:
        """Apply changes of the channel's limits, secrets and link."""
        config = await self._config()
        if config is None:
            return
        network = self.keeper.network if self.keeper else self._parts.networks.open(config)
        self.sender.adjust(network, self._limits(config))
        if (config.secrets, config.network) != self._access:
            self._access = config.secrets, config.network
            self.sender.retry_now()
        for scope, name in ((BackoffScope.BROKEN, TROUBLE), (BackoffScope.NEW, NEW_TROUBLE)):
            await self.sender.note_trouble(config.state.get(name), scope)
        if self.keeper:
            self.sender.lock_new(self.keeper.locked_until)
        self._media.adjust(network)
        for watch in self._watches:
            watch.look(config.state)

    def _follow_link(self) -> None:
        """Apply a change of the link now: while new conversations are locked, each further attempt does harm."""
        assert self.keeper is not None  # it calls this
        self.sender.connect(self.keeper.network)
        self.sender.lock_new(self.keeper.locked_until)
        self._media.adjust(self.keeper.network)
        self._owned.refresh()

    def make_deliverer(self, target: Endpoint) -> EndpointDeliverer:
        context, in_flight = self._context, self._parts.settings.webhooks.in_flight
        delivery = ChannelDelivery(
            self._shared.deliveries, context.lease, context.channel, self._open_target, in_flight, context.alive
        )
        return EndpointDeliverer(delivery, target)

    def _open_target(self, target: Endpoint) -> DeliveryCredentials:
        kept = open_signing_secrets(self._parts.vault, target.id, target.secret)
        secrets = [SigningKey(decode_secret(secret.secret), secret.until) for secret in kept]
        return DeliveryCredentials(secrets, open_headers(self._parts.vault, target.id, target.headers))
