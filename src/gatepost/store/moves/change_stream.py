"""Reads what PostgreSQL's `pgoutput` plugin writes: the changes of committed transactions, in the order of commits.

The format is that of the chapter "Logical Replication Message Formats", version 1, with values as text.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from struct import Struct

import msgspec


class Unchanged(Enum):
    """The value of a column that was not written: a large one that an update left as it is."""

    VALUE = 0


UNCHANGED = Unchanged.VALUE
Value = bytes | None | Unchanged
Row = tuple[Value, ...]
_BEGIN, _COMMIT = Struct(">qqI"), Struct(">Bqqq")
_INT16, _INT32 = Struct(">H"), Struct(">I")


class Relation(msgspec.Struct, frozen=True):
    """A table of the stream: its columns, and the places of those of its primary key."""

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]


class Change(msgspec.Struct, frozen=True):
    """One change. `old` has the key of a row that was deleted, or whose key was changed; `new` is the whole row."""

    relation: Relation
    old: Row | None
    new: Row | None


class Transaction(msgspec.Struct, frozen=True):
    """A committed transaction: its number, its end in the log, and what it changed."""

    xid: int
    end: int
    changes: Sequence[Change]


def read_transactions(messages: Iterable[bytes]) -> Iterator[Transaction]:
    """Yield the transactions of complete output."""
    relations: dict[int, Relation] = {}
    xid = 0
    changes: list[Change] = []
    for message in messages:
        kind = message[:1]
        if kind == b"B":
            xid, changes = _BEGIN.unpack_from(message, 1)[2], []
        elif kind == b"R":
            relation_id, relation = _read_relation(message)
            relations[relation_id] = relation
        elif kind in b"IUD":
            changes.append(_read_change(message, relations))
        elif kind == b"C":
            yield Transaction(xid, _COMMIT.unpack_from(message, 1)[2], changes)


def _read_relation(message: bytes) -> tuple[int, Relation]:
    relation_id = _INT32.unpack_from(message, 1)[0]
    end = message.index(0, 5)  # of the schema
    name, place = _text(message, end + 1)
    count = _INT16.unpack_from(message, place + 1)[0]
    place += 3
    columns, key = [], []
    for number in range(count):
        if message[place] & 1:
            key.append(number)
        column, place = _text(message, place + 1)
        columns.append(column)
        place += 8  # type and its modifier
    return relation_id, Relation(name, tuple(columns), tuple(key))


def _text(message: bytes, start: int) -> tuple[str, int]:
    """Return a text that ends with a zero, and the place after it."""
    end = message.index(0, start)
    return message[start:end].decode(), end + 1


def _read_change(message: bytes, relations: dict[int, Relation]) -> Change:
    relation = relations[_INT32.unpack_from(message, 1)[0]]
    old = new = None
    place = 5
    while place < len(message):
        part = message[place : place + 1]
        row, place = _read_row(message, place + 1)
        if part == b"N":
            new = row
        else:
            old = row
    return Change(relation, old, new)


def _read_row(message: bytes, place: int) -> tuple[Row, int]:
    count = _INT16.unpack_from(message, place)[0]
    place += 2
    values: list[Value] = []
    for _ in range(count):
        kind = message[place : place + 1]
        place += 1
        if kind == b"t":
            length = _INT32.unpack_from(message, place)[0]
            place += 4
            values.append(message[place : place + length])
            place += length
        else:
            values.append(None if kind == b"n" else UNCHANGED)
    return tuple(values), place


class Snapshot(msgspec.Struct, frozen=True):
    """Which transactions a snapshot has seen (`pg_current_snapshot()`)."""

    first_running: int
    next_: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> "Snapshot":
        first, next_, running = text.split(":")
        return cls(int(first), int(next_), frozenset(int(one) for one in running.split(",") if one))

    def has(self, xid: int) -> bool:
        """Return whether it has a transaction, which is given by the last 32 bits of its number."""
        full = (self.next_ & ~0xFFFFFFFF) | xid
        if full - self.next_ > 1 << 31:
            full -= 1 << 32
        elif self.next_ - full > 1 << 31:
            full += 1 << 32
        return full < self.first_running or (full < self.next_ and full not in self.running)


class RowState(msgspec.Struct, frozen=True):
    """The last state of a row, and the key that it had before: values that were not written are found under it."""

    row: Row
    origin: Row


class Gathered(msgspec.Struct):
    """The last state of each row that some transactions changed, by its key; None: it was deleted."""

    relation: Relation
    rows: dict[Row, RowState | None] = {}

    def add(self, change: Change) -> None:
        """Add a later change."""
        before = self._key(change.old or change.new or ())
        known = self.rows.get(before)
        if change.old is not None:
            self.rows[before] = None
        if change.new is not None:
            row = change.new if known is None else _completed(change.new, known.row)
            self.rows[self._key(row)] = RowState(row, before if known is None else known.origin)

    def _key(self, row: Row) -> Row:
        return tuple(row[place] for place in self.relation.key)


def _completed(row: Row, before: Row) -> Row:
    """Return a row with the values that were not written, if they are known."""
    return tuple(old if new is UNCHANGED else new for new, old in zip(row, before, strict=True))


def gather(transactions: Iterable[Transaction]) -> dict[str, Gathered]:
    """Return what transactions changed, by table."""
    found: dict[str, Gathered] = {}
    for transaction in transactions:
        for change in transaction.changes:
            name = change.relation.name
            found.setdefault(name, Gathered(change.relation)).add(change)
    return found
