"""Authenticate requests and limit the rate of each key."""

import time
from datetime import datetime
from uuid import UUID

from gatepost.access.client_address import client_network
from gatepost.access.minute_limit import MINUTE, MinuteLimit
from gatepost.access.timed_cache import TimedCache
from gatepost.clock import Clock
from gatepost.model.account import KEY_PREFIX, Caller, check_access, check_key, check_scope, is_key, key_hash
from gatepost.model.errors import LimitReached, LimitState, NotAuthenticated
from gatepost.outbound.pace import space_evenly
from gatepost.store.keys import find_caller, record_key_uses
from gatepost.store.pool import Database

_MAX_RATED = 20_000
_MAX_HEADERS = 10_000
_ROUND_UP = 1 - 1e-6  # to a whole request, with room for rounding errors of fractions of a second

Headers = tuple[tuple[bytes, bytes], ...]


class Authenticator:
    """Authenticates requests by their API key, and counts them."""

    def __init__(
        self, db: Database, clock: Clock, rate: float, burst: int, cache_seconds: float, wrong_keys: int
    ) -> None:
        self._db = db
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._window = max(1, round(burst / rate))
        self._policy = (b"ratelimit-policy", b'"api";q=%d;w=%d' % (burst, self._window))
        self._callers: TimedCache[bytes, Caller | None] = TimedCache(self._find, min(cache_seconds, 1.0))
        self._headers: dict[int, Headers] = {}
        self._due: dict[UUID, float] = {}  # by principal
        self._used: dict[UUID, datetime] = {}
        self._wrong = MinuteLimit(wrong_keys, clock) if wrong_keys else None

    async def admit(self, authorization: str | None, scope: str, address: str | None) -> tuple[Caller, Headers]:
        """Return the caller of a new request and the rate limit headers of its answer, or raise why it is rejected."""
        try:
            caller = await self.check(authorization, scope)
        except NotAuthenticated:
            self._count_wrong(address)
            raise
        return caller, self._check_rate(caller)

    def _count_wrong(self, address: str | None) -> None:
        """Limit how fast an address can try wrong keys. Requests with a valid key are not counted."""
        wait = self._wrong.take(client_network(address), always=True) if self._wrong and address else 0.0
        if self._wrong and wait:
            raise LimitReached(
                f"Your address sent more than {self._wrong.limit} requests in a minute with a wrong API key or without "
                "one. Correct the key, then wait as long as Retry-After says.",
                retry_after=wait,
                limit=LimitState("wrong-keys", self._wrong.limit, int(MINUTE), 0, int(wait) + 1),
            ) from None

    async def check(self, authorization: str | None, scope: str) -> Caller:
        """Return the caller of a request without counting it, or raise why it is rejected."""
        caller = await self._callers.get(key_hash(_bearer(authorization)))
        now = self._clock.now()
        caller = check_key(caller, now)
        check_access(caller, now)
        check_scope(caller, scope)
        self._used[caller.principal.id] = now
        return caller

    async def note_use(self) -> None:
        """Store which keys were used since the last call."""
        used, self._used = self._used, {}
        if used:
            await record_key_uses(self._db, used)

    async def _find(self, hashed: bytes) -> Caller | None:
        return await find_caller(self._db, hashed)

    def _check_rate(self, caller: Caller) -> Headers:
        """Count a request against the rate of its key, and return the headers that say what is left."""
        now = time.monotonic()
        wait, due = space_evenly(self._due.get(caller.principal.id, 0.0), now, 1 / self._rate, self._burst)
        if wait:
            raise LimitReached(
                f"This key sent more than {self._rate:g} requests a second. Wait as long as Retry-After says.",
                retry_after=wait,
                limit=LimitState("api", self._burst, self._window, 0, int(due - now) + 1),
            )
        if len(self._due) > _MAX_RATED:
            self._due = {key: at for key, at in self._due.items() if at > now}
        self._due[caller.principal.id] = due
        used = int((due - now) * self._rate + _ROUND_UP)
        return self._headers.get(used) or self._format(used)

    def _format(self, used: int) -> Headers:
        """Return how many requests are left, and in how many seconds all of them. Cached: most answers are the same."""
        if len(self._headers) > _MAX_HEADERS:
            self._headers.clear()
        left = b'"api";r=%d;t=%d' % (max(0, self._burst - used), int(used / self._rate) + 1)
        headers = self._headers[used] = self._policy, (b"ratelimit", left)
        return headers


def _bearer(header: str | None) -> str:
    if not header:
        raise NotAuthenticated("No API key was given. Send it as 'Authorization: Bearer <key>'.", "missing_api_key")
    scheme, _, key = header.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith(KEY_PREFIX):
        raise NotAuthenticated("The Authorization header must be 'Bearer <key>', and keys begin with gpk_.")
    if not is_key(key):
        raise NotAuthenticated("This API key is mistyped or incomplete. Copy it again.")
    return key
