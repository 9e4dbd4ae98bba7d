"""The clock, and resetting the sandbox."""

from typing import Annotated, Any

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.settings import Seconds
from gatepost_sandbox.world import World

Speed = Annotated[float, Meta(gt=0, le=1_000_000)]  # faster, the clock would soon be at a time that has no date
LATEST = 253_402_300_799.0  # the end of the year 9999: later times have no date


class Move(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of the clock: first its speed, then its time."""

    advance: Seconds | None = None
    set: float | None = None
    speed: Speed | None = None
    frozen: bool | None = None
    ordered: bool = True


class Reset(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A reset; omitted settings are those of the start."""

    keep_numbers: bool = False
    seed: int | None = None
    start: Annotated[float, Meta(ge=0, le=LATEST)] | None = None
    frozen: bool | None = None
    speed: Speed | None = None


def show(world: World, fired: int = 0) -> dict[str, Any]:
    """Return the state of the clock."""
    clock = world.network.clock
    return {
        "now": clock.now(),
        "frozen": clock.frozen,
        "speed": clock.speed,
        "waiting": clock.waiting,
        "fired": fired,
    }


def find_target(move: Move, now: float) -> float | None:
    """Return the time to move to, or None when the clock stays."""
    if move.advance is not None and move.set is not None:
        raise ControlError(400, "give either advance or set, not both")
    target = now + move.advance if move.advance is not None else move.set
    if target is None:
        return None
    if target < now:
        raise ControlError(409, "time cannot be set back: use /control/reset with a start")
    if target > LATEST:
        raise ControlError(400, "the clock cannot go beyond the year 9999")
    return target


@get("/control/clock", sync_to_thread=False)
def get_clock(world: NamedDependency[World]) -> dict[str, Any]:
    """Show the sandbox time and the number of pending timers."""
    return show(world)


@post("/control/clock", status_code=200)
async def move_clock(world: NamedDependency[World], data: JSONBody[Move]) -> dict[str, Any]:
    """Freeze, speed up, advance or set time; returns when everything that fell due has been posted."""
    network = world.network
    clock = network.clock
    target = find_target(data, clock.now())
    frozen = clock.frozen if data.frozen is None else data.frozen
    clock.run_at(frozen=frozen, speed=data.speed or clock.speed)
    fired = 0 if target is None else await clock.move_to(target, network.settled, ordered=data.ordered)
    network.watch.changed("clock")
    await world.followers.changed()
    return show(world, fired)


@get("/control/clock/follow")
async def follow_clock(
    world: NamedDependency[World],
    follower: FromQuery[str],
    seen: FromQuery[str | None] = None,
    wait: Annotated[float, QueryParameter(ge=0, le=60)] = 20.0,
) -> dict[str, Any]:
    """Wait for the next change of the clock: ?follower=&seen=&wait=; moving the clock waits for its followers."""
    await world.followers.wait(follower, seen, wait)
    return {**show(world), "version": world.followers.version}


@post("/control/reset", status_code=200)
@changes
async def reset(world: NamedDependency[World], data: JSONBody[Reset | None] = None) -> dict[str, Any]:
    """Reset the sandbox: clears ledger, people, faults and timers; keeps the numbers if "keep_numbers"."""
    changes = msgspec.to_builtins(data or Reset())
    await world.reset(keep_numbers=changes.pop("keep_numbers", False), changes=changes)
    if not world.network.clock.replaying:
        await world.followers.changed()
    return show(world)


ROUTES = (move_clock, get_clock, follow_clock, reset)
