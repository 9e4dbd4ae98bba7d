"""Durable accepts: rate and latency, compared with baselines measured in the same run."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import uuid4

import msgspec
import psutil

from bench import measure
from bench.data_folder import data_folder, write_config
from bench.gateway import Cpu, Gateway, free_port, running_gateway
from bench.load import FIRST, PHONE, RECIPIENTS
from bench.measure import Sample
from bench.processes import cpu_of, cpu_of_family, running
from bench.tenant import Tenant, make_tenant, meet_recipients

CONNECTIONS = (1, 16, 64)
_STRANGERS = 50_000
_ROUNDS = 3
ShowProgress = Callable[[str], None]


class AcceptRow(msgspec.Struct, frozen=True):
    """The results with one number of connections, and their baselines."""

    connections: int
    accept: Sample
    server: Sample
    batch: Sample
    raw: Sample
    direct: Sample


class AcceptFindings(msgspec.Struct, frozen=True):
    rows: list[AcceptRow]
    keyed: Sample
    strangers: Sample
    framework_server: Sample
    framework_batch: Sample


class Floor(msgspec.Struct, frozen=True):
    """A running baseline server, or several that share a port."""

    port: int
    processes: list[psutil.Process]
    postmaster: psutil.Process

    def cpu(self) -> Cpu:
        return Cpu(sum(map(cpu_of, self.processes)), cpu_of_family(self.postmaster))


@asynccontextmanager
async def floor(gateway: Gateway, kind: str, stack: str = "asgi", processes: int = 1) -> AsyncIterator[Floor]:
    """Run a baseline server, or several that share a port, on the same database as a gateway."""
    options = ["--kind", kind, "--stack", stack, "--dsn", gateway.dsn]
    options += ["--port", str(free_port())] if processes > 1 else []
    async with AsyncExitStack() as several:
        found, port = [], 0
        for _ in range(processes):
            child = await several.enter_async_context(running("bench.baseline_servers", *options))
            port = (await child.receive())["port"]
            found.append(child.process)
        yield Floor(port, found, gateway.postmaster)


async def measure_accept(seconds: float, progress: ShowProgress) -> AcceptFindings:
    """Measure accepts and baselines with a gateway of role `api`, which does nothing but accept."""
    with data_folder() as folder:
        config = write_config(folder)
        progress("accept: starting a gateway (role api)")
        async with running_gateway(folder, config, role="api") as gateway:
            tenant = await make_tenant(gateway, config)
            await meet_recipients(gateway, tenant)
            return await _against_floors(gateway, tenant, seconds, progress)


async def _against_floors(gateway: Gateway, tenant: Tenant, seconds: float, progress: ShowProgress) -> AcceptFindings:
    async with (
        floor(gateway, "server") as server,
        floor(gateway, "batch") as batch,
        floor(gateway, "batch", "raw") as raw,
    ):
        rows = [await _row(gateway, tenant, (batch, raw, server), n, seconds, progress) for n in CONNECTIONS]
    most = CONNECTIONS[-1]
    progress(f"accept: {most} connections, each message with an Idempotency-Key")
    keyed = measure.merge([await _keyed(gateway, tenant, most, seconds) for _ in range(_ROUNDS)])
    progress(f"accept: {most} connections, recipients never seen before")
    arguments = {"connections": most, "key": tenant.key, "first": FIRST + RECIPIENTS, "recipients": _STRANGERS}
    strangers = await measure.load(gateway.port, gateway.cpu, seconds=seconds, **arguments)
    on_framework = [await _on_framework(gateway, kind, most, seconds, progress) for kind in ("server", "batch")]
    return AcceptFindings(rows, keyed, strangers, *on_framework)


async def _keyed(gateway: Gateway, tenant: Tenant, connections: int, seconds: float) -> Sample:
    """Send one message to each recipient, so that no key comes twice."""
    headers = json.dumps({"idempotency-key": f"{uuid4().hex}-{PHONE}"})
    arguments = {"connections": connections, "key": tenant.key, "headers": headers, "requests": RECIPIENTS}
    return await measure.load(gateway.port, gateway.cpu, seconds=seconds, **arguments)


async def _on_framework(
    gateway: Gateway, kind: str, connections: int, seconds: float, progress: ShowProgress
) -> Sample:
    progress(f"floor: {connections} connections, {kind} on the framework")
    async with floor(gateway, kind, "litestar") as bare:
        return await measure.load(bare.port, bare.cpu, seconds=min(seconds, 2.0), connections=connections)


async def _row(
    gateway: Gateway, tenant: Tenant, floors: Sequence[Floor], connections: int, seconds: float, progress: ShowProgress
) -> AcceptRow:
    """Measure in alternating rounds, so that other load on the machine affects all measurements equally."""
    rounds: list[list[Sample]] = []
    for turn in range(_ROUNDS):
        progress(f"accept and its floors: {connections} connections, round {turn + 1} of {_ROUNDS}")
        arguments, each = {"connections": connections, "warm_up": 0.3}, seconds / _ROUNDS
        rounds.append(
            [
                await measure.load(gateway.port, gateway.cpu, seconds=each, key=tenant.key, **arguments),
                *[await measure.load(one.port, one.cpu, seconds=each, **arguments) for one in floors],
            ]
        )
    accept, batched, raw, alone = (measure.merge(samples) for samples in zip(*rounds, strict=True))
    progress(f"floor: batches of {connections} without a server")
    direct = await measure.loop(
        "direct",
        gateway.cpu,
        min(seconds, 2.0),
        dsn=gateway.dsn,
        channel=tenant.channel_id,
        account=tenant.account_id,
        batch=connections,
    )
    return AcceptRow(connections, accept, alone, batched, raw, direct)
