"""People whose phone is offline for a while: what happens on the phone waits until it is back.

hold(person, message, fire) ─► held ─── end ───► the clock, in the order and with the gaps that were planned
"""

from collections.abc import Callable
from functools import partial

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.watch import Watch

FOREVER = float("inf")


class Offline:
    """The people who are offline."""

    def __init__(self, clock: Clock, watch: Watch) -> None:
        self._clock = clock
        self._watch = watch
        self._until: dict[str, float] = {}
        self._held: dict[str, list[tuple[float, str, Callable[[], object]]]] = {}

    def until(self, person: str) -> float | None:
        """Return when a person is back, infinity if nobody knows; None for a person who is online."""
        return self._until.get(person)

    def hold(self, person: str, message_id: str, fire: Callable[[], object]) -> bool:
        """Keep an event of a message until the person is back; return False if the person is online."""
        if person not in self._until:
            return False
        self._held.setdefault(person, []).append((self._clock.now(), message_id, fire))
        return True

    def begin(self, person: str, seconds: float | None) -> None:
        """Take a person's phone offline, for some seconds or until `end`."""
        until = FOREVER if seconds is None else self._clock.now() + seconds
        self._until[person] = until
        if until < FOREVER:
            self._clock.at(until, partial(self._expire, person, until))

    def end(self, person: str) -> None:
        """Bring a person's phone back."""
        now, starts = self._clock.now(), dict[str, float]()
        self._until.pop(person, None)
        for planned, message_id, fire in self._held.pop(person, []):
            self._clock.at(now + planned - starts.setdefault(message_id, planned), fire)

    def _expire(self, person: str, until: float) -> None:
        if self._until.get(person) == until:
            self.end(person)
            self._watch.changed("people")
