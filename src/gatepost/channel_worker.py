"""What an owner does for one channel: sending, delivering, the link, files, templates, the search index."""

from functools import partial
from uuid import UUID

import msgspec

from gatepost.admin.headers import open_headers
from gatepost.admin.signing import open_secrets
from gatepost.admin.vault import Vault
from gatepost.clock import Clock
from gatepost.inbound.link_keeper import LinkKeeper
from gatepost.inbound.media_fetch import MediaFetcher
from gatepost.inbound.media_fetch_task import MediaFetchTask
from gatepost.inbound.receive import UpdateReceiver
from gatepost.metrics import ProcessMetrics
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.file import Fetched, Unfetched
from gatepost.model.number_status import TROUBLE
from gatepost.network_factory import NetworkFactory
from gatepost.networks.base import Network, Receipt
from gatepost.networks.cloud.manage import CloudAccount
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.outbound.attachments import AttachmentUploader
from gatepost.outbound.channel_sender import ChannelSender
from gatepost.outbound.send_attempt import Attach, Tell, forget_nothing
from gatepost.outbound.send_decision import SendRules
from gatepost.outbound.send_recorder import SendRecorder
from gatepost.owned_channel import OwnedChannel
from gatepost.services.number_watch import NumberWatch
from gatepost.services.profile import check_health
from gatepost.services.recovery_task import RecoveryTask
from gatepost.services.search_indexing import SearchIndexTask
from gatepost.services.template_watch import TemplateWatch
from gatepost.services.templates import TemplateService
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig, get_config, tell_connection
from gatepost.store.deliveries.queue import EndpointTarget
from gatepost.store.media.objects import ObjectStorage
from gatepost.store.pool import Database
from gatepost.webhooks.delivery_context import ChannelDelivery, DeliveryContext
from gatepost.webhooks.delivery_request import DeliveryCredentials, SigningKey
from gatepost.webhooks.endpoint_deliverer import EndpointDeliverer
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster
from gatepost.webhooks.link_fetch import fetch_guarded
from gatepost.webhooks.signature import decode_secret


class WorkerParts(msgspec.Struct, frozen=True):
    """The parts of the process that the work for channels uses."""

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
    """Makes what the owner runs for each channel."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self.keepers: dict[UUID, LinkKeeper] = {}
        db, clock, settings = parts.db, parts.clock, parts.settings
        sending, webhooks, files = settings.sending, settings.webhooks, settings.media
        self._ledger = SendRecorder(db, clock, sending.linger, parts.metrics.sent)
        self._delivery_context = DeliveryContext(
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

    async def _fetch_link(self, link: str, most: int, channel_id: UUID) -> Fetched | Unfetched:
        files = self._parts.settings.media
        deadline = min(files.timeout, files.link_seconds)
        return await fetch_guarded(self._parts.guard, link, most, deadline=deadline, channel=channel_id)

    async def make_sender(self, owned: OwnedChannel) -> ChannelSender | None:
        """All that an owner does for a channel: its lane, and what goes on beside it."""
        config = await get_config(self._parts.own_db, owned.lease.channel_id)
        if config is None:
            return None
        channel, sending = channel_ref(config), self._parts.settings.sending
        owned.channel = channel
        keeper = self._make_keeper(owned, config) if NETWORK_KINDS[config.kind].linked else None
        network = self._parts.networks.open(config)
        files = MediaFetchTask(self._fetcher, self._parts.clock, owned.lease, channel, network, owned.alive)
        words = SearchIndexTask(self._parts.db, owned.lease, owned.alive, count=self._parts.metrics.set_aside)
        recovering = RecoveryTask(self._parts.db, self._parts.clock, owned.lease, owned.alive)
        owned.tasks = [*self._network_tasks(owned, config, keeper), files, words, recovering]
        rules = SendRules(
            sending.in_flight,
            sending.read_ahead,
            sending.unknown_grace,
            sending.retry_base,
            sending.retry_most,
            sending.attempts,
        )
        limits = self._parts.networks.limits(config, keeper.row if keeper else None, self._parts.clock.now())
        tell, attach = self._teller(owned, channel), self._attaching(config, keeper)
        sender = ChannelSender(
            self._ledger,
            self._parts.clock,
            owned.lease,
            channel,
            network,
            limits,
            rules,
            owned.alive,
            tell,
            attach,
            forget=partial(self._attacher.forget, config.id) if keeper is None else forget_nothing,
            limited=config.connection == "limited",
        )
        if keeper:
            keeper.changed = lambda: _follow(owned, keeper, sender, files)
        return sender

    def _network_tasks(
        self, owned: OwnedChannel, config: ChannelConfig, keeper: LinkKeeper | None
    ) -> list[LinkKeeper | TemplateWatch | NumberWatch]:
        if keeper:
            return [keeper]
        business = self._parts.networks.business(config)
        return [self._make_watch(owned, config, business), self._make_number_watch(owned, config)] if business else []

    def _make_keeper(self, owned: OwnedChannel, config: ChannelConfig) -> LinkKeeper:
        keeper = LinkKeeper(
            self._parts.db,
            self._parts.clock,
            owned.lease,
            channel_ref(config),
            lambda: self._parts.networks.driver(config),  # nobody starts a driver before a link is wanted
            self._parts.receiver,
            owned.alive,
            groups=self._parts.settings.qr.groups,
        )
        self.keepers[config.id] = keeper
        return keeper

    def _make_watch(self, owned: OwnedChannel, config: ChannelConfig, business: CloudAccount) -> TemplateWatch:
        desk = TemplateService(self._parts.db, self._parts.clock, config.id, business)
        watch = TemplateWatch(owned.lease, desk, owned.alive)
        watch.look(config.state)
        return watch

    def _make_number_watch(self, owned: OwnedChannel, config: ChannelConfig) -> NumberWatch:
        every, read = self._parts.settings.cloud.number_every, partial(self._read_number, config.id)
        watch = NumberWatch(self._parts.db, self._parts.clock, owned.lease, read, owned.alive, every)
        watch.look(config.state)
        return watch

    async def _read_number(self, channel_id: UUID) -> None:
        """Follows how an official number stands at the network, whatever its secrets and addresses are by now."""
        config = await get_config(self._parts.db, channel_id)
        business = self._parts.networks.business(config) if config else None
        if config is not None and business is not None:
            await check_health(self._parts.db, config, business, self._parts.clock.now())

    def _teller(self, owned: OwnedChannel, channel: ChannelRef) -> Tell:
        async def tell(state: str, reason: str | None) -> None:
            lease = owned.lease
            await tell_connection(
                self._parts.db, channel, lease.channel_id, state, reason, self._parts.clock.now(), epoch=lease.epoch
            )

        return tell

    def _attaching(self, config: ChannelConfig, keeper: LinkKeeper | None) -> Attach:
        async def attach(network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
            if keeper is None:
                return await self._attacher.attach(config.id, network, content)
            # a link's names of files live as long as the link
            return await self._attacher.attach(config.id, network, content, session=network, links=False, type_=type_)

        return attach

    async def tune(self, owned: OwnedChannel, sender: ChannelSender) -> None:
        """Follows changes of a channel's limits, secrets and link."""
        config = await get_config(self._parts.db, sender.lease.channel_id)
        if config is None:
            return
        keeper = next((task for task in owned.tasks if isinstance(task, LinkKeeper)), None)
        network = keeper.network if keeper else self._parts.networks.open(config)
        sender.adjust(
            network, self._parts.networks.limits(config, keeper.row if keeper else None, self._parts.clock.now())
        )
        await sender.mind(config.state.get(TROUBLE))
        if keeper:
            sender.lock_new(keeper.locked_until)
        for task in owned.tasks:
            if isinstance(task, MediaFetchTask):
                task.adjust(network)
            elif isinstance(task, TemplateWatch | NumberWatch):
                task.look(config.state)

    def make_deliverer(self, owned: OwnedChannel, target: EndpointTarget) -> EndpointDeliverer:
        assert owned.channel is not None  # its lane was made before
        in_flight = self._parts.settings.webhooks.in_flight
        delivery = ChannelDelivery(
            self._delivery_context, owned.lease, owned.channel, self._open_target, in_flight, owned.alive
        )
        return EndpointDeliverer(delivery, target)

    def _open_target(self, target: EndpointTarget) -> DeliveryCredentials:
        kept = open_secrets(self._parts.vault, target.id, target.secret)
        secrets = [SigningKey(decode_secret(secret.secret), secret.until) for secret in kept]
        return DeliveryCredentials(secrets, open_headers(self._parts.vault, target.id, target.headers))


def channel_ref(config: ChannelConfig) -> ChannelRef:
    return ChannelRef(ids.show("ch", config.id), config.kind, config.phone)


def _follow(owned: OwnedChannel, keeper: LinkKeeper, sender: ChannelSender, files: MediaFetchTask) -> None:
    """Those who use a link learn at once how it stands: under a lock, each try to write to somebody new does harm."""
    sender.connect(keeper.network)
    sender.lock_new(keeper.locked_until)
    files.adjust(keeper.network)
    owned.refresh()
