"""The sandbox: a simulated WhatsApp-like business network. It is independent of the gateway."""

import gc
import socket
from collections.abc import Callable, Collection
from pathlib import Path

from gatepost_sandbox.app import SandboxApp
from gatepost_sandbox.server import SandboxServer, run_server, server_config
from gatepost_sandbox.settings import SandboxSettings

__all__ = ["SandboxSettings", "create_app", "serve"]


def create_app(settings: SandboxSettings, data: Path | None = None, allow_hosts: Collection[str] = ()) -> SandboxApp:
    """Return the sandbox as an ASGI application with its lifespan; with a folder, it restores its state from there."""
    return SandboxApp(settings, data, allow_hosts)


async def serve(
    host: str = "127.0.0.1",
    port: int = 8081,
    settings: SandboxSettings | None = None,
    *,
    data: Path | None = None,
    allow_hosts: Collection[str] = (),
    ready: Callable[[int], None] | None = None,
    signals: bool = True,
) -> None:
    """Serve until SIGINT, SIGTERM or cancellation, then stop gracefully; `ready` gets the port once it listens.

    With `signals=False` the sandbox runs inside another program: it leaves signals and garbage collection alone, and
    stops when it is cancelled.
    """
    app = create_app(settings or SandboxSettings(), data, allow_hosts)
    if signals:
        _tune_garbage_collection()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=2048)
    # Connections inherit it; plain asyncio would not set it on them, and each answer would wait 40 ms for an ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    bound = int(listener.getsockname()[1])
    server = SandboxServer(
        server_config(app),
        on_ready=lambda: ready(bound) if ready else None,
        on_stop=app.world.release,
        signals=signals,
    )
    await run_server(server, listener)


def _tune_garbage_collection() -> None:
    """Collect garbage less often: requests leave no cycles, and searching for them took a fifth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
