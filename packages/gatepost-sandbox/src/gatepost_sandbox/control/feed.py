"""The feed: changes as they happen, as server-sent events."""

from typing import Any

from litestar import get
from litestar.background_tasks import BackgroundTask
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Stream

from gatepost_sandbox.control.problems import ControlError
from gatepost_sandbox.feeds import FEEDS_MAX, write_event
from gatepost_sandbox.number_forms import network_form
from gatepost_sandbox.world import World

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no", "x-content-type-options": "nosniff"}


@get("/control/feed", media_type="text/event-stream")
async def read_feed(
    world: NamedDependency[World], person: FromQuery[str | None] = None, ledger: FromQuery[bool] = False
) -> Stream:
    """Follow what happens, as server-sent events: ?person=&ledger=."""
    feed = world.feeds.open(None if person is None else network_form(person), ledger=ledger)
    if feed is None:
        raise ControlError(503, f"there are {FEEDS_MAX} open feeds already, or the sandbox is stopping")
    ready: dict[str, Any] = {"now": world.network.clock.now()}
    ended = BackgroundTask(world.feeds.end, feed)
    return Stream(
        feed.read(write_event("ready", ready)), media_type="text/event-stream", headers=_HEADERS, background=ended
    )


ROUTES = (read_feed,)
