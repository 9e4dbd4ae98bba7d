"""The queue of one channel in memory: which recipient is next?

    add ─► recipient ─► ready (chat) ─┐
                     ─► ready (bulk) ─┴─► peek, take ─► busy: one message in flight per recipient
                     ─► parked until t                 (pair limit, back-off, waiting for a lost answer)
                     ─► tier: waits until a conversation may be opened again

A recipient is in one place at a time. Chat is sent before bulk. No clock and no I/O in here. A recipient is one person,
known by number or by contact; two that turn out to be the same person are merged.
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
_FORGET = 10.0  # seconds between two looks for recipients that nothing needs any more
_LONG = 4 << 10  # bytes that count as one message more
Name = str | UUID  # a number, or a contact


class QueuedRecipient:
    """One conversation's messages, in order, and its use of the pair limit."""

    __slots__ = ("bulk", "burst_started", "causes", "chat", "in_flight", "names", "pair_due", "place", "refusals")

    def __init__(self, waiting: dict[str, int] | None = None) -> None:
        self.names: set[Name] = set()
        self.chat: deque[QueuedMessage] = deque()
        self.bulk: deque[QueuedMessage] = deque()
        self.in_flight: list[QueuedMessage] = []  # one; more only when two recipients became one meanwhile
        self.place = IDLE
        self.burst_started = 0.0
        self.pair_due = 0.0
        self.refusals = 0
        self.causes = WaitCauses(waiting)

    def note_opened(self, at: datetime) -> None:
        """The conversation is open now: the other messages to this person do not open it."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = at

    def forget_opened(self) -> None:
        """The network refused to open the conversation: the next message opens it."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = None

    def merge(self, other: "QueuedRecipient") -> None:
        """Takes over the other's messages, in the order of both, and the longer wait of the two."""
        self.names |= other.names
        self.chat, self.bulk = _in_turn(self.chat, other.chat), _in_turn(self.bulk, other.bulk)
        self.in_flight += other.in_flight
        started, due = max((self.pair_due, self.burst_started), (other.pair_due, other.burst_started))[::-1]
        self.burst_started, self.pair_due = started, due
        self.refusals = max(self.refusals, other.refusals)
        self.causes.merge(other.causes)
        other.chat, other.bulk, other.in_flight, other.place = deque(), deque(), [], IDLE

    @property
    def head(self) -> QueuedMessage | None:
        if self.chat:
            return self.chat[0]
        return self.bulk[0] if self.bulk else None


def _in_turn(one: Iterable[QueuedMessage], other: Iterable[QueuedMessage]) -> deque[QueuedMessage]:
    return deque(sorted((*one, *other), key=lambda message: message.turn))


def weight(message: QueuedMessage) -> int:
    """A long message counts as many, so that the memory of a queue is limited."""
    return 1 + message.size // _LONG


class SendQueue:
    """All messages of a channel that are not settled."""

    def __init__(self) -> None:
        self._recipients: dict[Name, QueuedRecipient] = {}
        self._ready: dict[str, deque[QueuedRecipient]] = {CHAT: deque(), BULK: deque()}
        self._parked: list[tuple[float, int, QueuedRecipient]] = []
        self._ticket = 0
        self._messages: dict[UUID, QueuedMessage] = {}
        self._for_tier: list[QueuedRecipient] = []  # also some that wait no longer
        self._forget_at = 0.0
        self.weights = {False: 0, True: 0}  # of chat and bulk: how many short messages they count as
        self.waiting = dict.fromkeys(waits.CONVERSATION_RULES, 0)  # recipients that wait, by rule

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: UUID) -> bool:
        return message_id in self._messages

    @property
    def first(self) -> QueuedMessage | None:
        """The message that has been in the queue for the longest time."""
        return next(iter(self._messages.values()), None)

    def messages(self) -> Iterator[QueuedMessage]:
        return iter(self._messages.values())

    def place_of(self, message: QueuedMessage) -> str:
        """The place of a message's recipient."""
        return self.recipient_of(message).place

    def recipient_of(self, message: QueuedMessage) -> QueuedRecipient:
        return self._recipients[message.phone]

    def add(self, message: QueuedMessage, now: float) -> None:
        """Adds a message after the others of its recipient."""
        recipient = self._find(message, now)
        self._ticket += 1
        message.turn = self._ticket
        (recipient.bulk if message.bulk else recipient.chat).append(message)
        self._messages[message.id] = message
        self.weights[message.bulk] += weight(message)
        if recipient.place == IDLE or (recipient.place == BULK and not message.bulk):
            self.enqueue(recipient, now)

    def _find(self, message: QueuedMessage, now: float, before: QueuedRecipient | None = None) -> QueuedRecipient:
        """Finds the recipient by number or by contact, and merges the two, and the one before, if they differ."""
        recipient = before or self._recipients.get(message.phone) or QueuedRecipient(self.waiting)
        named: tuple[Name, ...] = (message.phone, message.contact_id)
        recipient.names.update(named)
        for name in named:
            other = self._recipients.get(name, recipient)
            if other is not recipient:
                recipient.merge(other)
                self._recipients |= dict.fromkeys(recipient.names, recipient)
                self._place_again(recipient, now)
        self._recipients |= dict.fromkeys(named, recipient)
        return recipient

    def _place_again(self, recipient: QueuedRecipient, now: float) -> None:
        if recipient.in_flight:
            recipient.place = BUSY
        else:
            self.enqueue(recipient, now)

    def apply_change(self, row: QueuedState, now: float) -> None:
        """Applies a message's row: one that has ended is dropped, one with another address changes its recipient.

        Messages in flight, or whose end is being written, are skipped: the commit that is under way sees the change.
        """
        message = self._messages.get(row.id)
        if message is None:
            return
        if row.state not in (State.QUEUED, State.SENDING):
            if message.state is not State.EXPIRED and message not in self.recipient_of(message).in_flight:
                self.forget(message, now)
        elif (message.contact_id, message.phone) != (row.contact_id, row.phone):
            before = self.recipient_of(message)
            message.contact_id, message.phone = row.contact_id, row.phone
            message.last_in_at, message.opened_at = row.last_in_at, row.opened_at
            self._find(message, now, before)

    def withdraw(self, message: QueuedMessage, now: float) -> None:
        """Removes a message from its recipient; it still counts as unsettled."""
        recipient = self._recipients[message.phone]
        led = recipient.head is message
        line = recipient.bulk if message.bulk else recipient.chat
        if message in line:
            line.remove(message)
        if led and recipient.place in (CHAT, BULK):  # the next one may have to wait, or be bulk
            self.enqueue(recipient, now)

    def forget(self, message: QueuedMessage, now: float) -> None:
        """Removes a settled message; the recipient's next one may be sent."""
        self.withdraw(message, now)
        if self._messages.pop(message.id, None) is not None:
            self.weights[message.bulk] -= weight(message)
        recipient = self._recipients[message.phone]
        if recipient.place in (PARKED, TIER):
            self.enqueue(recipient, now)

    def enqueue(self, recipient: QueuedRecipient, now: float) -> None:
        """Puts a recipient into the place that its first message needs."""
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
        """Enqueues the recipients whose wait is over."""
        while self._parked and self._parked[0][0] <= now:
            _, _, recipient = heapq.heappop(self._parked)
            if recipient.place == PARKED:
                self.enqueue(recipient, now)

    def next_wake(self) -> float | None:
        return self._parked[0][0] if self._parked else None

    def peek(self) -> tuple[QueuedRecipient, QueuedMessage] | None:
        """The next recipient and its message. Drops entries of recipients that are in another place by now."""
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
        """Moves the recipient that `peek` returned to another place; a busy one has its first message in flight."""
        self._ready[recipient.place].popleft()
        recipient.place = place
        recipient.causes.begin(cause)
        if place == TIER:
            self._for_tier.append(recipient)
        if place == BUSY and recipient.head is not None:
            recipient.in_flight.append(recipient.head)

    def attempt_done(self, message: QueuedMessage, now: float) -> None:
        """A message is no longer in flight: the recipient's next one may be sent."""
        recipient = self._recipients[message.phone]
        recipient.in_flight.remove(message)
        if not recipient.in_flight:
            self.enqueue(recipient, now)

    def waiting_for_tier(self) -> list[tuple[QueuedRecipient, QueuedMessage]]:
        waiting = {id(r): r for r in self._for_tier if r.place == TIER}
        self._for_tier = list(waiting.values())
        return [(r, r.head) for r in self._for_tier if r.head is not None]

    def waiting_for_pair(self, now: float) -> list[float]:
        """When each recipient that waits for the pair limit may be sent to again."""
        parked = {id(r): r for r in map(self.recipient_of, self.messages()) if r.place == PARKED}
        return [r.pair_due for r in parked.values() if r.head and r.head.not_before <= now < r.pair_due]

    def forget_idle(self, now: float) -> None:
        """Forgets recipients without messages, unless the pair limit or a result that is being written needs them.

        Otherwise the memory of a channel grows with the people that it has ever written to.
        """
        if now < self._forget_at:
            return
        self._forget_at = now + _FORGET
        needed = {id(self.recipient_of(message)) for message in self._messages.values()}
        known = self._recipients.items()
        self._recipients = {n: r for n, r in known if r.place != IDLE or id(r) in needed or r.pair_due > now}
