"""A limit of requests with a wrong key, session or link, or without a key, per address."""

from gatepost.access.client_address import client_network
from gatepost.access.sliding_limit import SlidingLimit
from gatepost.clock import Clock
from gatepost.model.errors import LimitReached, LimitState


class WrongCredentials:
    """Counts them. Requests with a valid credential are not counted."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._limit = SlidingLimit(per_minute, clock) if per_minute else None
        self.limits = {"wrong credentials": self._limit} if self._limit else {}

    def count(self, address: str | None) -> None:
        """Count a wrong request of an address, and reject it if there were too many."""
        wait = self._limit.take(client_network(address), always=True) if self._limit and address else 0.0
        if self._limit and wait:
            raise LimitReached(
                f"Your address sent more than {self._limit.limit} requests in a minute with a wrong API key, session "
                "or link, or without one. Correct it, then wait as long as Retry-After says.",
                retry_after=wait,
                limit=LimitState("wrong-keys", self._limit.limit, int(self._limit.seconds), 0, int(wait) + 1),
            ) from None
