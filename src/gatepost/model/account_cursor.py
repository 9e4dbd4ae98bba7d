"""The cursor of an account's stream: the last event of each channel, in one opaque string.

    version | base, 6 bytes | for each channel that is listed: 6 bytes of its id, and the id of its last event

A channel that is not listed has had no event since `base`, an hour before the cursor was made: its next event is newer.
So an account with many quiet channels has a short cursor. Of more than 300 active channels only the latest are listed,
and `base` is the oldest position of the others: after a reconnect some of their events are repeated, and none is lost.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from gatepost.model import ids

QUIET = timedelta(hours=1)  # longer than any transaction
LISTED_MAX = 300  # keeps the cursor, as a header, under 9 KiB
_VERSION = "a1."
_BASE, _TAIL, _ENTRY = 6, 6, 22


class AccountCursor(msgspec.Struct, frozen=True):
    """The last event of the channels that are listed, by the end of their ids, and of the others."""

    base: UUID
    listed: dict[bytes, UUID] = {}

    def position(self, channel_id: UUID, end: UUID) -> UUID:
        """Return the last event that the client has of a channel, whose newest one is `end`."""
        return self.listed.get(_tail(channel_id)) or min(self.base, end)


def write_cursor(positions: Mapping[UUID, UUID], now: datetime) -> str:
    """Return the cursor of a client that has the events up to these positions."""
    base = ids.floor_id(now - QUIET)
    active = sorted((at, channel_id) for channel_id, at in positions.items() if at > base)
    if len(active) > LISTED_MAX:
        left_out, active = active[:-LISTED_MAX], active[-LISTED_MAX:]
        base = min(base, left_out[0][0])
    listed: dict[bytes, UUID] = {}
    for at, channel_id in reversed(active):  # if two ids end alike, the older position counts
        listed[_tail(channel_id)] = at
    parts = [ids.milliseconds_of(base).to_bytes(_BASE, "big"), *(tail + at.bytes for tail, at in listed.items())]
    return _VERSION + base64.urlsafe_b64encode(b"".join(parts)).decode().rstrip("=")


def read_cursor(text: str) -> AccountCursor | None:
    """Parse a cursor; None if it is invalid."""
    coded = text.removeprefix(_VERSION)
    if coded == text or not coded.isascii() or len(coded) > (_BASE + LISTED_MAX * _ENTRY) * 4 // 3 + 1:
        return None
    try:
        raw = base64.b64decode(coded + "=" * (-len(coded) % 4), b"-_", validate=True)
    except binascii.Error:
        return None
    if len(raw) < _BASE or (len(raw) - _BASE) % _ENTRY:
        return None
    entries = [raw[start : start + _ENTRY] for start in range(_BASE, len(raw), _ENTRY)]
    base = UUID(int=int.from_bytes(raw[:_BASE], "big") << 80)
    return AccountCursor(base, {entry[:_TAIL]: UUID(bytes=entry[_TAIL:]) for entry in entries})


def _tail(channel_id: UUID) -> bytes:
    return channel_id.bytes[-_TAIL:]
