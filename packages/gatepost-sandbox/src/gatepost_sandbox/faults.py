"""Fault injection: which send or callback fails, and how.

a send     ─► refuse · http_error · drop              (not accepted)
           ─► accept_drop · accept_hang               (accepted; the response is lost or late)
           ─► fail · hold                             (accepted; it fails later, or waits for a decision)
an update  ─► suppress · drop_echo · delay · duplicate · reorder      (every matching rule applies)
"""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from random import Random
from typing import Literal

import msgspec

from gatepost_sandbox.ids import stream
from gatepost_sandbox.wire import Update

REFUSING = frozenset({"refuse", "http_error", "drop"})
ACCEPTING = frozenset({"accept_drop", "accept_hang"})
OUTCOMES = frozenset({"fail", "hold"})
ON_UPDATES = frozenset({"suppress", "drop_echo", "delay", "duplicate", "reorder"})

Fault = Literal[
    "refuse",
    "http_error",
    "drop",
    "accept_drop",
    "accept_hang",
    "fail",
    "hold",
    "suppress",
    "drop_echo",
    "delay",
    "duplicate",
    "reorder",
]

Held = tuple[Callable[[Update], None], Update]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fault and what it applies to; an omitted field matches everything."""

    fault: Fault
    id: str = ""
    phone_number_id: str | None = None
    to: str | None = None  # digits, with * and ? as in file names
    labels: tuple[str, ...] | None = None  # of updates: sent, delivered, read, played, failed, message, or a field
    types: tuple[str, ...] | None = None  # of sends: text, image, template and so on
    link: str | None = None  # of sends: a link to a file, with * and ? as in file names
    nth: int | None = None  # only the nth match, counted from 1
    every: int | None = None  # each nth match
    probability: float | None = None
    times: int | None = None  # maximum number of times that the rule applies
    code: int | None = None
    status: int | None = None
    details: str | None = None
    seconds: float | None = None
    copies: int = 2
    hold: int = 2
    lasts: float | None = None  # seconds after which the rule is removed
    drop: bool = False  # a held template is dropped in the end, not released


class SendTraits(msgspec.Struct, frozen=True, gc=False):
    """The properties of a send that rules can match, besides sender and recipient."""

    type: str = ""
    links: tuple[str, ...] = ()


def check_rule(rule: Rule) -> str | None:
    """Return what is wrong with a rule, or None."""
    if rule.fault in ("refuse", "fail") and rule.code is None:
        return f"{rule.fault} needs a code"
    if rule.fault in ("accept_hang", "delay") and rule.seconds is None:
        return f"{rule.fault} needs seconds"
    if rule.fault not in ON_UPDATES and rule.labels is not None:
        return f"labels apply to updates only; {rule.fault} is a fault of sends"
    if rule.fault in ON_UPDATES and (rule.types is not None or rule.link is not None):
        return f"types and link apply to sends only; {rule.fault} is a fault of updates"
    counts = {"nth": rule.nth, "every": rule.every, "times": rule.times, "copies": rule.copies, "hold": rule.hold}
    for name, value in counts.items():
        if value is not None and value < 1:
            return f"{name} must be at least 1"
    if rule.probability is not None and not 0 <= rule.probability <= 1:
        return "probability must be between 0 and 1"
    if rule.status is not None and not 200 <= rule.status <= 599:
        return "status must be between 200 and 599"
    if rule.lasts is not None and rule.lasts <= 0:
        return "lasts must be more than 0"
    return "seconds must not be negative" if rule.seconds is not None and rule.seconds < 0 else None


def concerns(
    rule: Rule, phone_number_id: str, person: str, label: str | None = None, look: SendTraits | None = None
) -> bool:
    """Return whether a rule matches this send or update."""
    seen = look or SendTraits()
    return (
        (rule.phone_number_id is None or rule.phone_number_id == phone_number_id)
        and (rule.to is None or fnmatchcase(person, rule.to))
        and (rule.labels is None or label in rule.labels)
        and (rule.types is None or seen.type in rule.types)
        and (rule.link is None or any(fnmatchcase(link, rule.link) for link in seen.links))
    )


def strikes(rule: Rule, seen: int, struck: int, draw: float) -> bool:
    """Return whether a rule applies to its `seen`-th match, having applied `struck` times before."""
    return (
        (rule.times is None or struck < rule.times)
        and (rule.nth is None or seen == rule.nth)
        and (rule.every is None or seen % rule.every == 0)
        and (rule.probability is None or draw < rule.probability)
    )


class ActiveRule:
    """An active rule with its counts and the updates that it holds."""

    def __init__(self, rule: Rule, random: Random) -> None:
        self.rule = rule
        self.seen = 0
        self.struck = 0
        self.held: list[Held] = []
        self.ends_at: float | None = None
        self._random = random

    def strike(
        self, phone_number_id: str, person: str, label: str | None = None, look: SendTraits | None = None
    ) -> bool:
        """Count a match; return whether the fault applies."""
        if not concerns(self.rule, phone_number_id, person, label, look):
            return False
        self.seen += 1
        hit = strikes(self.rule, self.seen, self.struck, self._random.random())
        self.struck += hit
        return hit

    def release(self, group: list[Held] | None = None) -> None:
        """Release the held updates, newest first; with `group`, only if it is still the one that is held."""
        if group is not None and group is not self.held:
            return
        held, self.held = self.held, []
        for put, update in reversed(held):
            put(update)


class Faults:
    """All active rules, oldest first."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._serial = 0
        self._armed: dict[str, ActiveRule] = {}
        self.refusing: list[ActiveRule] = []
        self.accepting: list[ActiveRule] = []
        self.outcomes: list[ActiveRule] = []
        self.on_updates: list[ActiveRule] = []

    def add(self, rule: Rule) -> ActiveRule:
        """Add a rule, with a new id if it has none."""
        if not rule.id:
            self._serial += 1
            rule = msgspec.structs.replace(rule, id=f"f{self._serial}")
        self._armed[rule.id] = active = ActiveRule(rule, stream(self._seed, "fault", rule.id))
        self._sort()
        return active

    def remove(self, rule_id: str) -> ActiveRule | None:
        """Remove a rule and release the updates that it holds."""
        active = self._armed.pop(rule_id, None)
        if active is not None:
            active.release()
        self._sort()
        return active

    def end(self, active: ActiveRule) -> None:
        """Remove a rule whose time is over, unless it was removed or replaced before."""
        if self._armed.get(active.rule.id) is active:
            self.remove(active.rule.id)

    def all(self) -> list[ActiveRule]:
        """Return the active rules."""
        return list(self._armed.values())

    def _sort(self) -> None:
        self.refusing = [active for active in self._armed.values() if active.rule.fault in REFUSING]
        self.accepting = [active for active in self._armed.values() if active.rule.fault in ACCEPTING]
        self.outcomes = [active for active in self._armed.values() if active.rule.fault in OUTCOMES]
        self.on_updates = [active for active in self._armed.values() if active.rule.fault in ON_UPDATES]


def first_strike(
    rules: Iterable[ActiveRule], phone_number_id: str, person: str, look: SendTraits | None = None
) -> Rule | None:
    """Return the first rule that applies to this send."""
    for active in rules:
        if active.strike(phone_number_id, person, look=look):
            return active.rule
    return None
