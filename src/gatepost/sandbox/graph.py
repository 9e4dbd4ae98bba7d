"""The network's own door, /vN.0/…: raw ASGI, because every send of a benchmark comes through here."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from gatepost.sandbox.errors import Refusal, bad_token, unknown_object
from gatepost.sandbox.messages import MarkRead, read_payload
from gatepost.sandbox.messages import Send as SendMessage
from gatepost.sandbox.network import Answer, Network
from gatepost.sandbox.numbers import Number

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

TRANSPORT = "gatepost.transport"  # where the server puts the connection, so that a fault can cut it
_VERSION = re.compile(r"v[0-9]+\.[0-9]+\Z")
_JSON = (b"content-type", b"application/json; charset=UTF-8")


async def serve_graph(network: Network, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request to the network."""
    body = await _read_body(receive)
    answer = decide(network, scope, body)
    if answer.how == "hang" and not await _outlast(network, receive, answer.seconds):
        return
    if answer.how == "drop":
        await _cut(scope, receive)
        return
    headers = [
        _JSON,
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-fb-trace-id", answer.request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def decide(network: Network, scope: Scope, body: bytes) -> Answer:
    """Find the object and the operation that a request is about, and let the network answer."""
    request_id = network.next_request_id()
    method, parts = scope["method"], scope["path"].split("/")[1:]
    if parts and _VERSION.match(parts[0]):
        del parts[0]
    object_id = parts[0] if parts else ""
    number = authorise(network, scope, method, object_id)
    if isinstance(number, Refusal):
        return network.refuse(object_id, number, request_id)
    operation = _OPERATIONS.get((method, "/".join(parts[1:])))
    if operation is None:
        return network.refuse(object_id, unknown_object(method, "/".join(parts)), request_id)
    return operation(network, number, scope, body, request_id)


def authorise(network: Network, scope: Scope, method: str, object_id: str) -> Number | Refusal:
    """The number that a request may act for."""
    token = _bearer(scope["headers"])
    if token is None:
        return bad_token("An access token is required to request this resource.")
    number = network.numbers.get(object_id)
    if number is not None and number.spec.token == token:
        return number
    if all(other.spec.token != token for other in network.numbers.values()):
        return bad_token("Cannot parse access token")
    return unknown_object(method, object_id)


def post_message(network: Network, number: Number, scope: Scope, body: bytes, request_id: str) -> Answer:
    """POST /{number}/messages."""
    payload = read_payload(body)
    if isinstance(payload, SendMessage):
        return network.receive_send(number, payload, request_id)
    if isinstance(payload, MarkRead):
        return network.receive_mark(number, payload, request_id)
    return network.refuse(number.id, payload, request_id)


def get_number(network: Network, number: Number, scope: Scope, body: bytes, request_id: str) -> Answer:
    """GET /{number}, in full or only the fields that are asked for."""
    node = number.node()
    wanted = parse_qs(scope["query_string"].decode("latin-1")).get("fields")
    if wanted:
        names = {name.strip() for name in wanted[0].split(",")} | {"id"}
        node = {name: value for name, value in node.items() if name in names}
    return Answer(200, msgspec.json.encode(node), request_id)


Operation = Callable[[Network, Number, Scope, bytes, str], Answer]
_OPERATIONS: dict[tuple[str, str], Operation] = {
    ("POST", "messages"): post_message,
    ("GET", ""): get_number,
}


def _bearer(headers: list[tuple[bytes, bytes]]) -> str | None:
    for name, value in headers:
        if name == b"authorization":
            scheme, _, token = value.decode("latin-1").partition(" ")
            return token.strip() or None if scheme.lower() == "bearer" else None
    return None


async def _read_body(receive: Receive) -> bytes:
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    return body


async def _outlast(network: Network, receive: Receive, seconds: float) -> bool:
    """Keep the caller waiting; False when the caller gave up first."""
    nap = asyncio.ensure_future(network.clock.sleep(seconds))
    gone = asyncio.ensure_future(_until_gone(receive))
    await asyncio.wait({nap, gone}, return_when=asyncio.FIRST_COMPLETED)
    patient = not gone.done()
    for task in (nap, gone):
        task.cancel()
    await asyncio.gather(nap, gone, return_exceptions=True)
    return patient


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _cut(scope: Scope, receive: Receive) -> None:
    """Close the connection with no answer."""
    transport: asyncio.Transport = scope["extensions"][TRANSPORT]
    transport.abort()
    await _until_gone(receive)
