"""Deliveries: how they stand, how they are named, and what of their headers is fit to be shown."""

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

STATUSES = ("pending", "delivered", "exhausted", "dropped")  # by the number of their state
PENDING, DELIVERED, EXHAUSTED, DROPPED = range(4)
MISSING = -1  # an event that the endpoint has no delivery of: it was disabled, or not there yet
NOT_ARRIVED = (EXHAUSTED, DROPPED, MISSING)
HIDDEN = "***"
_PREFIX = "dl_"
_DIGITS = re.compile(r"[0-9a-f]{64}", re.ASCII)
_CREDENTIAL = re.compile(
    r"authori[sz]ation|authentication|cookie|token|secret|passw|passphrase|credential|session|bearer"
    r"|(^|[-_])(x?api|access|private)[-_]?key|(^|[-_])(auth|jwt|pwd|key|sid)($|[-_])"
)


def show_delivery_id(endpoint_id: UUID, event_id: UUID) -> str:
    """A delivery's name: whom it is for, and what it tells."""
    return f"{_PREFIX}{endpoint_id.hex}{event_id.hex}"


def read_delivery_id(text: str) -> tuple[UUID, UUID] | None:
    """The endpoint and the event behind a name; None when it is not one."""
    digits = text.removeprefix(_PREFIX)
    if not text.startswith(_PREFIX) or not _DIGITS.fullmatch(digits):
        return None
    return UUID(hex=digits[:32]), UUID(hex=digits[32:])


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers for a log: those that carry a credential keep their name, and lose what it says."""
    return {name: _masked(name, value) for name, value in headers.items()}


def masked_pairs(headers: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """The same for the headers of an answer, which may come more than once."""
    return [(name, _masked(name, value)) for name, value in headers]


def _masked(name: str, value: str) -> str:
    lowered = name.lower()
    # Ours say what was signed and how; a signature is of no use to anybody without the key.
    if lowered.startswith("webhook-") or not _CREDENTIAL.search(lowered):
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {HIDDEN}" if space and scheme.isalpha() else HIDDEN
