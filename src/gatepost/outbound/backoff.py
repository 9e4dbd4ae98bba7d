"""What holds a channel back at the network's wish, and for how long.

    everything      too fast, maintenance, unreachable    ─► a second, doubling to a minute; longer if the table says so
    new ones only   spam limit, reach-out time-lock       ─► a quarter of an hour, doubling; replies go on
    broken          locked, unpaid, banned, unregistered  ─► a minute, doubling to an hour; a state of the channel

When the time of one of the last two is over, a single message finds out how things stand; the others follow when it
was taken. Where messages were taken and failed later, that proves nothing yet: the next one waits for what becomes of
the first. Plain memory of the owner: the next owner finds out by itself.
"""

from gatepost.outbound import pace
from gatepost.outbound.send_decision import HoldBack

_WAITS = {HoldBack.CHANNEL: pace.channel_hold, HoldBack.NEW: pace.new_hold, HoldBack.BROKEN: pace.break_hold}


DOUBT = 900.0  # seconds that a number rests whose messages are taken and fail later
_PROOF = 30.0  # seconds in which a message that was taken would have failed


class Backoff:
    """The holds of one lane. `limited`: an earlier owner left the channel in trouble, and nobody has seen its end."""

    def __init__(self, *, limited: bool = False) -> None:
        self._limited = limited
        self._until = dict.fromkeys(_WAITS, 0.0)
        self._because = dict.fromkeys(_WAITS, "")
        self._refusals = dict.fromkeys(_WAITS, 0)
        self._doubted = False

    def hold(self, kind: HoldBack, because: str, now: float, at_least: float = 0.0) -> bool:
        """Begins a hold, unless one of this kind stands; True when that is news and not the old trouble still."""
        if now < self._until[kind]:
            return False
        news = not self._refusals[kind] or because != self._because[kind]
        self._until[kind] = now + max(_WAITS[kind](self._refusals[kind]), at_least)
        self._because[kind] = because
        self._refusals[kind] += 1
        return news

    def doubt(self, because: str, now: float, seconds: float) -> bool:
        """The number is broken though messages are taken: they fail later. True when that is news."""
        news = self.hold(HoldBack.BROKEN, because, now, seconds)
        self._until[HoldBack.BROKEN] = max(self._until[HoldBack.BROKEN], now + seconds)
        self._doubted = True
        return news

    def lock_new(self, until: float, because: str) -> None:
        """No new conversations before a time that the network itself named."""
        self._until[HoldBack.NEW] = max(until, self._until[HoldBack.NEW])
        self._because[HoldBack.NEW] = because

    def unlock_new(self) -> None:
        """The network itself says that conversations may be opened again."""
        self._until[HoldBack.NEW], self._refusals[HoldBack.NEW] = 0.0, 0

    def go_on(self) -> None:
        """What the whole number waited for is over: it may send faster than before."""
        self._until[HoldBack.CHANNEL], self._refusals[HoldBack.CHANNEL] = 0.0, 0

    def release(self, now: float, *, opened: bool) -> bool:
        """A message was taken. True when that ends a trouble: what left before a hold began proves nothing against it.

        Only a message that opened a conversation tells that they may be opened again.
        """
        if self._doubted and now >= self._until[HoldBack.BROKEN]:
            self._doubted, self._until[HoldBack.BROKEN] = False, now + _PROOF
        before = self.troubled or (self._limited and opened)
        self._limited = self._limited and not opened
        for kind in _WAITS:
            if now >= self._until[kind] and (opened or kind is not HoldBack.NEW):
                self._refusals[kind] = 0
        return before and not self.troubled

    @property
    def troubled(self) -> bool:
        """Whether the network's last word was that the number is in trouble."""
        return self.broken or self.wary

    @property
    def broken(self) -> bool:
        """Whether nothing has been taken since the number broke: one at a time may try."""
        return bool(self._refusals[HoldBack.BROKEN])

    @property
    def wary(self) -> bool:
        """Whether no conversation has been opened since the network forbade it: one at a time may try."""
        return bool(self._refusals[HoldBack.NEW])

    def wait(self, now: float) -> float:
        """How long nothing may leave."""
        return max(0.0, self._until[HoldBack.CHANNEL] - now, self._until[HoldBack.BROKEN] - now)

    def new_wait(self, now: float) -> float:
        """How long no conversation may be opened."""
        return max(0.0, self._until[HoldBack.NEW] - now)

    def reason(self, now: float) -> tuple[str, float] | None:
        """What holds everything at the moment, and for how long."""
        standing = [
            (self._until[kind] - now, kind) for kind in (HoldBack.BROKEN, HoldBack.CHANNEL) if now < self._until[kind]
        ]
        return (self._because[standing[0][1]], standing[0][0]) if standing else None

    def new_reason(self, now: float) -> tuple[str, float] | None:
        """The same for new conversations only."""
        wait = self.new_wait(now)
        return (self._because[HoldBack.NEW], wait) if wait else None
