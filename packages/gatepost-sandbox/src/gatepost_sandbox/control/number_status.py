"""The network's decisions about a number: tier, throughput, quality, status, name, alerts, held messages."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from gatepost_sandbox import number_status
from gatepost_sandbox.control.numbers import find_number, show
from gatepost_sandbox.control.recording import changes
from gatepost_sandbox.sending import settle_held
from gatepost_sandbox.settings import Count, Seconds
from gatepost_sandbox.world import World


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """People per day; 0 is unlimited."""

    tier: Count


class Upgrade(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The duration of the maintenance."""

    seconds: Seconds | None = None


class Rating(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quality rating, and its webhook event if not the default one."""

    rating: Literal["GREEN", "YELLOW", "RED", "UNKNOWN", "NA"]
    event: str | None = None


class NewStatus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The status of a number."""

    status: Annotated[str, Meta(pattern=r"^[A-Z_]+$")]


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A display name and the decision about it."""

    name: str
    decision: Literal["APPROVED", "DEFERRED", "PENDING", "REJECTED"] = "APPROVED"
    rejection_reason: str | None = None


class HeldDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome of one held message, or of all."""

    outcome: Literal["release", "drop"]
    wamid: str | None = None


class AccountUpdate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any webhook of an account."""

    field: Annotated[str, Meta(min_length=1)]
    value: dict[str, Any]


@post("/control/numbers/{phone_number_id:str}/tier", status_code=200)
@changes
async def set_tier(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[Tier]
) -> dict[str, Any]:
    """Set the tier of a number: {"tier": 10000}, 0 for no limit."""
    number = find_number(world.network, phone_number_id)
    number_status.set_tier(world.network, number, data.tier)
    return show(number)


@post("/control/numbers/{phone_number_id:str}/upgrade", status_code=200)
@changes
async def upgrade(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[Upgrade]
) -> dict[str, Any]:
    """Raise a number's throughput after {"seconds"?} of maintenance, in which sends are refused with 131057."""
    number = find_number(world.network, phone_number_id)
    seconds = number.limits.upgrade_seconds if data.seconds is None else data.seconds
    number_status.upgrade(world.network, number, seconds)
    return show(number)


@post("/control/numbers/{phone_number_id:str}/quality", status_code=200)
@changes
async def rate(world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[Rating]) -> dict[str, Any]:
    """Change a number's quality: {"rating", "event"?}."""
    number = find_number(world.network, phone_number_id)
    number_status.set_quality(world.network, number, data.rating, data.event)
    return show(number)


@post("/control/numbers/{phone_number_id:str}/status", status_code=200)
@changes
async def set_status(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[NewStatus]
) -> dict[str, Any]:
    """Change a number's status, with its webhooks: {"status": "BANNED"}."""
    number = find_number(world.network, phone_number_id)
    number_status.set_status(world.network, number, data.status)
    return show(number)


@post("/control/numbers/{phone_number_id:str}/name", status_code=200)
@changes
async def rename(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[Naming]
) -> dict[str, Any]:
    """Decide about a number's display name: {"name", "decision"?, "rejection_reason"?}."""
    number = find_number(world.network, phone_number_id)
    number_status.rename(world.network, number, data.name, data.decision, data.rejection_reason)
    return show(number)


@post("/control/numbers/{phone_number_id:str}/alert", status_code=200)
@changes
async def alert(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> dict[str, bool]:
    """Warn about a number: {"alert_severity", "alert_status", "alert_type", "alert_description"}."""
    number_status.alert(world.network, find_number(world.network, phone_number_id), data)
    return {"success": True}


@get("/control/numbers/{phone_number_id:str}/held", sync_to_thread=False)
def list_held(world: NamedDependency[World], phone_number_id: FromPath[str]) -> list[str]:
    """List the ids of held template messages."""
    return list(find_number(world.network, phone_number_id).held)


@post("/control/numbers/{phone_number_id:str}/held", status_code=200)
@changes
async def settle_held_messages(
    world: NamedDependency[World], phone_number_id: FromPath[str], data: JSONBody[HeldDecision]
) -> dict[str, list[str]]:
    """Release or drop held messages early: {"outcome": "release" or "drop", "wamid"?}."""
    number = find_number(world.network, phone_number_id)
    wanted = list(number.held) if data.wamid is None else [data.wamid]
    return {"settled": [wamid for wamid in wanted if settle_held(number, wamid, drop=data.outcome == "drop")]}


@post("/control/wabas/{waba_id:str}/news", status_code=200)
@changes
async def announce(
    world: NamedDependency[World], waba_id: FromPath[str], data: JSONBody[AccountUpdate]
) -> dict[str, bool]:
    """Send an account's callback addresses any webhook: {"field", "value"}."""
    world.network.announce(waba_id, data.field, data.value)
    return {"success": True}


ROUTES = (set_tier, upgrade, rate, set_status, rename, alert, list_held, settle_held_messages, announce)
