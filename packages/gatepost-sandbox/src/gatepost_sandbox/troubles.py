"""Faults on the way of an update to the outbox: left out, stripped, late, doubled or in the wrong order."""

from functools import partial
from typing import Protocol

from gatepost_sandbox.clock import Clock
from gatepost_sandbox.faults import Armed, Faults
from gatepost_sandbox.wire import Update, without_echo

HOLD_SECONDS = 5.0  # how long a reordering rule waits for company unless told otherwise


class Sink(Protocol):
    """Takes updates."""

    def put(self, update: Update) -> None:
        """Send an update on its way."""


class Addressee(Protocol):
    """Whom an update is for: an official number, or a device of a phone."""

    @property
    def id(self) -> str:
        """What rules know it by."""

    @property
    def outbox(self) -> Sink:
        """Where its updates go."""


class Troubles:
    """Applies every rule that strikes an update, in the order the rules were made."""

    def __init__(self, clock: Clock, faults: Faults) -> None:
        self._clock = clock
        self._faults = faults

    def pass_on(self, number: Addressee, update: Update) -> None:
        """Hand an update to the number's outbox, or do to it what the rules say."""
        struck = [rule for rule in self._faults.on_updates if rule.strike(number.id, update.person, update.label)]
        faults = {armed.rule.fault: armed for armed in struck}
        if "suppress" in faults:
            return
        if "drop_echo" in faults:
            update = without_echo(update)
        copies = faults["duplicate"].rule.copies if "duplicate" in faults else 1
        late = sum(armed.rule.seconds or 0.0 for armed in struck if armed.rule.fault == "delay")
        for _ in range(copies):
            if late:
                self._clock.at(self._clock.now() + late, partial(number.outbox.put, update))
            elif "reorder" in faults:
                self._hold(number, update, faults["reorder"])
            else:
                number.outbox.put(update)

    def _hold(self, number: Addressee, update: Update, armed: Armed) -> None:
        armed.held.append((number.outbox.put, update))
        if len(armed.held) >= armed.rule.hold:
            armed.release()
        elif len(armed.held) == 1:
            wait = HOLD_SECONDS if armed.rule.seconds is None else armed.rule.seconds
            self._clock.at(self._clock.now() + wait, partial(armed.release, armed.held))
