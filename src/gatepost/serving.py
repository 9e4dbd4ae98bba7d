"""Serving: the parts put together, a listener in front of them, and a clean end when a signal comes."""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator

import structlog
import uvicorn

from gatepost import __version__
from gatepost.app import Gatepost
from gatepost.logs import configure_logs
from gatepost.opening import opened_clock, opened_for_gateway
from gatepost.settings import Settings

log = structlog.get_logger("gatepost")


class CannotStart(Exception):
    """Something outside keeps the gateway from starting."""


async def serve(
    settings: Settings,
    *,
    role: str = "all",
    on_ready: Callable[[str], Awaitable[None]] | None = None,
) -> None:
    """Runs the gateway until SIGTERM or SIGINT."""
    configure_logs(settings.log.level, settings.log.format)
    with _listener(settings) as listener:
        async with opened_clock(settings) as clock, opened_for_gateway(settings) as (dsn, db):
            gatepost = Gatepost(settings, db, dsn, clock, role)
            await gatepost.start()
            _calm_collector()
            try:
                await _serve_http(gatepost, settings, listener, on_ready)
            finally:
                await gatepost.stop()
    log.info("stopped")


def _calm_collector() -> None:
    """What lives now lives on, and requests leave no cycles: looking for some all the time costs a tenth of the CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def _serve_http(
    gatepost: Gatepost,
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[str], Awaitable[None]] | None,
) -> None:
    config = uvicorn.Config(
        gatepost.web,
        http="httptools",
        ws="none",
        proxy_headers=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=int(settings.server.drain_seconds),
    )
    server = _Server(config, gatepost.end_streams)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, server.ask_to_stop)
    await asyncio.wait([serving, asyncio.create_task(server.up.wait())], return_when=asyncio.FIRST_COMPLETED)
    url = settings.server.public_url.rstrip("/") or _address(listener)
    log.info("ready", url=url, version=__version__)
    try:
        if on_ready and not serving.done():
            await on_ready(url)
    except BaseException:
        server.ask_to_stop()
        raise
    finally:
        await serving


class _Server(uvicorn.Server):
    """A server that leaves signals to us: we stop the rest of the house after it."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def ask_to_stop(self) -> None:
        self.should_exit = True
        self._on_stop()


def _listener(settings: Settings) -> socket.socket:
    server = settings.server
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise CannotStart(f"Cannot listen on {server.host}:{server.port}: {error.strerror}.") from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
