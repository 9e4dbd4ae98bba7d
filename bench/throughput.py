"""The throughput of a number: is it reached, is it never exceeded in a second, and is every conversation in order?

    accepted in advance ─► gateway ─► sandbox ─► its ledger: recipient, message and time

The sandbox rejects (130429) messages that exceed the limit by more than one per cent in any second. There are no
callbacks and no webhooks: only sending is measured.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
from pyreqwest.client import Client

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Cpu, Gateway, new_client, running_gateway
from bench.processes import BenchFailed, Child, cpu_of, running
from bench.tenant import NUMBER, Tenant, limit_tenant, make_tenant
from gatepost.store.pool import Database

SLOW, FAST = 80, 1000
_PEOPLE = 2000
_CONNECTIONS = 64
_SETTLE = 3.0  # seconds until a new limit is in force, and messages sent under the old one have arrived
_PAGE = 50_000


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The results of sending at the limit. Times are in seconds, for all messages together."""

    limit: int
    seconds: float
    messages: int
    busiest: int  # maximum messages in any one second
    over: float  # share of seconds above the limit
    far_over: float  # share of seconds more than one per cent above it
    refused: int
    disordered: int  # messages that arrived before an older one of their conversation
    gateway_cpu: float
    postgres_cpu: float
    sandbox_cpu: float

    @property
    def rate(self) -> float:
        return self.messages / self.seconds

    def micros(self, seconds: float) -> float:
        """Convert total seconds to microseconds per message."""
        return seconds / self.messages * 1e6 if self.messages else 0.0


class ThroughputFindings(msgspec.Struct, frozen=True):
    slow: Held
    fast: Held


async def measure_throughput(folder: Path, hold: float, progress: ShowProgress) -> ThroughputFindings:
    """Accept enough messages for both limits, then send them, first at the lower and then at the higher one."""
    slow_for = max(2.0, hold / 3)
    wanted = int(SLOW * (slow_for + _SETTLE) + FAST * (hold + 2 * _SETTLE))
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        network = Network(
            sandbox, (await sandbox.receive_text()).split()[-1], await stack.enter_async_context(new_client())
        )
        config = write_config(folder, network.url)
        progress(f"throughput: accepting {wanted:,} messages")
        tenant = await _accept(folder, config, wanted)
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        progress(f"throughput: {slow_for:g} s on a number of {SLOW} messages a second")
        slow = await _hold(gateway, network, tenant, SLOW, slow_for)
        progress(f"throughput: {hold:g} s on a number of {FAST:,} messages a second")
        fast = await _hold(gateway, network, tenant, FAST, hold)
        return ThroughputFindings(slow, fast)


class Network:
    """A client of the sandbox's control API."""

    def __init__(self, sandbox: Child, url: str, client: Client) -> None:
        self._sandbox = sandbox
        self._client = client
        self.url = url

    def cpu(self) -> float:
        return cpu_of(self._sandbox.process)

    async def now(self) -> float:
        now: float = (await self._ask("GET", "/control/clock"))["now"]
        return now

    async def limit(self, throughput: int) -> None:
        """Register the number with this limit plus one per cent."""
        limits = {"throughput": throughput + throughput // 100, "pair_interval": None}
        await self._ask("POST", "/control/numbers", {**NUMBER, "limits": limits})

    async def arrived(self, kind: str, since: float, until: float) -> list[dict[str, Any]]:
        """Return the ledger's entries within this time, in the order of arrival."""
        found: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = await self._ask("GET", f"/control/ledger?kind={kind}&after={after}&limit={_PAGE}")
            found += [entry for entry in page["entries"] if since <= entry["at"] < until]
            after = page["next"]
        return found

    async def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        request = self._client.request(method, self.url + path)
        if body is not None:
            request = request.body_bytes(msgspec.json.encode(body)).headers({"content-type": "application/json"})
        answer = await request.build().send()
        if answer.status != 200:
            raise BenchFailed(f"The sandbox refuses {method} {path}: {await answer.text()}")
        seen: dict[str, Any] = msgspec.json.decode(await answer.bytes())
        return seen


async def _accept(folder: Path, config: Path, messages: int) -> Tenant:
    """Fill the queue of a new tenant, with a gateway that does not send."""
    async with running_gateway(folder, config, role="api") as gateway:
        tenant = await make_tenant(gateway, config)
        await limit_tenant(gateway, tenant, SLOW)
        arguments = ["--port", str(gateway.port), "--key", tenant.key, "--body", measure.BODY]
        arguments += ["--connections", str(_CONNECTIONS), "--requests", str(messages), "--recipients", str(_PEOPLE)]
        async with running("bench.load", *arguments) as driver:
            await measure.sample(driver, gateway.cpu, 600)
        return tenant


async def _hold(gateway: Gateway, network: Network, tenant: Tenant, limit: int, seconds: float) -> Held:
    """Let the gateway send at a limit for some seconds, and evaluate what arrived."""
    await network.limit(limit)
    await limit_tenant(gateway, tenant, limit)
    await asyncio.sleep(_SETTLE)
    since, cpu, network_cpu = await network.now(), gateway.cpu(), network.cpu()
    await asyncio.sleep(seconds)
    until, used, network_used = await network.now(), gateway.cpu() - cpu, network.cpu() - network_cpu
    await _check_queue(gateway, tenant)
    taken = await network.arrived("accepted", since, until)
    refused = await network.arrived("refused", since, until)
    return _judge(limit, until - since, taken, refused, used, network_used)


async def _check_queue(gateway: Gateway, tenant: Tenant) -> None:
    """Check that the queue is not empty: otherwise the rate is invalid."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        async with db.connection() as conn:
            waiting = await conn.fetchval(
                "SELECT count(*) FROM messages WHERE channel_id = $1 AND state = 0", tenant.channel_id
            )
    finally:
        await db.close()
    if not waiting:
        raise BenchFailed("The queue ran empty before the time was over.")


def _judge(
    limit: int,
    seconds: float,
    taken: Sequence[dict[str, Any]],
    refused: Sequence[dict[str, Any]],
    used: Cpu,
    network_used: float,
) -> Held:
    counts = in_seconds(sorted(entry["at"] for entry in (*taken, *refused)))
    return Held(
        limit=limit,
        seconds=seconds,
        messages=len(taken),
        busiest=max(counts, default=0),
        over=_share(counts, limit),
        far_over=_share(counts, limit * 1.01),
        refused=len(refused),
        disordered=count_disordered([(entry["to"], entry["biz_opaque_callback_data"]) for entry in taken]),
        gateway_cpu=used.gateway,
        postgres_cpu=used.postgres,
        sandbox_cpu=network_used,
    )


def in_seconds(times: Sequence[float]) -> list[int]:
    """Count the times within one second from each of the (sorted) times. No other second has more."""
    return [bisect_left(times, at + 1.0, i) - i for i, at in enumerate(times)]


def _share(counts: Sequence[int], most: float) -> float:
    return sum(count > most for count in counts) / len(counts) if counts else 0.0


def count_disordered(arrived: Sequence[tuple[str, str]]) -> int:
    """Count the messages that arrived after a newer one of their conversation. Ids are in the order of time."""
    newest: dict[str, str] = {}
    disordered = 0
    for person, id_ in arrived:
        disordered += id_ < newest.get(person, "")
        newest[person] = max(id_, newest.get(person, ""))
    return disordered
