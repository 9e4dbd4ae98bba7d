"""The sandbox as one ASGI application: the network's door, the control door, and the front page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, MediaType, get
from litestar.di import Provide

from gatepost.sandbox import control
from gatepost.sandbox.graph import Receive, Scope, Send, serve_graph
from gatepost.sandbox.settings import SandboxSettings
from gatepost.sandbox.world import World

_FRONT = """Gatepost sandbox: a pretend messaging network. Nothing here reaches a real phone.

The network (Authorization: Bearer <token of a registered number>)
  POST /v25.0/{phone_number_id}/messages      send a message, or mark one as read
  GET  /v25.0/{phone_number_id}               the number

Control (JSON, no key: keep it on this machine)
"""


class SandboxApp:
    """Sends each request to its door."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.world = World(settings)
        self._litestar = Litestar(
            route_handlers=[front, healthz, *control.ROUTES],
            dependencies={"world": Provide(lambda: self.world, sync_to_thread=False)},
            exception_handlers=control.EXCEPTION_HANDLERS,
            lifespan=[self._life],
            openapi_config=None,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and not _is_ours(scope["path"]):
            await serve_graph(self.world.network, scope, receive, send)
        else:
            await self._litestar(scope, receive, send)  # type: ignore[arg-type]

    @asynccontextmanager
    async def _life(self, _: Litestar) -> AsyncIterator[None]:
        await self.world.open()
        try:
            yield
        finally:
            await self.world.close()


def _is_ours(path: str) -> bool:
    return path.startswith("/control/") or path in ("/", "/healthz")


def _route_line(route: Any) -> str:
    method, path = min(route.http_methods - {"OPTIONS", "HEAD"}), min(route.paths)
    return f"  {method:<6} {path:<36} {(route.fn.__doc__ or '').strip()}\n"


@get("/", media_type=MediaType.TEXT, sync_to_thread=False)
def front() -> str:
    """What this is and what it can do."""
    return _FRONT + "".join(_route_line(route) for route in control.ROUTES)


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Whether the sandbox is alive."""
    return {"status": "ok"}
