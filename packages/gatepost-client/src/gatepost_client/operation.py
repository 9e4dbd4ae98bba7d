"""One description, two clients: an operation blocks on the one and is awaited on the other.

class Operations:
    message = Operation(describe.message)      # (message_id: str) -> Call[Message]

Gatepost.message       (message_id: str) -> Message
AsyncGatepost.message  (message_id: str) -> Awaitable[Message]
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar, overload

from gatepost_client.async_transport import AsyncTransport
from gatepost_client.blocking_transport import BlockingTransport
from gatepost_client.events import Event
from gatepost_client.wire import Call, Listing, Plan

P = ParamSpec("P")
T = TypeVar("T")


class Operation(Generic[P, T]):
    """A call with one result."""

    def __init__(self, describe: Callable[P, Call[T] | Plan[T]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: BlockingTransport, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncTransport, owner: type) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, client: BlockingTransport | AsyncTransport, owner: type) -> Callable[P, Any]:
        return _bound(self.describe, client.run)


class Listed(Generic[P, T]):
    """A list to iterate over, page by page."""

    def __init__(self, describe: Callable[P, Listing[T]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: BlockingTransport, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncTransport, owner: type) -> Callable[P, AsyncIterator[T]]: ...

    def __get__(self, client: BlockingTransport | AsyncTransport, owner: type) -> Callable[P, Any]:
        return _bound(self.describe, client.items)


class Streamed(Generic[P]):
    """Bytes to iterate over, in chunks."""

    def __init__(self, describe: Callable[P, Call[None]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: BlockingTransport, owner: type) -> Callable[P, Iterator[bytes]]: ...
    @overload
    def __get__(self, client: AsyncTransport, owner: type) -> Callable[P, AsyncIterator[bytes]]: ...

    def __get__(self, client: BlockingTransport | AsyncTransport, owner: type) -> Callable[P, Any]:
        return _bound(self.describe, client.pieces)


class Followed(Generic[P]):
    """Events to iterate over, as they happen; endless."""

    def __init__(self, describe: Callable[P, Call[None]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: BlockingTransport, owner: type) -> Callable[P, Iterator[Event]]: ...
    @overload
    def __get__(self, client: AsyncTransport, owner: type) -> Callable[P, AsyncIterator[Event]]: ...

    def __get__(self, client: BlockingTransport | AsyncTransport, owner: type) -> Callable[P, Any]:
        return _bound(self.describe, client.follow_stream)


def _bound(describe: Callable[P, Any], perform: Callable[[Any], Any]) -> Callable[P, Any]:
    @wraps(describe)
    def operate(*args: P.args, **kwargs: P.kwargs) -> Any:
        return perform(describe(*args, **kwargs))

    return operate
