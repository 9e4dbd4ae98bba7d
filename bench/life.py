"""The cost of complete messages: accept → send → three statuses, a callback each → four webhooks.

    load ─► gateway ─► sandbox ─► gateway ─► receiver          each in its own process
               └── PostgreSQL                                  only these two are measured

The baseline is the sum of the parts, measured in the same run: 4 requests served, 5 requests made, the rows written.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from bench import measure
from bench.accept import ShowProgress, floor
from bench.baseline_servers import CALLBACK
from bench.data_folder import write_config
from bench.gateway import Gateway, new_client, running_gateway
from bench.measure import Sample
from bench.memory import MIB, MemoryFindings, Peak
from bench.processes import BenchFailed, Child, resident, running, shared_out
from bench.tenant import NUMBER, Tenant, make_tenant
from gatepost.store.pool import Database

WEBHOOKS, CALLBACKS = 4, 3
_CONNECTIONS = 64
_QUIET = 5.0  # seconds without a webhook after which no more are expected
_DELAYS = {"sent": 0.05, "delivered": 0.5, "read": 1.0, "jitter": 0.1}
_CALLBACK_BODY = msgspec.json.encode(
    {
        "object": "whatsapp_business_account",
        "entry": [{"id": "1" * 15, "changes": [{"field": "messages", "value": {"statuses": ["PHONE" + "x" * 400]}}]}],
    }
).decode()


class Lives(msgspec.Struct, frozen=True, kw_only=True):
    """The results. Times are in seconds, for all messages together."""

    messages: int
    seconds: float
    webhooks: int
    accept: Sample
    gateway_cpu: float
    postgres_cpu: float

    def micros(self, seconds: float) -> float:
        """Convert total seconds to microseconds per message."""
        return seconds / self.messages * 1e6

    @property
    def cpu_micros(self) -> float:
        """CPU time per message, gateway and PostgreSQL together."""
        return self.micros(self.gateway_cpu + self.postgres_cpu)


class BareParts(msgspec.Struct, frozen=True):
    """The results of the baseline's parts."""

    request: Sample
    callback: Sample
    post: Sample
    rows: Sample

    @property
    def cpu_micros(self) -> float:
        """CPU time per message of these parts."""
        served = self.request.micros(self.request.server) + CALLBACKS * self.callback.micros(self.callback.server)
        made = (1 + WEBHOOKS) * self.post.micros(self.post.cpu)
        return served + made + self.rows.micros(self.rows.cpu + self.rows.postgres)


class LifeFindings(msgspec.Struct, frozen=True):
    lives: Lives
    parts: BareParts


async def measure_life(
    folder: Path, messages: int, seconds: float, progress: ShowProgress, *, floors: bool = True
) -> tuple[LifeFindings | None, MemoryFindings]:
    """Process messages on a data folder; return the results and the memory used. Without baselines: only the memory."""
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        sandbox_url = (await sandbox.receive_text()).split()[-1]
        receiver = await stack.enter_async_context(running("bench.receiver"))
        port = (await receiver.receive())["port"]
        config = write_config(folder, sandbox_url)
        progress("life: starting a gateway, a sandbox and a receiver")
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        await asyncio.sleep(2.0)
        rest = (resident(gateway.process), shared_out(gateway.postmaster))
        tenant = await make_tenant(gateway, config, f"http://127.0.0.1:{port}/hook")
        await register_number(sandbox_url, gateway, tenant)
        progress(f"life: {messages:,} messages")
        async with Peak(gateway.process) as peak:
            lives = await _live(gateway, tenant, receiver, messages)
        await _check(gateway, tenant, messages)
        memory = MemoryFindings(
            gateway_rest=rest[0] / MIB,
            gateway_peak=peak.highest / MIB,
            postgres_rest=rest[1] / MIB,
            postgres_after=shared_out(gateway.postmaster) / MIB,
        )
        if not floors:
            return None, memory
        return LifeFindings(lives, await _floors(gateway, port, seconds, progress)), memory


async def register_number(
    sandbox_url: str, gateway: Gateway, tenant: Tenant, number: Mapping[str, Any] = NUMBER
) -> None:
    """Register a number with the network, without limits."""
    registration = {
        **number,
        "callback_url": f"http://127.0.0.1:{gateway.port}/callbacks/cloud/{tenant.channel}",
        "limits": {"throughput": None, "pair_interval": None},
        "delays": _DELAYS,
    }
    async with new_client() as client:
        request = client.post(f"{sandbox_url}/control/numbers").body_bytes(msgspec.json.encode(registration))
        answer = await request.headers({"content-type": "application/json"}).build().send()
        if answer.status != 200:
            raise BenchFailed(f"The sandbox refuses the number: {await answer.text()}")


async def _live(gateway: Gateway, tenant: Tenant, receiver: Child, messages: int) -> Lives:
    arguments = ["--port", str(gateway.port), "--key", tenant.key, "--body", measure.BODY]
    arguments += ["--connections", str(_CONNECTIONS), "--requests", str(messages)]
    before, began = gateway.cpu(), time.time()
    async with running("bench.load", *arguments) as driver:
        accepting = asyncio.create_task(measure.sample(driver, gateway.cpu, 300))
        webhooks, last = await _told(receiver, WEBHOOKS * messages)
        accept = await accepting
    await asyncio.sleep(0.5)  # for the log of the last attempts
    used = gateway.cpu() - before
    return Lives(
        messages=messages,
        seconds=last - began,
        webhooks=webhooks,
        accept=accept,
        gateway_cpu=used.gateway,
        postgres_cpu=used.postgres,
    )


async def _told(receiver: Child, expected: int) -> tuple[int, float]:
    """Wait for all webhooks. There may be fewer: a status that arrives after a later one is not reported."""
    count, last = 0, 0.0
    while count < expected:
        try:
            received = await receiver.receive(_QUIET if count > expected * 0.7 else 60)
        except BenchFailed:
            if count > expected * 0.7:
                break
            raise
        count, last = received["distinct"], received["last"]
    return count, last


async def _check(gateway: Gateway, tenant: Tenant, messages: int) -> None:
    """Check that no message was lost."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        async with db.connection() as conn:
            read = await conn.fetchval(
                "SELECT count(*) FROM messages WHERE channel_id = $1 AND state = 4", tenant.channel_id
            )
            open_ = await conn.fetchval(
                "SELECT count(*) FROM deliveries WHERE channel_id = $1 AND state <> 1", tenant.channel_id
            )
    finally:
        await db.close()
    if read != messages or open_:
        raise BenchFailed(f"Of {messages} messages {read} were read in the end, and {open_} webhooks are open.")


async def _floors(gateway: Gateway, receiver_port: int, seconds: float, progress: ShowProgress) -> BareParts:
    seconds = min(seconds, 2.0)
    async with floor(gateway, "server") as server:
        progress("floor: bare requests served")
        request = await measure.load(server.port, server.cpu, connections=_CONNECTIONS, seconds=seconds)
        progress("floor: bare callbacks served")
        callback = await measure.load(
            server.port, server.cpu, connections=_CONNECTIONS, seconds=seconds, path=CALLBACK, body=_CALLBACK_BODY
        )
    progress("floor: bare requests made")
    post = await measure.loop("posts", gateway.cpu, seconds, port=receiver_port)
    progress("floor: bare rows written")
    rows = await measure.loop("rows", gateway.cpu, seconds, dsn=gateway.dsn)
    return BareParts(request, callback, post, rows)
