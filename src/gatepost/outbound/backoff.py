"""Back-off of a channel after refusals by the network, in three scopes.

    channel   too fast, maintenance, unreachable    ─► a second, doubling to a minute; longer if the table says so
    new       spam limit, reach-out time-lock       ─► a quarter of an hour, doubling; replies are still sent
    broken    locked, unpaid, banned, unregistered  ─► a minute, doubling to an hour; shown as a state of the channel

When a back-off of the last two scopes is over, a single message is tried; the others follow when it was accepted. Where
messages were accepted and failed later, that proves nothing yet: the next one waits for the outcome of the first. Kept
in memory only: the next owner finds out in the same way.
"""

from gatepost.outbound import pace
from gatepost.outbound.send_decision import BackoffScope

_WAITS = {
    BackoffScope.CHANNEL: pace.channel_backoff,
    BackoffScope.NEW: pace.new_conversation_backoff,
    BackoffScope.BROKEN: pace.broken_number_backoff,
}


SUSPECT_SECONDS = 900.0  # seconds without sending for a number whose messages are accepted and fail later
_PROOF = 30.0  # seconds in which a message that was accepted would have failed


class Backoff:
    """The back-off of one sender. `limited`: an earlier owner reported trouble, and no success since."""

    def __init__(self, *, limited: bool = False) -> None:
        self._limited = limited
        self._until = dict.fromkeys(_WAITS, 0.0)
        self._because = dict.fromkeys(_WAITS, "")
        self._refusals = dict.fromkeys(_WAITS, 0)
        self._suspected: set[BackoffScope] = set()

    def start(self, scope: BackoffScope, because: str, now: float, at_least: float = 0.0) -> bool:
        """Starts a back-off, unless one of this scope is active; True if the reason is new."""
        if now < self._until[scope]:
            return False
        is_new = not self._refusals[scope] or because != self._because[scope]
        self._until[scope] = now + max(_WAITS[scope](self._refusals[scope]), at_least)
        self._because[scope] = because
        self._refusals[scope] += 1
        return is_new

    def suspect(self, because: str, now: float, seconds: float, scope: BackoffScope = BackoffScope.BROKEN) -> bool:
        """The number is in trouble although messages are accepted: they fail later. True if that is new."""
        is_new = self.start(scope, because, now, seconds)
        self._until[scope] = max(self._until[scope], now + seconds)
        self._suspected.add(scope)
        return is_new

    def lock_new(self, until: float, because: str) -> None:
        """No new conversations before a time that the network itself named."""
        self._until[BackoffScope.NEW] = max(until, self._until[BackoffScope.NEW])
        self._because[BackoffScope.NEW] = because

    def unlock_new(self) -> None:
        """The network itself says that conversations may be opened again."""
        self._until[BackoffScope.NEW], self._refusals[BackoffScope.NEW] = 0.0, 0
        self._suspected.discard(BackoffScope.NEW)

    def resume(self) -> None:
        """Ends the back-off of the whole channel: the network allows it to send faster than before."""
        self._until[BackoffScope.CHANNEL], self._refusals[BackoffScope.CHANNEL] = 0.0, 0

    def retry_broken(self) -> None:
        """Ends the wait of a broken number; a single message is tried."""
        self._until[BackoffScope.BROKEN] = 0.0

    def note_accepted(self, now: float, *, opened: bool) -> bool:
        """A message was accepted. True if that ends a trouble; a message sent before the back-off began proves nothing.

        Only a message that opened a conversation proves that they may be opened again.
        """
        proven = [s for s in _WAITS if now >= self._until[s] and (opened or s is not BackoffScope.NEW)]
        before = self.in_trouble or (self._limited and opened)
        self._limited = self._limited and not opened
        for scope in proven:
            if scope in self._suspected:
                self._suspected.remove(scope)
                self._until[scope] = now + _PROOF
            else:
                self._refusals[scope] = 0
        return before and not self.in_trouble

    @property
    def in_trouble(self) -> bool:
        """Whether the network reported trouble with the number, and has accepted nothing since."""
        return self.broken or self.cautious

    @property
    def broken(self) -> bool:
        """Whether nothing was accepted since the number broke: one message at a time is tried."""
        return bool(self._refusals[BackoffScope.BROKEN])

    @property
    def cautious(self) -> bool:
        """Whether no conversation was opened since the network refused one: one at a time is tried."""
        return bool(self._refusals[BackoffScope.NEW])

    def wait(self, now: float) -> float:
        """Seconds in which nothing may be sent."""
        return max(0.0, self._until[BackoffScope.CHANNEL] - now, self._until[BackoffScope.BROKEN] - now)

    def new_wait(self, now: float) -> float:
        """Seconds in which no conversation may be opened."""
        return max(0.0, self._until[BackoffScope.NEW] - now)

    def reason(self, now: float) -> tuple[str, float] | None:
        """Why nothing may be sent at the moment, and for how many seconds."""
        for scope in (BackoffScope.BROKEN, BackoffScope.CHANNEL):
            if now < self._until[scope]:
                return self._because[scope], self._until[scope] - now
        return None

    def new_reason(self, now: float) -> tuple[str, float] | None:
        """Why no conversation may be opened, and for how many seconds."""
        wait = self.new_wait(now)
        return (self._because[BackoffScope.NEW], wait) if wait else None
