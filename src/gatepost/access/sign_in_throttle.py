"""A limit of failed sign-ins, by address and by e-mail address.

A try counts from its start, so that many at once are not more than the limit, and stops counting when it succeeds.
The counts are in memory. Processes and nodes tell each other what they have counted (`process_limits.py`).
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from gatepost.access.client_address import client_network
from gatepost.access.sliding_limit import MINUTE, SlidingLimit
from gatepost.clock import Clock
from gatepost.model.errors import LimitReached, LimitState, NotAuthenticated

PER_EMAIL_MINUTE, PER_EMAIL_HOUR, PER_ADDRESS_MINUTE = 5, 30, 20


class SignInThrottle:
    """Counts failed sign-ins."""

    def __init__(self, clock: Clock) -> None:
        self._by_email = (SlidingLimit(PER_EMAIL_MINUTE, clock), SlidingLimit(PER_EMAIL_HOUR, clock, 60 * MINUTE))
        self._by_address = SlidingLimit(PER_ADDRESS_MINUTE, clock)
        minute, hour = self._by_email
        self.limits = {"sign-ins by e-mail, minute": minute, "hour": hour, "sign-ins by address": self._by_address}

    @contextmanager
    def trying(self, email: str, address: str | None) -> Iterator[None]:
        """Count a try to sign in, or reject it. Only one that ends with a wrong password or code stays counted."""
        network = client_network(address or "")
        counts: list[tuple[SlidingLimit, Hashable]] = [(self._by_address, network)]
        counts += [(limit, email.lower()) for limit in self._by_email]
        self._take(counts)
        try:
            yield
        except NotAuthenticated as error:
            if error.code == "code_required":  # the password was correct
                _give_back(counts)
            raise
        except BaseException:
            _give_back(counts)
            raise
        _give_back(counts)

    def _take(self, counts: list[tuple[SlidingLimit, Hashable]]) -> None:
        for place, (limit, actor) in enumerate(counts):
            wait = limit.take(actor)
            if wait:
                _give_back(counts[:place])
                raise LimitReached(
                    "Too many failed sign-ins from your address or for this e-mail address. Wait as long as "
                    "Retry-After says.",
                    retry_after=wait,
                    limit=LimitState("sign-in", limit.limit, int(limit.seconds), 0, int(wait) + 1),
                )


def _give_back(counts: list[tuple[SlidingLimit, Hashable]]) -> None:
    for limit, actor in counts:
        limit.give_back(actor)
