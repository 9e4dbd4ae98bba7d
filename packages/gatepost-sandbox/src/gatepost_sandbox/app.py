"""The sandbox as one ASGI application: the network API, the control API, and the web page."""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from litestar import Litestar, MediaType, Request, Response, get
from litestar.di import Provide

from gatepost_sandbox import control, page
from gatepost_sandbox.control.guard import may_link, refuse_control
from gatepost_sandbox.control.problems import send_problem
from gatepost_sandbox.graph import Receive, Scope, Send, root_of, serve_graph
from gatepost_sandbox.qr import serve_link
from gatepost_sandbox.settings import SandboxSettings
from gatepost_sandbox.storage import Folder, restore
from gatepost_sandbox.world import World

_FRONT = """Gatepost sandbox: a simulated messaging network. Nothing here reaches a real phone.

The network (Authorization: Bearer <token of a registered number>)
  POST /v25.0/{phone_number_id}/messages      send a message, or mark one as read
  GET  /v25.0/{phone_number_id}               the number; also its profile, settings, codes and blocked users
  POST /v25.0/{phone_number_id}/media         upload a file
  GET  /v25.0/{media_id}                      where to download it
  *    /v25.0/{waba_id}/message_templates     templates; also the account's phone_numbers and subscribed_apps

The QR network (JSON frames over a WebSocket)
  WS   /qr/link?auto_scan=                    hold the links of any number of sessions

Control (JSON, no key: keep it on this machine)
"""


class SandboxApp:
    """Routes each request to the network API, the control API or the page."""

    def __init__(self, settings: SandboxSettings, data: Path | None = None, allow_hosts: Collection[str] = ()) -> None:
        self.world = World(settings)
        self._allow_hosts = frozenset(name.lower() for name in allow_hosts)
        self._folder = None if data is None else Folder(data)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and not _is_ours(scope["path"]):
            await serve_graph(self.world.network, scope, receive, send)
        elif scope["type"] == "websocket" and scope["path"] == "/qr/link" and may_link(scope, self._allow_hosts):
            await serve_link(self.world.qr, scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            if scope["type"] == "http":
                refused = refuse_control(scope, self._allow_hosts) if scope["path"].startswith("/control/") else None
                if refused is not None:
                    await send_problem(send, *refused)
                    return
                self.world.network.media.root = root_of(scope)
            scope.setdefault("state", {})["world"] = self.world
            await _framework()(scope, receive, send)  # type: ignore[arg-type]

    async def _live(self, receive: Receive, send: Send) -> None:
        """Handle the ASGI lifespan: start and stop."""
        await receive()
        try:
            await self.world.open()
            if self._folder is not None:
                restore(self.world, self._folder)
        except BaseException as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.world.close()
        if self._folder is not None:
            self._folder.close()
        await send({"type": "lifespan.shutdown.complete"})


@cache
def _framework() -> Litestar:
    """Return the control API and the pages. They hold no state: one instance serves all sandboxes of a process."""
    return Litestar(
        route_handlers=[front, healthz, page.get_file, *control.ROUTES],
        dependencies={"world": Provide(_world, sync_to_thread=False)},
        exception_handlers=control.EXCEPTION_HANDLERS,
        openapi_config=None,
        logging_config=None,  # the program that runs the sandbox decides where its logs go
    )


def _world(request: Request[Any, Any, Any]) -> World:
    world: World = request.scope["state"]["world"]
    return world


def _is_ours(path: str) -> bool:
    return path.startswith(("/control/", "/page/")) or path in ("/", "/healthz")


def _route_line(route: Any) -> str:
    method, path = min(route.http_methods - {"OPTIONS", "HEAD"}), min(route.paths)
    return f"  {method:<6} {path:<36} {(route.fn.__doc__ or '').strip()}\n"


@get("/", sync_to_thread=False)
def front(request: Request[Any, Any, Any]) -> Response[Any]:
    """Show what the sandbox can do: a page for browsers, text for other clients."""
    if page.wants_page(request.headers.get("accept", "")):
        response: Response[Any] = page.show_page(request)
    else:
        listed = _FRONT + "".join(_route_line(route) for route in control.ROUTES)
        response = Response(listed, media_type=MediaType.TEXT)
    response.headers["vary"] = "accept, accept-encoding"
    return response


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Whether the sandbox is alive."""
    return {"status": "ok"}
