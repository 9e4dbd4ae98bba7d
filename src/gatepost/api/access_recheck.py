"""Revoked means over: a request that lasts is checked again, not only admitted once.

admit (`app.py`) ─► StillAllowed in the request's state
    a body that arrives piece by piece   each piece               `front.py`, `hot.py`
    an answer written piece by piece     before and after each    `streaming.py`, which every streamed answer uses
    a wait                               after it                 the handler: await still_allowed(request)

A look-up is trusted for as long as any other (`security.key_cache_seconds`), so a check mostly costs microseconds.
"""

from collections.abc import AsyncIterator
from typing import Any, TypeVar

from litestar import Request
from litestar.types import Receive, Scope

from gatepost.api.authentication import Authenticator
from gatepost.model.errors import GatepostError, Unavailable

T = TypeVar("T")
_NAME = "still_allowed"


class AccessRecheck:
    """What a request was admitted with, to be asked again."""

    def __init__(self, gate: Authenticator, authorization: str | None, scope: str) -> None:
        self._gate = gate
        self._authorization = authorization
        self._scope = scope

    async def check(self) -> None:
        """Raises what a new request with the same key would be refused with."""
        await self._gate.check(self._authorization, self._scope)


def remember(scope: Scope, admitted: AccessRecheck) -> None:
    """Notes what a request was admitted with."""
    scope["state"][_NAME] = admitted


async def still_allowed(request: Request[Any, Any, Any]) -> None:
    """Raises if the key of a request has been revoked, has expired or lost its scope since it was admitted."""
    await _check(request.scope)


def checked_body(scope: Scope, receive: Receive) -> Receive:
    """The request's body, for as long as its key is good."""

    async def checked() -> Any:
        message = await receive()
        if message["type"] == "http.request" and message.get("body"):
            await _check(scope)
        return message

    return checked


async def checked_pieces(scope: Scope, pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """The pieces of an answer, for as long as the key is good.

    The refusal is raised inside `pieces`, which may end with a last word of its own; what has none is cut off.
    """
    refusal: GatepostError | None = None  # the first piece is due: the request was admitted a moment ago
    try:
        while True:
            piece = await anext(pieces, None) if refusal is None else None
            refusal = refusal or await _refusal(scope)  # the piece may have been long in coming
            if refusal is not None:
                async for last in _end_with(pieces, refusal):
                    yield last
                return
            if piece is None:
                return
            yield piece
            refusal = await _refusal(scope)  # the client may have been slow to take it
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()


async def _end_with(pieces: AsyncIterator[T], refusal: GatepostError) -> AsyncIterator[T]:
    throw = getattr(pieces, "athrow", None)
    if throw is None:
        raise refusal
    try:
        yield await throw(refusal)
    except StopAsyncIteration:
        return
    async for last in pieces:
        yield last


async def _refusal(scope: Scope) -> GatepostError | None:
    try:
        await _check(scope)
    except Unavailable:  # not known at the moment; what needs the database fails by itself
        return None
    except GatepostError as error:
        return error
    return None


async def _check(scope: Scope) -> None:
    admitted: AccessRecheck | None = scope["state"].get(_NAME)
    if admitted is not None:  # a public route has none
        await admitted.check()
