"""The cost of a message with 1, 2 and 4 processes (`gatepost serve --processes`).

customers   accepts of many customers, each with a channel and a connection of its own, 64 for each process: N processes
            have N times the load, and a message should cost the same
channel     accepts of one channel over 64 connections: the worst case, because its processes wait for one lock, and
            each has smaller batches
life        whole lives of messages of one channel: the worst case as well

The CPU time that an idle gateway uses in the same time is shown and subtracted: it does not depend on messages.

The floor is server+batch (`bench/accept.py`) in as many processes, with the same connections: it shows how much more
anything costs with more processes on a machine whose cores also run PostgreSQL and the load.

For accepts, gateways and floors with each number of processes run beside each other on one database; only one works at
a time, in alternating rounds. For whole lives there is a gateway for each number, one after the other.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

import msgspec

from bench import measure
from bench.accept import Floor, ShowProgress, floor
from bench.data_folder import data_folder, write_config
from bench.gateway import Cpu, Gateway, running_gateway
from bench.life import CALLBACKS, WEBHOOKS, register_number
from bench.measure import Sample
from bench.processes import BenchFailed, Child, running
from bench.tenant import add_channels, make_tenant, meet_recipients

PROCESSES = (1, 2, 4)
SEVERAL_AIM = 1.1
_CONNECTIONS = 64
_RECIPIENTS = 4  # of each customer
_ROUNDS = 3
_MESSAGES = 2_000
_IDLE = 3.0  # seconds in which the idle gateway is measured
_QUIET = 5.0  # seconds without a webhook after which no more are expected


class SeveralRow(msgspec.Struct, frozen=True):
    """The results with a number of processes. `life` is the CPU time of whole lives."""

    processes: int
    customers: Sample
    channel: Sample
    floor: Sample
    messages: int
    life: Cpu
    idle: Cpu  # per second

    @property
    def life_micros(self) -> float:
        """CPU time of one message, gateway and PostgreSQL together."""
        return (self.life.gateway + self.life.postgres) / self.messages * 1e6


class SeveralFindings(msgspec.Struct, frozen=True):
    rows: list[SeveralRow]


async def measure_several(seconds: float, progress: ShowProgress) -> SeveralFindings:
    """Measure accepts and whole lives with each number of processes."""
    accepts = await _accepts(seconds, progress)
    lives = [await _life(number, progress) for number in PROCESSES]
    rows = zip(PROCESSES, accepts, lives, strict=True)
    return SeveralFindings([SeveralRow(number, *samples, _MESSAGES, *life) for number, samples, life in rows])


async def _idle(gateway: Gateway | Floor) -> Cpu:
    """Return the CPU time per second of a gateway, or a floor, that has nothing to do."""
    before = gateway.cpu()
    await asyncio.sleep(_IDLE)
    used = gateway.cpu() - before
    return Cpu(used.gateway / _IDLE, used.postgres / _IDLE)


def _without(sample: Sample, idle: Cpu) -> Sample:
    server, postgres = idle.gateway * sample.seconds, idle.postgres * sample.seconds
    return msgspec.structs.replace(sample, server=sample.server - server, postgres=sample.postgres - postgres)


async def _accepts(seconds: float, progress: ShowProgress) -> list[tuple[Sample, Sample, Sample]]:
    """Return accepts of many customers, of one channel, and by the floor, with each number of processes."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        config = write_config(folder)
        progress("processes: starting gateways (role api) and floors")
        first = await stack.enter_async_context(running_gateway(folder, config, role="api"))
        gateways = [first]
        for number in PROCESSES[1:]:
            beside = running_gateway(folder, config, role="api", processes=number, beside=first)
            gateways.append(await stack.enter_async_context(beside))
        floors = [await stack.enter_async_context(floor(first, "batch", processes=number)) for number in PROCESSES]
        tenant = await make_tenant(first, config)
        await meet_recipients(first, tenant)
        keys = await add_channels(first, tenant.account_id, _CONNECTIONS * PROCESSES[-1])
        await _customers(gateways[-1], keys, PROCESSES[-1], 0.2)  # meets their recipients
        idle = [(await _idle(gateway), await _idle(bare)) for gateway, bare in zip(gateways, floors, strict=True)]
        rounds: list[list[tuple[Sample, Sample, Sample]]] = []
        seconds /= _ROUNDS
        for turn in range(_ROUNDS):
            progress(f"processes: accepts, round {turn + 1} of {_ROUNDS}")
            rounds.append([])
            for number, gateway, bare in zip(PROCESSES, gateways, floors, strict=True):
                many = await _customers(gateway, keys, number, seconds)
                one = {"connections": _CONNECTIONS, "warm_up": 0.5, "key": tenant.key}
                channel = await measure.load(gateway.port, gateway.cpu, seconds=seconds, **one)
                plain = {"connections": _CONNECTIONS * number, "warm_up": 1.0}
                rounds[-1].append((many, channel, await measure.load(bare.port, bare.cpu, seconds=seconds, **plain)))
        return [_merged(samples, *idle[place]) for place, samples in enumerate(zip(*rounds, strict=True))]


def _merged(
    rounds: Sequence[tuple[Sample, Sample, Sample]], gateway_idle: Cpu, floor_idle: Cpu
) -> tuple[Sample, Sample, Sample]:
    """Return the samples of all rounds together, without the CPU time of idle processes."""
    many, channel, bare = (measure.merge(samples) for samples in zip(*rounds, strict=True))
    return _without(many, gateway_idle), _without(channel, gateway_idle), _without(bare, floor_idle)


async def _customers(gateway: Gateway, keys: list[str], processes: int, seconds: float) -> Sample:
    """Measure the accepts of many customers, 64 for each process."""
    number = _CONNECTIONS * processes
    arguments = {
        "connections": number,
        "key": ",".join(keys[:number]),
        "own_keys": 1,
        "recipients": number * _RECIPIENTS,
    }
    return await measure.load(gateway.port, gateway.cpu, seconds=seconds, warm_up=1.0, **arguments)


async def _life(number: int, progress: ShowProgress) -> tuple[Cpu, Cpu]:
    """Return the CPU time of a number of messages, from the request to the last webhook, and that of a second idle."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(data_folder())
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        sandbox_url = (await sandbox.receive_text()).split()[-1]
        receiver = await stack.enter_async_context(running("bench.receiver"))
        hook = f"http://127.0.0.1:{(await receiver.receive())['port']}/hook"
        config = write_config(folder, sandbox_url)
        progress(f"processes: {_MESSAGES:,} whole lives with {number}")
        gateway = await stack.enter_async_context(running_gateway(folder, config, processes=number))
        tenant = await make_tenant(gateway, config, hook)
        await register_number(sandbox_url, gateway, tenant)
        idle = await _idle(gateway)
        before, began = gateway.cpu(), time.monotonic()
        arguments = {"connections": _CONNECTIONS, "key": tenant.key, "requests": _MESSAGES}
        await measure.load(gateway.port, gateway.cpu, seconds=60, **arguments)
        await _until_delivered(receiver, _MESSAGES * WEBHOOKS)
        await asyncio.sleep(0.5)  # for the log of the last attempts
        seconds = time.monotonic() - began
        return gateway.cpu() - before - Cpu(idle.gateway * seconds, idle.postgres * seconds), idle


async def _until_delivered(receiver: Child, expected: int) -> None:
    """Wait for all webhooks. There may be fewer: a status that arrives after a later one is not reported."""
    count, give_up = 0, time.monotonic() + 120
    while count < expected and time.monotonic() < give_up:
        try:
            count = (await receiver.receive(_QUIET))["distinct"]
        except BenchFailed:
            break
    if count < expected * (WEBHOOKS - 1) / (1 + CALLBACKS):
        raise BenchFailed(f"Of {expected} webhooks only {count} arrived.")


def several_table(found: SeveralFindings) -> tuple[str, list[str], list[list[int | float]]]:
    """Return the title, the columns and the rows of the table."""
    one = found.rows[0]
    columns = ["processes", "accepts/s", "accept µs, many customers", "× 1 ", "floor µs", "floor × 1"]
    columns += ["accept µs, one channel", " × 1", "life µs, one channel", "× 1", "idle, % of a core"]
    rows: list[list[int | float]] = [
        [
            row.processes,
            round(row.customers.rate),
            round(row.customers.cost),
            round(row.customers.cost / one.customers.cost, 2),
            round(row.floor.cost),
            round(row.floor.cost / one.floor.cost, 2),
            round(row.channel.cost),
            round(row.channel.cost / one.channel.cost, 2),
            round(row.life_micros),
            round(row.life_micros / one.life_micros, 2),
            round((row.idle.gateway + row.idle.postgres) * 100, 1),
        ]
        for row in found.rows
    ]
    return "CPU per message with several processes", columns, rows
