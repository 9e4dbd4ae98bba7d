"""Creates the tasks of an owned channel: sending, delivering, the link, files, templates, the search index."""

from functools import partial
from uuid import UUID

import msgspec

from gatepost.admin.headers import open_headers
from gatepost.admin.signing import open_signing_secrets
from gatepost.admin.vault import Vault
from gatepost.channel_task import ChannelContext
from gatepost.clock import Clock
from gatepost.inbound.link_keeper import LinkKeeper
from gatepost.inbound.media_fetch import MediaFetcher
from gatepost.inbound.media_fetch_task import MediaFetchTask
from gatepost.inbound.receive import UpdateReceiver
from gatepost.metrics import ProcessMetrics
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.file import FetchedFile, FetchFailure
from gatepost.model.number_status import TROUBLE
from gatepost.model.signing import decode_secret
from gatepost.network_factory import NetworkFactory
from gatepost.networks.base import Network, Receipt
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.outbound.attachments import AttachmentUploader
from gatepost.outbound.backoff import Backoff
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.outbound.send_decision import SendRules
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.outbound.sender_state import Attach, ReportConnection, SenderState, forget_nothing
from gatepost.owned_channel import OwnedChannel
from gatepost.services.number_watch import NumberWatch
from gatepost.services.profile import check_health
from gatepost.services.recovery_task import RecoveryTask
from gatepost.services.search_indexing import SearchIndexTask
from gatepost.services.stale_watch import StaleWatch
from gatepost.services.template_watch import TemplateWatch
from gatepost.services.templates import TemplateService
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig, get_config, save_connection
from gatepost.store.endpoints import Endpoint
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database
from gatepost.webhooks.delivery_context import ChannelDelivery, DeliveryContext
from gatepost.webhooks.delivery_request import DeliveryCredentials, SigningKey
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import fetch_guarded


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


class ChannelWorkers:
    """Creates the tasks that the owner runs for each channel."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self.keepers: dict[UUID, LinkKeeper] = {}
        db, clock, settings = parts.db, parts.clock, parts.settings
        sending, webhooks, files = settings.sending, settings.webhooks, settings.media
        self._recorder = SendRecorder(db, clock, sending.linger, parts.metrics.sent)
        self._rules = SendRules(
            sending.in_flight,
            sending.read_ahead,
            sending.unknown_grace,
            sending.retry_base,
            sending.retry_most,
            sending.attempts,
        )
        self._deliveries = DeliveryContext(
            db,
            clock,
            parts.poster,
            webhooks.linger,
            total=webhooks.total_in_flight,
            metrics=parts.metrics,
        )
        room = {"most": files.most_bytes, "in_flight": files.in_flight}
        self._attacher = AttachmentUploader(
            db, parts.objects, clock, self._fetch_link, link_seconds=files.link_seconds, **room
        )
        self._fetcher = MediaFetcher(
            db,
            parts.objects,
            clock,
            attempts=files.attempts,
            timeout=files.timeout,
            plans=settings.plans,
            **room,
        )

    async def _fetch_link(self, link: str, most: int, channel_id: UUID) -> FetchedFile | FetchFailure:
        files = self._parts.settings.media
        deadline = min(files.timeout, files.link_seconds)
        return await fetch_guarded(self._parts.guard, link, most, deadline=deadline, channel=channel_id)

    async def make_sender(self, owned: OwnedChannel) -> ChannelSender | None:
        """Create the sender and the other tasks of a channel. Return the sender; None if the channel does not exist."""
        parts = self._parts
        config = await get_config(parts.own_db, owned.lease.channel_id)
        if config is None:
            return None
        context = owned.context = ChannelContext(parts.db, parts.clock, owned.lease, channel_ref(config), owned.alive)
        keeper = self._make_keeper(context, config) if NETWORK_KINDS[config.kind].linked else None
        network = parts.networks.open(config)
        media = MediaFetchTask(context, self._fetcher, network)
        index = SearchIndexTask(context, count=parts.metrics.set_aside)
        own = [keeper] if keeper else self._make_watches(context, config)
        owned.tasks = [*own, media, index, RecoveryTask(context)]
        sender = ChannelSender(
            SenderState(
                context,
                self._recorder,
                self._rules,
                parts.networks.limits(config, keeper.row if keeper else None, parts.clock.now()),
                network,
                report_connection=self._reporter(context),
                attach=self._attaching(config, keeper),
                forget_media=partial(self._attacher.forget, config.id) if keeper is None else forget_nothing,
                backoff=Backoff(limited=config.connection == "limited"),
            )
        )
        if keeper:
            keeper.changed = lambda: _follow(owned, keeper, sender, media)
        return sender

    def _make_keeper(self, context: ChannelContext, config: ChannelConfig) -> LinkKeeper:
        parts = self._parts
        find = partial(parts.networks.driver, config)  # the driver is started only when a link is requested
        keeper = LinkKeeper(context, find, parts.receiver, groups=parts.settings.qr.groups)
        self.keepers[config.id] = keeper
        return keeper

    def _make_watches(self, context: ChannelContext, config: ChannelConfig) -> list[StaleWatch]:
        parts = self._parts
        business = parts.networks.business(config)
        if business is None:
            return []
        templates = TemplateService(parts.db, parts.clock, config.id, business)
        read, every = partial(self._read_number, config.id), parts.settings.cloud.number_every
        watches = [TemplateWatch(context, templates), NumberWatch(context, read, every)]
        for watch in watches:
            watch.look(config.state)
        return watches

    async def _read_number(self, channel_id: UUID) -> None:
        """Read the state of an official number, with its current secrets and addresses."""
        config = await get_config(self._parts.db, channel_id)
        business = self._parts.networks.business(config) if config else None
        if config is not None and business is not None:
            await check_health(self._parts.db, config, business, self._parts.clock.now())

    def _reporter(self, context: ChannelContext) -> ReportConnection:
        async def report(state: str, reason: str | None) -> None:
            lease, now = context.lease, context.clock.now()
            await save_connection(context.db, context.channel, lease.channel_id, state, reason, now, epoch=lease.epoch)

        return report

    def _attaching(self, config: ChannelConfig, keeper: LinkKeeper | None) -> Attach:
        async def attach(network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
            if keeper is None:
                return await self._attacher.attach(config.id, network, content)
            # file names from a link are valid only while that link is open
            return await self._attacher.attach(config.id, network, content, session=network, links=False, type_=type_)

        return attach

    async def tune(self, owned: OwnedChannel, sender: ChannelSender) -> None:
        """Apply changes of a channel's limits, secrets and link."""
        config = await get_config(self._parts.db, owned.lease.channel_id)
        if config is None:
            return
        keeper = next((task for task in owned.tasks if isinstance(task, LinkKeeper)), None)
        network = keeper.network if keeper else self._parts.networks.open(config)
        sender.adjust(
            network, self._parts.networks.limits(config, keeper.row if keeper else None, self._parts.clock.now())
        )
        await sender.note_trouble(config.state.get(TROUBLE))
        if keeper:
            sender.lock_new(keeper.locked_until)
        for task in owned.tasks:
            if isinstance(task, MediaFetchTask):
                task.adjust(network)
            elif isinstance(task, StaleWatch):
                task.look(config.state)

    def make_deliverer(self, owned: OwnedChannel, target: Endpoint) -> EndpointDeliverer:
        assert owned.context is not None  # set by `make_sender`
        in_flight, channel = self._parts.settings.webhooks.in_flight, owned.context.channel
        delivery = ChannelDelivery(self._deliveries, owned.lease, channel, self._open_target, in_flight, owned.alive)
        return EndpointDeliverer(delivery, target)

    def _open_target(self, target: Endpoint) -> DeliveryCredentials:
        kept = open_signing_secrets(self._parts.vault, target.id, target.secret)
        secrets = [SigningKey(decode_secret(secret.secret), secret.until) for secret in kept]
        return DeliveryCredentials(secrets, open_headers(self._parts.vault, target.id, target.headers))


def channel_ref(config: ChannelConfig) -> ChannelRef:
    return ChannelRef(ids.format_id("ch", config.id), config.kind, config.phone)


def _follow(owned: OwnedChannel, keeper: LinkKeeper, sender: ChannelSender, media: MediaFetchTask) -> None:
    """Apply a change of the link immediately: while new conversations are locked, each further attempt does harm."""
    sender.connect(keeper.network)
    sender.lock_new(keeper.locked_until)
    media.adjust(keeper.network)
    owned.refresh()
