"""Which errors mean that the database is unavailable, and which are faults of a statement or of our code.

By SQLSTATE, if the server answered ("lost": the connection cannot be used again):

08…    connection lost, refused or broken             unavailable, lost
57P…   shut down, crashed, starting up, dropped       unavailable, lost
25P03  idle in transaction, 25P04 transaction timeout unavailable, lost
25006  read-only: a primary that became a standby     unavailable, lost
28…    not authorized, 3D000 no such database         unavailable; seen while connecting
53…    no disk, no memory, too many connections       unavailable
58…    the server's files cannot be read or written   unavailable
57014  a statement was cancelled (timeout, operator)  unavailable
40…    deadlock, serialization: a retry succeeds      unavailable
55P03  a lock was not granted in time                 unavailable
0A000  "cached plan must not change result type"      unavailable; a migration ran: a retry plans again
else   constraint, syntax, type, privilege, internal  a fault

An error of the driver means "unavailable" if the connection is closed, if it follows from one that does (a ROLLBACK on
a lost connection), or if the driver has lost track of the connection (`InternalClientError`). Any other
`InterfaceError` is wrong usage.
"""

from collections.abc import Iterator

import asyncpg

_OUTAGE_CLASSES = ("08", "28", "40", "53", "57", "58")
_OUTAGE_STATES = frozenset({"25006", "25P03", "25P04", "3D000", "55P03"})
_BROKEN_CLASSES = ("08", "57P")
_BROKEN_STATES = frozenset({"25006", "25P03", "25P04"})
_FAULTS_AMONG = frozenset({"40002"})  # a constraint, checked at the end of a transaction


def is_outage(error: BaseException, *, closed: bool = False) -> bool:
    """Whether an error means that the database is unavailable; `closed`: its connection is closed now."""
    if isinstance(error, asyncpg.PostgresError):
        return _means_outage(error)
    if isinstance(error, asyncpg.InternalClientError | OSError):  # timeouts among the latter
        return True
    if not isinstance(error, asyncpg.InterfaceError) or isinstance(error, ValueError):
        return False  # not of the database, or the driver's error for an argument that fits no column
    return closed or any(is_outage(before) for before in _chain(error))


def spoils_connection(error: BaseException) -> bool:
    """Whether the connection of this error must not be used again."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state.startswith(_BROKEN_CLASSES) or state in _BROKEN_STATES
    if isinstance(error, asyncpg.InterfaceError):
        return not isinstance(error, ValueError)
    return isinstance(error, asyncpg.InternalClientError | OSError)


def _means_outage(error: asyncpg.PostgresError) -> bool:
    state = error.sqlstate or ""
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return True
    return state not in _FAULTS_AMONG and (state.startswith(_OUTAGE_CLASSES) or state in _OUTAGE_STATES)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Return an error and what it follows from, the latest first."""
    seen: set[int] = set()
    before = error.__cause__ or error.__context__
    while before is not None and id(before) not in seen:
        seen.add(id(before))
        yield before
        before = before.__cause__ or before.__context__
