"""The description of a route besides its path: read from its handler, or given in its decorator.

read from the handler
    data      the type of `data` in the response; None: null
    paged     whether the response has `paging`
    body      the type of the JSON body
    query     the query parameters
    once      whether it takes an Idempotency-Key
    status    the status of a success

given in the decorator
    errors    error codes besides those that are derived (`problems.py`)
    body_required  False: without a body, every field has its default
    example   a valid body; {{name}} is replaced by a value from an earlier response
    keeps     variables for parts of the response, for later requests of the collection
    asks      query parameters that the example sets
    uses      path parameter → the variable that the example uses there, if it has another name
    more      further examples
    turn      its position among the requests of its folder; those of one turn keep the order of the routes
    only      the kind of channel that it is for
    after     a condition to wait for before the example is sent
    needs     variables of the collection that the user has to set first
"""

import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from gatepost.api.asgi import Response
from gatepost.api.query import Parameter, QueryReader
from gatepost.api.responses import Created, Encoded, Page, Reply


class WaitUntil(msgspec.Struct, frozen=True):
    """A path to poll until its `data` meets a condition, in JavaScript. If it does not, the example is skipped."""

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
    """The description of one route."""

    data: Any = None
    paged: bool = False
    body: Any = None
    body_required: bool = True
    query: tuple[Parameter, ...] = ()
    once: bool = False
    status: int = 200
    operation_id: str = ""  # empty: module and function
    message: str = "OK"
    errors: tuple[str, ...] = ()
    example: Any = None
    examples: dict[str, Any] = {}  # one example of each kind, if there are several; `example` is the first
    keeps: dict[str, str] = {}
    only: str | None = None
    binary: tuple[str, ...] = ()  # media types of a response without the JSON envelope
    upload: str = ""  # example content, if the body is a file
    upload_type: str = "text/plain"
    headers: tuple[str, ...] = ()  # request headers
    extra: dict[int, Any] = {}  # other success statuses, and their data
    asks: dict[str, str] = {}
    uses: dict[str, str] = {}
    more: tuple[Sample, ...] = ()
    turn: int = 0
    needs: tuple[str, ...] = ()
    after: WaitUntil | None = None
    folder: str = ""  # folder in the collection, if it is not the resource

    @property
    def query_names(self) -> list[str]:
        """The names of the query parameters."""
        return [one.name for one in self.query]


def describe_handler(function: Callable[..., Any], given: RouteDocs) -> RouteDocs:
    """Return the given description of a route, completed from the annotations of its function."""
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
    """Return the type of `data` for a return type, whether it has pages, and whether the status is 201."""
    origin = get_origin(type_)
    if origin is Page:
        return list[get_args(type_)[0]], True, False  # type: ignore[misc]
    if origin in (Reply, Created, Encoded):
        return _answer(get_args(type_)[0])[0], False, origin is Created
    members = get_args(type_) if origin in (Union, types.UnionType) else (type_,)
    ours = [one for one in members if not _is_response(one)]
    if len(ours) < len(members):  # a plain response, possibly besides the JSON envelope
        return _answer(ours[0]) if ours else (None, False, False)
    return (None if type_ is type(None) else type_), False, False


def _is_response(type_: Any) -> bool:
    plain = get_origin(type_) or type_
    return isinstance(plain, type) and issubclass(plain, Response)
