"""Records the POSTs of one endpoint that succeeded: those that end during one commit are recorded with the next.

    POST ended ─► waiting ─► a group: one record, one commit ─► apply what follows from each

The task that made a POST does not wait for this: it makes the next POST meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from gatepost.store.channel_head import StaleOwner
from gatepost.webhooks.delivery_context import RECORDS, ChannelDelivery
from gatepost.webhooks.delivery_request import DeliveryResult, InFlightDelivery, attempt_records

Succeeded = tuple[InFlightDelivery, DeliveryResult]


class SuccessRecorder:
    """Records successes; `apply` is called for those that are recorded, `fail` for those that cannot be."""

    def __init__(
        self,
        delivery: ChannelDelivery,
        apply: Callable[[Sequence[Succeeded]], Awaitable[None]],
        fail: Callable[[Sequence[InFlightDelivery], BaseException], None],
    ) -> None:
        self._delivery = delivery
        self._apply = apply
        self._fail = fail
        self._waiting: deque[Succeeded] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, flight: InFlightDelivery, sent: DeliveryResult) -> None:
        self._waiting.append((flight, sent))
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._settle(self._next_group())
        finally:
            self._task = None

    async def _settle(self, group: Sequence[Succeeded]) -> None:
        try:
            await self._record([sent for _, sent in group])
            await self._apply(group)
        except Exception as error:  # those that wait are recorded nevertheless
            self._fail([flight for flight, _ in group], error)
        except BaseException as error:
            self._fail([flight for flight, _ in (*group, *self._waiting)], error)
            self._waiting.clear()
            raise

    def _next_group(self) -> list[Succeeded]:
        """Take as many as are recorded in one commit."""
        group = [self._waiting.popleft()]
        events = len(group[0][0].unit.items)
        while self._waiting and events < RECORDS:
            group.append(self._waiting.popleft())
            events += len(group[-1][0].unit.items)
        return group

    async def _record(self, group: Sequence[DeliveryResult]) -> None:
        """Record a group. If one of them cannot be recorded, the others are, so that they are not posted again."""
        try:
            await self._delivery.record([record for sent in group for record in attempt_records(sent)])
        except StaleOwner:
            raise
        except Exception as error:
            if len(group) > 1:
                for sent in group:
                    error = await self._error_of(sent) or error
            raise error from None

    async def _error_of(self, sent: DeliveryResult) -> Exception | None:
        try:
            await self._delivery.record(attempt_records(sent))
        except StaleOwner:
            raise
        except Exception as error:
            return error
        return None
