"""`gatepost mcp`: connect an MCP client to a running gateway by stdin and stdout."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gatepost.cli.options import new_group
from gatepost.cli.output import failing

_NAMES = ("log", "policy", "stop", "resume")


class _Commands(Mapping[str, Any]):
    """The commands of `assistants.py`, imported when one is called: clients start `gatepost mcp` often."""

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise KeyError(name)
        from gatepost.cli import assistants

        return typer.main.get_group(assistants.group).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


class _McpGroup(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()  # type: ignore[assignment]


group = new_group(no_args_is_help=False, invoke_without_command=True, cls=_McpGroup)


@group.callback()
def mcp(
    context: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(envvar="GATEPOST_URL", help="Address of the gateway.", show_default="the one that runs here"),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The gateway's data folder.", show_default="./data")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with settings.")] = None,
) -> None:
    """Connect an MCP client to a running gateway by stdin and stdout, with the key in GATEPOST_KEY."""
    if context.invoked_subcommand is not None:
        return
    import os

    from gatepost.cli.mcp_stdio import run_stdio
    from gatepost.model.errors import invalid_field

    with failing(logs=False):
        key = os.environ.get("GATEPOST_KEY", "").strip()
        if not key:
            raise invalid_field("GATEPOST_KEY", "is not set. Set it to a key with the scope 'mcp'")
        if not (key.isascii() and key.isprintable()):
            raise invalid_field("GATEPOST_KEY", "is not a key: keys are printable ASCII")
        try:
            run_stdio(url or _running_here(data, config), key)
        except ValueError as error:
            raise invalid_field("url", str(error)) from None


def _running_here(data: Path | None, config: Path | None) -> str:
    from gatepost.running_address import noted_address
    from gatepost.settings import load

    settings = load(config, overrides={"data": str(data) if data else None})
    return settings.server.public_url.rstrip("/") or noted_address(settings.data_folder) or settings.public_url
