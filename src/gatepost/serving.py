"""Runs the gateway: opens the listener, starts the parts of the process, and stops them on a signal."""

import asyncio
import contextlib
import gc
import resource
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator

import structlog
import uvicorn

from gatepost import __version__
from gatepost.admin.unlock import unlock
from gatepost.app import Gatepost
from gatepost.database_lifecycle import opened_clock, opened_for_gateway
from gatepost.http_connections import Connections
from gatepost.http_protocol import limited_protocol
from gatepost.logs import configure_logs
from gatepost.metrics import ProcessMetrics
from gatepost.running_address import note_address
from gatepost.settings import Settings

log = structlog.get_logger("gatepost")


class CannotStart(Exception):
    """The gateway cannot start, because of something outside it (such as a port in use)."""


class CannotGoOn(Exception):
    """An essential part of the gateway has ended. The process exits so that it can be restarted."""


async def serve(
    settings: Settings,
    *,
    role: str = "all",
    on_ready: Callable[[str], Awaitable[None]] | None = None,
    bound: socket.socket | None = None,
) -> None:
    """Run the gateway until SIGTERM or SIGINT."""
    configure_logs(settings.log.level, settings.log.format)
    _raise_file_limit()
    with bound or listen(settings) as listener:
        metrics = ProcessMetrics(__version__, role)
        database = opened_for_gateway(settings, metrics.database_ended)
        async with opened_clock(settings) as clock, database as (dsn, db):
            await unlock(db, settings.security.secret_key, settings.data_folder)
            gatepost = Gatepost(settings, db, dsn, clock, role, metrics)
            await gatepost.start()
            _calm_collector()
            try:
                await _serve_http(gatepost, settings, listener, on_ready)
            finally:
                await gatepost.stop()
    if gatepost.supervisor.ended is not None:
        raise CannotGoOn(f"The background loop “{gatepost.supervisor.ended}” ended; the log has its error.")
    log.info("stopped")


def _raise_file_limit() -> None:
    """Raise the limit of open files: every connection needs one, and the usual 1,024 are too few for a server."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _calm_collector() -> None:
    """Freeze the existing objects and collect rarely: requests leave no cycles, and collecting takes 10% of the CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def _serve_http(
    gatepost: Gatepost,
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[str], Awaitable[None]] | None,
) -> None:
    server = _Server(server_config(gatepost, settings), gatepost.end_streams)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, server.ask_to_stop)
    gatepost.supervisor.on_end(server.ask_to_stop)
    await asyncio.wait([serving, asyncio.create_task(server.up.wait())], return_when=asyncio.FIRST_COMPLETED)
    url = settings.server.public_url.rstrip("/") or _address(listener)
    log.info("ready", url=url, version=__version__)
    note_address(settings.data_folder, url)
    try:
        if on_ready and not serving.done():
            await on_ready(url)
    except BaseException:
        server.ask_to_stop()
        raise
    finally:
        await serving


def server_config(gatepost: Gatepost, settings: Settings) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
    return uvicorn.Config(
        gatepost.web,
        http=limited_protocol(Connections(settings.server, gatepost.count_answer)),
        ws="none",
        proxy_headers=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=settings.server.keep_alive,
        timeout_graceful_shutdown=int(settings.server.drain_seconds),
    )


class _Server(uvicorn.Server):
    """A server that does not handle signals itself: the other parts of the process must be stopped after it."""

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


def listen(settings: Settings) -> socket.socket:
    """Return a socket bound to the port of the settings, or raise CannotStart."""
    server = settings.server
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise CannotStart(f"Cannot listen on {server.host}:{server.port}: {error.strerror}.") from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
