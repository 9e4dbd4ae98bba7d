"""How a request comes in and an answer goes out: raw ASGI, because every send of a benchmark comes through here."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gatepost_sandbox.network import Answer, Network

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

TRANSPORT = "gatepost.transport"  # where the server puts the connection, so that a fault can cut it
JSON = b"application/json; charset=UTF-8"


async def read_body(receive: Receive) -> bytes:
    """The whole body of a request."""
    message = await receive()
    if not message.get("more_body"):
        return bytes(message.get("body", b""))
    parts = [message.get("body", b"")]
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return b"".join(parts)


async def send_answer(network: Network, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send an answer on its way, or keep it from getting there."""
    if answer.how == "hang" and not await _outlast(network, receive, answer.seconds):
        return
    if answer.how == "drop":
        await _cut(scope, receive)
        return
    await write(send, answer.status, JSON, answer.body, answer.request_id)


async def write(send: Send, status: int, content_type: bytes, body: bytes, request_id: str) -> None:
    """Write an answer."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"x-fb-trace-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _outlast(network: Network, receive: Receive, seconds: float) -> bool:
    """Keep the caller waiting; False when the caller gave up first."""
    sleep = asyncio.ensure_future(network.clock.sleep(seconds))
    gone = asyncio.ensure_future(_until_gone(receive))
    await asyncio.wait({sleep, gone}, return_when=asyncio.FIRST_COMPLETED)
    patient = not gone.done()
    for task in (sleep, gone):
        task.cancel()
    await asyncio.gather(sleep, gone, return_exceptions=True)
    return patient


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _cut(scope: Scope, receive: Receive) -> None:
    """Close the connection with no answer."""
    transport: asyncio.Transport = scope["extensions"][TRANSPORT]
    transport.abort()
    await _until_gone(receive)
