"""The head of a request that a connection has sent before.

first requests ─► parser: a call for each header ─► RepeatedHead.learn
next request ───► RepeatedHead.match ─► its headers and its body, without the parser

A program that sends many messages, or a network that sends many callbacks, repeats the head of its requests. Only the
values of a few headers differ. What is compared is every other byte, names of headers included, so what the parser has
found in the first of these requests is true of the next one, too. A request that differs in anything else, or that has
not arrived in one piece and alone, is left to the parser.
"""

import re
from collections.abc import Sequence

_VALUE = re.compile(rb"[!-~]{1,300}")
_VARIES = re.compile(
    rb"(\r\n(?:content-length|idempotency-key|traceparent|x-hub-signature-256): )[!-~]{1,300}(?=\r\n)", re.IGNORECASE
)
_LENGTH = b"content-length"
_DIGITS = 6  # of a length
_OTHER_BODIES = (b"transfer-encoding", b"expect")
Headers = list[tuple[bytes, bytes]]


class RepeatedHead:
    """The head of an earlier request of a connection."""

    def __init__(self, url: bytes, same: Sequence[bytes], headers: Headers, varying: Sequence[int]) -> None:
        self.url = url
        self._first, *self._same = same  # what is before, between and behind the values that may differ
        self._headers = headers
        self._varying = [(place, headers[place][0]) for place in varying]
        self._length = varying[[name for _, name in self._varying].index(_LENGTH)]

    @classmethod
    def learn(cls, request: bytes, url: bytes, headers: Headers) -> "RepeatedHead | None":
        """Return the head of a whole request, as the parser has read it; None if its body has no plain length."""
        names = [name for name, _ in headers]
        before, *rest = _VARIES.split(request[: request.find(b"\r\n\r\n") + 2])
        marks, texts = rest[::2], [before, *rest[1::2]]
        varying = [mark.strip(b"\r\n: ").lower() for mark in marks]
        known = len(set(names)) == len(names) and set(varying) <= set(names)
        if not known or _LENGTH not in varying or any(name in names for name in _OTHER_BODIES):
            return None
        same = [text + mark for text, mark in zip(texts, [*marks, b"\r\n"], strict=True)]
        head = cls(url, same, headers.copy(), [names.index(name) for name in varying])
        found = head.match(request)
        return head if found is not None and found[0] == headers else None

    def match(self, request: bytes) -> tuple[Headers, bytes] | None:
        """Return the headers and the body of a request with this head; None if it may have another."""
        if not request.startswith(self._first):
            return None
        at, headers = len(self._first), self._headers.copy()
        for (place, name), behind in zip(self._varying, self._same, strict=True):
            end = request.find(b"\r\n", at)
            if not request.startswith(behind, end) or _VALUE.fullmatch(request, at, end) is None:
                return None
            headers[place] = name, request[at:end]
            at = end + len(behind)
        length, body = headers[self._length][1], request[at:]
        if len(length) > _DIGITS or not length.isdigit() or int(length) != len(body):
            return None
        return headers, body
