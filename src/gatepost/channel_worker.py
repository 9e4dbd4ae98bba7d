"""What an owner does for one channel: sending, delivering, the link, files, templates, the search index."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

import msgspec

from gatepost.admin.headers import open_headers
from gatepost.admin.signing import open_secrets
from gatepost.admin.vault import Vault
from gatepost.clock import Clock
from gatepost.desk.number_watch import NumberWatch
from gatepost.desk.profile import check_health
from gatepost.desk.recovering import Recovering
from gatepost.desk.search_index import SearchIndex
from gatepost.desk.template_watch import TemplateWatch
from gatepost.desk.templates import TemplateDesk
from gatepost.holding import Holding
from gatepost.inbound.errand import Errand
from gatepost.inbound.fetch import Fetcher
from gatepost.inbound.link import Keeper
from gatepost.inbound.receive import Receiver
from gatepost.meters import Meters
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.file import Fetched, Unfetched
from gatepost.model.standing import TROUBLE
from gatepost.networks.base import Network, Receipt
from gatepost.outbound.attach import Attacher
from gatepost.outbound.carry import Attach, Tell, forget_nothing
from gatepost.outbound.lane import Lane
from gatepost.outbound.ledger import Ledger
from gatepost.outbound.verdict import Rules
from gatepost.settings import Settings
from gatepost.store.channels import ChannelConfig, get_config
from gatepost.store.connection import tell_connection
from gatepost.store.deliveries import Target
from gatepost.store.objects import Objects
from gatepost.store.pool import Database
from gatepost.ways import Ways
from gatepost.webhooks.courier import Credentials, Secret
from gatepost.webhooks.deliver import Round
from gatepost.webhooks.fetch import fetch_guarded
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.office import Post
from gatepost.webhooks.post import Poster
from gatepost.webhooks.sign import decode_secret


class WorkerParts(msgspec.Struct, frozen=True):
    """The parts of the process that the work for channels uses."""

    settings: Settings
    db: Database
    own_db: Database
    clock: Clock
    meters: Meters
    vault: Vault
    guard: Guard
    poster: Poster
    objects: Objects
    ways: Ways
    receiver: Receiver
    ring_events: Callable[[UUID], None]


class ChannelWorkers:
    """Makes what the owner runs for each channel."""

    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts
        self.keepers: dict[UUID, Keeper] = {}
        db, clock, settings = parts.db, parts.clock, parts.settings
        sending, webhooks, files = settings.sending, settings.webhooks, settings.media
        self._ledger = Ledger(db, clock, sending.linger, parts.ring_events, parts.meters.sent)
        self._post = Post(
            db,
            clock,
            parts.poster,
            webhooks.linger,
            total=webhooks.total_in_flight,
            meter=parts.meters,
            ring=parts.ring_events,
        )
        room = {"most": files.most_bytes, "in_flight": files.in_flight}
        self._attacher = Attacher(db, parts.objects, clock, self._fetch_link, link_seconds=files.link_seconds, **room)
        self._fetcher = Fetcher(
            db,
            parts.objects,
            clock,
            parts.ring_events,
            attempts=files.attempts,
            timeout=files.timeout,
            plans=settings.plans,
            **room,
        )

    async def _fetch_link(self, link: str, most: int, channel_id: UUID) -> Fetched | Unfetched:
        files = self._parts.settings.media
        deadline = min(files.timeout, files.link_seconds)
        return await fetch_guarded(self._parts.guard, link, most, deadline=deadline, channel=channel_id)

    async def make_lane(self, holding: Holding) -> Lane | None:
        """All that an owner does for a channel: its lane, and what goes on beside it."""
        config = await get_config(self._parts.own_db, holding.lease.channel_id)
        if config is None:
            return None
        channel, sending = channel_ref(config), self._parts.settings.sending
        holding.channel = channel
        keeper = self._make_keeper(holding, config) if config.kind == "qr" else None
        network = self._parts.ways.official(config) if keeper is None else None
        files = Errand(self._fetcher, self._parts.clock, holding.lease, channel, network, holding.alive)
        words = SearchIndex(self._parts.db, holding.lease, holding.alive, count=self._parts.meters.set_aside)
        ring = partial(self._parts.ring_events, config.id)
        recovering = Recovering(self._parts.db, self._parts.clock, holding.lease, holding.alive, ring)
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
        limits = self._parts.ways.limits(config, keeper.row if keeper else None, self._parts.clock.now())
        tell, attach = self._teller(holding, channel), self._attaching(config, keeper)
        lane = Lane(
            self._ledger,
            self._parts.clock,
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
            self._parts.db,
            self._parts.clock,
            holding.lease,
            channel_ref(config),
            lambda: self._parts.ways.driver(config),  # nobody starts a driver before a link is wanted
            self._parts.receiver,
            holding.alive,
            groups=self._parts.settings.qr.groups,
        )
        self.keepers[config.id] = keeper
        return keeper

    def _make_watch(self, holding: Holding, config: ChannelConfig) -> TemplateWatch:
        desk = TemplateDesk(self._parts.db, self._parts.clock, config.id, self._parts.ways.business(config))
        watch = TemplateWatch(holding.lease, desk, holding.alive)
        watch.look(config.state)
        return watch

    def _make_number_watch(self, holding: Holding, config: ChannelConfig) -> NumberWatch:
        every, read = self._parts.settings.cloud.number_every, partial(self._read_number, config.id)
        watch = NumberWatch(self._parts.db, self._parts.clock, holding.lease, read, holding.alive, every)
        watch.look(config.state)
        return watch

    async def _read_number(self, channel_id: UUID) -> None:
        """Follows how an official number stands at the network, whatever its secrets and addresses are by now."""
        config = await get_config(self._parts.db, channel_id)
        if config is not None:
            await check_health(self._parts.db, config, self._parts.ways.business(config), self._parts.clock.now())
            self._parts.ring_events(channel_id)

    def _teller(self, holding: Holding, channel: ChannelRef) -> Tell:
        async def tell(state: str, reason: str | None) -> None:
            lease = holding.lease
            await tell_connection(
                self._parts.db, channel, lease.channel_id, state, reason, self._parts.clock.now(), epoch=lease.epoch
            )
            self._parts.ring_events(lease.channel_id)

        return tell

    def _attaching(self, config: ChannelConfig, keeper: Keeper | None) -> Attach:
        async def attach(network: Network, content: str, type_: str) -> dict[str, str] | Receipt:
            if keeper is None:
                return await self._attacher.attach(config.id, network, content)
            # a link's names of files live as long as the link
            return await self._attacher.attach(config.id, network, content, session=network, links=False, type_=type_)

        return attach

    async def tune(self, holding: Holding, lane: Lane) -> None:
        """Follows changes of a channel's limits, secrets and link."""
        config = await get_config(self._parts.db, lane.lease.channel_id)
        if config is None:
            return
        keeper = next((duty for duty in holding.duties if isinstance(duty, Keeper)), None)
        network = self._parts.ways.official(config) if keeper is None else keeper.network
        lane.adjust(network, self._parts.ways.limits(config, keeper.row if keeper else None, self._parts.clock.now()))
        await lane.mind(config.state.get(TROUBLE))
        if keeper:
            lane.lock_new(keeper.locked_until)
        for duty in holding.duties:
            if isinstance(duty, Errand):
                duty.adjust(network)
            elif isinstance(duty, TemplateWatch | NumberWatch):
                duty.look(config.state)

    def make_round(self, holding: Holding, target: Target) -> Round:
        assert holding.channel is not None  # its lane was made before
        channel, signing, in_flight = holding.channel, self._open_target, self._parts.settings.webhooks.in_flight
        return Round(self._post, holding.lease, channel, target, signing, in_flight, holding.alive)

    def _open_target(self, target: Target) -> Credentials:
        kept = open_secrets(self._parts.vault, target.id, target.secret)
        secrets = [Secret(decode_secret(secret.secret), secret.until) for secret in kept]
        return Credentials(secrets, open_headers(self._parts.vault, target.id, target.headers))


def channel_ref(config: ChannelConfig) -> ChannelRef:
    return ChannelRef(ids.show("ch", config.id), config.kind, config.phone)


def _follow(holding: Holding, keeper: Keeper, lane: Lane, files: Errand) -> None:
    """Those who use a link learn at once how it stands: under a lock, each try to write to somebody new does harm."""
    lane.connect(keeper.network)
    lane.lock_new(keeper.locked_until)
    files.adjust(keeper.network)
    holding.refresh()
