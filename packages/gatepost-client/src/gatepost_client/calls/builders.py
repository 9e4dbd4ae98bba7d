"""Builders of calls: a method, a path, an optional body, and the type of the response's `data`."""

import uuid
from typing import Any, Generic, TypeVar

import msgspec

from gatepost_client.errors import read_data
from gatepost_client.wire import Answer, Call, Listing, Page, Query, Request, path_of, show_query

T = TypeVar("T")
PAGE = 100
NO_QUERY: Query = {}


class _Data(msgspec.Struct, Generic[T], frozen=True):
    data: T


class _Paging(msgspec.Struct, frozen=True):
    next: str | None = None


class _List(msgspec.Struct, Generic[T], frozen=True):
    data: list[T]
    paging: _Paging = _Paging()


def fetch(kind: type[T], *parts: str, query: Query = NO_QUERY) -> Call[T]:
    """Return a GET of one object."""
    return Call(Request("GET", path_of(*parts), show_query(query), repeatable=True), reader(kind))


def pages(kind: type[T], *parts: str, cursor: str = "cursor", query: Query = NO_QUERY) -> Listing[T]:
    """Return a GET of a list."""
    shown = show_query({"limit": PAGE} | dict(query))
    return Listing(Call(Request("GET", path_of(*parts), shown, repeatable=True), _page_reader(kind)), cursor)


def create(kind: type[T], *parts: str, body: Any, key: str | None = None) -> Call[T]:
    """Return a POST that creates and honours an idempotency key, so that it may be repeated."""
    request = Request("POST", path_of(*parts), body=encode(body), key=key or new_key(), repeatable=True)
    return Call(request, reader(kind))


def act(kind: type[T], method: str, *parts: str, body: Any = None, repeatable: bool = False) -> Call[T]:
    """Return any other change; `repeatable` if it is idempotent."""
    encoded = None if body is None else encode(body)
    return Call(Request(method, path_of(*parts), body=encoded, repeatable=repeatable), reader(kind))


def remove(*parts: str) -> Call[None]:
    """Return a DELETE. It is not retried after a lost response: the second request would fail with not_found."""
    return Call(Request("DELETE", path_of(*parts)), nothing)


def stream(*parts: str, query: Query = NO_QUERY) -> Call[None]:
    """Return a GET whose response is streamed."""
    return Call(Request("GET", path_of(*parts), show_query(query), repeatable=True, streamed=True), nothing)


def reader(kind: Any) -> Any:
    """Return a function that decodes the `data` of a response as a type."""

    def read(answer: Answer) -> Any:
        return read_data(answer, _Data[kind]).data

    return read


def nothing(answer: Answer) -> None:
    """Read nothing from a response without data."""


def new_key() -> str:
    """Return a fresh idempotency key."""
    return uuid.uuid4().hex


encode = msgspec.json.Encoder().encode


def _page_reader(kind: Any) -> Any:
    def read(answer: Answer) -> Page[Any]:
        body = read_data(answer, _List[kind])
        return Page(body.data, body.paging.next)

    return read
