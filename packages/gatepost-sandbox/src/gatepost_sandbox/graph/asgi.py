"""Reading requests and writing responses: plain ASGI, because this is the hot path of benchmarks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gatepost_sandbox.network import Answer, Network

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

TRANSPORT = "gatepost.transport"  # the connection, so that a fault can drop it
JSON = b"application/json; charset=UTF-8"
BODY_MAX = 160 * 1024 * 1024  # the largest file is 100 MB, and bodies are read in memory


async def read_body(receive: Receive) -> bytes | None:
    """Return the whole body of a request; None if it is too large."""
    message = await receive()
    if not message.get("more_body"):
        return bytes(message.get("body", b""))
    parts = [message.get("body", b"")]
    size = len(parts[0])
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_MAX:
            return None
    return b"".join(parts)


async def send_answer(network: Network, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response, or drop or delay it as a fault demands."""
    if answer.how == "hang" and not await _delay(network, receive, answer.seconds):
        return
    if answer.how == "drop":
        await _cut(scope, receive)
        return
    await write(send, answer.status, JSON, answer.body, answer.request_id)


async def write(send: Send, status: int, content_type: bytes, body: bytes, request_id: str) -> None:
    """Write a response."""
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"x-fb-trace-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _delay(network: Network, receive: Receive, seconds: float) -> bool:
    """Keep the client waiting; return False if it disconnected first."""
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
    """Close the connection without a response."""
    transport: asyncio.Transport = scope["extensions"][TRANSPORT]
    transport.abort()
    await _until_gone(receive)
