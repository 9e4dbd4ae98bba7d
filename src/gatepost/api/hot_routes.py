"""The two routes with the highest load. They bypass the router (`docs/decisions/hot-routes.md`).

They share authentication and errors with all other routes. `dispatcher.py` passes requests to them.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gatepost.api.admission import admit_request, read_headers
from gatepost.api.asgi import Receive, Scope, WrongMethod
from gatepost.api.callbacks import find_callback, is_callback, receive_callback, verify_callback
from gatepost.api.context import ApiContext
from gatepost.api.errors import name_methods
from gatepost.api.json_body import HttpAnswer, check_json, decode
from gatepost.model.errors import BadRequest, TooLarge
from gatepost.model.send_request import SendRequest
from gatepost.model.session import AccessRule
from gatepost.outbound.accept import ROUTE
from gatepost.store.idempotency import idempotency_key

SEND = "/api/v1/message/send"
_JSON, _TEXT = b"application/json", b"text/plain; charset=utf-8"
PROMPT = 0.5  # seconds: if a body takes longer, its key is checked again
_REPLAYED = ((b"idempotent-replayed", b"true"),)
_SEND_RULE = AccessRule("send")
_send_request = msgspec.json.Decoder(SendRequest)

Handler = Callable[[ApiContext, Scope, Receive], Awaitable[HttpAnswer]]


def hot_route(method: str, path: str) -> Handler | None:
    """Return the handler of a hot route; None for a route of the router."""
    if path == SEND:
        sending: Handler = _SENDING.get(method, wrong_method)
        return sending
    if is_callback(path):
        calling: Handler = _CALLING.get(method, wrong_method)
        return calling
    return None


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
    accepted = await gateway.acceptor.accept(caller, request, key, traceparent)
    return HttpAnswer(200, accepted.answer, _JSON, (*left, *_REPLAYED) if accepted.replayed else left)


async def take_callback(gateway: ApiContext, scope: Scope, receive: Receive) -> HttpAnswer:
    """Receives signed updates of the official network. The response is sent after they are stored."""
    headers, path = read_headers(scope), scope["path"]
    config = await find_callback(gateway, path, headers)
    with gateway.callback_memory.open(config.id) as held:
        body = await read_all(headers, receive, gateway.callback_limit, held.take)
        await receive_callback(gateway, path, headers, body)
    return HttpAnswer(200, b"", _TEXT)


async def shake_hands(gateway: ApiContext, scope: Scope, _receive: Receive) -> HttpAnswer:
    """Answers the network's check of the callback URL."""
    challenge = await verify_callback(gateway, scope["path"], scope["query_string"])
    return HttpAnswer(200, challenge.encode(), _TEXT)


_SENDING: dict[str, Handler] = {"POST": send_message, "OPTIONS": answer_options}
_CALLING: dict[str, Handler] = {"GET": shake_hands, "POST": take_callback, "OPTIONS": answer_options}


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
