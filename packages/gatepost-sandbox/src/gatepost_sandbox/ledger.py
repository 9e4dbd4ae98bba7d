"""The ledger: every send, refusal, incoming message, read mark and callback attempt, numbered in order.

Rows are stored as encoded bytes: they take little memory, and the garbage collector does not scan them.
"""

import heapq
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from gatepost_sandbox.watch import Watch

_START = ("at", "phone_number_id", "to")
FIELDS: dict[str, tuple[str, ...]] = {
    "accepted": (*_START, "type", "content", "wamid", "biz_opaque_callback_data", "context", "request_id"),
    "refused": (*_START, "code", "http_status", "details", "fault", "request_id"),
    "incoming": (*_START, "from", "type", "content", "wamid"),
    "read": (*_START, "message_id", "typing", "request_id"),
    "callback": (*_START, "delivery", "attempt", "http_status", "error", "updates"),
}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode


def show_row(kind: str, seq: int, values: tuple[Any, ...]) -> dict[str, Any]:
    """Return a row as the control API shows it."""
    return {"seq": seq, "kind": kind, **dict(zip(FIELDS[kind], values, strict=True))}


class RowBuffer:
    """The rows of one kind, oldest first; the oldest are dropped beyond the cap."""

    def __init__(self, kind: str, cap: int) -> None:
        self._kind = kind
        self._names = FIELDS[kind]
        self._cap = cap
        self._trim_at = cap + max(cap // 8, 1)  # in batches, so that appending stays cheap
        self._numbers = array("Q")
        self._rows: list[bytes] = []

    def put(self, number: int, values: tuple[Any, ...]) -> None:
        """Append one row."""
        self._numbers.append(number)
        self._rows.append(_encode(values))
        if len(self._rows) >= self._trim_at:
            surplus = len(self._rows) - self._cap
            del self._numbers[:surplus]
            del self._rows[:surplus]

    def after(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the rows with a higher number."""
        for index in range(bisect_right(self._numbers, number), len(self._rows)):
            row = dict(zip(self._names, _decode(self._rows[index]), strict=True))
            yield {"seq": self._numbers[index], "kind": self._kind, **row}


class Ledger:
    """The rows of all kinds, and counts that are never dropped."""

    def __init__(self, cap: int, attempts_cap: int, watch: Watch) -> None:
        self._watch = watch
        self._buffers = {kind: RowBuffer(kind, attempts_cap if kind == "callback" else cap) for kind in FIELDS}
        self._last = 0
        self.counts: Counter[tuple[str, str]] = Counter()

    def put(self, kind: str, values: tuple[Any, ...]) -> None:
        """Append one row; its values are in the order of FIELDS."""
        self._last += 1
        self._buffers[kind].put(self._last, values)
        if self._watch.observer is not None:
            self._watch.observer.ledger_row(kind, self._last, values)

    def count(self, phone_number_id: str, what: str) -> None:
        """Increment a counter of a number."""
        self.counts[phone_number_id, what] += 1

    def read(
        self, kind: str | None, phone_number_id: str | None, to: str | None, after: int, limit: int
    ) -> list[dict[str, Any]]:
        """Return the rows after a sequence number, oldest first."""
        buffers = [self._buffers[kind]] if kind else self._buffers.values()
        rows = heapq.merge(*(buffer.after(after) for buffer in buffers), key=lambda row: row["seq"])
        wanted = (
            row
            for row in rows
            if (phone_number_id is None or row["phone_number_id"] == phone_number_id)
            and (to is None or row["to"] == to)
        )
        return list(islice(wanted, limit))

    def summary(self) -> dict[str, Any]:
        """Return all counts, in total and by number."""
        total: Counter[str] = Counter()
        numbers: dict[str, dict[str, int]] = {}
        for (number, what), times in sorted(self.counts.items()):
            total[what] += times
            numbers.setdefault(number, {})[what] = times
        return {"last_seq": self._last, "total": dict(sorted(total.items())), "numbers": numbers}
