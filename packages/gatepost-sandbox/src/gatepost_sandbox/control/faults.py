"""Fault rules."""

from functools import partial
from typing import Any

import msgspec
from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.faults import ActiveRule, Rule, check_rule
from gatepost_sandbox.network import Network
from gatepost_sandbox.world import World


def show(active: ActiveRule) -> dict[str, Any]:
    """Return a rule with the counts of its matches and faults."""
    return {
        **msgspec.structs.asdict(active.rule),
        "seen": active.seen,
        "struck": active.struck,
        "held": len(active.held),
        "ends_at": active.ends_at,
    }


def end_rule(network: Network, active: ActiveRule) -> None:
    """Remove a rule whose time is over, and tell the feeds."""
    network.faults.end(active)
    network.watch.changed("faults")


@get("/control/faults", sync_to_thread=False)
def list_faults(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the active rules."""
    return [show(active) for active in world.network.faults.all()]


@post("/control/faults", status_code=200, sync_to_thread=False)
@changes
def add_fault(world: NamedDependency[World], data: JSONBody[Rule]) -> dict[str, Any]:
    """Add a rule."""
    problem = check_rule(data)
    if problem is not None:
        raise ControlError(400, problem)
    network = world.network
    active = network.faults.add(data)
    if data.lasts is not None:
        active.ends_at = network.clock.now() + data.lasts
        network.clock.at(active.ends_at, partial(end_rule, network, active))
    return show(active)


@delete("/control/faults/{rule_id:str}", status_code=200)
@changes
async def remove_fault(world: NamedDependency[World], rule_id: FromPath[str]) -> dict[str, bool]:
    """Remove a rule."""
    if world.network.faults.remove(rule_id) is None:
        raise not_found("fault rule", rule_id)
    return {"success": True}


@delete("/control/faults", status_code=200)
@changes
async def remove_faults(world: NamedDependency[World]) -> dict[str, int]:
    """Remove all rules."""
    rules = world.network.faults.all()
    for active in rules:
        world.network.faults.remove(active.rule.id)
    return {"removed": len(rules)}


ROUTES = (add_fault, list_faults, remove_fault, remove_faults)
