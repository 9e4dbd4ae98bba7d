"""The lane of one channel: its owner takes messages from the queue to the network.

    read on from the cursor ─► Queue ─► pace says now ─► intent committed ─► network ─► result committed
            ▲                    │                                             │
            └── bell, sweep      └── parked: pair limit, back-off, tier        └── answer lost: wait for a status, then
                                                                                   `on_unknown`

One message in flight per recipient, many recipients in flight. `step` does what is due now and returns when to come
back; `run` is the loop around it. Everything written carries the lease's epoch; a stale lease ends the lane.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import structlog

from gatepost.clock import Clock
from gatepost.model import times
from gatepost.model.errors import Unavailable
from gatepost.model.event import ChannelRef
from gatepost.model.message import State
from gatepost.networks.base import Network, NetworkError, Outgoing, Reaction, Receipt, Refused
from gatepost.outbound import pace
from gatepost.outbound.ledger import Ledger
from gatepost.outbound.queue import BUSY, PARKED, TIER, Queue, Recipient
from gatepost.outbound.reading import Reader
from gatepost.outbound.verdict import UNKNOWN_OUTCOME, Again, Await, End, Rules, judge
from gatepost.store.heads import Lease, StaleOwner, save_pace
from gatepost.store.sending import Intent, Queued, Result, conversations_open, read_states

log = structlog.get_logger("gatepost.send")
_TICK = 0.5  # between looks at those who wait: lost answers, windows that a reply opened, messages past their time


class Limits(msgspec.Struct, frozen=True):
    """What the network allows this number."""

    throughput: float
    pair_seconds: float
    pair_burst: int
    tier: int


class Lane:
    """Sends for one channel while its lease holds."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        lease: Lease,
        channel: ChannelRef,
        network: Network | None,
        limits: Limits,
        rules: Rules,
        alive: Callable[[], bool],
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self.lease = lease
        self._channel = channel
        self._network = network
        self._limits = limits
        self._rules = rules
        self._alive = alive
        self._queue = Queue()
        self._reader = Reader(ledger.db, clock, lease.channel_id, self._queue, rules)
        self._bell = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._due = 0.0
        self._held_until = 0.0
        self._held_because = ""
        self._refusals = 0
        self._tick_at = 0.0
        self._saved: tuple[UUID, str] | None = None
        self._stopping = False

    def ring(self) -> None:
        """There may be something new."""
        self._reader.more = True
        self._bell.set()

    def adjust(self, network: Network | None, limits: Limits) -> None:
        """The channel's settings or its link may have changed."""
        self._network, self._limits = network, limits

    @property
    def idle(self) -> bool:
        return not self._queue and not self._tasks and not self._reader.more

    @property
    def next_scheduled(self) -> datetime | None:
        return self._reader.next_scheduled

    async def run(self) -> None:
        """The loop: until stopped, or until the lease is lost."""
        while not self._stopping and self._alive():
            self._bell.clear()
            try:
                again = await self.step()
            except StaleOwner:
                break
            except Unavailable:
                again = self._clock.monotonic() + _TICK
            await self._wait(again)

    async def stop(self) -> None:
        """Starts nothing more, waits for what is in flight, and notes how far it came."""
        self._stopping = True
        self._bell.set()
        await self.settled()
        if self._alive():
            await self._save()

    async def settled(self) -> None:
        """Returns when nothing is in flight."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def step(self) -> float | None:
        """Does what is due: reads, looks after those who wait, starts. Returns when something is due next."""
        await self._reader.read()
        now = self._clock.monotonic()
        if now >= self._tick_at:
            self._tick_at = now + _TICK
            await self._tend()
        return self._start_due()

    # -- those who wait -----------------------------------------------------------------------------------------------

    async def _tend(self) -> None:
        await self._resolve_unknown()
        await self._free_from_tier()
        self._expire_due()
        await self._save()

    async def _resolve_unknown(self) -> None:
        """A status may have told meanwhile how a send with a lost answer ended."""
        unknown = [m for m in self._queue.messages() if m.state is State.SENDING and self._place(m) == PARKED]
        if unknown:
            states = await read_states(self._ledger.db, self.lease.channel_id, [m.id for m in unknown])
            for message in unknown:
                if states.get(message.id) is not State.SENDING:
                    self._queue.forget(message, self._clock.monotonic())

    async def _free_from_tier(self) -> None:
        """Lines up those who wrote meanwhile, and everybody once a conversation may be opened again."""
        waiting = self._queue.waiting_for_tier()
        if not waiting:
            return
        now, wall = self._clock.monotonic(), self._clock.now()
        contacts = [message.contact_id for _, message in waiting]
        open_ = await conversations_open(self._ledger.db, self.lease.channel_id, contacts, wall)
        free = not self._tier_is_full(wall)
        for recipient, message in waiting:
            if message.contact_id in open_:
                recipient.note_opened(wall)
            if message.contact_id in open_ or free:
                self._queue.line_up(recipient, now)

    def _expire_due(self) -> None:
        """Ends messages whose time in the queue is over. Those with a lost answer are resolved first."""
        wall = self._clock.now()
        for message in [m for m in self._queue.messages() if m.expires_at <= wall and m.state is State.QUEUED]:
            if self._place(message) != BUSY or not self._queue.recipient_of(message).leads(message):
                self._spawn(self._expire(message))

    async def _expire(self, message: Queued) -> None:
        error = {"code": "expired", "title": "The message waited longer than its ttl", "details": self._why(message)}
        message.state = State.EXPIRED
        self._queue.withdraw(message, self._clock.monotonic())
        await self._finish(message, End(State.EXPIRED, error=error))

    def _why(self, message: Queued) -> str:
        """Why a message waits, in words."""
        if self._network is None:
            return "The channel is not connected"
        if self._place(message) == TIER:
            return "The number may open no more conversations within 24 hours"
        if self._clock.monotonic() < self._held_until:
            return self._held_because
        return "Other messages were ahead of it"

    def _place(self, message: Queued) -> str:
        return self._queue.recipient_of(message).place

    # -- starting -----------------------------------------------------------------------------------------------------

    def _start_due(self) -> float | None:
        """Starts all that may leave now. Returns when to look again."""
        now = self._clock.monotonic()
        self._queue.wake_parked(now)
        while self._network and not self._stopping and len(self._tasks) < self._rules.in_flight:
            found = self._queue.peek()
            if found is None:
                break
            wait = max(0.0, self._held_until - now) or self._start(*found, now)
            if wait:
                return min(now + wait, self._wake_time(now) or now + wait)
        return self._wake_time(now)

    def _wake_time(self, now: float) -> float | None:
        """The nearest of all the things that time alone will bring."""
        times = [self._queue.next_wake(), self._tick_at if self._queue or self._unsaved else None]
        if self._reader.next_scheduled is not None:
            times.append(now + (self._reader.next_scheduled - self._clock.now()).total_seconds())
        return min((t for t in times if t is not None), default=None)

    def _start(self, recipient: Recipient, message: Queued, now: float) -> float:
        """Starts the head of one recipient, or gives it another place. A wait concerns the whole channel."""
        limits = self._limits
        wait, due = pace.evenly(self._due, now, 1 / limits.throughput, pace.throughput_burst(limits.throughput))
        if wait:
            return wait
        pair_wait, started, pair_due = pace.lend(
            recipient.burst_started, recipient.pair_due, now, limits.pair_seconds, limits.pair_burst
        )
        if pair_wait:
            self._queue.take(recipient, PARKED)
            self._queue.park(recipient, now + pair_wait)
            return 0.0
        wall = self._clock.now()
        opens = pace.opens_conversation(message.last_in_at, message.opened_at, wall)
        if opens and self._tier_is_full(wall):
            self._queue.take(recipient, TIER)
            return 0.0
        self._due, recipient.burst_started, recipient.pair_due = due, started, pair_due
        if opens:
            self._reader.opened.append(wall)
        self._queue.take(recipient, BUSY)
        self._spawn(self._carry(recipient, message, opens, wall))
        return 0.0

    def _tier_is_full(self, wall: datetime) -> bool:
        opened = self._reader.opened
        while opened and wall - opened[0] >= pace.DAY:
            opened.popleft()
        return bool(pace.tier_wait(opened, self._limits.tier, wall))

    # -- carrying -----------------------------------------------------------------------------------------------------

    async def _carry(self, recipient: Recipient, message: Queued, opens: bool, wall: datetime) -> None:
        """One attempt, from the intent to the result."""
        counted = opens
        try:
            if message.state is State.SENDING and self._gives_up(message, wall):
                await self._finish(message, End(State.FAILED, error=UNKNOWN_OUTCOME))
                return
            intent = Intent(message.id, message.contact_id, message.attempt + 1, opens)
            intended = await self._ledger.intend(self.lease, intent)
            counted = opens and not intended.opened
            if not intended.go:
                self._queue.forget(message, self._clock.monotonic())
                return
            message.attempt += 1
            message.state = State.SENDING
            if intended.opened:
                recipient.note_opened(wall)
            receipt = await self._send(message)
            await self._follow(recipient, message, receipt)
        except Unavailable:
            message.not_before = self._clock.monotonic() + _TICK
        finally:
            if counted:
                self._reader.opened.remove(wall)
            if recipient.place == BUSY:
                self._queue.line_up(recipient, self._clock.monotonic())

    def _gives_up(self, message: Queued, wall: datetime) -> bool:
        """Whether a message with an unknown outcome has had its last try: each one may have reached the person."""
        return message.fail_unknown or message.expires_at <= wall or message.attempt >= self._rules.attempts

    async def _send(self, message: Queued) -> Receipt:
        """The call to the network, and only while the lease holds."""
        if not self._alive() or self._network is None:
            raise StaleOwner
        outgoing = Outgoing(message.id, message.attempt, message.phone, message.type, message.content, message.reply_to)
        try:
            return await self._network.send(outgoing)
        except Exception as error:  # a message that breaks its own adapter must not break its channel
            log.exception("send broke", channel=self._channel.id, message=message.id.hex)
            title = "The message could not be put into the network's form"
            return Refused(NetworkError(0, title, str(error)), Reaction.FINAL)

    async def _follow(self, recipient: Recipient, message: Queued, receipt: Receipt) -> None:
        """Does what the network's answer asks for."""
        verdict = judge(receipt, message.attempt, recipient.refusals, self._rules, random.random())
        if isinstance(verdict, End):
            recipient.refusals = self._refusals = 0
            await self._finish(message, verdict)
        elif isinstance(verdict, Again):
            await self._again(recipient, message, verdict)
        else:
            self._await_status(message, verdict)

    def _await_status(self, message: Queued, verdict: Await) -> None:
        log.warning("answer lost", channel=self._channel.id, message=message.id.hex, reason=verdict.reason)
        message.not_before = self._clock.monotonic() + verdict.grace

    async def _again(self, recipient: Recipient, message: Queued, verdict: Again) -> None:
        """Back into the queue, and not before its wait is over."""
        if verdict.hold_channel:
            self._hold_channel(str(verdict.error["title"]))
        elif verdict.wait:
            recipient.refusals += 1
        next_at = self._clock.now() + timedelta(seconds=verdict.wait)
        message.not_before = self._clock.monotonic() + verdict.wait
        result = Result(message.id, message.attempt, State.QUEUED, error=verdict.error, next_at=next_at)
        if await self._commit(result) is State.QUEUED:
            message.state = State.QUEUED
        else:
            self._queue.forget(message, self._clock.monotonic())

    def _hold_channel(self, because: str) -> None:
        now = self._clock.monotonic()
        if now >= self._held_until:
            self._held_until = now + pace.channel_hold(self._refusals)
            self._held_because = because
            self._refusals += 1

    async def _finish(self, message: Queued, end: End) -> None:
        """Commits an end, and forgets the message."""
        result = Result(message.id, message.attempt, end.state, end.network_id, end.error, send_at=message.send_at)
        await self._commit(result)
        self._queue.forget(message, self._clock.monotonic())

    async def _commit(self, result: Result) -> State:
        """Writes a result, however long the database is away, as long as the lease holds."""
        while True:
            try:
                return await self._ledger.finish(self.lease, self._channel, result)
            except Unavailable:
                if not self._alive():
                    raise StaleOwner from None
                await asyncio.sleep(_TICK / 2)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._bell.set()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._stopping = True
            if not isinstance(error, StaleOwner):
                log.error("lane broke", channel=self._channel.id, exc_info=error)

    # -- keeping books ------------------------------------------------------------------------------------------------

    @property
    def _unsaved(self) -> bool:
        return self._saved is None or self._saved[0] != self._reader.floor()

    async def _save(self) -> None:
        """Notes how far sending has come and what holds it back."""
        state = (self._reader.floor(), msgspec.json.encode(self._pace_shown()).decode())
        if state != self._saved:
            self._saved = state
            await save_pace(self._ledger.db, self.lease, *state)

    def _pace_shown(self) -> dict[str, Any]:
        wall, now, opened = self._clock.now(), self._clock.monotonic(), self._reader.opened
        self._tier_is_full(wall)
        shown: dict[str, Any] = {"tier": {"used": len(opened), "limit": self._limits.tier}, "waiting": None}
        if self._network is None:
            shown["waiting"] = {"because": "The channel is not connected", "until": None}
        elif self._queue.waiting_for_tier():
            until = wall + pace.tier_wait(opened, self._limits.tier, wall)
            shown["waiting"] = {
                "because": "The number may open no more conversations within 24 hours",
                "until": times.show(until),
            }
        elif now < self._held_until:
            until = wall + timedelta(seconds=self._held_until - now)
            shown["waiting"] = {"because": self._held_because, "until": times.show(until)}
        return shown

    async def _wait(self, again: float | None) -> None:
        """Until the bell rings or the time comes."""
        if self._bell.is_set():
            return
        handle = None
        if again is not None:
            delay = max(0.0, again - self._clock.monotonic())
            handle = asyncio.get_running_loop().call_later(delay, self._bell.set)
        await self._bell.wait()
        if handle:
            handle.cancel()
