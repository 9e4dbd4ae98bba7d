"""The ledger: a record of everything that happened."""

from typing import Annotated, Any

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.ledger import FIELDS
from gatepost_sandbox.world import World


@get("/control/ledger", sync_to_thread=False)
def read_ledger(
    world: NamedDependency[World],
    *,
    kind: FromQuery[str | None] = None,
    phone_number_id: FromQuery[str | None] = None,
    to: FromQuery[str | None] = None,
    after: Annotated[int, QueryParameter(ge=0)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=100_000)] = 1000,
) -> dict[str, Any]:
    """Show what happened, oldest first: ?kind=&phone_number_id=&to=&after=&limit=."""
    if kind is not None and kind not in FIELDS:
        raise ControlError(400, f"kind must be one of {', '.join(FIELDS)}")
    entries = world.network.ledger.read(kind, phone_number_id, to, after, limit)
    return {"entries": entries, "next": entries[-1]["seq"] if len(entries) == limit else None}


@get("/control/ledger/summary", sync_to_thread=False)
def summarise_ledger(world: NamedDependency[World]) -> dict[str, Any]:
    """Show counts, in total and by number."""
    return world.network.ledger.summary()


ROUTES = (read_ledger, summarise_ledger)
