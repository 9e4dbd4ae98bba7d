"""The lag from an event to its first delivery attempt at half load: alone, and besides a dead endpoint.

    writer ─► event, a delivery for each endpoint ─► gateway ─┬─► receiver: arrival time
                                                              └─► refused or unanswered; 100,000 are queued already

The lag is measured from the time in the event's id, which is taken before the event's commit, to the arrival of its
first POST, with the clock of one machine. All endpoints belong to one channel, so that one owner serves them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import data_folder, write_config
from bench.endpoints import Hooks, check_delivered, write_events
from bench.gateway import Gateway, free_port, new_client, running_gateway
from bench.load import quantile
from bench.measure import Sample
from bench.processes import BenchFailed, Child, running
from bench.tenant import Tenant, make_tenant

WAITING = 100_000  # deliveries queued for each dead endpoint
_SETTLE = 3.0  # seconds until a change of endpoints is in force, and deliveries in flight have arrived
ALONE, REFUSED, SILENT = "alone", "beside one that refuses", "beside one that never answers"
# Alternating, so that other load on the machine affects all measurements equally.
_ROUNDS = (ALONE, REFUSED, SILENT, SILENT, REFUSED, ALONE)


class Lag(msgspec.Struct, frozen=True):
    """The lags in seconds, and the results of the writer."""

    name: str
    seen: Sample
    events: int
    p50: float
    p99: float


async def measure_lags(load: float, seconds: float, progress: ShowProgress) -> list[Lag]:
    """Measure the lags at `load` events per second. The first result is without a dead endpoint."""
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(running("bench.receiver", "--lag"))
        silent = await stack.enter_async_context(running("bench.receiver", "--silent"))
        url, unanswered = [f"http://127.0.0.1:{(await child.receive())['port']}/" for child in (receiver, silent)]
        dead = {REFUSED: f"http://127.0.0.1:{free_port()}/", SILENT: unanswered}
        progress(f"webhooks: {WAITING:,} events for dead endpoints")
        async with _prepared(url, dead) as (gateway, tenant, hooks, endpoints):
            stage = Stage(gateway, tenant, hooks, receiver)
            await stage.told_at(load, 2.0)
            for name in _ROUNDS:
                progress(f"webhooks: {load:,.0f} events a second, {name}")
                await stage.round(name, endpoints.get(name), load, seconds)
            await check_delivered(gateway, tenant, url)
        return [stage.found(name) for name in (ALONE, REFUSED, SILENT)]


@asynccontextmanager
async def _prepared(url: str, dead: dict[str, str]) -> AsyncIterator[tuple[Gateway, Tenant, Hooks, dict[str, str]]]:
    """Run a gateway with a healthy endpoint, and with dead ones that have a long queue and are disabled."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        client = await stack.enter_async_context(new_client())
        config = write_config(folder)
        async with running_gateway(folder, config, role="api") as gateway:
            tenant = await make_tenant(gateway, config)
            hooks = Hooks(gateway, client, tenant)
            endpoints = {name: await hooks.make(place) for name, place in dead.items()}
            await write_events(gateway, tenant, WAITING)
            for endpoint in endpoints.values():
                await hooks.turn(endpoint, on=False)
            await hooks.make(url)
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        yield gateway, tenant, Hooks(gateway, client, tenant), endpoints


class Stage:
    """A gateway for which events are written at a rate, and the receiver of its webhooks."""

    def __init__(self, gateway: Gateway, tenant: Tenant, hooks: Hooks, receiver: Child) -> None:
        self._gateway = gateway
        self._tenant = tenant
        self._hooks = hooks
        self._receiver = receiver
        self._lags: dict[str, list[float]] = {}
        self._told: dict[str, list[Sample]] = {}

    async def round(self, name: str, endpoint: str | None, load: float, seconds: float) -> None:
        """Make one measurement, with a dead endpoint enabled meanwhile."""
        if endpoint:
            await self._hooks.turn(endpoint, on=True)
        await asyncio.sleep(_SETTLE)
        seen, lags = await self.told_at(load, seconds)
        if endpoint:
            await self._hooks.turn(endpoint, on=False)
        self._lags.setdefault(name, []).extend(lags)
        self._told.setdefault(name, []).append(seen)

    async def told_at(self, load: float, seconds: float) -> tuple[Sample, list[float]]:
        """Write events at a rate; return the writer's results and the lag of each event."""
        arguments = ["--dsn", self._gateway.dsn, "--channel", str(self._tenant.channel_id)]
        arguments += ["--rate", str(load), "--seconds", str(seconds)]
        async with running("bench.event_writer", *arguments) as writer:
            driving = asyncio.create_task(measure.sample(writer, self._gateway.cpu, seconds))
            lags: list[float] = []
            while not driving.done() or len(lags) < driving.result().count:
                lags += [lag / 1000 for lag in await self._heard(driving)]
            return await driving, lags

    async def _heard(self, driving: "asyncio.Task[Sample]") -> list[int]:
        """Return the next lags from the receiver. After the last event was written, all events must arrive."""
        try:
            lags: list[int] = (await self._receiver.receive(20.0))["lags"]
        except BenchFailed:
            if driving.done():
                raise BenchFailed("Webhooks stopped coming before all had come.") from None
            raise
        return lags

    def found(self, name: str) -> Lag:
        lags = sorted(self._lags[name])
        return Lag(name, measure.merge(self._told[name]), len(lags), quantile(lags, 0.5), quantile(lags, 0.99))
