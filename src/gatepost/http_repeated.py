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

_VARIES = re.compile(
    rb"(\r\n(?:content-length|idempotency-key|traceparent|x-hub-signature-256): )([!-~]{1,300})(?=\r\n)", re.IGNORECASE
)
_LENGTH = b"content-length"
_DIGITS = 6  # of a length
_OTHER_BODIES = (b"transfer-encoding", b"expect")
Headers = list[tuple[bytes, bytes]]


class RepeatedHead:
    """The head of an earlier request of a connection."""

    def __init__(self, url: bytes, same: Sequence[bytes], headers: Headers, varying: Sequence[int]) -> None:
        self.url = url
        self._same = list(same)  # what is before, between and behind the values that may differ
        self._headers = headers
        self._varying = [(place, headers[place][0]) for place in varying]
        self._length = next(nth for nth, (_, name) in enumerate(self._varying) if name == _LENGTH)

    @classmethod
    def learn(cls, request: bytes, url: bytes, headers: Headers) -> "RepeatedHead | None":
        """Return the head of a whole request, as the parser has read it; None if its body has no plain length."""
        names = [name for name, _ in headers]
        parts = _VARIES.split(request[: request.find(b"\r\n\r\n") + 2])
        varying = [mark.strip(b"\r\n: ").lower() for mark in parts[1::3]]
        known = len(set(names)) == len(names) and set(varying) <= set(names)
        if not known or _LENGTH not in varying or any(name in names for name in _OTHER_BODIES):
            return None
        del parts[2::3]
        head = cls(url, parts, headers.copy(), [names.index(name) for name in varying])
        found = head.match(request)
        return head if found is not None and found[0] == headers else None

    def match(self, request: bytes) -> tuple[Headers, bytes] | None:
        """Return the headers and the body of a request with this head; None if it may have another."""
        end = request.find(b"\r\n\r\n")
        if end < 0:
            return None
        parts = _VARIES.split(request[: end + 2])
        values = parts[2::3]
        del parts[2::3]
        if parts != self._same:
            return None
        length, body = values[self._length], request[end + 4 :]
        if len(length) > _DIGITS or not length.isdigit() or int(length) != len(body):
            return None
        headers = self._headers.copy()
        for (place, name), value in zip(self._varying, values, strict=True):
            headers[place] = name, value
        return headers, body
