"""Runs the gateway: opens the listener, starts the parts of the process, and stops them on a signal.

`serve` is a gateway of one process. Each of several (`processes/gateway_process.py`) uses `run`.
"""

import asyncio
import contextlib
import gc
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import structlog
import uvicorn

from gatepost import __version__
from gatepost.admin.unlock import unlock
from gatepost.app import Gatepost
from gatepost.cells.gateway import CellGateway, opened_gateway
from gatepost.database_lifecycle import opened_clock, opened_for_gateway
from gatepost.http_connections import Connections
from gatepost.http_direct import DirectRoutes
from gatepost.http_protocol import limited_protocol
from gatepost.logs import configure_logs
from gatepost.metrics import ProcessMetrics
from gatepost.processes.port import bind_alone, stop_listening
from gatepost.running_address import address_of, note_address
from gatepost.settings import Settings
from gatepost.start_errors import CannotGoOn, cannot_listen
from gatepost.stop_signals import stop_on_signals

log = structlog.get_logger("gatepost")


OnReady = Callable[[str], Awaitable[None]]
AnyGateway = Gatepost | CellGateway


async def serve(
    settings: Settings,
    *,
    role: str = "all",
    on_ready: OnReady | None = None,
    bound: socket.socket | None = None,
) -> None:
    """Run the gateway until a signal."""
    configure_logs(settings.log.level, settings.log.format)
    raise_file_limit()
    with bound or bind(settings) as listener:
        metrics = ProcessMetrics(__version__, role)
        database = opened_for_gateway(settings, metrics.database_ended)
        async with opened_clock(settings) as clock, database as (dsn, db):
            if not settings.cells:
                await unlock(db, settings.security.secret_key, settings.data_folder)
            async with opened_gateway(settings, db, dsn, clock, role, metrics) as gatepost:
                await run(gatepost, settings, listener, partial(_report_ready, settings, on_ready))
    log.info("stopped")


async def _report_ready(settings: Settings, on_ready: OnReady | None, address: str) -> None:
    url = settings.server.public_url.rstrip("/") or address
    log.info("ready", url=url, version=__version__)
    note_address(settings.data_folder, url)
    if on_ready:
        await on_ready(url)


async def run(
    gatepost: AnyGateway, settings: Settings, listener: socket.socket, on_ready: OnReady, *, shared: bool = False
) -> None:
    """Run the parts of a process until a signal. `shared`: another process holds the listener too."""
    await gatepost.start()
    _calm_collector()
    try:
        await _serve_http(gatepost, settings, listener, on_ready, shared=shared)
    finally:
        await gatepost.stop()
    if gatepost.supervisor.ended is not None:
        raise CannotGoOn(f"The background loop “{gatepost.supervisor.ended}” ended; the log has its error.")


def raise_file_limit() -> None:
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
    gatepost: AnyGateway,
    settings: Settings,
    listener: socket.socket,
    on_ready: OnReady,
    *,
    shared: bool,
) -> None:
    close = partial(stop_listening, listener) if shared else _nothing
    server = _Server(server_config(gatepost, settings), gatepost.end_streams, close)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stop_on_signals(server.ask_to_stop)
    gatepost.supervisor.on_end(server.ask_to_stop)
    await asyncio.wait([serving, asyncio.create_task(server.up.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        if not serving.done():
            await on_ready(address_of(listener))
    except BaseException:
        server.ask_to_stop()
        raise
    finally:
        await serving


def server_config(gatepost: AnyGateway, settings: Settings) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
    return uvicorn.Config(
        gatepost.web,
        http=limited_protocol(Connections(settings.server, gatepost.count_answer), DirectRoutes(gatepost.api)),
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

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None], on_close: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._on_close = on_close  # called before the listener is closed
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        for one in sockets or ():  # its connections inherit it; otherwise they keep the port for a minute after its end
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        await super().startup(sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_close()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def ask_to_stop(self) -> None:
        self.should_exit = True
        self._on_stop()


def bind(settings: Settings) -> socket.socket:
    """Return a socket bound to the port of the settings, or raise CannotStart."""
    server = settings.server
    try:
        return bind_alone(server)
    except OSError as error:
        raise cannot_listen(server.host, server.port, error) from None


def _nothing() -> None:
    pass
