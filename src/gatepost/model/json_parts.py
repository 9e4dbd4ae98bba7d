"""Counts the parts of JSON before it is decoded, as a decoder allocates a value for each of them."""

import re

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# Match from a position outside of strings to the end of the next run of brackets, or also of commas (_MARKS).
_BRACKETS = re.compile(rb'[^"\[\]{}]*+(?:' + _TEXT + rb'[^"\[\]{}]*+)*+(?:([\[{]++)|([\]}]++))', re.S)
_MARKS = re.compile(rb'[^",\[\]{}]*+(?:' + _TEXT + rb'[^",\[\]{}]*+)*+(?:([\[{]++)|([\]}]++)|(,++))', re.S)
_LOOKS = 250_000  # matches to inspect; JSON that needs more is treated as having too many parts


def parts_within(body: bytes, most: int, deep: int) -> bool:
    """Return whether JSON has at most `most` parts (lists, objects, items) down to the depth `deep`."""
    if sum(body.count(mark) for mark in (b",", b"[", b"{")) <= most:
        return True
    found = depth = at = 0
    for _ in range(_LOOKS):
        shallow = depth <= deep
        mark = (_MARKS if shallow else _BRACKETS).match(body, at)
        if mark is None:
            return True
        at, opened, closed = mark.end(), mark.end(1) - mark.start(1), mark.end(2) - mark.start(2)
        if shallow:
            found += min(opened, deep + 1 - depth) or mark.end(3) - mark.start(3)
            if found > most:
                return False
        depth += opened - closed
    return False
