"""The two commits of a send, shared by all senders of a process: the intent before, the result after."""

from collections.abc import Callable, Sequence

import msgspec

from gatepost.clock import Clock
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.store.batch import Batch
from gatepost.store.channel_head import Lease
from gatepost.store.messages.send import Intent, IntentResult, SendResult, mark_results, mark_sending
from gatepost.store.pool import Database

_RESULTS = {State.SENT: "sent", State.QUEUED: "retry", State.EXPIRED: "expired"}  # how they are counted
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
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.db = db
        self._clock = clock
        self._count = count
        self._intents: Batch[Lease, Intent, IntentResult] = Batch(self._write_intents, limit=_NO_LIMIT)
        self._results: Batch[Lease, FinishedSend, State] = Batch(self._write_results, limit=_NO_LIMIT, linger=linger)

    async def intend(self, lease: Lease, intent: Intent) -> IntentResult:
        """Commits that a message is about to be sent."""
        return await self._intents.put(lease, intent)

    async def finish(self, lease: Lease, channel: ChannelRef, result: SendResult) -> State:
        """Commits how an attempt ended; returns the state that the message is in after that."""
        return await self._results.put(lease, FinishedSend(channel, result))

    async def _write_intents(self, lease: Lease, intents: Sequence[Intent]) -> Sequence[IntentResult]:
        return await mark_sending(self.db, lease, intents, self._clock.now())

    async def _write_results(self, lease: Lease, finished: Sequence[FinishedSend]) -> Sequence[State]:
        results = [item.result for item in finished]
        states = await mark_results(self.db, lease, finished[-1].channel, results, self._clock.now())
        for result in results:
            self._count(_RESULTS.get(result.state, "failed"))
        return states
