"""Limits that count in a whole process, in all processes of a gateway, however many cells it has, and in all nodes.

What a process has counted is sent to the other nodes twice a second. Until then, another node may accept more. It
counts that as well, so that the rate is right over a longer time. Keys with few requests are not sent: they are far
from their limit.
"""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from uuid import UUID

from gatepost.access.costly import CostlyRequests
from gatepost.access.rate_limit import RateLimit
from gatepost.access.shared_dues import SharedDues
from gatepost.access.sign_in_throttle import SignInThrottle
from gatepost.access.wrong_credentials import WrongCredentials
from gatepost.api.body_memory import BodyMemory
from gatepost.clock import Clock
from gatepost.settings import Settings
from gatepost.store.notifications import LimitCounts, LimitedAction, send_counts
from gatepost.store.pool import Database

_EVERY = 0.5  # seconds
_PART = 1 / 16  # of what a key may send meanwhile; from here on, it is sent
_ACTIONS_MAX = 300  # the rest of a flood counts only here

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


class LimitExchange:
    """Exchanges counts with other gateways.

    The processes of one gateway share their counts without it, and the rates of keys are one table of all of them.
    Therefore only the `first` of them adds the requests of other gateways to the table.
    """

    def __init__(self, db: Database, limits: ProcessLimits, gateway: UUID, *, first: bool) -> None:
        self._db = db
        self._limits = limits
        self._gateway = gateway
        self._first = first
        self._actions: list[LimitedAction] = []
        limits.share(self._count)

    def _count(self, limit: str, actor: Hashable, given_back: bool) -> None:
        if len(self._actions) < _ACTIONS_MAX:
            self._actions.append(LimitedAction(limit, str(actor), given_back))

    async def step(self) -> None:
        """Wait, then send what was counted meanwhile."""
        await asyncio.sleep(_EVERY)
        await self.send()

    async def send(self) -> None:
        """Send what was counted since the last time."""
        actions, self._actions = self._actions, []
        await send_counts(self._db, self._gateway, self._limits.rate.collect(_EVERY * _PART), actions)

    def receive(self, counts: LimitCounts) -> None:
        """Count what another gateway has counted."""
        if counts.gateway == self._gateway:
            return
        if self._first:
            for principal, requests in counts.requests.items():
                self._limits.rate.note(principal, requests)
        for action in counts.actions:
            self._limits.note_elsewhere(action.limit, action.actor, action.given_back)
