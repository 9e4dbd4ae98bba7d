"""Counting the parts of JSON before it is decoded: a decoder makes a value of each, however many there are."""

import re

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# From anywhere outside of text on to the next brackets that follow one another, or also to the next commas.
_BRACKETS = re.compile(rb'[^"\[\]{}]*+(?:' + _TEXT + rb'[^"\[\]{}]*+)*+(?:([\[{]++)|([\]}]++))', re.S)
_MARKS = re.compile(rb'[^",\[\]{}]*+(?:' + _TEXT + rb'[^",\[\]{}]*+)*+(?:([\[{]++)|([\]}]++)|(,++))', re.S)
_LOOKS = 250_000  # brackets that are looked at; who has more, and may have too many parts, has too many


def parts_within(body: bytes, most: int, deep: int) -> bool:
    """Whether JSON has at most so many parts (lists, objects, what commas part) that do not lie deeper than that."""
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
