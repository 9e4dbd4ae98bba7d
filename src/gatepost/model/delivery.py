"""Deliveries: how they stand, how they are named, and what of their headers is fit to be shown."""

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

STATUSES = ("pending", "delivered", "exhausted", "dropped", "canceled")  # by the number of their state
PENDING, DELIVERED, EXHAUSTED, DROPPED, CANCELED = range(5)
MISSING = -1  # an event that the endpoint has no delivery of: it was disabled, or not there yet
NOT_ARRIVED = (PENDING, EXHAUSTED, DROPPED, MISSING)
HIDDEN = "***"
_OURS = frozenset({"content-type", "user-agent"})  # of a delivery; no customer may choose these
_PREFIX = "dl_"
_DIGITS = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CREDENTIAL = re.compile(
    r"authori[sz]ation|authentication|cookie|token|secret|passw|passphrase|credential|session|bearer"
    r"|(^|[-_])(x?api|access|private)[-_]?key|(^|[-_])(auth|jwt|pwd|key|sid)($|[-_])"
)


def state_now(state: int, *, deleted: bool) -> int:
    """The state of a delivery as people see it: what was pending when its endpoint was deleted is canceled.

    Canceled deliveries are not written as such: however many wait, and whatever is recorded in the moment of the
    deletion, none is left behind as pending.
    """
    return CANCELED if deleted and state == PENDING else state


def show_delivery_id(endpoint_id: UUID, event_id: UUID) -> str:
    """A delivery's name: whom it is for, and what it tells."""
    return f"{_PREFIX}{endpoint_id.hex}{event_id.hex}"


def read_delivery_id(text: str) -> tuple[UUID, UUID] | None:
    """The endpoint and the event behind a name; None when it is not one."""
    digits = text.removeprefix(_PREFIX)
    if not text.startswith(_PREFIX) or not _DIGITS.fullmatch(digits):
        return None
    return UUID(hex=digits[:32]), UUID(hex=digits[32:])


def explain(status: int | None, error: str | None) -> str | None:
    """What was wrong with an attempt, in words; None: nothing."""
    if error is not None or status is None or 200 <= status < 300:
        return error
    if 300 <= status < 400:
        return f"The endpoint answered {status}, a redirect. Redirects are not followed: give the address it leads to."
    if status == 410:
        return "The endpoint answered 410: it is gone, and was disabled."
    return f"The endpoint answered {status}. Only an answer from 200 to 299 counts as received."


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request for a log: those that the customer chose keep their name, and lose their value.

    Ours say what was signed and how; a signature is of no use to anybody without the key.
    """
    return {name: value if _is_ours(name.lower()) else HIDDEN for name, value in headers.items()}


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith("webhook-")


def masked_pairs(headers: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """The headers of an answer, which may come more than once, without the values of those that carry a credential."""
    return [(name, _masked(name, value)) for name, value in headers]


def _masked(name: str, value: str) -> str:
    if not _CREDENTIAL.search(name.lower()):
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if space and scheme.isalpha() else HIDDEN
