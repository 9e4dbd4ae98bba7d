"""`gatepost-sandbox`: runs the simulated network until it is stopped."""

import argparse
import asyncio
import os
import signal
import socket
import sys
import threading
from functools import partial
from pathlib import Path

import uvloop

from gatepost_sandbox import SandboxSettings, serve
from gatepost_sandbox.storage import wait_until_free


def main(arguments: list[str] | None = None) -> None:
    """Parse the command line and run the sandbox."""
    parser = argparse.ArgumentParser("gatepost-sandbox", description="Runs the simulated network until it is stopped.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8081, help="port to listen on; 0 takes a free one (8081)")
    parser.add_argument("--seed", type=int, default=1, help="seed of its random numbers (1)")
    parser.add_argument("--data", type=Path, help="folder that keeps its state; without it, the state ends with it")
    parser.add_argument(
        "--allow-host", action="append", default=[], help="host name allowed to call the control API; may be repeated"
    )
    given = parser.parse_args(arguments)
    try:
        run(given.host, given.port, given.seed, given.data, given.allow_host)
    except OSError as error:
        sys.exit(str(error))


def run(
    host: str, port: int, seed: int, data: Path | None, allow_hosts: list[str], *, with_parent: bool = False
) -> None:
    """Serve until it is stopped; `with_parent`: also until the program that started it ends."""
    if with_parent:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    if data is not None:
        wait_until_free(data)  # first: a process that releases the folder also releases its port
    check_port(host, port)
    work = serve(
        host,
        port,
        SandboxSettings(seed=seed),
        data=data,
        allow_hosts=[*allow_hosts, host],
        ready=partial(_report, host),
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def check_port(host: str, port: int) -> None:
    """Fail with a clear message when the port cannot be used."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(
                f"Cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}. "
                "Stop the program that has the port, or choose another with --port."
            ) from None


def _report(host: str, port: int) -> None:
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    print(f"The sandbox is at {url}", flush=True)  # noqa: T201 - the one line that this program prints


def _end_with_parent() -> None:
    """End this program when the one that started it has ended: its end of the pipe closes."""
    while os.read(0, 4096):  # not sys.stdin: a thread inside it would break the end of the interpreter
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
