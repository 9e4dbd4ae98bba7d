"""The gate: who is calling, may they, and not too fast?"""

import time
from datetime import datetime
from uuid import UUID

from gatepost.api.client_address import client_network
from gatepost.api.minute_limit import MINUTE, MinuteLimit
from gatepost.api.timed_cache import TimedCache
from gatepost.clock import Clock
from gatepost.model.account import KEY_PREFIX, Caller, check_access, check_key, check_scope, is_key, key_hash
from gatepost.model.errors import LimitReached, LimitState, NotAuthenticated
from gatepost.outbound.pace import evenly
from gatepost.store.keys import find_caller, touch_keys
from gatepost.store.pool import Database

_MOST_KEYS = 20_000
_UP = 1 - 1e-6  # to the next whole request, save for what fractions of a second lose on their way
_MOST_SHOWN = 10_000

Headers = tuple[tuple[bytes, bytes], ...]


class Authenticator:
    """Lets requests through by their key."""

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
        self._shown: dict[int, Headers] = {}
        self._due: dict[UUID, float] = {}
        self._used: dict[UUID, datetime] = {}
        self._wrong = MinuteLimit(wrong_keys, clock) if wrong_keys else None

    async def admit(self, authorization: str | None, scope: str, address: str | None) -> tuple[Caller, Headers]:
        """The caller behind a request and what their key has left of its rate, or the reason why not."""
        try:
            caller = await self.check(authorization, scope)
        except NotAuthenticated:
            self._count_wrong(address)
            raise
        return caller, self._check_rate(caller)

    def _count_wrong(self, address: str | None) -> None:
        """Whoever tries keys from one address hears no more of them until it slows down; a good key is not asked."""
        wait = self._wrong.take(client_network(address), always=True) if self._wrong and address else 0.0
        if self._wrong and wait:
            raise LimitReached(
                f"More than {self._wrong.most} requests in a minute came from your address with a wrong API key, or "
                "none. Put the key right, then wait as long as Retry-After says.",
                retry_after=wait,
                limit=LimitState("wrong-keys", self._wrong.most, int(MINUTE), 0, int(wait) + 1),
            ) from None

    async def check(self, authorization: str | None, scope: str) -> Caller:
        """The same for a request that was let in already and goes on: may it still?"""
        caller = await self._callers.get(key_hash(_bearer(authorization)))
        now = self._clock.now()
        caller = check_key(caller, now)
        check_access(caller, now)
        check_scope(caller, scope)
        self._used[caller.key_id] = now
        return caller

    async def note_use(self) -> None:
        """Writes down which keys were used since the last time."""
        used, self._used = self._used, {}
        if used:
            await touch_keys(self._db, used)

    async def _find(self, hashed: bytes) -> Caller | None:
        return await find_caller(self._db, hashed)

    def _check_rate(self, caller: Caller) -> Headers:
        """Counts the request, and tells what is left."""
        now = time.monotonic()
        wait, due = evenly(self._due.get(caller.key_id, 0.0), now, 1 / self._rate, self._burst)
        if wait:
            raise LimitReached(
                f"More than {self._rate:g} requests a second with this key. Wait a moment and go on.",
                retry_after=wait,
                limit=LimitState("api", self._burst, self._window, 0, int(due - now) + 1),
            )
        if len(self._due) > _MOST_KEYS:
            self._due = {key: at for key, at in self._due.items() if at > now}
        self._due[caller.key_id] = due
        used = int((due - now) * self._rate + _UP)
        return self._shown.get(used) or self._show(used)

    def _show(self, used: int) -> Headers:
        """So many more may come now, and as many as ever in so many seconds. Written once: most calls say the same."""
        if len(self._shown) > _MOST_SHOWN:
            self._shown.clear()
        left = b'"api";r=%d;t=%d' % (max(0, self._burst - used), int(used / self._rate) + 1)
        shown = self._shown[used] = self._policy, (b"ratelimit", left)
        return shown


def _bearer(header: str | None) -> str:
    if not header:
        raise NotAuthenticated("No API key was given. Send it as 'Authorization: Bearer <key>'.", "missing_api_key")
    scheme, _, key = header.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith(KEY_PREFIX):
        raise NotAuthenticated("The Authorization header must be 'Bearer <key>', and keys begin with gpk_.")
    if not is_key(key):
        raise NotAuthenticated("This API key is mistyped or not whole. Copy it again.")
    return key
