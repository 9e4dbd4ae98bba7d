"""The two commits of a send, shared by all senders of a process: the intent before, the result after."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from gatepost.background import log_failure, retry_until_available
from gatepost.clock import Clock
from gatepost.metrics import ProcessMetrics
from gatepost.model import ids
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.store.batch import Batch
from gatepost.store.channel_head import Lease
from gatepost.store.messages.intents import Intent, IntentResult, mark_sending, mark_sending_together
from gatepost.store.messages.queue import save_pace, save_paces
from gatepost.store.messages.send import (
    SendResult,
    is_plain_result,
    mark_any_results,
    mark_results,
    mark_results_together,
)
from gatepost.store.pool import Database

_RESULTS = {State.SENT: "sent", State.QUEUED: "retry", State.EXPIRED: "expired"}  # how they are counted
_CHANNELS = 100  # most in one commit
_PATIENT = 10  # how much longer than results the pace is collected: nothing waits for it
_LATE = 600.0  # seconds for which the result of a lost channel is kept while the database is unavailable
_NO_LIMIT = 1_000_000  # senders limit themselves by what they keep in flight


class FinishedSend(msgspec.Struct, frozen=True):
    channel: ChannelRef
    result: SendResult


class SendRecorder:
    def __init__(
        self,
        db: Database,
        clock: Clock,
        linger: float,
        metrics: ProcessMetrics | None = None,
    ) -> None:
        self.db = db
        self._clock = clock
        self.metrics = metrics or ProcessMetrics()
        self._intents: Batch[Lease, Intent, IntentResult] = Batch(
            self._write_intents,
            limit=_NO_LIMIT,
            together=self._write_intents_together,
            keys=_CHANNELS,
            stage="intent",
            note=self.metrics.committed,
        )
        self._results: Batch[Lease, FinishedSend, State] = Batch(
            self._write_results,
            limit=_NO_LIMIT,
            linger=linger,
            together=self._write_results_together,
            keys=_CHANNELS,
            alone=lambda finished: not is_plain_result(finished.result),
            stage="result",
            note=self.metrics.committed,
        )

        self._late_results: Batch[Lease, FinishedSend, State] = Batch(self._write_late_results, limit=_NO_LIMIT)
        self._late: set[asyncio.Task[State]] = set()
        self._paces: Batch[Lease, tuple[UUID, str], None] = Batch(
            self._write_paces,
            limit=_NO_LIMIT,
            linger=linger * _PATIENT,
            together=self._write_paces_together,
            keys=_CHANNELS,
        )

    @property
    def waiting(self) -> dict[str, int]:
        """How many intents and results wait for their commit."""
        return {"intent": self._intents.waiting, "result": self._results.waiting}

    async def save_pace(self, lease: Lease, floor: UUID, pace: str) -> None:
        """Saves how far sending has come and what limits it."""
        await self._paces.put(lease, (floor, pace))

    async def intend(self, lease: Lease, intent: Intent) -> IntentResult:
        """Commits that a message is about to be sent."""
        return await self._intents.put(lease, intent)

    async def finish(self, lease: Lease, channel: ChannelRef, result: SendResult) -> State:
        """Commits how an attempt ended; returns the state that the message is in after that."""
        return await self._results.put(lease, FinishedSend(channel, result))

    def finish_late(self, lease: Lease, channel: ChannelRef, result: SendResult) -> None:
        """Commits that the network accepted a message of a channel that was lost meanwhile, once this is possible.

        Otherwise the next owner does not know it, and may send the message again.
        """
        until = self._clock.monotonic() + _LATE
        task = asyncio.create_task(
            retry_until_available(
                lambda: self._late_results.put(lease, FinishedSend(channel, result)),
                lambda: self._clock.monotonic() < until,
            )
        )
        self._late.add(task)
        task.add_done_callback(self._late_ended)

    def _late_ended(self, task: "asyncio.Task[State]") -> None:
        self._late.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log_failure("saving of a late result", error)

    async def _write_late_results(self, lease: Lease, finished: Sequence[FinishedSend]) -> Sequence[State]:
        results = [item.result for item in finished]
        channel, now = finished[-1].channel, self._clock.now()
        states = await mark_any_results(self.db, lease, channel, results, now, whole=True, late=True)
        self._count_results(results)
        return states

    async def _write_intents(self, lease: Lease, intents: Sequence[Intent]) -> Sequence[IntentResult]:
        return await mark_sending(self.db, lease, intents, self._clock.now())

    async def _write_intents_together(
        self, batches: Mapping[Lease, Sequence[Intent]]
    ) -> Mapping[Lease, Sequence[IntentResult]]:
        return await mark_sending_together(self.db, batches, self._clock.now())

    async def _write_results(self, lease: Lease, finished: Sequence[FinishedSend]) -> Sequence[State]:
        results = [item.result for item in finished]
        states = await mark_results(self.db, lease, finished[-1].channel, results, self._clock.now())
        self._count_results(results)
        return states

    async def _write_results_together(
        self, batches: Mapping[Lease, Sequence[FinishedSend]]
    ) -> Mapping[Lease, Sequence[State]]:
        results = {
            lease: (finished[-1].channel, [item.result for item in finished]) for lease, finished in batches.items()
        }
        written = await mark_results_together(self.db, results, self._clock.now())
        for lease in written:
            self._count_results(results[lease][1])
        return written

    async def _write_paces(self, lease: Lease, paces: Sequence[tuple[UUID, str]]) -> Sequence[None]:
        await save_pace(self.db, lease, *paces[-1])
        return [None] * len(paces)

    async def _write_paces_together(
        self, batches: Mapping[Lease, Sequence[tuple[UUID, str]]]
    ) -> Mapping[Lease, Sequence[None]]:
        saved = await save_paces(self.db, {lease: paces[-1] for lease, paces in batches.items()})
        return {lease: [None] * len(batches[lease]) for lease in saved}

    def _count_results(self, results: Sequence[SendResult]) -> None:
        now = ids.milliseconds(self._clock.now())
        for result in results:
            self.metrics.sent(_RESULTS.get(result.state, "failed"))
            if result.state is State.SENT:
                due = ids.milliseconds(result.send_at) if result.send_at else ids.milliseconds_of(result.message_id)
                self.metrics.send_lag((now - due) / 1000)
