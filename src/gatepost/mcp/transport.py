"""The ASGI app behind `/mcp`. It loads the SDK with the first request: that takes a second and 50 MiB.

first request ─► import in a thread (the event loop goes on) ─► background loop that keeps the SDK running
all others    ─► wait for it, if needed ─► the SDK
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
        self._loading: asyncio.Task[Any] | None = None
        self._server: Any = None  # of `sdk_server.py`
        self._app: asyncio.Future[AsgiApp] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; `scope["state"]["caller"]` is who sends it."""
        app = await self._running()
        await app(scope, receive, send)

    async def _running(self) -> AsgiApp:
        if self._server is None:
            if self._loading is None:
                self._loading = asyncio.create_task(self._load(), name="load the MCP SDK")
                self._loading.add_done_callback(self._loaded)
            await asyncio.shield(self._loading)
        assert self._app is not None
        return await asyncio.shield(self._app)

    async def _load(self) -> None:
        server = await asyncio.to_thread(_import_server, self._context)
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


def _import_server(context: McpContext) -> Any:
    return importlib.import_module("gatepost.mcp.sdk_server").SdkServer(context)
