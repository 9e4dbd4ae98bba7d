"""Authenticate requests by their API key."""

from datetime import datetime
from functools import partial
from uuid import UUID

from gatepost.access.rate_limit import Headers, RateLimit
from gatepost.access.timed_cache import TimedCache
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.clock import Clock
from gatepost.grouped_lookup import GroupedLookup
from gatepost.model.account import KEY_PREFIX, Caller, check_access, check_key, check_scope, is_key, key_hash
from gatepost.model.errors import NotAuthenticated
from gatepost.store.keys import find_callers, record_key_uses
from gatepost.store.pool import Database


class Authenticator:
    """Authenticates requests by their API key, and counts them."""

    def __init__(
        self, db: Database, clock: Clock, rate: RateLimit, wrong: WrongCredentials, cache_seconds: float
    ) -> None:
        self._db = db
        self._clock = clock
        self._rate = rate
        self._wrong = wrong
        self._callers: TimedCache[bytes, Caller | None] = TimedCache(
            GroupedLookup(partial(find_callers, db)).find, min(cache_seconds, 1.0), grouped=True
        )
        self._used: dict[UUID, datetime] = {}

    async def admit(self, authorization: str | None, scope: str, address: str | None) -> tuple[Caller, Headers]:
        """Return the caller of a new request and the rate limit headers of its answer, or raise why it is rejected."""
        try:
            caller = await self.check(authorization, scope)
        except NotAuthenticated:
            self._wrong.count(address)
            raise
        return caller, self.count(caller)

    def count(self, caller: Caller) -> Headers:
        """Count a request. Return the rate limit headers of its answer, or raise that it is one too many."""
        return self._rate.take(caller.principal)

    def peek(self, authorization: str | None, scope: str, now: datetime) -> Caller | None:
        """Do the same as `check`, but return None if the key is not cached."""
        found = self._callers.peek(key_hash(_bearer(authorization)))
        return None if found is None else self._allowed(found, scope, now)

    async def check(self, authorization: str | None, scope: str) -> Caller:
        """Return the caller of a request without counting it, or raise why it is rejected."""
        key = _bearer(authorization)
        found = self._callers.peek(key_hash(key))
        caller = found if found is not None else await self._look_up(key)
        return self._allowed(caller, scope, self._clock.now())

    def _allowed(self, caller: Caller | None, scope: str, now: datetime) -> Caller:
        """Return the caller of a key, or raise why it is rejected."""
        caller = check_key(caller, now)
        check_access(caller, now)
        check_scope(caller, scope)
        self._used[caller.principal.id] = now
        return caller

    async def _look_up(self, key: str) -> Caller | None:
        if not is_key(key):
            raise NotAuthenticated("This API key is mistyped or incomplete. Copy it again.")
        return await self._callers.get(key_hash(key))

    async def note_use(self) -> None:
        """Store which keys were used since the last call."""
        used, self._used = self._used, {}
        if used:
            await record_key_uses(self._db, used)


def _bearer(header: str | None) -> str:
    if not header:
        raise NotAuthenticated("No API key was given. Send it as 'Authorization: Bearer <key>'.", "missing_api_key")
    scheme, _, key = header.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith(KEY_PREFIX):
        raise NotAuthenticated("The Authorization header must be 'Bearer <key>', and keys begin with gpk_.")
    return key
