"""Faults on the way of an update to the outbox: left out, stripped, late, doubled or in the wrong order."""

from functools import partial
from typing import Protocol

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.faults import ActiveRule, Faults
from gatepost_sandbox.wire import Update, without_echo

HOLD_SECONDS = 5.0  # how long a reordering rule waits for company unless told otherwise


class Sink(Protocol):
    """Takes updates."""

    def put(self, update: Update) -> None:
        """Send an update on its way."""


class UpdateTarget(Protocol):
    """Whom an update is for: an official number, or a device of a phone."""

    @property
    def id(self) -> str:
        """What rules know it by."""

    @property
    def outbox(self) -> Sink:
        """Where its updates go."""


class UpdateFaults:
    """Applies every rule that strikes an update, in the order the rules were made."""

    def __init__(self, clock: Clock, faults: Faults) -> None:
        self._clock = clock
        self._faults = faults

    def apply(self, number: UpdateTarget, update: Update) -> None:
        """Hand an update to the number's outbox, or do to it what the rules say."""
        struck = [rule for rule in self._faults.on_updates if rule.strike(number.id, update.person, update.label)]
        faults = {active.rule.fault: active for active in struck}
        if "suppress" in faults:
            return
        if "drop_echo" in faults:
            update = without_echo(update)
        copies = faults["duplicate"].rule.copies if "duplicate" in faults else 1
        late = sum(active.rule.seconds or 0.0 for active in struck if active.rule.fault == "delay")
        for _ in range(copies):
            if late:
                self._clock.at(self._clock.now() + late, partial(number.outbox.put, update))
            elif "reorder" in faults:
                self._hold(number, update, faults["reorder"])
            else:
                number.outbox.put(update)

    def _hold(self, number: UpdateTarget, update: Update, active: ActiveRule) -> None:
        active.held.append((number.outbox.put, update))
        if len(active.held) >= active.rule.hold:
            active.release()
        elif len(active.held) == 1:
            wait = HOLD_SECONDS if active.rule.seconds is None else active.rule.seconds
            self._clock.at(self._clock.now() + wait, partial(active.release, active.held))
