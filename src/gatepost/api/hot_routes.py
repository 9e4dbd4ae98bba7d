"""The two routes with the highest load. They bypass the router (`docs/decisions/hot-routes.md`).

They share authentication and errors with all other routes. `dispatcher.py` passes requests to them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, ClassVar, Protocol
from uuid import UUID

import msgspec

from gatepost.access.rate_limit import Headers
from gatepost.api.admission import admit_request, read_headers
from gatepost.api.asgi import Receive, Scope, WrongMethod
from gatepost.api.callbacks import find_callback, is_callback, peek_config, receive_callback, verify_callback
from gatepost.api.context import ApiContext
from gatepost.api.errors import name_methods
from gatepost.api.json_body import HttpAnswer, check_json, decode
from gatepost.inbound.receive import BegunReport
from gatepost.model.account import Caller
from gatepost.model.errors import BadRequest, NotFound, TooLarge
from gatepost.model.send_request import SendRequest
from gatepost.model.session import AccessRule
from gatepost.outbound.accept import ROUTE
from gatepost.store.idempotency import idempotency_key
from gatepost.store.messages.accept import AcceptResult
from gatepost.store.messages.accept_plain import NotPlain
from gatepost.store.messages.submission import Submission
from gatepost.store.pool import UNFIT

SEND = "/api/v1/message/send"
_JSON, _TEXT = b"application/json", b"text/plain; charset=utf-8"
PROMPT = 0.5  # seconds: if a body takes longer, its key is checked again
_REPLAYED = ((b"idempotent-replayed", b"true"),)
_SEND_RULE = AccessRule("send")
_STORED = HttpAnswer(200, b"", _TEXT)
_send_request = msgspec.json.Decoder(SendRequest)

Handler = Callable[[ApiContext, Scope, Receive], Awaitable[HttpAnswer]]


class Begun(Protocol):
    """A request that waits only for its commit."""

    @property
    def committed(self) -> "asyncio.Future[Any]":
        """The commit."""

    @property
    def left_out(self) -> tuple[type[Exception], ...]:
        """The errors of the commit after which `resume` has to answer the request."""

    def finish(self, result: Any) -> HttpAnswer:
        """Return the answer, from the result of the commit."""

    async def resume(self, gateway: ApiContext, scope: Scope, receive: Receive) -> HttpAnswer:
        """Answer the request, although it was left out."""


Begin = Callable[[ApiContext, Scope, bytes], Begun | None]


class HotRoute(msgspec.Struct, frozen=True):
    """A hot route for POST.

    `begin` is for requests that have arrived completely: it awaits nothing. It returns None, or raises, before it has
    changed anything; then `answer` answers the request.
    """

    answer: Handler
    begin: Begin


def hot_route(method: str, path: str) -> Handler | None:
    """Return the handler of a hot route; None for a route of the router."""
    if path == SEND:
        sending: Handler = _SENDING.get(method, wrong_method)
        return sending
    if is_callback(path):
        calling: Handler = _CALLING.get(method, wrong_method)
        return calling
    return None


def direct_route(path: str) -> HotRoute | None:
    """Return the hot route for POST requests to a path; None for a route of the router."""
    if path == SEND:
        return _SEND
    return _CALLBACK if is_callback(path) else None


async def wrong_method(_gateway: ApiContext, scope: Scope, _receive: Receive) -> HttpAnswer:
    raise WrongMethod(_methods(scope))


async def answer_options(_gateway: ApiContext, scope: Scope, _receive: Receive) -> HttpAnswer:
    return HttpAnswer(204, b"", headers=((b"allow", _methods(scope).encode()),))


def _methods(scope: Scope) -> str:
    return name_methods(_SENDING if scope["path"] == SEND else _CALLING)


async def send_message(gateway: ApiContext, scope: Scope, receive: Receive) -> HttpAnswer:
    """Accepts a message for sending. The response is sent after the message is stored."""
    headers = read_headers(scope)
    admitted = await admit_request(gateway, scope, headers, _SEND_RULE)
    caller, left = admitted.caller, admitted.left
    assert caller is not None  # the route has a scope
    scope.setdefault("state", {})["caller"] = caller
    check_json(headers.get(b"content-type"))
    admitted_at = time.monotonic()
    body = await read_all(headers, receive, gateway.body_limit)
    if time.monotonic() - admitted_at > PROMPT:
        await admitted.recheck()
    key = idempotency_key(headers.get(b"idempotency-key"), body, ROUTE)
    request, traceparent = decode(body, _send_request), headers.get(b"traceparent")
    return _accepted(await gateway.acceptor.accept(caller, request, key, traceparent), left)


def _accepted(result: AcceptResult, left: Headers) -> HttpAnswer:
    return HttpAnswer(200, result.answer, _JSON, (*left, *_REPLAYED) if result.replayed else left)


class _BegunSend(msgspec.Struct, frozen=True, gc=False):
    """A message that waits for its commit."""

    gateway: ApiContext
    caller: Caller
    submission: Submission
    began: datetime
    left: Headers
    traceparent: str | None
    committed: "asyncio.Future[AcceptResult]"

    left_out: ClassVar = (NotPlain,)

    def finish(self, result: AcceptResult) -> HttpAnswer:
        self.gateway.acceptor.trace(self.caller, self.began, (result,), self.traceparent)
        return _accepted(result, self.left)

    async def resume(self, gateway: ApiContext, _scope: Scope, _receive: Receive) -> HttpAnswer:
        return self.finish(await gateway.acceptor.resume(self.caller, self.submission))


def begin_send(gateway: ApiContext, scope: Scope, body: bytes) -> Begun | None:
    """Begin to accept a message, if its key is cached and it has no links."""
    headers, now = read_headers(scope), gateway.clock.now()
    if b"cookie" in headers or len(body) > gateway.body_limit:
        return None
    caller = gateway.gate.peek(headers.get(b"authorization"), "send", now)
    if caller is None:
        return None
    check_json(headers.get(b"content-type"))
    key = idempotency_key(headers.get(b"idempotency-key"), body, ROUTE)
    submission = gateway.acceptor.check(caller, decode(body, _send_request), key, now)
    if submission is None:
        return None
    left, traceparent = gateway.gate.count(caller), headers.get(b"traceparent")
    committed = gateway.acceptor.begin(caller, submission)
    scope["state"]["caller"] = caller
    return _BegunSend(gateway, caller, submission, now, left, traceparent, committed)


async def take_callback(gateway: ApiContext, scope: Scope, receive: Receive) -> HttpAnswer:
    """Receives signed updates of the official network. The response is sent after they are stored."""
    headers, path = read_headers(scope), scope["path"]
    config = await find_callback(gateway, path, headers)
    with gateway.callback_memory.open(config.id) as held:
        body = await read_all(headers, receive, gateway.callback_limit, held.take)
        await receive_callback(gateway, path, headers, body)
    return _STORED


class _BegunCallback(msgspec.Struct, frozen=True):
    """Updates that wait for their commit."""

    gateway: ApiContext
    channel_id: UUID
    report: BegunReport

    left_out: ClassVar = (*UNFIT, NotFound)  # of a channel that was moved to another cell, `answer` knows more

    @property
    def committed(self) -> "asyncio.Future[None]":
        return self.report.stored

    def finish(self, _result: None) -> HttpAnswer:
        self.gateway.receiver.finish(self.report)
        return _STORED

    async def resume(self, gateway: ApiContext, _scope: Scope, _receive: Receive) -> HttpAnswer:
        await gateway.receiver.receive(self.channel_id, self.report.channel, self.report.updates)
        return _STORED


def begin_callback(gateway: ApiContext, scope: Scope, body: bytes) -> Begun | None:
    """Begin to store updates, if the channel is cached and all of them are understood."""
    headers, config = read_headers(scope), peek_config(gateway, scope["path"])
    if config is None or len(body) > gateway.callback_limit:
        return None
    config.reader.check_signature(headers, body)
    updates, unread = config.reader.parse(body)
    if unread or not gateway.receiver.fits(updates):
        return None
    held = gateway.callback_memory.open(config.id)
    held.take(len(body))
    report = gateway.receiver.begin(config.id, config.channel, updates)
    report.stored.add_done_callback(held.release)
    return _BegunCallback(gateway, config.id, report)


async def shake_hands(gateway: ApiContext, scope: Scope, _receive: Receive) -> HttpAnswer:
    """Answers the network's check of the callback URL."""
    challenge = await verify_callback(gateway, scope["path"], scope["query_string"])
    return HttpAnswer(200, challenge.encode(), _TEXT)


_SENDING: dict[str, Handler] = {"POST": send_message, "OPTIONS": answer_options}
_CALLING: dict[str, Handler] = {"GET": shake_hands, "POST": take_callback, "OPTIONS": answer_options}


_SEND, _CALLBACK = HotRoute(send_message, begin_send), HotRoute(take_callback, begin_callback)


async def read_all(
    headers: dict[bytes, str], receive: Receive, limit: int, count: Callable[[int], None] = lambda _: None
) -> bytes:
    """Return the body, or raise if it exceeds the limit. `count` is called for each chunk before it is stored."""
    length = headers.get(b"content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("The request broke off.", "malformed_request")
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        count(len(chunk))
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body may have at most {limit:,} bytes.")
