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
