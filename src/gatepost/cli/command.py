"""What all commands share: common options, running, printing results, reporting errors.

options ─► settings ─► database (`app.opened`) ─► the command's own few lines ─► Answer ─► text or JSON
                                                           ├ Lines, one after the other, of what takes its time
                                                           └ a refusal ─► one line on stderr, exit code 1
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from gatepost.cli.output import CommandResult, LinePrinter, ProgressLine, failing, print_result

if TYPE_CHECKING:
    from datetime import datetime

    from gatepost.admin.vault import Vault
    from gatepost.clock import Clock
    from gatepost.settings import Settings
    from gatepost.store.checks import KeyProof
    from gatepost.store.pool import Database

P = ParamSpec("P")

Data = Annotated[Path | None, typer.Option(help="Folder of the gateway's data.", show_default="./data")]
DatabaseUrl = Annotated[str | None, typer.Option(help="PostgreSQL to use instead of the embedded one.")]
Config = Annotated[Path | None, typer.Option(help="File with settings (TOML).")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
PLACES: dict[str, Any] = {"data": Data, "database_url": DatabaseUrl, "config": Config}


def new_group(help_: str) -> typer.Typer:
    """Return a new group of commands."""
    return typer.Typer(
        help=help_,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


class CommandSession:
    """One command's view of the gateway."""

    def __init__(
        self,
        settings: "Settings",
        db: "Database",
        proof: "KeyProof | None" = None,
        clock: "Clock | None" = None,
    ) -> None:
        self.settings = settings
        self.db = db
        self._proof = proof
        self._clock = clock

    @property
    def now(self) -> "datetime":
        """The database's time, which running gateways use too."""
        from gatepost.clock import SystemClock

        return (self._clock or SystemClock()).now()

    @cached_property
    def vault(self) -> "Vault":
        from gatepost.admin.unlock import open_vault
        from gatepost.store.checks import KeyProof

        settings = self.settings
        return open_vault(self._proof or KeyProof(None), settings.security.secret_key, settings.data_folder)


Action = Callable[Concatenate[CommandSession, P], Awaitable[CommandResult]]
StreamAction = Callable[Concatenate[CommandSession, P], AsyncIterator[ProgressLine]]
SettingsAction = Callable[Concatenate["Settings", P], CommandResult]
Given = Mapping[str, Any]
Run = Callable[[Given, dict[str, Any], bool], None]


def command(group: typer.Typer, name: str, *, creates: bool = False) -> Callable[[Action[P]], Action[P]]:
    """Make a command of a function that works on the database.

    Only one that `creates` makes a database in the default folder where there is none.
    """

    def register(action: Action[P]) -> Action[P]:
        def run(places: Given, arguments: dict[str, Any], as_json: bool) -> None:
            settings = load_settings(**places)
            if not creates:
                check_database(settings, places)
            print_result(asyncio.run(_in_session(action, settings, arguments)), as_json=as_json)

        group.command(name)(with_options(action, PLACES, run))
        return action

    return register


def stream_command(group: typer.Typer, name: str) -> Callable[[StreamAction[P]], StreamAction[P]]:
    """Make a command of a function that yields lines of progress and needs a running gateway."""

    def register(action: StreamAction[P]) -> StreamAction[P]:
        def run(places: Given, arguments: dict[str, Any], as_json: bool) -> None:
            settings, printer = load_settings(**places), LinePrinter(as_json=as_json)
            _check_gateway(settings)
            asyncio.run(_stream(action, settings, arguments, printer))

        group.command(name)(with_options(action, PLACES, run))
        return action

    return register


def settings_command(group: typer.Typer, name: str) -> Callable[[SettingsAction[P]], SettingsAction[P]]:
    """Make a command of a function that needs only the settings."""

    def register(action: SettingsAction[P]) -> SettingsAction[P]:
        def run(places: Given, arguments: dict[str, Any], as_json: bool) -> None:
            print_result(action(load_settings(**places), **arguments), as_json=as_json)  # type: ignore[call-arg]

        group.command(name)(with_options(action, PLACES, run))
        return action

    return register


def load_settings(
    data: Path | None, database_url: str | None, config: Path | None, overrides: dict[str, Any] | None = None
) -> "Settings":
    """Load the settings, with the options of the command line on top."""
    from gatepost.settings import load

    places = {"data": str(data) if data else None, "database.url": database_url}
    return load(config, overrides={**places, **(overrides or {})})


def check_database(settings: "Settings", places: Given) -> None:
    """Refuse to create a database in the default folder: the gateway's data is probably elsewhere."""
    from gatepost.model.errors import NotFound
    from gatepost.store.embedded import find_cluster

    if settings.database.url or places["data"] is not None or find_cluster(settings.data_folder) is not None:
        return
    raise NotFound(
        f"There is no gateway in {settings.data_folder.resolve()}. Name its folder with --data or GATEPOST_DATA, or "
        "its database with --database-url; 'gatepost serve' and 'gatepost migrate' make a new one."
    )


async def _in_session(
    action: Callable[..., Awaitable[CommandResult]], settings: "Settings", arguments: Any
) -> CommandResult:
    async with _session(settings) as session:
        return await action(session, **arguments)


async def _stream(
    action: Callable[..., AsyncIterator[ProgressLine]], settings: "Settings", arguments: Any, printer: LinePrinter
) -> None:
    async with _session(settings) as session:
        async for line in action(session, **arguments):
            printer.print(line)


@asynccontextmanager
async def _session(settings: "Settings") -> AsyncIterator[CommandSession]:
    from gatepost.clock import DatabaseClock, SystemClock
    from gatepost.clock_sync import follow_database
    from gatepost.database_lifecycle import opened
    from gatepost.model.errors import Unavailable
    from gatepost.store.checks import read_key_proof

    clock = DatabaseClock(SystemClock())
    try:
        async with opened(settings) as db:
            await follow_database(db, clock)
            yield CommandSession(settings, db, await read_key_proof(db), clock)
    except OSError as error:
        raise Unavailable(f"The database cannot be opened: {error}.", "database_unavailable") from None


def _check_gateway(settings: "Settings") -> None:
    """Refuse when no gateway can be running: this command would hold the embedded database that a gateway needs."""
    from gatepost.model.errors import Conflict
    from gatepost.store.embedded import is_locked, running_dsn

    folder = settings.data_folder
    if not settings.database.url and running_dsn(folder) is None and not is_locked(folder):
        raise Conflict(
            f"No gateway is running in {settings.data_folder}, and only a running one can do this. "
            "Start it with: gatepost serve"
        )


def with_options(action: Callable[..., Any], shared: Given, run: Run, *, logs: bool = True) -> Callable[..., None]:
    """Return a function for typer: the action's own parameters, and after them the shared options and --json."""

    def wrapped(*, as_json: bool, **given: Any) -> None:
        with failing(as_json=as_json, logs=logs):
            run({name: given.pop(name) for name in shared}, given, as_json)

    own = list(inspect.signature(action).parameters.values())[1:]
    added = [_option("as_json", Json, False), *(_option(name, kind, None) for name, kind in shared.items())]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + added
    wrapped.__doc__ = action.__doc__
    # Typer reads the one for the order and the other for the types.
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
