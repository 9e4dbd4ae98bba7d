"""`gatepost sandbox` with no command behind it: the pretend network itself."""

import os
import signal
import threading
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gatepost.cli.output import failing
from gatepost.cli.serve import check_port, run_loop, url_of


def sandbox(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 8081,
    seed: Annotated[int, typer.Option(help="Where its chance begins; the same seed, the same network.")] = 1,
    data: Annotated[
        Path | None, typer.Option(help="Folder to keep the network in; without it, it ends with the program.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name by which the control API may be called, besides localhost. May be repeated."),
    ] = None,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """The pretend network: run it until it is told to stop, or direct one that runs."""
    if context.invoked_subcommand is None:
        with failing():
            _serve(host, port, seed, data, [*(allow_host or ()), host], with_parent)


def _serve(host: str, port: int, seed: int, data: Path | None, allow_hosts: list[str], with_parent: bool) -> None:
    from gatepost.sandbox import SandboxSettings
    from gatepost.sandbox import serve as serve_sandbox
    from gatepost.sandbox.storage import wait_until_free

    if with_parent:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if data is not None:
        wait_until_free(data)  # first: whoever leaves the folder leaves the port with it
    check_port(host, port, "--port")
    settings = SandboxSettings(seed=seed)
    tell = partial(_tell, host)
    run_loop(serve_sandbox(host, port, settings, data=data, allow_hosts=allow_hosts, ready=tell))


def _tell(host: str, port: int) -> None:
    print(f"The sandbox is at {url_of(host, port)}", flush=True)


def _end_with_parent() -> None:
    """Ends this program when the one that started it is gone, however it went: its end of the pipe closes."""
    while os.read(0, 4096):  # not sys.stdin: a thread inside it would break the interpreter's own end
        pass
    os.kill(os.getpid(), signal.SIGTERM)
