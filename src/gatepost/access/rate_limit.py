"""The rate of requests per key and per session."""

import time
from uuid import UUID

from gatepost.access.shared_dues import SharedDues
from gatepost.model.account import Principal
from gatepost.model.errors import LimitReached, LimitState
from gatepost.outbound.pace import space_evenly

_MAX_RATED = 20_000
_MAX_HEADERS = 10_000
_ROUND_UP = 1 - 1e-6  # to a whole request, with room for rounding errors of fractions of a second

Headers = tuple[tuple[bytes, bytes], ...]


class RateLimit:
    """Counts the requests of each principal, in this process or in all processes of a gateway."""

    def __init__(self, rate: float, burst: int, shared: SharedDues | None = None) -> None:
        self._rate = rate
        self._burst = burst
        self._window = max(1, round(burst / rate))
        self._policy = (b"ratelimit-policy", b'"api";q=%d;w=%d' % (burst, self._window))
        self._headers: dict[int, Headers] = {}
        self._due: dict[UUID, float] | SharedDues = {} if shared is None else shared  # by principal
        self._taken: dict[UUID, int] = {}  # requests that other nodes do not know

    def take(self, principal: Principal) -> Headers:
        """Count a request, and return the headers that say what is left."""
        now = time.monotonic()
        wait, due = space_evenly(self._due.get(principal.id, 0.0), now, 1 / self._rate, self._burst)
        if wait:
            raise LimitReached(
                f"This {principal.noun} sent more than {self._rate:g} requests a second. Wait as long as Retry-After "
                "says.",
                retry_after=wait,
                limit=LimitState("api", self._burst, self._window, 0, int(due - now) + 1),
            )
        self._store(principal.id, due, now)
        self._taken[principal.id] = self._taken.get(principal.id, 0) + 1
        used = int((due - now) * self._rate + _ROUND_UP)
        return self._headers.get(used) or self._format(used)

    def collect(self, seconds: float) -> dict[UUID, int]:
        """Return who sent more requests since the last time than the rate allows in so many seconds, and how many."""
        taken, self._taken = self._taken, {}
        return {principal: count for principal, count in taken.items() if count > self._rate * seconds}

    def note(self, principal: UUID, count: int) -> None:
        """Count requests that other nodes have accepted."""
        now = time.monotonic()
        due = max(self._due.get(principal, 0.0), now) + count / self._rate
        self._store(principal, min(due, now + 2 * self._burst / self._rate), now)

    def _store(self, principal: UUID, due: float, now: float) -> None:
        if len(self._due) > _MAX_RATED and isinstance(self._due, dict):
            self._due = {key: at for key, at in self._due.items() if at > now}
        self._due[principal] = due

    def _format(self, used: int) -> Headers:
        """Return how many requests are left, and in how many seconds all of them. Cached: most answers are the same."""
        if len(self._headers) > _MAX_HEADERS:
            self._headers.clear()
        left = b'"api";r=%d;t=%d' % (max(0, self._burst - used), int(used / self._rate) + 1)
        headers = self._headers[used] = self._policy, (b"ratelimit", left)
        return headers
