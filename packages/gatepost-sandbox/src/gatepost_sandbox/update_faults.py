"""Faults of updates: suppressed, stripped, delayed, duplicated or reordered."""

from functools import partial
from typing import Protocol

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.faults import ActiveRule, Faults
from gatepost_sandbox.wire import Update, without_echo

HOLD_SECONDS = 5.0  # default time that a reordering rule waits for more updates


class Sink(Protocol):
    """Accepts updates."""

    def put(self, update: Update) -> None:
        """Queue an update."""


class UpdateTarget(Protocol):
    """The recipient of an update: an official number, or a device of a phone."""

    @property
    def id(self) -> str:
        """The id that rules match."""

    @property
    def outbox(self) -> Sink:
        """The outbox of its updates."""


class UpdateFaults:
    """Applies every matching rule to an update, oldest rule first."""

    def __init__(self, clock: Clock, faults: Faults) -> None:
        self._clock = clock
        self._faults = faults

    def apply(self, number: UpdateTarget, update: Update) -> None:
        """Apply the matching rules to an update, and queue the result."""
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
