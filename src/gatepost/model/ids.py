"""Time-ordered ids (UUIDv7), and how they are shown to the outside.

    48 bits: milliseconds | 4: version | 12 + 62: random, or one more than the last id

A range of ids is a range of time: partitions, cursors and retention all lean on that.
"""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION_AND_VARIANT = (7 << 76) | (2 << 62)
_RANDOM_MASK = ((1 << 12) - 1) << 64 | ((1 << 61) - 1)  # one bit spare, so that counting on never spills over
_LATE_BITS, _PLACE_BITS, _RANDOM_BITS = 32, 12, 29  # together the 73 that are free
ZERO = UUID(int=0)


def milliseconds(at: datetime) -> int:
    """Whole milliseconds since 1970."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def new_id(at: datetime) -> UUID:
    """A fresh id of that moment."""
    random = int.from_bytes(os.urandom(10), "big") & _RANDOM_MASK
    return UUID(int=milliseconds(at) << 80 | _VERSION_AND_VARIANT | random)


def floor_id(at: datetime) -> UUID:
    """The smallest id of that moment: where its partition or range begins."""
    return UUID(int=max(0, milliseconds(at)) << 80)


def next_ids(last: UUID, at: datetime, count: int) -> list[UUID]:
    """Ids that follow `last` and one another, whatever the clock did meanwhile."""
    first = new_id(at).int
    if first <= last.int:
        first = last.int + 1
    return [UUID(int=first + i) for i in range(count)]


def derived_id(at: datetime, name: str) -> UUID:
    """The same id for the same moment and name: a message reported twice lands on its own row."""
    random = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=10).digest(), "big") & _RANDOM_MASK
    return UUID(int=milliseconds(at) << 80 | _VERSION_AND_VARIANT | random)


def arrival_id(at: datetime, now: datetime, place: int) -> UUID:
    """An id in the second that the network names, behind whatever of that second arrived before.

        milliseconds: now, or that end of the second which is nearer | how late it came | place in the batch | random

    The network tells whole seconds only, and people write faster than that.
    """
    second = milliseconds(at) // 1000 * 1000
    moment = min(max(milliseconds(now), second), second + 999)
    late = min(max(milliseconds(now) - second + (1 << _LATE_BITS - 1), 0), (1 << _LATE_BITS) - 1)
    behind = late << _PLACE_BITS | min(place, (1 << _PLACE_BITS) - 1)
    random = int.from_bytes(os.urandom(4), "big") >> (32 - _RANDOM_BITS)
    rest = behind << _RANDOM_BITS | random
    return UUID(int=moment << 80 | _VERSION_AND_VARIANT | rest >> 61 << 64 | rest & ((1 << 61) - 1))


def second_of(at: datetime) -> tuple[UUID, UUID]:
    """Between what an id of this second lies: from the first of it to the first of the next."""
    second = milliseconds(at) // 1000 * 1000
    return UUID(int=second << 80), UUID(int=(second + 1000) << 80)


def time_of(id_: UUID) -> datetime:
    """The moment that an id was made for."""
    return _EPOCH + timedelta(milliseconds=milliseconds_of(id_))


def milliseconds_of(id_: UUID) -> int:
    """The same moment, in milliseconds since 1970."""
    return id_.int >> 80


def message_id(id_: UUID) -> str:
    """A message's id as the outside sees it: 32 capital hex digits, as these networks write theirs."""
    return id_.hex.upper()


def show(prefix: str, id_: UUID) -> str:
    """Any other id as the outside sees it, with a prefix that tells what it is of."""
    return f"{prefix}_{id_.hex}"


def read(prefix: str, text: str) -> UUID | None:
    """The id behind `show`; None when it is not one."""
    if prefix:
        if not text.startswith(prefix + "_"):
            return None
        text = text[len(prefix) + 1 :]
    if len(text) != 32 or not text.isascii() or not text.isalnum():
        return None
    try:
        return UUID(hex=text)
    except ValueError:
        return None
