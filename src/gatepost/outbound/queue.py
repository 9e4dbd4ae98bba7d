"""The queue of one channel in memory: who is next?

    add ─► recipient ─► ready (chat) ─┐
                     ─► ready (bulk) ─┴─► peek, take ─► busy: one message in flight per recipient
                     ─► parked until t                 (pair limit, back-off, waiting for a lost answer)
                     ─► tier: waits until a conversation may be opened again

A recipient stands in one place at a time. Chat goes ahead of bulk. No clock and no I/O in here.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from gatepost.store.sending import Queued

IDLE, CHAT, BULK, PARKED, TIER, BUSY = "idle", "chat", "bulk", "parked", "tier", "busy"
_REMEMBERED = 10_000


class Recipient:
    """One conversation's messages, in their order, and its share of the pair limit."""

    __slots__ = ("bulk", "burst_started", "chat", "pair_due", "phone", "place", "refusals")

    def __init__(self, phone: str) -> None:
        self.phone = phone
        self.chat: deque[Queued] = deque()
        self.bulk: deque[Queued] = deque()
        self.place = IDLE
        self.burst_started = 0.0
        self.pair_due = 0.0
        self.refusals = 0

    def note_opened(self, at: datetime) -> None:
        """The conversation is open now: whatever else waits for this person opens none."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = at

    def forget_opened(self) -> None:
        """The network would not have the conversation opened: the next try is to open it again."""
        for message in (*self.chat, *self.bulk):
            message.opened_at = None

    def leads(self, message: Queued) -> bool:
        """Whether it is the first of its kind, and so the one that may be in flight."""
        line = self.bulk if message.bulk else self.chat
        return bool(line) and line[0] is message

    @property
    def head(self) -> Queued | None:
        if self.chat:
            return self.chat[0]
        return self.bulk[0] if self.bulk else None


class Queue:
    """All that is unsettled on a channel."""

    def __init__(self) -> None:
        self._recipients: dict[str, Recipient] = {}
        self._ready: dict[str, deque[Recipient]] = {CHAT: deque(), BULK: deque()}
        self._parked: list[tuple[float, int, Recipient]] = []
        self._ticket = 0
        self._messages: dict[UUID, Queued] = {}
        self.bulk_count = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: UUID) -> bool:
        return message_id in self._messages

    @property
    def chat_count(self) -> int:
        return len(self._messages) - self.bulk_count

    def messages(self) -> Iterator[Queued]:
        return iter(self._messages.values())

    def recipient_of(self, message: Queued) -> Recipient:
        return self._recipients[message.phone]

    def add(self, message: Queued, now: float) -> None:
        """Puts a message behind the others of its recipient."""
        if len(self._recipients) > len(self._messages) + _REMEMBERED:
            self._forget_idle(now)
        recipient = self._recipients.get(message.phone)
        if recipient is None:
            recipient = self._recipients[message.phone] = Recipient(message.phone)
        (recipient.bulk if message.bulk else recipient.chat).append(message)
        self._messages[message.id] = message
        self.bulk_count += message.bulk
        if recipient.place == IDLE or (recipient.place == BULK and not message.bulk):
            self.line_up(recipient, now)

    def withdraw(self, message: Queued, now: float) -> None:
        """Takes a message out of its line; it still counts as unsettled."""
        recipient = self._recipients[message.phone]
        led = recipient.head is message
        line = recipient.bulk if message.bulk else recipient.chat
        if message in line:
            line.remove(message)
        if led and recipient.place in (CHAT, BULK):  # what comes up may not go yet, or not as chat
            self.line_up(recipient, now)

    def forget(self, message: Queued, now: float) -> None:
        """A message is settled: its recipient's next one may come up."""
        self.withdraw(message, now)
        if self._messages.pop(message.id, None) is not None:
            self.bulk_count -= message.bulk
        recipient = self._recipients[message.phone]
        if recipient.place in (PARKED, TIER):
            self.line_up(recipient, now)

    def line_up(self, recipient: Recipient, now: float) -> None:
        """Gives a recipient the place that fits its first message."""
        head = recipient.head
        if head is None:
            recipient.place = IDLE
        elif now < head.not_before:
            self.park(recipient, head.not_before)
        else:
            recipient.place = CHAT if recipient.chat else BULK
            self._ready[recipient.place].append(recipient)

    def park(self, recipient: Recipient, until: float) -> None:
        recipient.place = PARKED
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

    def peek(self) -> tuple[Recipient, Queued] | None:
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

    def take(self, recipient: Recipient, place: str) -> None:
        """Moves the recipient that `peek` showed to another place."""
        self._ready[recipient.place].popleft()
        recipient.place = place

    def waiting_for_tier(self) -> list[tuple[Recipient, Queued]]:
        return [(r, r.head) for r in self._recipients.values() if r.place == TIER and r.head is not None]

    def _forget_idle(self, now: float) -> None:
        """Recipients with nothing to send are remembered only as long as the pair limit needs it."""
        self._recipients = {phone: r for phone, r in self._recipients.items() if r.place != IDLE or r.pair_due > now}
