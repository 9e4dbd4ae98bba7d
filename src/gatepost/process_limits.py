"""Limits that count in a whole process, and in all processes of a gateway, however many cells it has."""

from collections.abc import Callable, Hashable
from functools import partial

from gatepost.access.costly import CostlyRequests
from gatepost.access.rate_limit import RateLimit
from gatepost.access.shared_dues import SharedDues
from gatepost.access.sign_in_throttle import SignInThrottle
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.api.body_memory import BodyMemory
from gatepost.clock import Clock
from gatepost.settings import Settings

Count = Callable[[str, Hashable, bool], None]


class ProcessLimits:
    """The limits of one process. `count` tells the other processes what a limit has counted."""

    def __init__(
        self, settings: Settings, clock: Clock, rates: SharedDues | None = None, count: Count | None = None
    ) -> None:
        api = settings.api
        self.rate = RateLimit(api.rate, api.burst, rates)
        self.wrong, self.sign_ins = WrongCredentials(api.wrong_keys, clock), SignInThrottle(clock)
        self.costly = CostlyRequests(api.costly_per_key, api.costly)
        self.callback_memory = BodyMemory(settings.server.callback_memory)
        self._shared = self.wrong.limits | self.sign_ins.limits
        self._counts = [count] if count is not None else []
        for name, limit in self._shared.items():
            limit.share(partial(self._count, name))

    def share(self, count: Count) -> None:
        """Call a function with what a limit of all processes has counted in this one."""
        self._counts.append(count)

    def _count(self, limit: str, actor: Hashable, given_back: bool) -> None:
        for count in self._counts:
            count(limit, actor, given_back)

    def note_elsewhere(self, limit: str, actor: Hashable, given_back: bool) -> None:
        """Note what a limit of all processes has counted in another one."""
        if limit in self._shared:
            self._shared[limit].note(actor, given_back)
