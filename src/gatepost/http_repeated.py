"""The head of a request that a connection has sent before.

first requests ─► parser: a call for each header ─► RepeatedHead.learn
next request ───► RepeatedHead.match ─► its address, headers and body, without the parser

A program that sends many messages, or a network that sends many callbacks, repeats the head of its requests. Only the
values of a few headers differ, and with many channels the key or the address. What is compared is every other byte,
names of headers included, so what the parser has found in the first of these requests is true of the next one, too. A
request that differs in anything else, or that has not arrived in one piece and alone, is left to the parser.
"""

import re
from collections.abc import Sequence

_START = re.compile(rb"POST (/[a-z0-9_/]{1,300}) ")
_VALUE = re.compile(rb"[!-~]{1,300}")
_NAMES = rb"content-length|idempotency-key|traceparent|x-hub-signature-256"
_VARIES, _VARIES_WITH_KEY = (
    re.compile(rb"(\r\n(?:%b): (?:bearer )?)[!-~]{1,300}(?=\r\n)" % names, re.IGNORECASE)
    for names in (_NAMES, _NAMES + b"|authorization")
)
_LENGTH = b"content-length"
_DIGITS = 6  # of a length
_OTHER_BODIES = (b"transfer-encoding", b"expect")
Headers = list[tuple[bytes, bytes]]
Varying = Sequence[tuple[int, bytes, bytes]]  # places, names, and what is before the part that may differ


class RepeatedHead:
    """The head of an earlier request of a connection."""

    def __init__(self, start: re.Match[bytes], same: Sequence[bytes], headers: Headers, varying: Varying) -> None:
        self._url = start[1]
        self._first, *self._same = same  # what is before, between and behind the values that may differ
        self._begin = start[0] + self._first  # with the address, which may be another one
        self._headers, self._varying = headers.copy(), varying
        for place, name, _ in varying:
            self._headers[place] = name, b""  # the value may be a secret
        self._length = next(place for place, name, _ in varying if name == _LENGTH)

    @classmethod
    def learn(cls, request: bytes, headers: Headers, *, keys: bool) -> "RepeatedHead | None":
        """Return the head of a whole request, as the parser has read it; None if its body has no plain length.

        `keys`: whether other requests may have another key.
        """
        start, names = _START.match(request), [name for name, _ in headers]
        if start is None:
            return None
        pattern, end = _VARIES_WITH_KEY if keys else _VARIES, request.find(b"\r\n\r\n") + 2
        before, *rest = pattern.split(request[start.end() : end])
        marks, texts = rest[::2], [before, *rest[1::2]]
        varying = [(name.lower(), begin) for name, _, begin in (mark[2:].partition(b": ") for mark in marks)]
        known = len(set(names)) == len(names) and {name for name, _ in varying} <= set(names)
        if not known or _LENGTH not in dict(varying) or any(name in names for name in _OTHER_BODIES):
            return None
        same = [text + mark for text, mark in zip(texts, [*marks, b"\r\n"], strict=True)]
        head = cls(start, same, headers, [(names.index(name), name, begin) for name, begin in varying])
        found = head.match(request)
        return head if found is not None and found[1] == headers else None

    def match(self, request: bytes) -> tuple[bytes, Headers, bytes] | None:
        """Return the address, the headers and the body of a request with this head; None if it may have another."""
        url, at, headers = self._url, len(self._begin), self._headers.copy()
        if not request.startswith(self._begin):
            start = _START.match(request)
            if start is None or not request.startswith(self._first, start.end()):
                return None
            url, at = start[1], start.end() + len(self._first)
        for (place, name, begin), behind in zip(self._varying, self._same, strict=True):
            end = request.find(b"\r\n", at)
            if not request.startswith(behind, end) or _VALUE.fullmatch(request, at, end) is None:
                return None
            headers[place] = name, begin + request[at:end]
            at = end + len(behind)
        length, body = headers[self._length][1], request[at:]
        if len(length) > _DIGITS or not length.isdigit() or int(length) != len(body):
            return None
        return url, headers, body
