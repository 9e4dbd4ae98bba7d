"""Remembering why messages waited, for their trace.

a cause begins ─► it ends ─► kept if it was long ─► each message that waited through it takes it along with its
                             (2 s, memory only)       next intent, or with its end

Causes belong to a conversation or to the whole channel, never to a single message: a campaign of 100,000 that waits
for one thing costs one entry here.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model import ids, times, waits
from gatepost.store.messages.send import QueuedMessage

NOTED = 2.0  # seconds: what is shorter is not worth a step in the trace
_KEPT = 20  # causes of one conversation, or of the channel
_SHOWN = 20  # waits before one attempt


class WaitCause(msgspec.Struct, frozen=True):
    """Why a conversation or a channel waits, since when, and because of which message."""

    rule: str
    since: float
    message_id: UUID | None = None
    because: str = ""

    def same_as(self, other: "WaitCause") -> bool:
        """Whether it is the same, but for its time."""
        mine, its = (self.rule, self.message_id, self.because), (other.rule, other.message_id, other.because)
        return mine == its

    def ahead_of(self, message_id: UUID) -> UUID | None:
        """The other message that it is due to."""
        return self.message_id if self.message_id != message_id else None

    def words(self, message_id: UUID) -> str:
        """Why that message waits."""
        return self.because or waits.words(self.rule, ahead=self.ahead_of(message_id) is not None)


class WaitCauses:
    """The causes of one conversation, or of one channel: the current one and earlier ones."""

    __slots__ = ("_counts", "_past", "now")

    def __init__(self, counts: dict[str, int] | None = None) -> None:
        """With `counts`, the current cause is counted there by its rule."""
        self.now: WaitCause | None = None
        self._counts = counts
        self._past: list[tuple[WaitCause, float]] = []

    def begin(self, cause: WaitCause | None) -> None:
        """Starts another cause. The same cause continues, even after a short interruption."""
        if cause is None or (self.now is not None and cause.same_as(self.now)):
            return
        self.end(cause.since)
        if self._past and cause.same_as(self._past[-1][0]) and cause.since - self._past[-1][1] < NOTED:
            cause = self._past.pop()[0]
        self.now = cause
        if self._counts is not None:
            self._counts[cause.rule] += 1

    def end(self, now: float) -> None:
        """Ends the current cause."""
        if self.now is None:
            return
        if self._counts is not None:
            self._counts[self.now.rule] -= 1
        if now - self.now.since >= NOTED:
            self._past.append((self.now, now))
            del self._past[:-_KEPT]
        self.now = None

    def merge(self, other: "WaitCauses") -> None:
        """Takes over the causes of a conversation that was merged into this one, and keeps its own current one."""
        if other.now is not None and other._counts is not None:
            other._counts[other.now.rule] -= 1
        other.now = None
        self._past = sorted([*self._past, *other._past], key=lambda past: past[1])[-_KEPT:]

    def forget(self) -> None:
        """Drops earlier causes: no message waits any more."""
        self._past.clear()

    def within(self, start: float, now: float) -> Iterator[tuple[WaitCause, float, float]]:
        """The causes that held for long after `start`, each with its part of that time."""
        current = [(self.now, now)] if self.now is not None else []
        for cause, end in (*self._past, *current):
            begin = max(start, cause.since)
            if end - begin >= NOTED:
                yield cause, begin, end


def waits_of(message: QueuedMessage, causes: Iterable[WaitCauses], now: float, wall: datetime) -> str | None:
    """Why a message waited since it was due, or since its last attempt, as JSON; None: it did not wait for long."""
    since = message.waits_since or max(message.created_at, message.send_at or message.created_at)
    if (wall - since).total_seconds() < NOTED:
        return None
    start = now - (wall - since).total_seconds()
    found = sorted((found for some in causes for found in some.within(start, now)), key=lambda found: found[1])
    if not found:
        return None
    steps = [_shown(message, cause, wall - timedelta(seconds=now - begin), wall - timedelta(seconds=now - end))
             for cause, begin, end in found[-_SHOWN:]]  # fmt: skip
    return msgspec.json.encode(steps).decode()


def _shown(message: QueuedMessage, cause: WaitCause, begin: datetime, end: datetime) -> dict[str, str | None]:
    ahead = cause.ahead_of(message.id)
    return {
        "rule": cause.rule,
        "because": cause.words(message.id),
        "from": times.format_time(begin),
        "until": times.format_time(end),
        "message_id": ids.message_id(ahead) if ahead else None,
    }
