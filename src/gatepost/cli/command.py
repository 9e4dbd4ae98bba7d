"""Commands on a gateway's database: settings, session, result.

options ─► settings ─► database (`opened`) ─► the command's own few lines ─► CommandResult ─► text or JSON
                                                      ├ ProgressLines, one after the other
                                                      └ an error ─► one line on stderr, exit code 1
"""

import inspect
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec
import structlog
import typer

from gatepost.admin.checks import check_found
from gatepost.admin.unlock import open_vault
from gatepost.admin.vault import Vault
from gatepost.cli.arguments import read_id
from gatepost.cli.cell_databases import CellDatabases, opened_databases
from gatepost.cli.gateway_clock import gateway_clock
from gatepost.cli.options import F, Given, Lookup, lookups_of, new_group, parameters_of, with_options
from gatepost.cli.output import CommandResult, LinePrinter, print_result
from gatepost.cli.run_command import run_command
from gatepost.clock import Clock, DatabaseClock
from gatepost.clock_sync import follow_database
from gatepost.model.databases import MAIN
from gatepost.model.errors import Conflict, NotFound, Unavailable, invalid_field
from gatepost.settings import Settings, load
from gatepost.store.checks import KeyProof, read_key_proof
from gatepost.store.embedded import find_cluster, is_locked, running_dsn
from gatepost.store.pool import Database

__all__ = ["CommandSession", "command", "load_settings", "new_group", "same_gateway"]

log = structlog.get_logger("gatepost.cli")
T = TypeVar("T")
Data = Annotated[Path | None, typer.Option(help="The gateway's data folder.", show_default="./data")]
DatabaseUrl = Annotated[str | None, typer.Option(help="A PostgreSQL to use instead of the embedded one.")]
Config = Annotated[Path | None, typer.Option(help="A TOML file with settings.")]
PLACES: dict[str, Any] = {"data": Data, "database_url": DatabaseUrl, "config": Config}
_places: ContextVar[Given] = ContextVar("places", default=MappingProxyType({}))  # the options of the current command


class CommandSession:
    """The databases, settings and clock that a command works with: with several, those of the cell that it is in."""

    def __init__(self, settings: Settings, databases: CellDatabases, clock: Clock) -> None:
        self.settings = settings
        self.databases = databases
        self.clock = clock
        self._cell = MAIN
        self._proof = KeyProof(None)

    @property
    def db(self) -> Database:
        """The database of the current cell."""
        if self._cell in self.databases.down:
            raise _cell_down(self._cell, self.databases.down[self._cell])
        return self.databases.up[self._cell]

    @property
    def now(self) -> datetime:
        """The time that running gateways use too."""
        return self.clock.now()

    @cached_property
    def vault(self) -> Vault:
        """The vault; opening it fails if the secret key is not that of the database."""
        return open_vault(self._proof, self.settings.security.secret_key, self.settings.data_folder)

    async def find(self, lookup: Lookup, text: str) -> Any:
        """Return the record with an id, of any account, or raise NotFound."""
        id_ = read_id(lookup.prefix, text)
        return check_found(await self.find_by(lambda db: lookup.get(db, id_)), lookup.prefix, id_)

    async def find_by(self, get: Callable[[Database], Awaitable[T | None]]) -> T | None:
        """Return the record that a cell has, and go on in that cell. Raise if it may be in one that is down."""
        for name, db in self.databases.up.items():
            found = await get(db)
            if found is not None:
                if name != self._cell:
                    await self.enter(name)
                return found
        for name, reason in self.databases.down.items():
            raise _cell_down(name, reason, "The other cells do not have this record.")
        return None

    async def enter(self, cell: str) -> None:
        """Work in a cell from now on."""
        names = [*self.databases.up, *self.databases.down]
        if cell not in names:
            raise invalid_field("cell", f"must be one of: {', '.join(names)}")
        self.__dict__.pop("vault", None)
        self._cell = cell
        if isinstance(self.clock, DatabaseClock):
            await follow_database(self.db, self.clock)
        self._proof = await read_key_proof(self.db)

    def with_cell(self, view: Any) -> Any:
        """Return an object of the contract, with the name of its cell if there are several."""
        return {**msgspec.to_builtins(view), "cell": self._cell} if self.databases.several else view

    async def list_all(
        self, read: Callable[[Database], Awaitable[Sequence[T]]], show: Callable[[T], Any], columns: tuple[str, ...]
    ) -> CommandResult:
        """List the records of all cells. If one is down, the others are listed and the command fails."""
        if not self.databases.several:
            return CommandResult([show(row) for row in await read(self.db)], columns)
        rows = [
            {**msgspec.to_builtins(show(row)), "cell": name}
            for name, db in self.databases.up.items()
            for row in await read(db)
        ]
        for name, reason in self.databases.down.items():
            log.warning("cell is down: its records are missing", cell=name, reason=reason)
        return CommandResult(rows, (*columns, "cell"), failed=bool(self.databases.down))

    def all_databases(self) -> Mapping[str, Database]:
        """Return the databases of all cells; raise if one is down."""
        for name, reason in self.databases.down.items():
            raise _cell_down(name, reason)
        return self.databases.up


def _cell_down(name: str, reason: str, more: str = "") -> Unavailable:
    text = f"The cell {name} cannot be used: {reason.rstrip('.')}. {more}".strip()
    return Unavailable(text, "database_unavailable")


def command(group: typer.Typer, name: str, *, creates: bool = False) -> Callable[[F], F]:
    """Make a command of a function. Its first parameter depends on its form:

    def            the settings
    async def      a session; only a command that `creates` makes a database if there is none
    ... yield      a session beside a running gateway; it yields lines of progress
    """

    def register(action: F) -> F:
        lookups = lookups_of(action)

        def run(places: Given, arguments: dict[str, Any], as_json: bool) -> None:
            _places.set(places)
            settings = load_settings(**places)
            if inspect.isasyncgenfunction(action):
                _check_gateway(settings)
                run_command(_stream(action, lookups, settings, arguments, LinePrinter(as_json=as_json)))
                return
            if not inspect.iscoroutinefunction(action):
                result = action(settings, **arguments)
            else:
                if not creates:
                    check_database(settings)
                result = run_command(_in_session(action, lookups, settings, arguments))
            print_result(result, as_json=as_json)

        group.command(name)(with_options(action, parameters_of(action), run, PLACES))
        return action

    return register


def load_settings(
    data: Path | None, database_url: str | None, config: Path | None, overrides: dict[str, Any] | None = None
) -> Settings:
    """Load the settings, overridden by the options of the command line."""
    places = {"data": str(data) if data else None, "database.url": database_url}
    return load(config, overrides={**places, **(overrides or {})})


def same_gateway(command: str) -> str:
    """Return a command for the user to run, with the options by which the current one found the gateway."""
    places = {name: str(value) for name, value in _places.get().items() if value is not None}
    if "database_url" in places:
        places["database_url"] = "URL"  # it may contain a password
    options = [f" --{name.replace('_', '-')} {shlex.quote(value)}" for name, value in places.items()]
    return f"gatepost {command}{''.join(options)}"


def check_database(settings: Settings) -> None:
    """Refuse to create a database: the gateway's data is probably elsewhere."""
    if settings.database.url or find_cluster(settings.data_folder) is not None:
        return
    raise NotFound(
        f"There is no gateway in {settings.data_folder.resolve()}. Name its folder with --data or GATEPOST_DATA, or "
        "its database with --database-url. 'gatepost serve' and 'gatepost migrate' create a new one."
    )


def _check_gateway(settings: Settings) -> None:
    """Refuse if no gateway can be running: this command would hold the embedded database that a gateway needs."""
    folder = settings.data_folder
    if not settings.database.url and running_dsn(folder) is None and not is_locked(folder):
        raise Conflict(
            f"No gateway is running in {settings.data_folder}, and this command needs one. "
            f"Start it with: {same_gateway('serve')}"
        )


async def _in_session(
    action: Callable[..., Any], lookups: dict[str, Lookup], settings: Settings, arguments: dict[str, Any]
) -> CommandResult:
    async with _session(settings) as session:
        result: CommandResult = await action(session, **await _found(session, lookups, arguments))
        return result


async def _stream(
    action: Callable[..., Any],
    lookups: dict[str, Lookup],
    settings: Settings,
    arguments: dict[str, Any],
    printer: LinePrinter,
) -> None:
    async with _session(settings) as session:
        async for line in action(session, **await _found(session, lookups, arguments)):
            printer.print(line)


async def _found(session: CommandSession, lookups: dict[str, Lookup], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with records in place of their ids."""
    records = {
        name: await session.find(lookup, arguments[name])
        for name, lookup in lookups.items()
        if arguments[name] is not None
    }
    return {**arguments, **records}


@asynccontextmanager
async def _session(settings: Settings) -> AsyncIterator[CommandSession]:
    async with AsyncExitStack() as stack:
        try:
            databases = await stack.enter_async_context(opened_databases(settings))
            session = CommandSession(settings, databases, await gateway_clock(settings, databases.up.get(MAIN)))
            if MAIN in databases.up:
                await session.enter(MAIN)
        except OSError as error:
            raise Unavailable(f"The database cannot be opened: {error}.", "database_unavailable") from None
        yield session
