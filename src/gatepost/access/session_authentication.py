"""Authenticate requests by the session of a person who is signed in.

cookie ─► session and user, channel (cached as keys are) ─► on a change: origin, CSRF token ─► account, role, scope
"""

from contextlib import suppress
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from gatepost.access.origin import check_origin
from gatepost.access.rate_limit import Headers, RateLimit
from gatepost.access.timed_cache import TimedCache
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.clock import Clock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model import ids
from gatepost.model.errors import BadRequest, LimitReached, NotAuthenticated, NotFound
from gatepost.model.session import (
    AccessRule,
    ChannelAccess,
    SessionAccess,
    SignedInUser,
    check_csrf_token,
    check_rule,
    check_session,
    is_token,
    session_ended,
    token_hash,
)
from gatepost.store.channels import find_access
from gatepost.store.pool import Database
from gatepost.store.sessions import USE_EVERY, find_sessions, record_session_uses

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


class SessionRequest(msgspec.Struct, frozen=True):
    """What a request with a session carries."""

    token: str
    method: str
    channel: str | None  # that it names
    csrf_token: str | None
    origin: str | None  # Origin, or Referer without one
    own_origin: str  # of the gateway
    address: str | None


class SessionAuthenticator:
    """Authenticates requests by their session, and counts them."""

    def __init__(
        self, db: Database, clock: Clock, rate: RateLimit, wrong: WrongCredentials, cache_seconds: float
    ) -> None:
        self._db = db
        self._clock = clock
        self._rate = rate
        self._wrong = wrong
        seconds = min(cache_seconds, 1.0)
        self._users: TimedCache[bytes, SignedInUser | None] = TimedCache(
            GroupedLookup(partial(find_sessions, db)).find, seconds, grouped=True
        )
        self._channels: TimedCache[UUID, ChannelAccess | None] = TimedCache(
            GroupedLookup(partial(find_access, db)).find, seconds, grouped=True
        )
        self._used: dict[UUID, datetime] = {}

    async def admit(self, request: SessionRequest, rule: AccessRule) -> tuple[SessionAccess, Headers]:
        """Return who sends a new request and the rate limit headers of its answer, or raise why it is rejected."""
        try:
            access = await self._valid(request)
        except NotAuthenticated:
            with suppress(
                LimitReached
            ):  # whatever others at its address send, a page learns that its session has ended
                self._wrong.count(request.address)
            raise
        if request.method not in _SAFE:
            check_origin(request.origin, request.own_origin)
            check_csrf_token(request.token, request.csrf_token)
        now = self._clock.now()
        if now - access.user.last_used_at >= USE_EVERY:
            self._used[access.user.principal.id] = now
        headers = self._rate.take(access.user.principal)
        return self._allowed(request, access, rule, now), headers

    async def check(self, request: SessionRequest, rule: AccessRule) -> None:
        """Raise if a new request of the same session would be rejected. This is not a use of the session."""
        self._allowed(request, await self._valid(request), rule, self._clock.now())

    def forget(self) -> None:
        """Look every session up again: one has ended or changed. Other nodes do so within a second."""
        self._users.clear()

    async def note_use(self) -> None:
        """Store which sessions were used since the last call."""
        used, self._used = self._used, {}
        if used:
            await record_session_uses(self._db, used)

    async def _valid(self, request: SessionRequest) -> SessionAccess:
        if not is_token(request.token):
            raise session_ended()
        user = check_session(await self._users.get(token_hash(request.token)), self._clock.now())
        channel_id = ids.parse_id("ch", request.channel) if request.channel else None
        return SessionAccess(user, user.caller_on(await self._channels.get(channel_id)) if channel_id else None)

    def _allowed(
        self, request: SessionRequest, access: SessionAccess, rule: AccessRule, now: datetime
    ) -> SessionAccess:
        check_rule(access.user, rule, now)
        if rule.scope is not None and not request.channel:
            raise BadRequest("Name the channel in the header 'Gatepost-Channel', e.g. ch_….", "channel_required")
        if rule.scope is not None and access.caller is None:
            raise NotFound("Your account has no such channel. GET /api/v1/account/channels lists those it has.")
        return access
