"""Time-ordered ids (UUIDv7), and their public form.

    48 bits: milliseconds | 4: version | 12 + 62: random, or one more than the last id

A range of ids is a range of time. Partitions, cursors and retention rely on this.
"""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_VERSION_AND_VARIANT = (7 << 76) | (2 << 62)
_RANDOM_MASK = ((1 << 12) - 1) << 64 | ((1 << 61) - 1)  # one bit stays free, so that counting up does not overflow
_LATE_BITS, _PLACE_BITS, _RANDOM_BITS = 32, 12, 29  # in total the 73 free bits
ZERO = UUID(int=0)


def milliseconds(at: datetime) -> int:
    """Return the whole milliseconds since 1970."""
    return (at - _EPOCH) // _MILLISECOND


def new_id(at: datetime) -> UUID:
    """Return a new random id for a time."""
    random = int.from_bytes(os.urandom(10), "big") & _RANDOM_MASK
    return UUID(int=milliseconds(at) << 80 | _VERSION_AND_VARIANT | random)


def new_ids(at: datetime, count: int) -> list[UUID]:
    """Return new random ids for a time, independent of each other and in no order."""
    moment, random = milliseconds(at) << 80 | _VERSION_AND_VARIANT, os.urandom(10 * count)
    parts = [random[start : start + 10] for start in range(0, len(random), 10)]
    return [UUID(int=moment | int.from_bytes(part, "big") & _RANDOM_MASK) for part in parts]


def floor_id(at: datetime) -> UUID:
    """Return the smallest id of a time, where its partition or range begins."""
    return UUID(int=max(0, milliseconds(at)) << 80)


def next_ids(last: UUID, at: datetime, count: int) -> list[UUID]:
    """Return increasing ids that are all greater than `last`, even if the clock went back."""
    first = new_id(at).int
    if first <= last.int:
        first = last.int + 1
    return [UUID(int=first + i) for i in range(count)]


def derived_id(at: datetime, name: str) -> UUID:
    """Return the same id for the same time and name, so that a message that is reported twice has one row."""
    random = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=10).digest(), "big") & _RANDOM_MASK
    return UUID(int=milliseconds(at) << 80 | _VERSION_AND_VARIANT | random)


def arrival_id(at: datetime, now: datetime, place: int) -> UUID:
    """Return an id in the second that the network states, after all messages of that second that arrived earlier.

        milliseconds: now, limited to the second | delay of the arrival | position in the batch | random

    The network states whole seconds only, and several messages may arrive within one.
    """
    second = milliseconds(at) // 1000 * 1000
    moment = min(max(milliseconds(now), second), second + 999)
    late = min(max(milliseconds(now) - second + (1 << _LATE_BITS - 1), 0), (1 << _LATE_BITS) - 1)
    behind = late << _PLACE_BITS | min(place, (1 << _PLACE_BITS) - 1)
    random = int.from_bytes(os.urandom(4), "big") >> (32 - _RANDOM_BITS)
    rest = behind << _RANDOM_BITS | random
    return UUID(int=moment << 80 | _VERSION_AND_VARIANT | rest >> 61 << 64 | rest & ((1 << 61) - 1))


def second_of(at: datetime) -> tuple[UUID, UUID]:
    """Return the range of the ids of this second: its first id, and the first id of the next second."""
    second = milliseconds(at) // 1000 * 1000
    return UUID(int=second << 80), UUID(int=(second + 1000) << 80)


def time_of(id_: UUID) -> datetime:
    """Return the time of an id."""
    return _EPOCH + timedelta(milliseconds=milliseconds_of(id_))


def milliseconds_of(id_: UUID) -> int:
    """Return the time of an id in milliseconds since 1970."""
    return id_.int >> 80


def message_id(id_: UUID) -> str:
    """Return the public id of a message: 32 uppercase hex digits, in the style of the networks."""
    return id_.hex.upper()


def format_id(prefix: str, id_: UUID) -> str:
    """Return the public form of any other id, with a prefix for its kind."""
    return f"{prefix}_{id_.hex}"


def parse_id(prefix: str, text: str) -> UUID | None:
    """Parse an id in the form of `format_id`, or of `message_id` if the prefix is empty; None if it is invalid."""
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
