"""Baselines with a server: the cost of the same requests with only the minimal parts.

    server   uvicorn: decode the send request, answer                     (no database)
    batch    the same, and a group commit of one plain row per request    (no features)

Each uses a plain ASGI handler, or Litestar, like most of the gateway's routes. `batch` also runs without an HTTP
server: a protocol that splits requests by their length and reads no header but that one.
Runs in its own process: `python -m bench.baseline_servers`.
"""

import argparse
import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import msgspec
import uvicorn
import uvloop
from litestar import Litestar, MediaType, Request, Response, post

from bench.load import answer_end
from bench.processes import end_with_parent, say
from gatepost.model import ids
from gatepost.model.message import check_send
from gatepost.model.send_request import SendRequest
from gatepost.outbound.send_answer import send_answer
from gatepost.store.batch import Batch
from gatepost.store.pool import Database

SEND, CALLBACK = "/api/v1/message/send", "/callback"
_decode_send = msgspec.json.Decoder(SendRequest).decode
_decode_any = msgspec.json.Decoder().decode
Keep = Callable[[SendRequest], Awaitable[None]]
_ONLY = UUID(int=0)
_TABLE = """CREATE TABLE IF NOT EXISTS bench_accepted (
                id uuid PRIMARY KEY, phone text NOT NULL, body text NOT NULL, created_at timestamptz NOT NULL)"""
_INSERT = """INSERT INTO bench_accepted (id, phone, body, created_at)
             SELECT *, $4 FROM unnest($1::uuid[], $2::text[], $3::text[])"""


def usual_answer() -> bytes:
    """Return the body of the gateway's response to a send."""
    now = datetime.now(UTC)
    message = check_send(SendRequest("551190000000", "Hello"), now)
    return send_answer("official", message, ids.new_id(now), now)


class Shelf:
    """Minimal durable storage: one plain table, written in group commits."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._last = ids.new_id(datetime.now(UTC))
        self._batch: Batch[UUID, SendRequest, None] = Batch(self._write)

    @classmethod
    async def make(cls, dsn: str) -> "Shelf":
        db = await Database.connect(dsn)
        async with db.connection() as conn:
            await conn.execute(_TABLE)
        return cls(db)

    async def keep(self, request: SendRequest) -> None:
        await self._batch.put(_ONLY, request)

    async def _write(self, _: UUID, requests: Sequence[SendRequest]) -> list[Exception | None]:
        now = datetime.now(UTC)
        fresh = ids.next_ids(self._last, now, len(requests))
        self._last = fresh[-1]
        async with self._db.transaction() as conn:
            await conn.execute(_INSERT, fresh, [r.phone for r in requests], [r.body for r in requests], now)
        return [None] * len(requests)


async def keep_nothing(_: SendRequest) -> None:
    """Store nothing."""


def asgi_app(keep: Keep) -> Any:
    """Return the baseline app without a framework."""
    answer = usual_answer()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == SEND:
            await keep(_decode_send(body))
        else:
            _decode_any(body)
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


def litestar_app(keep: Keep) -> Any:
    """Return the baseline app on the gateway's framework."""
    answer = usual_answer()

    @post(SEND, status_code=200)
    async def send(request: Request[Any, Any, Any]) -> Response[bytes]:
        await keep(_decode_send(await request.body()))
        return Response(answer, status_code=200, media_type=MediaType.JSON)

    return Litestar([send], openapi_config=None, logging_config=None)


class RawConnection(asyncio.Protocol):
    """A connection without an HTTP server. The next request comes after the answer, as in `bench/load.py`."""

    def __init__(self, keep: Keep, response: bytes) -> None:
        self._keep = keep
        self._response = response
        self._held = b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class has no common ancestor

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = answer_end(self._held)
        if end:
            request, self._held = self._held[:end], self._held[end:]
            task = asyncio.create_task(self._answer(request[request.index(b"\r\n\r\n") + 4 :]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, body: bytes) -> None:
        await self._keep(_decode_send(body))
        if not self._transport.is_closing():  # the load ends while requests are in flight
            self._transport.write(self._response)


async def serve_raw(keep: Keep) -> None:
    """Serve without an HTTP server."""
    answer = usual_answer()
    response = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(answer)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: RawConnection(keep, response + answer), "127.0.0.1", 0, backlog=2048)
    say("ready", port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def serve(options: argparse.Namespace) -> None:
    """Serve with the same uvicorn settings as the gateway."""
    keep = (await Shelf.make(options.dsn)).keep if options.kind == "batch" else keep_nothing
    if options.stack == "raw":
        await serve_raw(keep)
    app = litestar_app(keep) if options.stack == "litestar" else asgi_app(keep)
    config = uvicorn.Config(
        app, http="httptools", ws="none", lifespan="off", access_log=False, log_config=None, server_header=False
    )
    listener = socket.create_server(("127.0.0.1", options.port), backlog=2048, reuse_port=options.port > 0)
    say("ready", port=listener.getsockname()[1])
    await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=("server", "batch"), required=True)
    parser.add_argument("--stack", choices=("asgi", "litestar", "raw"), default="asgi")
    parser.add_argument("--dsn", default="")
    parser.add_argument("--port", type=int, default=0, help="of several servers that share it; 0: a free one")
    end_with_parent()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
