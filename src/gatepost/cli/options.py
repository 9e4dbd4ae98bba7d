"""What all commands share: groups, common options, and arguments that name a record."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args
from uuid import UUID

import typer

from gatepost.cli.output import CommandResult, failing, print_result

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Given = Mapping[str, Any]
Run = Callable[[Given, dict[str, Any], bool], None]
F = TypeVar("F", bound=Callable[..., Any])


class Lookup(NamedTuple):
    """Finds the record that an argument names: the prefix of its id, and the function that reads it."""

    prefix: str
    get: Callable[[Any, UUID], Awaitable[Any]]


def new_group(help_: str = "", **settings: Any) -> typer.Typer:
    """Return a new group of commands."""
    return typer.Typer(
        help=help_,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **{"no_args_is_help": True, **settings},
    )


def local_command(group: typer.Typer, name: str) -> Callable[[F], F]:
    """Make a command of a function that needs no gateway: it has its own options and --json."""

    def register(action: F) -> F:
        def run(_: Given, arguments: dict[str, Any], as_json: bool) -> None:
            result: CommandResult = action(**arguments)
            print_result(result, as_json=as_json)

        parameters = list(inspect.signature(action).parameters.values())
        group.command(name)(with_options(action, parameters, run, {}, logs=False))
        return action

    return register


def parameters_of(action: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters after the first one, which is the command's session, settings or client."""
    return list(inspect.signature(action).parameters.values())[1:]


def lookups_of(action: Callable[..., Any]) -> dict[str, Lookup]:
    """Return the parameters that name a record."""
    return {
        parameter.name: part
        for parameter in parameters_of(action)
        for part in get_args(parameter.annotation)
        if isinstance(part, Lookup)
    }


def with_options(
    action: Callable[..., Any],
    own: list[inspect.Parameter],
    run: Run,
    shared: Given,
    *,
    logs: bool = True,
) -> Callable[..., None]:
    """Return a function for typer: the action's own parameters, and after them --json and the shared options."""

    def wrapped(*, as_json: bool, **given: Any) -> None:
        with failing(as_json=as_json, logs=logs):
            _check_text(given)
            run({name: given.pop(name) for name in shared}, given, as_json)

    added = [_option("as_json", Json, False), *(_option(name, kind, None) for name, kind in shared.items())]
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=_as_text(parameter.annotation))
        for parameter in own
    ] + added
    wrapped.__doc__ = action.__doc__
    # Typer reads the one for the order and the other for the types.
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _check_text(given: Given) -> None:
    """Reject arguments whose bytes are not UTF-8: neither a record nor the output can contain them."""
    from gatepost.model.errors import invalid_field

    for name, value in given.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text.encode(errors="replace").decode() != text:
                raise invalid_field(name, "is not text in UTF-8")


def _as_text(annotation: Any) -> Any:
    """Return the annotation for typer: a record is named by its id."""
    kind, *parts = get_args(annotation) or (None,)
    if not any(isinstance(part, Lookup) for part in parts):
        return annotation
    return Annotated[str | None if NoneType in get_args(kind) else str, parts[0]]


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
