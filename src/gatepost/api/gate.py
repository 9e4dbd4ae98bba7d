"""The gate: who is calling, may they, and not too fast?"""

import time
from datetime import datetime
from uuid import UUID

from gatepost.api.cache import TimedCache
from gatepost.clock import Clock
from gatepost.model.account import KEY_PREFIX, Caller, check_access, check_key, check_scope, key_hash
from gatepost.model.errors import LimitReached, LimitState, NotAuthenticated
from gatepost.outbound.pace import evenly
from gatepost.store.keys import find_caller, touch_keys
from gatepost.store.pool import Database

_MOST_KEYS = 20_000


class Gate:
    """Lets requests through by their key."""

    def __init__(self, db: Database, clock: Clock, rate: float, burst: int, cache_seconds: float) -> None:
        self._db = db
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._callers: TimedCache[bytes, Caller | None] = TimedCache(self._find, min(cache_seconds, 1.0))
        self._due: dict[UUID, float] = {}
        self._used: dict[UUID, datetime] = {}

    async def admit(self, authorization: str | None, scope: str) -> Caller:
        """The caller behind a request, or the reason why not."""
        caller = await self._callers.get(key_hash(_bearer(authorization)))
        now = self._clock.now()
        caller = check_key(caller, now)
        check_access(caller, now)
        check_scope(caller, scope)
        self._check_rate(caller)
        self._used[caller.key_id] = now
        return caller

    async def note_use(self) -> None:
        """Writes down which keys were used since the last time."""
        used, self._used = self._used, {}
        if used:
            await touch_keys(self._db, used)

    async def _find(self, hashed: bytes) -> Caller | None:
        return await find_caller(self._db, hashed)

    def _check_rate(self, caller: Caller) -> None:
        now = time.monotonic()
        wait, due = evenly(self._due.get(caller.key_id, 0.0), now, 1 / self._rate, self._burst)
        if wait:
            raise LimitReached(
                f"More than {self._rate:g} requests a second with this key. Wait a moment and go on.",
                retry_after=wait,
                limit=LimitState("api", self._burst, max(1, round(self._burst / self._rate)), 0, max(1, round(wait))),
            )
        if len(self._due) > _MOST_KEYS:
            self._due = {key: at for key, at in self._due.items() if at > now}
        self._due[caller.key_id] = due


def _bearer(header: str | None) -> str:
    if not header:
        raise NotAuthenticated("No API key was given. Send it as 'Authorization: Bearer <key>'.", "missing_api_key")
    scheme, _, key = header.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith(KEY_PREFIX) or len(key) > 200:
        raise NotAuthenticated("The Authorization header must be 'Bearer <key>', and keys begin with gpk_.")
    return key
