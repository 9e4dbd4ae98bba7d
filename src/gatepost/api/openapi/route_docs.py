"""What is known of a route besides its address: read from its handler, or given in its decorator.

read from the handler
    data      the type of `data` in the answer; None: null
    paged     whether the answer has `paging`
    body      the type of the JSON body
    query     the query parameters
    once      whether it takes an Idempotency-Key
    status    the status of a success

given in the decorator
    errors    error codes besides those that follow from the rest (`problems.py`)
    example   a body that works; {{name}} stands for a value that an earlier answer gave
    keeps     names for parts of the answer, for later requests of the collection
    asks      query parameters that the example sets
    uses      path parameter → the kept name that the example puts there, where it is not its own
    more      further examples
    turn      its position among the requests of its folder; those of one turn keep the order of the routes
    only      the kind of channel that it is for
    after     what the example has to wait for before it is sent
    needs     variables of the collection that a person has to fill in first
"""

import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
from litestar import Response

from gatepost.api.query import Parameter, QueryReader
from gatepost.api.responses import Created, Encoded, Page, Reply


class WaitUntil(msgspec.Struct, frozen=True):
    """An address to poll until its `data` meets a condition, in JavaScript; otherwise the example is skipped."""

    path: str
    condition: str
    tries: int = 20


CONNECTED = WaitUntil("/api/v1/channel", '["connected", "limited"].includes(data.connection.state)', tries=0)


class Sample(msgspec.Struct, frozen=True):
    """One example of a request."""

    title: str
    body: Any = None
    keeps: dict[str, str] = {}
    asks: dict[str, str] = {}
    only: str | None = None
    after: WaitUntil | None = None
    folder: str = ""
    upload: str = ""
    upload_type: str = ""


class RouteDocs(msgspec.Struct, frozen=True):
    """What is known of one route."""

    data: Any = None
    paged: bool = False
    body: Any = None
    query: tuple[Parameter, ...] = ()
    once: bool = False
    status: int = 200
    operation_id: str = ""  # empty: module and function
    message: str = "OK"
    errors: tuple[str, ...] = ()
    example: Any = None
    examples: dict[str, Any] = {}  # one of each kind, where there are kinds; `example` is the first of them
    keeps: dict[str, str] = {}
    only: str | None = None
    binary: tuple[str, ...] = ()  # media types of an answer that is not JSON of ours
    upload: str = ""  # the body is a file, such as this
    upload_type: str = "text/plain"
    headers: tuple[str, ...] = ()  # of the request
    extra: dict[int, Any] = {}  # further statuses of success, and their data
    asks: dict[str, str] = {}
    uses: dict[str, str] = {}
    more: tuple[Sample, ...] = ()
    turn: int = 0
    needs: tuple[str, ...] = ()
    after: WaitUntil | None = None
    folder: str = ""  # its folder in the collection, if not its resource

    @property
    def query_names(self) -> list[str]:
        """The names of the query parameters."""
        return [one.name for one in self.query]


def describe_handler(function: Callable[..., Any], given: RouteDocs) -> RouteDocs:
    """Return what is given of a route, completed by what its function says."""
    hints = get_type_hints(function, include_extras=True)
    data, paged, created = _answer(hints["return"])
    headers = ("Idempotency-Key",) if "once" in hints else ()
    return msgspec.structs.replace(
        given,
        data=data,
        paged=paged,
        body=hints.get("body", given.body),
        query=tuple(QueryReader(hints["query"]).parameters.values()) if "query" in hints else (),
        once="once" in hints,
        status=201 if created else given.status,
        headers=(*headers, *given.headers),
    )


def _answer(type_: Any) -> tuple[Any, bool, bool]:
    """Return the data of an answer by a function's return type, whether it has pages, and whether it is new."""
    origin = get_origin(type_)
    if origin is Page:
        return list[get_args(type_)[0]], True, False  # type: ignore[misc]
    if origin in (Reply, Created, Encoded):
        return _answer(get_args(type_)[0])[0], False, origin is Created
    members = get_args(type_) if origin in (Union, types.UnionType) else (type_,)
    ours = [one for one in members if not _is_response(one)]
    if len(ours) < len(members):  # a file, or JSON of ours beside it
        return _answer(ours[0]) if ours else (None, False, False)
    return (None if type_ is type(None) else type_), False, False


def _is_response(type_: Any) -> bool:
    plain = get_origin(type_) or type_
    return isinstance(plain, type) and issubclass(plain, Response)
