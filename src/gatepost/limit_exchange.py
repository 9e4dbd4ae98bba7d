"""Limits that apply to all nodes together: what this process has counted is sent to the others twice a second.

Until then, another node may accept more. It counts that as well, so that the rate is right over a longer time. Keys
with few requests are not sent: they are far from their limit.
"""

import asyncio
from collections.abc import Hashable
from uuid import UUID

from gatepost.process_limits import ProcessLimits
from gatepost.store.notifications import LimitCounts, LimitedAction, send_counts
from gatepost.store.pool import Database

_EVERY = 0.5  # seconds
_PART = 1 / 16  # of what a key may send meanwhile; from here on, it is sent
_ACTIONS_MAX = 300  # the rest of a flood counts only here


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
