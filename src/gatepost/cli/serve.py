"""`gatepost serve` and `migrate`, and what `serve` and `up` share."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any

import typer
import uvloop

from gatepost.api.contract.operations import SchemaState
from gatepost.cli.command import CommandSession, Config, Data, DatabaseUrl, command, load_settings, new_group
from gatepost.cli.output import CommandResult, failing
from gatepost.logs import configure_logs
from gatepost.model.errors import invalid_field
from gatepost.privileges import drop_privileges
from gatepost.processes.port import SharedPort
from gatepost.processes.shares import default_processes
from gatepost.settings import MOST_PROCESSES, Settings
from gatepost.start_errors import CannotGoOn, CannotStart
from gatepost.stop_signals import stop_on_signals
from gatepost.store.migrate import check

group = new_group()

OnReady = Callable[[str], Awaitable[None]]
ROLES = ("all", "api", "worker")

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="Port to listen on.", show_default="8080")]
Processes = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_PROCESSES,
        help="Processes that share the port and the channels.",
        show_default="one per two cores, at most 8",
    ),
]


@group.command("serve")
def serve(
    *,
    role: Annotated[str, typer.Option(help="api handles requests, worker sends and delivers, all does both.")] = "all",
    host: Host = None,
    port: Port = None,
    processes: Processes = None,
    data: Data = None,
    database_url: DatabaseUrl = None,
    config: Config = None,
) -> None:
    """Run the gateway until it is stopped."""
    with failing():
        given = {"server.host": host, "server.port": port, "server.processes": processes}
        settings = load_settings(data, database_url, config, given)
        check_role(role)
        check_port(settings.server.host, settings.server.port, "--port")
        number = settings.server.processes or default_processes()
        run_gateway(settings, role=role, port=leave_root(settings, number), processes=number)


@command(group, "migrate", creates=True)
async def migrate(session: CommandSession) -> CommandResult:
    """Migrate the database, or the databases of all cells, to the schema of this version."""
    session.all_databases()  # opening the session has migrated them
    async with session.db.connection() as conn:
        state = await check(conn)  # type: ignore[arg-type]
    return CommandResult(SchemaState(state.version, list(state.pending)))


def leave_root(settings: Settings, processes: int) -> SharedPort | None:
    """As root: bind the port, which may need root, and drop privileges; return the port."""
    if os.geteuid() != 0:
        return None
    configure_logs(settings.log.level, settings.log.format)
    try:
        port = SharedPort(settings.server, processes)
    except CannotStart as error:
        raise OSError(str(error)) from None
    drop_privileges(settings)
    return port


def run_gateway(
    settings: Settings,
    *,
    role: str = "all",
    on_ready: OnReady | None = None,
    port: SharedPort | None = None,
    processes: int = 1,
) -> None:
    """Run the gateway until it stops, in this process or in several that this one supervises."""
    try:
        run_loop(_serving(settings, port, role, on_ready, processes))
    except (CannotStart, CannotGoOn) as error:
        raise OSError(str(error)) from None


def _serving(
    settings: Settings, port: SharedPort | None, role: str, on_ready: OnReady | None, processes: int
) -> Coroutine[Any, Any, None]:
    """Return the work of this process. Only what it needs is imported: the supervisor has no API."""
    if processes > 1:
        from gatepost.processes.supervisor import serve_processes

        shared = port or SharedPort(settings.server, processes)
        return serve_processes(settings, shared, role=role, on_ready=on_ready)
    from gatepost.serving import serve as serve_gateway

    return serve_gateway(settings, role=role, on_ready=on_ready, bound=port.listener if port else None)


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a server until it stops."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_stoppable(work))


async def _stoppable(work: Coroutine[Any, Any, None]) -> None:
    """Run a server. A signal while it starts cancels it; once started, it handles these signals itself."""
    server = asyncio.ensure_future(work)
    asked: list[bool] = []

    def stop() -> None:
        if not asked:  # a second signal would interrupt the stop of the database
            asked.append(server.cancel())

    stop_on_signals(stop)
    await asyncio.wait([server])
    if not server.cancelled():
        server.result()


def check_role(role: str) -> None:
    """Reject an unknown role."""
    if role not in ROLES:
        raise invalid_field("role", f"must be one of: {', '.join(ROLES)}")


def check_port(host: str, port: int, option: str) -> int:
    """Return the port, or a free one for 0; raise an OSError that explains what to do if it is in use."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return int(probe.getsockname()[1])
        except OSError as error:
            in_use = f" Stop the program that uses the port, or choose another with {option}."
            raise OSError(
                f"Cannot listen on {host}:{port}: {error.strerror}.{in_use if error.errno == errno.EADDRINUSE else ''}"
            ) from None
