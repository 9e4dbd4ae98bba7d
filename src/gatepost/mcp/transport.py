"""Answers the requests to `/mcp`, and loads what it needs with the first of them.

plain call of a tool ─► `plain_calls.py`, without the SDK
first other request  ─► import of the SDK in a thread: a second and 50 MiB ─► background loop that keeps it running
all others           ─► wait for it, if needed ─► the SDK
"""

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

from gatepost.mcp.tool_call import McpContext

AsgiApp = Callable[[Any, Any, Any], Any]
StartLoop = Callable[..., object]  # of the supervisor


class McpServer:
    """Answers MCP requests that were authenticated."""

    def __init__(self, context: McpContext, start: StartLoop) -> None:
        self._context = context
        self._start = start
        self._plain: Any = None  # of `plain_calls.py`
        self._loading: asyncio.Task[Any] | None = None
        self._server: Any = None  # of `sdk_server.py`
        self._app: asyncio.Future[AsgiApp] | None = None

    async def __call__(self, scope: Any, body: bytes, receive: Any, send: Any) -> None:
        """Answer a request whose body was read; `scope["state"]["caller"]` is who sends it."""
        if self._plain is None:
            self._plain = await asyncio.to_thread(_import, "plain_calls", "PlainCalls", self._context)
        answer = await self._plain.answer(scope, body)
        if answer is None:
            app = await self._running()
            await app(scope, _replay(body, receive), send)
            return
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _running(self) -> AsgiApp:
        if self._server is None:
            if self._loading is None:
                self._loading = asyncio.create_task(self._load(), name="load the MCP SDK")
                self._loading.add_done_callback(self._loaded)
            await asyncio.shield(self._loading)
        assert self._app is not None
        return await asyncio.shield(self._app)

    async def _load(self) -> None:
        server = await asyncio.to_thread(_import, "sdk_server", "SdkServer", self._context)
        self._app = asyncio.get_running_loop().create_future()
        self._server = server
        self._start("MCP server", self._run)

    def _loaded(self, task: "asyncio.Task[Any]") -> None:
        self._loading = None  # after a failure, the next request tries again
        if not task.cancelled():
            task.exception()

    async def _run(self) -> None:
        """Keep the SDK running until the process stops."""
        assert self._app is not None
        async with self._server.running() as app:
            self._app.set_result(app)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._app = asyncio.get_running_loop().create_future()


def _import(module: str, name: str, context: McpContext) -> Any:
    return getattr(importlib.import_module(f"gatepost.mcp.{module}"), name)(context)


def _replay(body: bytes, receive: Any) -> Any:
    """Return a `receive` that gives the body that was read, and then what follows it."""
    left: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Any:
        return left.pop() if left else await receive()

    return replayed
