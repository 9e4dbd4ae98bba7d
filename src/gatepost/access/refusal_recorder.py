"""Remembers the refused requests of API keys for a day, so that their owners can see what went wrong.

error response with a key ─► a group in memory: key, minute, route, status, code, field ─► the table, every 5 seconds

Successful requests do not come here. However many requests a key sends, it has a limited number of groups until they
are saved, as the process has, and a limited number of rows. Keys are told apart by their hash, and looked up when
groups are saved: a wrong key costs no query, and leaves nothing. A process that is killed loses what is not saved.
"""

from collections import Counter
from datetime import datetime

import msgspec

from gatepost.clock import Clock
from gatepost.model import ids
from gatepost.store.pool import Database
from gatepost.store.refused_requests import RefusedGroup, save_refused

GROUPS_PER_KEY = 20
GROUPS = 1_000  # of admitted requests, and as many of others, so that wrong keys do not displace right ones
MESSAGE_MAX, PATH_MAX, FIELD_MAX = 300, 200, 100
_Group = tuple[bytes, datetime, str, str, int, str, str]  # key, minute, method, path, status, code, field


class Refusal(msgspec.Struct, frozen=True):
    """A request that got an error, without its body."""

    method: str
    path: str  # the template of its route
    status: int
    code: str
    field: str  # the first invalid one; empty: none
    message: str
    request_id: str


class _Seen:
    """What a group counts."""

    __slots__ = ("at", "count", "first", "message", "request_id")

    def __init__(self, at: datetime) -> None:
        self.first = self.at = at
        self.count = 0
        self.message = self.request_id = ""


class _Groups:
    """Groups that are not saved yet, with their number of each key, and of admitted requests and others."""

    def __init__(self) -> None:
        self.seen: dict[_Group, _Seen] = {}
        self._of_key: Counter[bytes] = Counter()
        self._of_kind: Counter[bool] = Counter()

    def open(self, group: _Group, now: datetime, *, admitted: bool) -> _Seen | None:
        """Return a group, a new one if need be; None if there are too many."""
        found = self.seen.get(group)
        if found is not None:
            return found
        if self._of_key[group[0]] >= GROUPS_PER_KEY or self._of_kind[admitted] >= GROUPS:
            return None
        self._of_key[group[0]] += 1
        self._of_kind[admitted] += 1
        made = self.seen[group] = _Seen(now)
        return made


class RefusalRecorder:
    """The refused requests of this process that are not saved yet."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._groups = _Groups()

    def record(self, key_hash: bytes, refusal: Refusal, *, admitted: bool) -> None:
        """Count a request. It is left out if its key or the process has too many groups."""
        now = self._clock.now()
        minute = now.replace(second=0, microsecond=0)
        path, field = _storable(refusal.path, PATH_MAX), _storable(refusal.field, FIELD_MAX)
        group = (key_hash, minute, refusal.method, path, refusal.status, refusal.code, field)
        seen = self._groups.open(group, now, admitted=admitted)
        if seen is not None:
            seen.at, seen.count = now, seen.count + 1
            seen.message, seen.request_id = _storable(refusal.message, MESSAGE_MAX), refusal.request_id

    async def save(self) -> None:
        """Save all groups. If that fails, they are kept until the next time, and those that came meanwhile are lost."""
        taken = self._groups
        if not taken.seen:
            return
        self._groups = _Groups()
        try:
            await save_refused(self._db, [_row(group, seen) for group, seen in taken.seen.items()])
        except Exception:
            self._groups = taken
            raise


def _row(group: _Group, seen: _Seen) -> RefusedGroup:
    key_hash, minute, method, path, status, code, field = group
    return RefusedGroup(
        key_hash=key_hash,
        id=ids.new_id(seen.first),
        minute=minute,
        method=method,
        path=path,
        status=status,
        code=code,
        field=field,
        at=seen.at,
        message=seen.message,
        request_id=seen.request_id,
        count=seen.count,
    )


def _storable(text: str, limit: int) -> str:
    """Return the beginning of a text without the characters that cannot be stored."""
    return text[:limit].replace("\0", "").encode(errors="replace").decode()
