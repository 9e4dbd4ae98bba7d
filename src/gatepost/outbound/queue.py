"""The queue of one channel in memory: who is next?

    add ─► recipient ─► ready (chat) ─┐
                     ─► ready (bulk) ─┴─► peek, take ─► busy: one message in flight per recipient
                     ─► parked until t                 (pair limit, back-off, waiting for a lost answer)
                     ─► tier: waits until a conversation may be opened again

A recipient stands in one place at a time. Chat goes ahead of bulk. No clock and no I/O in here. A recipient is one
person: by number or by contact; two that turn out to be one go on in one line.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from gatepost.model import waits
from gatepost.model.message import State
from gatepost.outbound.wait_history import WaitCause, WaitCauses
from gatepost.store.messages.queue import QueuedState
from gatepost.store.messages.send import QueuedMessage

IDLE, CHAT, BULK, PARKED, TIER, BUSY = "idle", "chat", "bulk", "parked", "tier", "busy"
_REMEMBERED = 10_000
Name = str | UUID  # a number, or a contact


class QueuedRecipient:
    """One conversation's messages, in their order, and its share of the pair limit."""

    __slots__ = ("bulk", "burst_started", "causes", "chat", "flying", "names", "pair_due", "place", "refusals")

    def __init__(self) -> None:
        self.names: set[Name] = set()
        self.chat: deque[QueuedMessage] = deque()
        self.bulk: deque[QueuedMessage] = deque()
        self.flying: list[QueuedMessage] = []  # one; more only when two recipients became one meanwhile
        self.place = IDLE
        self.burst_started = 0.0
        self.pair_due = 0.0
        self.refusals = 0
        self.causes = WaitCauses()

    def note_opened(self, at: datetime) -> None:
        """The conversation is open now: whatever else waits for this person opens none."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = at

    def forget_opened(self) -> None:
        """The network would not have the conversation opened: the next try is to open it again."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = None

    def take_in(self, other: "QueuedRecipient") -> None:
        """Goes on for both: their messages in the order in which they came, and the longer of their waits."""
        self.names |= other.names
        self.chat, self.bulk = _in_turn(self.chat, other.chat), _in_turn(self.bulk, other.bulk)
        self.flying += other.flying
        started, due = max((self.pair_due, self.burst_started), (other.pair_due, other.burst_started))[::-1]
        self.burst_started, self.pair_due = started, due
        self.refusals = max(self.refusals, other.refusals)
        self.causes.take_in(other.causes)
        other.chat, other.bulk, other.flying, other.place = deque(), deque(), [], IDLE

    @property
    def head(self) -> QueuedMessage | None:
        if self.chat:
            return self.chat[0]
        return self.bulk[0] if self.bulk else None


def _in_turn(one: Iterable[QueuedMessage], other: Iterable[QueuedMessage]) -> deque[QueuedMessage]:
    return deque(sorted((*one, *other), key=lambda message: message.turn))


class SendQueue:
    """All that is unsettled on a channel."""

    def __init__(self) -> None:
        self._recipients: dict[Name, QueuedRecipient] = {}
        self._ready: dict[str, deque[QueuedRecipient]] = {CHAT: deque(), BULK: deque()}
        self._parked: list[tuple[float, int, QueuedRecipient]] = []
        self._ticket = 0
        self._messages: dict[UUID, QueuedMessage] = {}
        self.bulk_count = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: UUID) -> bool:
        return message_id in self._messages

    @property
    def chat_count(self) -> int:
        return len(self._messages) - self.bulk_count

    def messages(self) -> Iterator[QueuedMessage]:
        return iter(self._messages.values())

    def place_of(self, message: QueuedMessage) -> str:
        """Where a message stands in the queue."""
        return self.recipient_of(message).place

    def recipient_of(self, message: QueuedMessage) -> QueuedRecipient:
        return self._recipients[message.phone]

    def add(self, message: QueuedMessage, now: float) -> None:
        """Puts a message behind the others of its recipient."""
        if len(self._recipients) > 2 * (len(self._messages) + _REMEMBERED):
            self._forget_idle(now)
        recipient = self._find(message, now)
        self._ticket += 1
        message.turn = self._ticket
        (recipient.bulk if message.bulk else recipient.chat).append(message)
        self._messages[message.id] = message
        self.bulk_count += message.bulk
        if recipient.place == IDLE or (recipient.place == BULK and not message.bulk):
            self.line_up(recipient, now)

    def _find(self, message: QueuedMessage, now: float) -> QueuedRecipient:
        """Whom it is for: known by number or by contact, and one person where both are known."""
        recipient = self._recipients.get(message.phone) or QueuedRecipient()
        other = self._recipients.get(message.contact_id, recipient)
        recipient.names |= {message.phone, message.contact_id}
        if other is not recipient:
            recipient.take_in(other)
            self._place_again(recipient, now)
        for name in recipient.names if other is not recipient else (message.phone, message.contact_id):
            self._recipients[name] = recipient
        return recipient

    def _place_again(self, recipient: QueuedRecipient, now: float) -> None:
        if recipient.flying:
            recipient.place = BUSY
        else:
            self.line_up(recipient, now)

    def follow(self, standing: QueuedState, now: float) -> None:
        """A message's row may have changed: one that has ended is dropped, one with another contact changes its line.

        Messages in flight, or whose end is being written, are skipped: the commit that is under way sees the change.
        """
        message = self._messages.get(standing.id)
        if message is None:
            return
        if standing.state not in (State.QUEUED, State.SENDING):
            if message.state is not State.EXPIRED and message not in self.recipient_of(message).flying:
                self.forget(message, now)
        elif message.contact_id != standing.contact_id:
            message.contact_id = standing.contact_id
            message.last_in_at, message.opened_at = standing.last_in_at, standing.opened_at
            self._find(message, now)

    def withdraw(self, message: QueuedMessage, now: float) -> None:
        """Takes a message out of its line; it still counts as unsettled."""
        recipient = self._recipients[message.phone]
        led = recipient.head is message
        line = recipient.bulk if message.bulk else recipient.chat
        if message in line:
            line.remove(message)
        if led and recipient.place in (CHAT, BULK):  # what comes up may not go yet, or not as chat
            self.line_up(recipient, now)

    def forget(self, message: QueuedMessage, now: float) -> None:
        """A message is settled: its recipient's next one may come up."""
        self.withdraw(message, now)
        if self._messages.pop(message.id, None) is not None:
            self.bulk_count -= message.bulk
        recipient = self._recipients[message.phone]
        if recipient.place in (PARKED, TIER):
            self.line_up(recipient, now)

    def line_up(self, recipient: QueuedRecipient, now: float) -> None:
        """Gives a recipient the place that fits its first message."""
        head = recipient.head
        recipient.causes.end(now)
        if head is None:
            recipient.place = IDLE
            recipient.causes.forget()
        elif now < head.not_before:
            rule = waits.UNKNOWN if head.state is State.SENDING else waits.RETRY
            self.park(recipient, head.not_before, WaitCause(rule, now, head.id))
        else:
            recipient.place = CHAT if recipient.chat else BULK
            self._ready[recipient.place].append(recipient)

    def park(self, recipient: QueuedRecipient, until: float, cause: WaitCause | None = None) -> None:
        recipient.place = PARKED
        recipient.causes.begin(cause)
        self._ticket += 1
        heapq.heappush(self._parked, (until, self._ticket, recipient))

    def wake_parked(self, now: float) -> None:
        """Lines up everyone whose time has come."""
        while self._parked and self._parked[0][0] <= now:
            _, _, recipient = heapq.heappop(self._parked)
            if recipient.place == PARKED:
                self.line_up(recipient, now)

    def next_wake(self) -> float | None:
        return self._parked[0][0] if self._parked else None

    def peek(self) -> tuple[QueuedRecipient, QueuedMessage] | None:
        """Who is next, and with what. Entries whose recipient has moved on are dropped on the way."""
        for place in (CHAT, BULK):
            line = self._ready[place]
            while line:
                recipient = line[0]
                if recipient.place == place and recipient.head is not None:
                    return recipient, recipient.head
                if recipient.place == place:
                    recipient.place = IDLE
                line.popleft()
        return None

    def take(self, recipient: QueuedRecipient, place: str, cause: WaitCause | None = None) -> None:
        """Moves the recipient that `peek` showed to another place; a busy one has its first message in flight."""
        self._ready[recipient.place].popleft()
        recipient.place = place
        recipient.causes.begin(cause)
        if place == BUSY and recipient.head is not None:
            recipient.flying.append(recipient.head)

    def land(self, message: QueuedMessage, now: float) -> None:
        """A message is no longer in flight: its recipient's next one may come up."""
        recipient = self._recipients[message.phone]
        recipient.flying.remove(message)
        if not recipient.flying:
            self.line_up(recipient, now)

    def waiting_for_tier(self) -> list[tuple[QueuedRecipient, QueuedMessage]]:
        waiting = {id(r): r for r in self._recipients.values() if r.place == TIER}
        return [(r, r.head) for r in waiting.values() if r.head is not None]

    def waiting_for_pair(self, now: float) -> list[float]:
        """When those may be written to again who have had their share for now."""
        parked = {id(r): r for r in map(self.recipient_of, self.messages()) if r.place == PARKED}
        return [r.pair_due for r in parked.values() if r.head and r.head.not_before <= now < r.pair_due]

    def _forget_idle(self, now: float) -> None:
        """Who has nothing to send is remembered as long as the pair limit, or an end that is being written, asks."""
        needed = {id(self.recipient_of(message)) for message in self._messages.values()}
        known = self._recipients.items()
        self._recipients = {n: r for n, r in known if r.place != IDLE or id(r) in needed or r.pair_due > now}
