"""The version before the newest migration and the current version work side by side, as during an upgrade."""

import asyncio

from faults.processes import CLEAN
from faults.run import PATIENCE, Run
from faults.scenario import Scenario
from tests.faults.stage import Node


async def upgrade(run: Run) -> None:
    """One gateway of each version works; in turn, one is killed or stopped, and one of the same version starts."""
    previous, [old] = run.place.previous, run.gateways
    assert previous is not None
    [new] = await run.start()
    run.figures["the version before"] = previous.revision[:12]
    while run.goes_on or not run.faults:
        await _until_both_own(run, old, new)
        await run.pause(1.0, 2.0)
        ending, kills = run.random.choice([old, new]), run.random.random() < 0.5
        if ending is old and not previous.starts_on_newer:
            ending = new
        if kills:
            await run.kill(ending)
        else:
            await _stop(run, ending)
        await run.pause(0.5, 5.0)  # a lease of a killed one ends meanwhile, or not
        if ending is old:
            old = await run.start_previous()
        else:
            [new] = await run.start()
    await _until_both_own(run, old, new)
    await _stop(run, old)


async def _until_both_own(run: Run, *nodes: Node) -> None:
    """Wait until each of the gateways owns a channel."""
    async with asyncio.timeout(PATIENCE):
        while not all([await run.held_by(node.owner) for node in nodes]):
            await asyncio.sleep(0.1)


async def _stop(run: Run, node: Node) -> None:
    code = await run.stop(node)
    assert code == 0, f"the gateway did not stop cleanly: exit code {code}"
    run.faults += 1


SCENARIOS = (Scenario(name="upgrade", invariant=CLEAN, play=upgrade, seconds=40, previous=True),)
