"""What the REST door needs of the rest of the house. Put together by `app.py`."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar.di import NamedDependency

from gatepost.admin.vault import Vault
from gatepost.api.body_memory import BodyMemory
from gatepost.api.cache import TimedCache
from gatepost.api.costly import CostlyRequests
from gatepost.api.figures import Figures
from gatepost.api.gate import Gate
from gatepost.api.minute import PerMinute
from gatepost.clock import Clock
from gatepost.desk.business import OpenBusiness
from gatepost.desk.media import Files
from gatepost.desk.reading import Speak
from gatepost.desk.watchers import Watchers
from gatepost.inbound.receive import Receiver
from gatepost.model.account import Caller, Plan
from gatepost.model.event import ChannelRef
from gatepost.outbound.accept import Acceptor
from gatepost.store.channels import ChannelConfig
from gatepost.store.links import LinkRow
from gatepost.store.pool import Database
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.post import Poster


class Doorstep(msgspec.Struct, frozen=True):
    """What a callback needs to know of its channel."""

    id: UUID
    channel: ChannelRef
    phone_number_id: str
    waba_id: str | None
    app_secret: str
    verify_token: str


class Gateway(msgspec.Struct, frozen=True):
    db: Database
    clock: Clock
    gate: Gate
    acceptor: Acceptor
    receiver: Receiver
    vault: Vault
    guard: Guard
    poster: Poster
    media: Files
    business: OpenBusiness
    speak: Speak
    watchers: Watchers
    trials: PerMinute  # test events to one endpoint
    costly: CostlyRequests
    limits: Callable[[ChannelConfig, LinkRow | None, datetime], dict[str, Any]]
    doorsteps: TimedCache[UUID, Doorstep | None]
    ring: Callable[[UUID], None]
    ready: Callable[[], Awaitable[dict[str, bool]]]
    figures: Figures
    public_url: str  # empty: as the caller reached it
    plans: Mapping[str, Plan]
    rate: float  # requests a second with one key
    burst: int
    heartbeat: float  # seconds after which a stream says that it is alive
    events_days: int  # for which events are kept
    cors_origins: tuple[str, ...]
    body_limit: int
    callback_limit: int
    callback_memory: BodyMemory


# How a handler asks for the two things that every handler needs.
Door = NamedDependency[Gateway]
Who = NamedDependency[Caller]
