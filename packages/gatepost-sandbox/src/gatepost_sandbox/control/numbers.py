"""Business numbers and the global settings they start from."""

import re
from typing import Any

import msgspec
from litestar import delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from gatepost_sandbox.control.problems import ControlError, not_found
from gatepost_sandbox.control.recording import changes, changes_last
from gatepost_sandbox.ids import stream
from gatepost_sandbox.network import Network
from gatepost_sandbox.numbers import Number
from gatepost_sandbox.settings import NumberSpec, SandboxSettings, merge
from gatepost_sandbox.world import World

_FIXED = ("seed", "start", "frozen", "speed", "ledger_cap", "attempts_cap")


def find_number(network: Network, phone_number_id: str) -> Number:
    """Return the number with this id, or a 404."""
    number = network.numbers.get(phone_number_id)
    if number is None:
        raise not_found("number", phone_number_id)
    return number


def show(number: Number) -> dict[str, Any]:
    """Return a number as registered, with its effective settings."""
    effective = {"delays": number.delays, "limits": number.limits, "callbacks": number.callbacks}
    return {**msgspec.structs.asdict(number.spec), "effective": effective}


async def verify_callback(network: Network, spec: NumberSpec) -> None:
    """Make the handshake with a callback address, or fail with the reason."""
    if spec.callback_url is None:
        return
    challenge = str(stream(network.settings.seed, spec.phone_number_id, "challenge").randrange(10**9, 10**10))
    timeout = network.settings.callbacks.timeout
    problem = await network.callback_client.verify(spec.callback_url, spec.verify_token, challenge, timeout)
    if problem is not None:
        raise ControlError(400, f"callback verification failed: {problem}")


@get("/control/numbers", sync_to_thread=False)
def list_numbers(world: NamedDependency[World]) -> list[dict[str, Any]]:
    """List the registered numbers."""
    return [show(number) for number in world.network.numbers.values()]


@post("/control/numbers", status_code=200)
@changes_last
async def register_number(world: NamedDependency[World], data: JSONBody[dict[str, Any]]) -> dict[str, Any]:
    """Register a number, or replace one; verifies its callback_url unless "verify" is false."""
    verify = data.pop("verify", True)
    spec = msgspec.convert(data, NumberSpec)
    if verify:
        await verify_callback(world.network, spec)
    return show(world.network.register(spec))


@get("/control/numbers/{phone_number_id:str}", sync_to_thread=False)
def get_number(world: NamedDependency[World], phone_number_id: FromPath[str]) -> dict[str, Any]:
    """Show a number."""
    return show(find_number(world.network, phone_number_id))


@patch("/control/numbers/{phone_number_id:str}")
@changes_last
async def change_number(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> dict[str, Any]:
    """Change some fields of a number; verifies a changed callback_url unless "verify" is false."""
    verify = data.pop("verify", True)
    old = find_number(world.network, phone_number_id).spec
    for group in ("delays", "limits", "callbacks"):
        if isinstance(data.get(group), dict):
            data[group] = {**getattr(old, group), **data[group]}
    if data.get("phone_number_id", phone_number_id) != phone_number_id:
        raise ControlError(400, "phone_number_id cannot be changed: register another number")
    spec = msgspec.convert({**msgspec.structs.asdict(old), **data}, NumberSpec)
    if verify and (spec.callback_url, spec.verify_token) != (old.callback_url, old.verify_token):
        await verify_callback(world.network, spec)
    return show(world.network.register(spec))


@delete("/control/numbers/{phone_number_id:str}", status_code=200)
@changes
async def remove_number(world: NamedDependency[World], phone_number_id: FromPath[str]) -> dict[str, bool]:
    """Remove a number and its pending callbacks."""
    if not await world.network.remove(phone_number_id):
        raise not_found("number", phone_number_id)
    return {"success": True}


@get("/control/settings", sync_to_thread=False)
def get_settings(world: NamedDependency[World]) -> SandboxSettings:
    """Show the global settings."""
    return world.network.settings


@patch("/control/settings", sync_to_thread=False)
@changes
def change_settings(world: NamedDependency[World], data: JSONBody[dict[str, Any]]) -> SandboxSettings:
    """Change some global settings: delays, limits, callbacks, throttle_status, default_character, echo_suffix."""
    fixed = sorted(set(data) & set(_FIXED))
    if fixed:
        raise ControlError(400, f"{', '.join(fixed)}: use /control/clock or /control/reset")
    settings = merge(world.network.settings, data)
    try:
        re.compile(settings.management.reject_pattern)
    except re.error as error:
        raise ControlError(400, f"management.reject_pattern is not a regular expression: {error}") from error
    world.network.reconfigure(settings)
    return world.network.settings


ROUTES = (
    register_number,
    list_numbers,
    get_number,
    change_number,
    remove_number,
    get_settings,
    change_settings,
)
