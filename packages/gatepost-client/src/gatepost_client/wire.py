"""Requests, responses, and calls (a request with a decoder of its response), as plain values.

calls/ ─► Call[T] = Request + decoder ─► retry.py ─► Step ─► a transport runs it
                                             ◄── Answer │ Lost

Nothing in here opens a connection; the blocking and the asynchronous client share the same calls.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

import msgspec

T = TypeVar("T")
PREFIX = "/api/v1"
Query: TypeAlias = Mapping[str, str | int | bool | date | datetime | Iterable[str] | None]


class Request(msgspec.Struct, frozen=True):
    """One request; a `repeatable` one is idempotent and may be sent again after a lost response."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: bytes | Path | None = None
    content_type: str = "application/json"
    key: str | None = None
    repeatable: bool = False
    streamed: bool = False
    live: bool = False  # of a stream: every byte counts as soon as it is there

    @property
    def brief(self) -> bool:
        """Whether both bodies are small, so that the whole exchange has a timeout."""
        return not self.streamed and self.content_type == "application/json"

    @property
    def upload_size(self) -> int:
        """The bytes of a body that may be large; 0 if it is small."""
        if self.brief or self.body is None:
            return 0
        return self.body.stat().st_size if isinstance(self.body, Path) else len(self.body)

    @property
    def target(self) -> str:
        """The path with its query."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


class Answer(msgspec.Struct, frozen=True):
    """A response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Lost(msgspec.Struct, frozen=True):
    """No response arrived. `sent` says whether the request may have arrived."""

    reason: str
    sent: bool


class Wait(msgspec.Struct, frozen=True):
    """A pause before the next attempt."""

    seconds: float


class Call(msgspec.Struct, Generic[T], frozen=True):
    """A request, and a decoder of its response."""

    request: Request
    read: Callable[[Answer], T]


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list, and the cursor of the next."""

    items: list[T]
    next: str | None


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A list that is read page by page; `cursor` is the query parameter of the next page."""

    call: Call[Page[T]]
    cursor: str = "cursor"
    endless: bool = False  # waits for what comes after the end

    def after(self, cursor: str) -> Call[Page[T]]:
        """Return the call for the page after a cursor."""
        request = self.call.request
        moved = msgspec.structs.replace(request, query=request.query | {self.cursor: cursor})
        return msgspec.structs.replace(self.call, request=moved)

    @property
    def start(self) -> str | None:
        """The cursor of the first page."""
        return self.call.request.query.get(self.cursor)


def following(listing: Listing[T], page: Page[Any], cursor: str | None) -> tuple[Call[Page[T]], str | None] | None:
    """Return the call for the page after this one, with its cursor; None at the end.

    A page of a search may be empty and still have a next one. A feed returns the same cursor when nothing is new.
    """
    if listing.endless:
        known = page.next or cursor
        return (listing.after(known) if known else listing.call), known
    return (listing.after(page.next), page.next) if page.next and page.next != cursor else None


Plan: TypeAlias = Generator[Call[Any], Any, T]
Step: TypeAlias = Request | Wait
Outcome: TypeAlias = Answer | Lost | None


def path_of(*parts: str) -> str:
    """Return the path of a resource. An id that would change the path is rejected."""
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"{part!r} is not an id")
    return "/".join((PREFIX, *(quote(part, safe="") for part in parts)))


def show_query(query: Query) -> dict[str, str]:
    """Return the query parameters as strings, without those that are None."""
    return {name: _show(value) for name, value in query.items() if value is not None}


def _show(value: str | int | bool | date | datetime | Iterable[str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return show_time(value)
    return value.isoformat() if isinstance(value, date) else ",".join(value)


def show_time(moment: datetime) -> str:
    """Return a time in the API's format. A time without a zone is ambiguous and rejected."""
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone, such as datetime.now(UTC)")
    return moment.isoformat()


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def changed(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not UNSET; None clears a value."""
    return {name: value for name, value in fields.items() if value is not msgspec.UNSET}


def identity(*parts: str) -> str:
    """Return an idempotency key derived from these parts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
