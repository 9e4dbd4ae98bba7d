"""The two routes that carry the load, as plain ASGI handlers: the framework's conveniences cost more than their work.

They share the gate, the errors and the OpenAPI document with all other routes.
"""

from typing import Any

import msgspec
from litestar import asgi
from litestar.enums import ScopeType
from litestar.exceptions import MethodNotAllowedException
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Operation, PathItem, RequestBody, Schema
from litestar.types import HTTPScope, Receive, Scope, Send

from gatepost.api.body import check_json, decode
from gatepost.api.callbacks import receive_callback, verify_callback
from gatepost.api.gateway import Gateway
from gatepost.model.errors import TooLarge
from gatepost.model.message import SendRequest
from gatepost.outbound.accept import idempotency_key

SEND = "/api/v1/message/send"
CALLBACK = "/callbacks/cloud"
_send_request = msgspec.json.Decoder(SendRequest)


@asgi(SEND, copy_scope=False)
async def send_message(scope: Scope, receive: Receive, send: Send) -> None:
    """Accepts a message for sending. The answer comes once it is durable."""
    scope = check_method(scope, "POST")
    gateway: Gateway = scope["litestar_app"].state.gateway
    headers = read_headers(scope)
    caller = await gateway.gate.admit(headers.get(b"authorization"), "send")
    check_json(headers.get(b"content-type"))
    body = await read_all(headers, receive, gateway.body_limit)
    key = idempotency_key(headers.get(b"idempotency-key"), body)
    accepted = await gateway.acceptor.accept(caller, decode(body, _send_request), key)
    extra = [(b"idempotent-replayed", b"true")] if accepted.replayed else []
    await answer(send, accepted.answer, b"application/json", extra)


@asgi(CALLBACK, is_mount=True, copy_scope=False)
async def cloud_callback(scope: Scope, receive: Receive, send: Send) -> None:
    """Where the official network calls: the handshake by GET, signed updates by POST."""
    scope = check_method(scope, "POST", "GET")
    gateway: Gateway = scope["litestar_app"].state.gateway
    channel = scope["path"].strip("/")
    if scope["method"] == "GET":
        challenge = await verify_callback(gateway, channel, scope["query_string"])
        await answer(send, challenge.encode(), b"text/plain; charset=utf-8")
        return
    headers = read_headers(scope)
    body = await read_all(headers, receive, gateway.callback_limit)
    await receive_callback(gateway, channel, body, headers.get(b"x-hub-signature-256"))
    await answer(send, b"", b"text/plain; charset=utf-8")


def check_method(scope: Scope, *allowed: str) -> HTTPScope:
    if scope["type"] != ScopeType.HTTP or scope["method"] not in allowed:
        raise MethodNotAllowedException
    return scope


def read_headers(scope: HTTPScope) -> dict[bytes, str]:
    return {name: value.decode("latin-1") for name, value in scope["headers"]}


async def read_all(headers: dict[bytes, str], receive: Receive, limit: int) -> bytes:
    """The body, and no more of it than the limit."""
    length = headers.get(b"content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > limit:
        raise _too_large(limit)
    body, more = b"", True
    while more:
        message: Any = await receive()
        body += message.get("body", b"")
        if len(body) > limit:  # a body that comes in chunks has no length of its own
            raise _too_large(limit)
        more = message.get("more_body", False)
    return body


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body may have at most {limit:,} bytes.")


async def answer(send: Send, body: bytes, kind: bytes, extra: list[tuple[bytes, bytes]] | None = None) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *(extra or [])]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def described() -> dict[str, PathItem]:
    """The send route for the OpenAPI document, which lists the framework's own routes by itself."""
    _, components = msgspec.json.schema_components([SendRequest], ref_template="#/components/schemas/{name}")
    fields = components["SendRequest"]["properties"]
    properties = {name: Schema(description=str(field)) for name, field in fields.items()}
    body = Schema(title="SendRequest", required=components["SendRequest"]["required"], properties=properties)  # type: ignore[arg-type]
    operation = Operation(
        summary="Send a message",
        operation_id="send_message",
        request_body=RequestBody(content={"application/json": OpenAPIMediaType(schema=body)}, required=True),
        responses={"200": OpenAPIResponse(description="Accepted: it is durable, and will be sent")},
    )
    return {SEND: PathItem(post=operation)}
