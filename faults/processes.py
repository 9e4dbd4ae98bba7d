"""Processes that are killed, stopped, started again, or whose clock is wrong."""

import asyncio
import signal
import time
from contextlib import redirect_stdout
from io import StringIO
from uuid import UUID

from faults.run import Held, Run, spread
from faults.scenario import Scenario
from tests.processes.running_processes import RunningProcesses, running_processes

EVERY = 2.0  # seconds between two kills


async def kill_gateways(run: Run) -> None:
    """One of two gateways is killed every two seconds, also while it starts."""
    await run.start(2)
    due = time.monotonic()
    while run.goes_on:
        due = max(due, time.monotonic() - EVERY) + run.random.uniform(0.8 * EVERY, 1.2 * EVERY)
        await asyncio.sleep(due - time.monotonic())
        await run.kill(run.random.choice(run.gateways))
        run.start_soon()
    await run.start()


async def kill_processes(run: Run) -> None:
    """One of the processes of one gateway is killed every two seconds."""
    with redirect_stdout(StringIO()):  # it prints its log at the end
        async with running_processes(run.stage, 3) as gateway:
            run.add_target(run.stage.url)
            await run.stage.use_gateway(run.balancer.url)
            while run.goes_on:
                await run.pause(0.8 * EVERY, 1.2 * EVERY)
                await _kill_one(run, gateway)
            await run.settle()
    run.balancer.targets.clear()
    await run.start()


async def _kill_one(run: Run, gateway: RunningProcesses) -> None:
    children = gateway.children()
    if not children:
        return
    killed = run.random.choice(children)
    number = int(killed.cmdline()[-2])
    owners = [line["owner"] for line in gateway.lines("owner started") if line["process"] == number]
    held = await run.held_by(UUID(owners[-1]) if owners else None)
    killed.kill()
    await run.doubt(held)
    run.faults += 1


async def freeze_gateways(run: Run) -> None:
    """One of two gateways is stopped with SIGSTOP for longer than its leases last, and continues."""
    nodes = await run.start(2)
    while run.goes_on:
        await run.pause(1.0, 2.0)
        await run.freeze(run.random.choice(nodes), run.random.uniform(4.5, 7.0))
    await run.pause(1.0)


async def wrong_clocks(run: Run) -> None:
    """The clock of one gateway is an hour ahead, that of the other leaps by an hour, and channels change hands."""
    points = ["clock:3600:0", "clock:-3600:7"]
    for point in points:
        await run.start(point=point)
    while run.goes_on:
        await run.pause(3.0, 5.0)
        turn = run.faults % 2
        await run.kill(run.gateways[0])
        await run.start(point=points[turn])


async def fail_over(run: Run) -> None:
    """The owner of some channels is killed; the leases are those of the default settings."""
    await run.start(2)
    took: list[float] = []
    while run.goes_on or not took:
        await run.pause(3.0, 4.0)
        killed_at, held = time.time(), Held()
        for node in list(run.gateways):
            if await run.held_by(node.owner):
                killed_at = time.time()
                held = await run.kill(node)
                break
        if held:
            took.append(await run.resumed(killed_at, {channel for channel, _ in held}))
            await run.start()
    run.figures["sends again after a kill"] = spread(took)


async def rolling_restart(run: Run) -> None:
    """Each gateway in turn is stopped with SIGTERM after another one was started."""
    await run.start(2)
    pauses: list[float] = []
    while run.goes_on or not pauses:
        await run.pause(2.0, 3.0)
        old = run.gateways[0]
        await run.start()
        began = time.time()
        assert await run.stop(old) == 0, "the gateway did not stop cleanly"
        await run.pause(2.0)
        pauses.append(await run.longest_pause(began))
        run.faults += 1
    run.figures["longest pause of a channel"] = spread(pauses)


async def soak(run: Run) -> None:
    """Nothing fails: what grows?"""
    nodes = await run.start(2)
    samples: list[dict[str, float]] = []
    while run.goes_on:
        await asyncio.sleep(2.0)
        [row] = await run.stage.rows(
            """SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatepost') AS connections,
                      (SELECT sum(n_dead_tup) FROM pg_stat_user_tables) AS dead,
                      (SELECT sum(n_live_tup) FROM pg_stat_user_tables) AS live"""
        )
        samples.append(
            {
                "memory, MiB": sum(node.process.memory_info().rss for node in nodes) / (1 << 20),
                "file descriptors": sum(node.process.num_fds() for node in nodes),
                "connections": row["connections"],
                "dead rows, %": 100 * float(row["dead"]) / max(1.0, float(row["live"] + row["dead"])),
            }
        )
    third = max(1, len(samples) // 3)
    for name in samples[0]:
        first, last = (_median([s[name] for s in part]) for part in (samples[third : 2 * third], samples[-third:]))
        run.figures[name] = f"{first:.0f} → {last:.0f}"


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


async def stop_under_load(run: Run) -> None:
    """All gateways are stopped with SIGTERM at once, and started again."""
    await run.start(2)
    while run.goes_on:
        await run.pause(2.0, 4.0)
        for node in run.gateways:
            node.signal(signal.SIGTERM)
        codes = [await run.leave(node) for node in list(run.gateways)]
        assert codes == [0, 0], f"exit codes {codes}"
        run.faults += 1
        await run.start(2)


# The leases and the times of the default settings, for what is timed.
AS_SHIPPED = {"lease__ttl": 15, "lease__renew": 5, "lease__sweep": 1, "server__drain_seconds": 10}
CLEAN = "nothing lost or out of order, doubled only if the outcome of a send was unknown"

SCENARIOS = (
    Scenario(name="kill-gateways", invariant=CLEAN, play=kill_gateways, seconds=30),
    Scenario(name="kill-processes", invariant=CLEAN, play=kill_processes),
    Scenario(name="stop-gateways", invariant="nothing lost, doubled or out of order", play=stop_under_load),
    Scenario(name="freeze", invariant="an owner past its lease writes and sends nothing", play=freeze_gateways),
    Scenario(name="clocks", invariant="no time of a machine decides about leases and queues", play=wrong_clocks),
    Scenario(
        name="failover",
        invariant="the channels of a killed gateway go to the other; the time is measured",
        play=fail_over,
        seconds=40,
        options=AS_SHIPPED,
    ),
    Scenario(
        name="rolling-restart",
        invariant="nothing lost, doubled or out of order; pauses are measured",
        play=rolling_restart,
        options=AS_SHIPPED,
    ),
    Scenario(
        name="soak",
        invariant="nothing lost; memory, files, connections and dead rows are measured",
        play=soak,
        seconds=60,
        options=AS_SHIPPED,
    ),
)
