"""What all senders of a process have in their queues, added up when somebody asks."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from gatepost.model import waits


class SenderFigures(msgspec.Struct, frozen=True):
    """The queue of one sender."""

    queued: int
    oldest: float  # seconds since its first message was due
    conversations: Mapping[str, int]  # that wait, by rule
    held_by: str | None  # the rule because of which it sends nothing


class MeasuredSender(Protocol):
    @property
    def load(self) -> SenderFigures:
        """What waits in its queue now."""


class SendersNow(set[MeasuredSender]):
    """The running senders of a process."""

    def total(self) -> "SendersTotal":
        """Add up their figures: one step for each sender, however long its queue is."""
        conversations, held = dict.fromkeys(waits.CONVERSATION_RULES, 0), dict.fromkeys(waits.CHANNEL_RULES, 0)
        queued, oldest = 0, 0.0
        for load in [sender.load for sender in self]:
            if not load.queued:
                continue
            queued, oldest = queued + load.queued, max(oldest, load.oldest)
            for rule, count in load.conversations.items():
                conversations[rule] += count
            if load.held_by is not None:
                held[load.held_by] += 1
        return SendersTotal(queued, oldest, conversations, held)


class SendersTotal(msgspec.Struct, frozen=True):
    """The queues of all senders of a process."""

    queued: int
    oldest: float
    conversations: Mapping[str, int]
    held: Mapping[str, int]  # channels, by rule
