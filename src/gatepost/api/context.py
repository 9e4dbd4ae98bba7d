"""The parts of the process that the REST API uses. Assembled by `app.py`."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from gatepost.access.authentication import Authenticator
from gatepost.access.client_address import TrustedProxies
from gatepost.access.costly import CostlyRequests
from gatepost.access.refusal_recorder import RefusalRecorder
from gatepost.access.session_authentication import SessionAuthenticator
from gatepost.access.sign_in_throttle import SignInThrottle
from gatepost.access.sliding_limit import SlidingLimit
from gatepost.access.timed_cache import TimedCache
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.admin.credentials import CheckCredentials
from gatepost.admin.sign_in import FailureLog
from gatepost.admin.vault import Vault
from gatepost.api.body_memory import BodyMemory
from gatepost.api.contract.channel import ChannelLimits
from gatepost.api.contract.health import ReadyChecks
from gatepost.api.metrics_source import MetricsSource
from gatepost.api.session_cookie import SessionCookie
from gatepost.clock import Clock
from gatepost.inbound.receive import UpdateReceiver
from gatepost.model.account import Caller, Plan
from gatepost.model.event import ChannelRef
from gatepost.model.session import SignedInUser
from gatepost.networks.base import CallbackReader
from gatepost.outbound.accept import Acceptor
from gatepost.services.account_streams import AccountStreams
from gatepost.services.business import OpenBusiness
from gatepost.services.event_waiters import EventWaiters
from gatepost.services.media import MediaService
from gatepost.services.presence_board import PresenceBoard
from gatepost.services.read_receipts import Speak
from gatepost.store.channels import ChannelConfig
from gatepost.store.links import LinkRow
from gatepost.store.pool import Database
from gatepost.webhooks.guard import Guard
from gatepost.webhooks.http_post import Poster


class CallbackConfig(msgspec.Struct, frozen=True):
    """A channel that its network calls."""

    id: UUID
    channel: ChannelRef
    reader: CallbackReader


class ApiContext(msgspec.Struct, frozen=True):
    db: Database
    clock: Clock
    gate: Authenticator
    sessions: SessionAuthenticator
    sign_ins: SignInThrottle
    failures: FailureLog  # of signing in
    wrong: WrongCredentials
    refused: RefusalRecorder
    proxies: TrustedProxies
    cookie: SessionCookie
    acceptor: Acceptor
    mcp: Callable[[Any, bytes, Any, Any], Awaitable[None]]  # answers a request to the MCP server whose body was read
    receiver: UpdateReceiver
    vault: Vault
    guard: Guard
    poster: Poster
    media: MediaService
    business: OpenBusiness
    speak: Speak
    waiters: EventWaiters
    account_streams: AccountStreams
    presence: PresenceBoard
    presences: SlidingLimit  # of one user
    trials: SlidingLimit  # test events to one endpoint
    credential_tests: SlidingLimit  # of one account
    check_credentials: CheckCredentials
    costly: CostlyRequests
    limits: Callable[[ChannelConfig, LinkRow | None, datetime], ChannelLimits]
    callback_configs: TimedCache[UUID, CallbackConfig | None]
    ready: Callable[[], Awaitable[ReadyChecks]]
    figures: MetricsSource
    public_url: str  # empty: derived from the request
    origin: str  # of the public URL; empty: derived from the request
    sandbox_url: str  # of the sandbox whose clock is followed, so that it is the network; empty: none
    plans: Mapping[str, Plan]
    rate: float  # requests a second with one key
    burst: int
    heartbeat: float  # seconds between the heartbeats of a stream
    events_days: int  # retention of events
    cors_origins: tuple[str, ...]
    body_limit: int
    callback_limit: int
    callback_memory: BodyMemory


# The parameter types of handlers that need the context, the caller on a channel, or the person who is signed in.
Context = ApiContext
CurrentCaller = Caller
CurrentUser = SignedInUser
