"""The gateway under test, as a separate process."""

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import psutil
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

from bench.processes import ROOT, BenchFailed, cpu_of, cpu_of_family, end
from gatepost.store.embedded import running_dsn
from gatepost.store.embedded.place import find_cluster
from gatepost.store.embedded.postmaster import find_postmaster, shut_down


class Cpu(msgspec.Struct, frozen=True):
    """CPU time in seconds."""

    gateway: float
    postgres: float

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.gateway - other.gateway, self.postgres - other.postgres)


class Gateway:
    """A running gateway."""

    def __init__(
        self, process: psutil.Process, data: Path, port: int, ready_after: float, beside: "Gateway | None" = None
    ) -> None:
        cluster = None if beside else find_cluster(data)
        postmaster = beside.postmaster if beside else find_postmaster(cluster) if cluster else None
        dsn = beside.dsn if beside else running_dsn(data)
        if postmaster is None or dsn is None:
            raise BenchFailed("The gateway is ready, but its database is not to be found.")
        self.process = process
        self.postmaster: psutil.Process = postmaster
        self.dsn: str = dsn
        self.data, self.port, self.ready_after = data, port, ready_after

    def cpu(self) -> Cpu:
        children = [one for one in self.process.children() if "gatepost.cli.serve_process" in one.cmdline()]
        return Cpu(sum(map(cpu_of, [self.process, *children])), cpu_of_family(self.postmaster))


@asynccontextmanager
async def running_gateway(
    folder: Path,
    config: Path,
    role: str = "all",
    processes: int = 1,
    beside: Gateway | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Gateway]:
    """Run `gatepost serve` until the end of the block, with the embedded database or with that of another gateway."""
    port, data, log = free_port(), folder / "data", folder / "gateway.log"
    arguments = ["serve", "--role", role, "--port", str(port), "--data", str(data), "--config", str(config)]
    arguments += ["--processes", str(processes), *(["--database-url", beside.dsn] if beside else [])]
    with log.open("ab") as said:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gatepost.cli",
            *arguments,
            stdout=said,
            stderr=said,
            cwd=ROOT,
            env={**os.environ, **(environ or {})},
            start_new_session=True,
        )
    try:
        await _until_ready(process, port)
        await _until_all_answer(port, processes)
        yield Gateway(psutil.Process(process.pid), data, port, time.perf_counter() - began, beside)
    except BenchFailed as failure:
        raise BenchFailed(f"{failure}\nThe gateway said: {log.read_text()[-2000:] or 'nothing'}") from None
    finally:
        await end(process)
        if beside is None:
            await _end_database(data)


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_client() -> Client:
    return ClientBuilder().no_proxy().build()


async def _until_ready(process: asyncio.subprocess.Process, port: int) -> None:
    give_up = time.monotonic() + 60
    async with new_client() as client:
        while time.monotonic() < give_up:
            if process.returncode is not None:
                raise BenchFailed("The gateway ended at once.")
            with contextlib.suppress(PyreqwestError):
                answer = await client.get(f"http://127.0.0.1:{port}/readyz").build().send()
                if answer.status == 200:
                    return
            await asyncio.sleep(0.01)
    raise BenchFailed("The gateway did not become ready.")


async def _until_all_answer(port: int, processes: int) -> None:
    """Wait until each of several processes has answered: the ids of its requests begin in the same way."""
    seen: set[str] = set()
    give_up = time.monotonic() + 60
    while len(seen) < processes and processes > 1:
        if time.monotonic() > give_up:
            raise BenchFailed(f"Only {len(seen)} of {processes} processes answer.")
        async with new_client() as client:  # a new connection each time
            answer = await client.get(f"http://127.0.0.1:{port}/healthz").build().send()
            seen.add(answer.headers["x-request-id"][:20])
        await asyncio.sleep(0.01)


async def _end_database(data: Path) -> None:
    """Stop the database, which keeps running if the gateway had to be killed."""
    with contextlib.suppress(Exception):
        cluster = find_cluster(data)
        postmaster = find_postmaster(cluster) if cluster else None
        if postmaster is not None:
            await shut_down(postmaster, 10.0)
