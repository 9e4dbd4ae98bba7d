"""`gatepost sandbox` without a command: run the simulated network."""

from pathlib import Path
from typing import Annotated

import typer

from gatepost.cli.output import failing
from gatepost.cli.sandbox.package import require_sandbox


def sandbox(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 8081,
    seed: Annotated[int, typer.Option(help="Seed of its random numbers; the same seed gives the same network.")] = 1,
    data: Annotated[
        Path | None, typer.Option(help="Folder that keeps its state; without it, the state ends with the program.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which the control API may be called, besides localhost. May be repeated."),
    ] = None,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Run the simulated network, or control a running one."""
    if context.invoked_subcommand is None:
        with failing():
            require_sandbox()
            from gatepost_sandbox.__main__ import run

            run(host, port, seed, data, allow_host or [], with_parent=with_parent)
