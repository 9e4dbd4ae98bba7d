"""A long request is checked again, so that it ends soon after its key or session has ended or lost its scope.

admitted ─► AccessRecheck in the state of the ASGI scope
    a request body that arrives in parts    each part is checked              `checked_body`
    a response that is written in parts     before and after each part        `checked_parts`
    a wait                                  the handler checks after it       `recheck_access`

The authenticators cache their look-ups (`security.key_cache_seconds`), so most checks take microseconds.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from gatepost.model.errors import GatepostError, Unavailable

T = TypeVar("T")
AsgiScope = Mapping[str, Any]
_NAME = "access_recheck"


# Raises the error that a new request with the same key or session would get.
AccessRecheck = Callable[[], Awaitable[object]]


def remember_access(scope: AsgiScope, recheck: AccessRecheck) -> None:
    """Store how the access of a request is checked again in its state."""
    scope["state"][_NAME] = recheck


async def recheck_access(scope: AsgiScope) -> None:
    """Raise if the key or session of a request has ended or lost its scope since the request was admitted."""
    recheck: AccessRecheck | None = scope["state"].get(_NAME)
    if recheck is not None:  # a public route has none
        await recheck()


def checked_body(scope: AsgiScope, receive: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    """Return an ASGI `receive` that checks access with each part of the request's body."""

    async def checked() -> Any:
        message = await receive()
        if message["type"] == "http.request" and message.get("body"):
            await recheck_access(scope)
        return message

    return checked


async def checked_parts(scope: AsgiScope, parts: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """Yield the parts of a response while its key is valid.

    When access ends, the error is thrown into `parts`, which may yield some last parts; otherwise the response ends
    there.
    """
    refusal: GatepostError | None = None  # no check before the first part: the request was just admitted
    try:
        while True:
            part = await anext(parts, None) if refusal is None else None
            refusal = refusal or await _refusal(scope)  # waiting for the part may have taken long
            if refusal is not None:
                async for last in _end_with(parts, refusal):
                    yield last
                return
            if part is None:
                return
            yield part
            refusal = await _refusal(scope)  # the client may have read the part slowly
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()


async def _end_with(parts: AsyncIterator[T], refusal: GatepostError) -> AsyncIterator[T]:
    throw = getattr(parts, "athrow", None)
    if throw is None:
        raise refusal
    try:
        yield await throw(refusal)
    except StopAsyncIteration:
        return
    async for last in parts:
        yield last


async def _refusal(scope: AsgiScope) -> GatepostError | None:
    try:
        await recheck_access(scope)
    except Unavailable:  # the database cannot be reached: parts that need it fail with their own error
        return None
    except GatepostError as error:
        return error
    return None
