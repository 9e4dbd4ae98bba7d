"""Parses the Range header of a request for a file (RFC 9110, one range of bytes)."""

import re

import msgspec

from gatepost.model.errors import OutOfRange

_RANGE = re.compile(r"bytes=\s*(\d{0,19})-(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


class ByteRange(msgspec.Struct, frozen=True):
    """The bytes from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int
    partial: bool


def read_range(header: str | None, size: int) -> ByteRange:
    """Return the range of a Range header. Several ranges or an invalid one mean the whole file."""
    found = _RANGE.fullmatch(header or "")
    if found is None or found.group(0).strip().endswith("=-"):
        return ByteRange(0, size, False)
    first, last = found.groups()
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < int(first):
            return ByteRange(0, size, False)
    if start >= end:
        raise OutOfRange(size)
    return ByteRange(start, end, True)
