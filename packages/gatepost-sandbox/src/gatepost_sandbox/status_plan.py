"""The statuses of an accepted message, and the delay of each."""

from random import Random
from typing import NamedTuple

from gatepost_sandbox.people import Character
from gatepost_sandbox.settings import Delays


class PlannedStatus(NamedTuple):
    """One status with its delay."""

    label: str
    after: float
    priced: bool


def plan_statuses(delays: Delays, character: Character, random: Random, kind: str = "text") -> list[PlannedStatus]:
    """Return the statuses of a message that can be delivered, in order; later ones never come before earlier ones.

    A reaction is only ever sent; a voice message is also played.
    """
    # Four draws whatever the outcome, so that one person's character does not shift another's delays.
    sent = _spread(delays.sent, delays, character, random.random())
    delivered = max(sent, _spread(delays.delivered, delays, character, random.random()))
    read = max(delivered, _spread(delays.read, delays, character, random.random()))
    in_chat = (random.random() < delays.skip_delivered or character.in_chat) and character.read
    steps = [PlannedStatus("sent", sent, True)]
    if kind == "reaction":
        return steps
    if character.delivered and not in_chat:
        steps.append(PlannedStatus("delivered", delivered, True))
    if character.read:
        steps.append(PlannedStatus("read", read, in_chat))
        if kind == "voice":
            steps.append(PlannedStatus("played", max(read, delays.played * character.pace), False))
    return steps


def _spread(delay: float, delays: Delays, character: Character, draw: float) -> float:
    return delay * character.pace * (1.0 + delays.jitter * (2.0 * draw - 1.0))
