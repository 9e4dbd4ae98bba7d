"""The sender of one channel: its owner takes messages from the queue to the network.

    read on from the cursor ─► queue ─► pace says now ─► intent committed ─► network ─► result committed
            ▲                    │                                             │
            └── woken, sweep     └── parked: pair limit, back-off, tier        └── answer lost: wait for a status, then
                                                                                   `on_unknown`

One message in flight per recipient, many recipients in flight. `step` does what is due now and returns when to come
back. Everything written carries the lease's epoch; a stale lease ends the sender.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import structlog

from gatepost.channel_task import ChannelTask
from gatepost.model import waits
from gatepost.model.errors import Unavailable
from gatepost.model.message import State
from gatepost.networks.base import Network
from gatepost.outbound import pace
from gatepost.outbound.backoff import SUSPECT_SECONDS
from gatepost.outbound.number_limits import NumberLimits, SenderLoad, TierPromotion, pace_shown
from gatepost.outbound.queue import BUSY, PARKED, TIER, QueuedRecipient
from gatepost.outbound.queue_reader import QueueReader
from gatepost.outbound.send_attempt import SendAttempt
from gatepost.outbound.send_decision import BackoffScope, FinalResult
from gatepost.outbound.sender_state import TICK, SenderState
from gatepost.outbound.senders_now import SenderFigures
from gatepost.outbound.wait_history import WaitCause, WaitCauses, waits_of
from gatepost.store.channel_head import StaleOwner
from gatepost.store.channels import find_open_conversations
from gatepost.store.messages.queue import save_unknown_until
from gatepost.store.messages.send import QueuedMessage, read_states

log = structlog.get_logger("gatepost.send")
_SLACK = timedelta(seconds=1)  # the network's day begins when it accepts a message: a moment after we sent it
LOCKED = "The network does not let this number write to new people for a while"


class ChannelSender(ChannelTask):
    """Sends for one channel while its lease holds."""

    name = "sending"

    def __init__(self, state: SenderState) -> None:
        super().__init__(state.context)
        self._state = state
        self._queue = state.queue
        self._backoff = state.backoff
        self._reader = QueueReader(state)
        self._attempt = SendAttempt(state)
        self._promotion = TierPromotion(self._db, self._channel, self._lease)
        self._in_flight: set[asyncio.Task[None]] = set()
        self._trouble_at: dict[BackoffScope, datetime] = {}
        self._tick_at = 0.0
        self._saved: tuple[UUID, str] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._locked = False
        self._causes = WaitCauses()

    @property
    def channel_id(self) -> UUID:
        return self._lease.channel_id

    def wake(self) -> None:
        """There may be new messages."""
        self._reader.more = True
        self._wakeup.set()

    def adjust(self, network: Network | None, limits: NumberLimits) -> None:
        """Applies the channel's current limits and connection."""
        self.connect(network)
        if limits.throughput > self._state.limits.throughput:  # the maintenance that lowered it is over
            self._backoff.resume()
            self._wakeup.set()
        self._state.limits = limits
        self._state.starts.change(limits.throughput)
        self._state.calls.change(limits.throughput)

    def retry_now(self) -> None:
        """Tries a message now, because what broke the number may be fixed: it has a new token."""
        self._backoff.retry_broken()
        self._wakeup.set()

    def connect(self, network: Network | None) -> None:
        """Sets the connection to the network; None: there is none at the moment."""
        if (self._state.network is None) != (network is None):
            self._saved = None  # the saved pace says something else
            self._wakeup.set()
        self._state.network = network

    def lock_new(self, until: datetime | None) -> None:
        """The network allows no new conversations until then; None: it allows them."""
        if until is not None:
            seconds = (until - self._clock.now()).total_seconds()
            self._backoff.lock_new(self._clock.monotonic() + seconds, LOCKED)
        elif self._locked:
            self._backoff.unlock_new()
        self._locked = until is not None

    async def note_trouble(self, trouble: dict[str, str] | None, scope: BackoffScope = BackoffScope.BROKEN) -> None:
        """Starts a back-off if messages failed after they were accepted, because the number itself is in trouble."""
        at, last = datetime.fromisoformat(trouble["at"]) if trouble else None, self._trouble_at.get(scope)
        if trouble is None or at is None or (last and at <= last):
            return
        self._trouble_at[scope] = at
        left = SUSPECT_SECONDS - (self._clock.now() - at).total_seconds()
        if left > 0 and self._backoff.suspect(trouble["because"], self._clock.monotonic(), left, scope):
            await self._state.report_connection("limited", trouble["because"], False)

    async def run(self) -> None:
        self._state.senders.add(self)
        try:
            await super().run()
        finally:
            self._state.senders.discard(self)

    @property
    def load(self) -> SenderFigures:
        """What waits in its queue now."""
        first, held = self._queue.first, self._causes.now
        due = first and max(first.created_at, first.send_at or first.created_at)
        seconds = (self._clock.now() - due).total_seconds() if due else 0.0
        return SenderFigures(len(self._queue), seconds, self._queue.waiting, held.rule if held else None)

    @property
    def idle(self) -> bool:
        return not self._queue and not self._in_flight and not self._reader.may_read

    @property
    def next_work(self) -> datetime | None:
        return self._reader.next_scheduled

    async def work(self) -> float | None:
        try:
            again = await self.step()
        except Unavailable:
            return TICK
        return None if again is None else max(0.0, again - self._clock.monotonic())

    async def stop(self) -> None:
        """Starts nothing more, waits for what is in flight, and saves how far it came."""
        await super().stop()
        await self.settled()
        if self._alive():
            self._save()
            await self.settled()

    async def settled(self) -> None:
        """Waits until nothing is in flight, and the pace is saved."""
        while self._in_flight or self._saving:
            await asyncio.wait([*self._in_flight, *([self._saving] if self._saving else [])])

    async def step(self) -> float | None:
        """Does what is due: reads, checks waiting messages, starts sends. Returns when something is due next."""
        await self._reader.read()
        now = self._clock.monotonic()
        if now >= self._tick_at:
            self._tick_at = now + TICK
            await self._maintain()
        return self._start_due()

    # -- waiting messages ---------------------------------------------------------------------------------------------

    async def _maintain(self) -> None:
        await self._resolve_unknown()
        self._state.limits = await self._promotion.look(self._state.limits, self._clock.now())
        await self._release_from_tier()
        self._expire_due()
        self._queue.forget_idle(self._clock.monotonic())
        self._save()

    async def _resolve_unknown(self) -> None:
        """Removes messages with a lost answer whose outcome is known from a status by now."""
        unknown = [m for m in self._queue.messages() if m.state is State.SENDING and self._queue.place_of(m) == PARKED]
        if unknown:
            states = await read_states(self._db, self._lease.channel_id, [m.id for m in unknown])
            for message in unknown:
                if states.get(message.id) is not State.SENDING:
                    self._queue.forget(message, self._clock.monotonic())
            await self._note_unknown([m for m in unknown if m.id in self._queue and not m.unknown_noted])

    async def _note_unknown(self, unknown: Sequence[QueuedMessage]) -> None:
        """Writes once how long each waits for a status: another node may have to explain it."""
        if unknown:
            wall, now = self._clock.now(), self._clock.monotonic()
            until = [(m.id, wall + timedelta(seconds=m.not_before - now)) for m in unknown]
            await save_unknown_until(self._db, self._lease, until)
            for message in unknown:
                message.unknown_noted = True

    async def _release_from_tier(self) -> None:
        """Enqueues the recipients who wrote meanwhile, and all of them once a conversation may be opened again."""
        waiting = self._queue.waiting_for_tier()
        if not waiting:
            return
        now, wall = self._clock.monotonic(), self._clock.now()
        contacts = [message.contact_id for _, message in waiting]
        open_ = await find_open_conversations(self._db, self._lease.channel_id, contacts, wall)
        free = not self._cannot_open(now, wall)
        for recipient, message in waiting:
            if message.contact_id in open_:
                recipient.note_opened(wall)
            if message.contact_id in open_ or free:
                self._queue.enqueue(recipient, now)

    def _expire_due(self) -> None:
        """Expires messages that waited longer than their ttl. Those with a lost answer are resolved first."""
        wall = self._clock.now()
        for message in [m for m in self._queue.messages() if m.expires_at <= wall and m.state is State.QUEUED]:
            if message not in self._queue.recipient_of(message).in_flight:
                self._expire(message)

    def _expire(self, message: QueuedMessage) -> None:
        """Removes it from its recipient at once, so that it is not sent while its expiry is being written."""
        error = {
            "code": "expired",
            "title": "The message waited longer than its ttl",
            "details": self._wait_reason(message),
        }
        held = self._waits_of(message, self._clock.monotonic(), self._clock.now())
        message.state = State.EXPIRED
        self._queue.withdraw(message, self._clock.monotonic())
        self._spawn(self._attempt.finish(message, FinalResult(State.EXPIRED, error=error), waits=held))

    def _wait_reason(self, message: QueuedMessage) -> str:
        """Why a message waits, as a sentence."""
        cause = self._queue.recipient_of(message).causes.now or self._channel_wait_cause(self._clock.monotonic())
        return cause.words(message.id) if cause else "Other messages were ahead of it"

    def _waits_of(self, message: QueuedMessage, now: float, wall: datetime) -> str | None:
        return waits_of(message, (self._queue.recipient_of(message).causes, self._causes), now, wall)

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start_due(self) -> float | None:
        """Starts all sends that are allowed now. Returns when to look again."""
        now = self._clock.monotonic()
        self._queue.wake_parked(now)
        wait = 0.0
        while not wait and self._state.network and not self._stopping and len(self._in_flight) < self._max_in_flight:
            found = self._queue.peek()
            if found is None:
                break
            wait = self._backoff.wait(now) or self._start(*found, now)
        self._note_cause(self._channel_wait_cause(now), now)
        wake = self._wake_time(now)
        return min(now + wait, wake or now + wait) if wait else wake

    def _note_cause(self, cause: WaitCause | None, now: float) -> None:
        if cause is None:
            self._causes.end(now)
        self._causes.begin(cause)

    def _channel_wait_cause(self, now: float) -> WaitCause | None:
        """Why the next recipient cannot be sent to now."""
        if self._queue.peek() is None:
            return None
        if self._state.network is None:
            return WaitCause(waits.NOT_CONNECTED, now)
        held = self._backoff.reason(now)
        if held:
            return WaitCause(waits.HOLD, now, because=held[0])
        return WaitCause(waits.THROUGHPUT, now, because=waits.throughput_words(self._state.limits.throughput))

    @property
    def _max_in_flight(self) -> int:
        """One message at a time while the number is in trouble."""
        return 1 if self._backoff.broken else self._state.rules.in_flight

    def _wake_time(self, now: float) -> float | None:
        """The earliest time at which something is due."""
        times = [self._queue.next_wake(), self._tick_at if self._unsaved or not self.idle else None]
        if self._reader.next_scheduled is not None:
            times.append(now + (self._reader.next_scheduled - self._clock.now()).total_seconds())
        return min((t for t in times if t is not None), default=None)

    def _start(self, recipient: QueuedRecipient, message: QueuedMessage, now: float) -> float:
        """Starts the first message of a recipient, or moves the recipient. Returns a wait of the whole channel."""
        limits, wait = self._state.limits, self._state.starts.wait(now)
        if wait:
            return wait
        pair_wait, started, pair_due = pace.space_with_burst(
            recipient.burst_started, recipient.pair_due, now, limits.pair_seconds, limits.pair_burst
        )
        if pair_wait:
            words = waits.pair_words(limits.pair_seconds, limits.pair_burst)
            self._queue.take(recipient, PARKED)
            self._queue.park(recipient, now + pair_wait, WaitCause(waits.PAIR, now, because=words))
            return 0.0
        wall = self._clock.now()
        opens = pace.opens_conversation(message.last_in_at, message.opened_at, wall)
        if opens and self._cannot_open(now, wall):
            self._queue.take(recipient, TIER, self._cannot_open_cause(now, wall))
            return 0.0
        recipient.burst_started, recipient.pair_due = started, pair_due
        self._state.starts.take(now)
        if opens:
            self._state.opened.append(wall)
            self._state.opening += 1
        held = self._waits_of(message, now, wall)
        self._queue.take(recipient, BUSY, WaitCause(waits.SENDING, now, message.id))
        self._spawn(self._attempt.send(self._state.network, message, opens, wall, held))
        return 0.0

    def _cannot_open(self, now: float, wall: datetime) -> bool:
        """Whether no conversation may be opened now: the network refused one, or the tier is used up."""
        tries = self._backoff.cautious and self._state.opening  # one at a time is tried
        return bool(tries or self._backoff.new_wait(now)) or self._tier_is_full(wall)

    def _cannot_open_cause(self, now: float, wall: datetime) -> WaitCause:
        """Why no conversation may be opened."""
        held = self._backoff.new_reason(now)
        rule = waits.NEW if held or not self._tier_is_full(wall) else self._state.limits.tier_rule
        return WaitCause(rule, now, because=held[0] if held else "")

    def _tier_is_full(self, wall: datetime) -> bool:
        opened, counted = self._state.opened, wall - _SLACK
        while opened and counted - opened[0] >= pace.DAY:
            opened.popleft()
        return bool(pace.tier_wait(opened, self._state.limits.tier, counted))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._in_flight.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._in_flight.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._stopping = True
            if not isinstance(error, StaleOwner):
                log.error("sending failed", channel=self._channel.id, exc_info=error)
        if not self.idle or self._stopping:  # else the next look of `_tick_at` saves what is left
            self._wakeup.set()

    # -- the saved pace -----------------------------------------------------------------------------------------------

    @property
    def _unsaved(self) -> bool:
        if self._saved is None or self._saved[0] != self._reader.floor():
            return True
        return bool(self._state.starts.used(self._clock.monotonic()))

    def _save(self) -> None:
        """Begins to save how far sending has come and why it waits. Sending does not wait for it."""
        state = (self._reader.floor(), msgspec.json.encode(self._pace_shown()).decode())
        if state != self._saved and self._saving is None:
            self._saved = state
            self._saving = asyncio.create_task(self._state.recorder.save_pace(self._lease, *state))
            self._saving.add_done_callback(self._pace_saved)

    def _pace_saved(self, task: "asyncio.Task[None]") -> None:
        self._saving = None
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._saved = None  # the next look tries again
            if not isinstance(error, Unavailable):
                log.error("pace not saved", channel=self._channel.id, exc_info=error)

    def _pace_shown(self) -> dict[str, Any]:
        wall, now = self._clock.now(), self._clock.monotonic()
        self._tier_is_full(wall)
        load = SenderLoad(
            connected=self._state.network is not None,
            started=self._state.starts.used(now),
            queued=len(self._queue),
            for_tier=len(self._queue.waiting_for_tier()),
            for_pair=self._queue.waiting_for_pair(now),
        )
        return pace_shown(self._state.limits, self._backoff, self._state.opened, load, wall, now)
