"""What all commands share: the options for where things are, one way to run, one way to answer, one way to fail.

options ─► settings ─► database (`app.opened`) ─► the command's own few lines ─► Answer ─► text or JSON
                                                           └ a refusal ─► one line on stderr, exit code 1
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from gatepost.cli.output import Answer, failing, print_answer

if TYPE_CHECKING:
    from datetime import datetime

    from gatepost.admin.vault import Vault
    from gatepost.settings import Settings
    from gatepost.store.pool import Database

P = ParamSpec("P")

Data = Annotated[Path | None, typer.Option(help="Folder of the gateway's data.", show_default="./data")]
DatabaseUrl = Annotated[str | None, typer.Option(help="PostgreSQL to use instead of the embedded one.")]
Config = Annotated[Path | None, typer.Option(help="File with settings (TOML).")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
_COMMON: dict[str, Any] = {"as_json": Json, "data": Data, "database_url": DatabaseUrl, "config": Config}


def new_group(help_: str) -> typer.Typer:
    """A group of commands in the style of the house."""
    return typer.Typer(
        help=help_,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


class Session:
    """One command's view of the gateway."""

    def __init__(self, settings: "Settings", db: "Database") -> None:
        self.settings = settings
        self.db = db

    @property
    def now(self) -> "datetime":
        from gatepost.clock import SystemClock

        return SystemClock().now()

    @cached_property
    def vault(self) -> "Vault":
        from gatepost.admin.vault import Vault, load_or_make_key

        return Vault(load_or_make_key(self.settings.security.secret_key, self.settings.data_folder))


Action = Callable[Concatenate[Session, P], Awaitable[Answer]]
Run = Callable[["Settings", dict[str, Any]], Answer]
SettingsAction = Callable[Concatenate["Settings", P], Answer]


def command(group: typer.Typer, name: str) -> Callable[[Action[P]], Action[P]]:
    """Makes a command of a function that works on the database."""

    def register(action: Action[P]) -> Action[P]:
        def run(settings: "Settings", arguments: dict[str, Any]) -> Answer:
            return asyncio.run(_in_session(action, settings, arguments))

        group.command(name)(_with_common(action, run))
        return action

    return register


def settings_command(group: typer.Typer, name: str) -> Callable[[SettingsAction[P]], SettingsAction[P]]:
    """Makes a command of a function that needs the settings alone."""

    def register(action: SettingsAction[P]) -> SettingsAction[P]:
        def run(settings: "Settings", arguments: dict[str, Any]) -> Answer:
            return action(settings, **arguments)  # type: ignore[call-arg]

        group.command(name)(_with_common(action, run))
        return action

    return register


def load_settings(
    data: Path | None, database_url: str | None, config: Path | None, overrides: dict[str, Any] | None = None
) -> "Settings":
    """The settings in force, with what the command line says on top."""
    from gatepost.settings import load

    places = {"data": str(data) if data else None, "database.url": database_url}
    return load(config, overrides={**places, **(overrides or {})})


async def _in_session(action: Callable[..., Awaitable[Answer]], settings: "Settings", arguments: Any) -> Answer:
    from gatepost.model.errors import Unavailable
    from gatepost.opening import opened

    try:
        async with opened(settings) as db:
            return await action(Session(settings, db), **arguments)
    except OSError as error:
        raise Unavailable(f"The database cannot be opened: {error}.", "database_unavailable") from None


def _with_common(
    action: Callable[..., Any], run: Callable[["Settings", dict[str, Any]], Answer]
) -> Callable[..., None]:
    """A function for typer: the action's own parameters, and the common options after them."""

    def wrapped(as_json: bool, data: Path | None, database_url: str | None, config: Path | None, **own: Any) -> None:
        with failing(as_json=as_json):
            print_answer(run(load_settings(data, database_url, config), own), as_json=as_json)

    own = list(inspect.signature(action).parameters.values())[1:]
    common = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=False if kind is Json else None, annotation=kind
        )
        for name, kind in _COMMON.items()
    ]
    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + common
    wrapped.__doc__ = action.__doc__
    # Typer reads the one for the order and the other for the types.
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped
