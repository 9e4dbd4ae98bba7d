"""The network and the receivers of webhooks fail, hang, or report in disorder; a message breaks its adapter."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from faults.load import phones
from faults.run import Run
from faults.scenario import Scenario
from gatepost.model import ids
from gatepost.store.endpoints import list_endpoints
from tests.conftest import Answer, Received

_DISORDER: list[list[dict[str, Any]]] = [
    [{"fault": "duplicate", "copies": 10}],
    [{"fault": "reorder", "hold": 3, "seconds": 0.5}],
    [{"fault": "duplicate", "copies": 3}, {"fault": "delay", "seconds": 0.5, "probability": 0.5}],
    [{"fault": "drop_echo"}, {"fault": "duplicate", "copies": 3}, {"fault": "reorder", "hold": 4, "seconds": 0.5}],
]


async def black_hole(run: Run) -> None:
    """Calls to the network hang, crawl, or their connections are reset, for some seconds."""
    await run.start(2)
    while run.goes_on:
        await run.pause(1.0, 2.0)
        began = time.time()
        how = run.random.choice(["silent", "silent, then cut", "dripping", "cut"])
        if how.startswith("silent"):
            run.network.go_silent()
            await run.pause(1.0, 4.0)
            if how.endswith("cut"):
                run.network.cut()
            run.network.resume()
        elif how == "dripping":
            run.network.dripping = True
            await run.pause(3.0, 4.0)
            run.network.dripping = False
        else:
            for _ in range(10):
                run.network.cut()
                await run.pause(0.05, 0.2)
        run.outage(began)


async def lost_answers(run: Run) -> None:
    """The network accepts messages, and its response is lost or late; it also fails, and asks to slow down."""
    kinds: list[dict[str, Any]] = [
        {"fault": "accept_drop", "probability": 0.1},
        {"fault": "accept_hang", "seconds": 3, "probability": 0.05},
        {"fault": "http_error", "status": 503, "probability": 0.1},
        {"fault": "drop", "probability": 0.1},
        {"fault": "refuse", "code": 130429, "probability": 0.02},
    ]
    began = time.time()
    await run.start(2)
    while run.goes_on:
        await run.stage.sandbox("POST", "/control/faults", run.random.choice(kinds))
        await run.pause(2.0, 3.0)
        await run.stage.sandbox("DELETE", "/control/faults")
        run.faults += 1
    run.outage(began)


async def disorder(run: Run) -> None:
    """Statuses come several times, late, before the response, and the later ones first."""
    await run.start(2)
    while run.goes_on:
        for fault in run.random.choice(_DISORDER):
            await run.stage.sandbox("POST", "/control/faults", fault)
        await run.pause(2.0, 3.0)
        await run.stage.sandbox("DELETE", "/control/faults")
        run.faults += 1


async def poison(run: Run) -> None:
    """Messages to one recipient of each channel break the adapter, and the network refuses those to another."""
    refused = [phones(index)[1] for index in range(len(run.stage.channels))]
    run.failing = {phones(0)[0], *refused}
    for phone in refused:
        await run.stage.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131026, "to": phone})
    await run.start(2, point=f"poison:{phones(0)[0]}")
    while run.goes_on:
        await run.pause(2.0)
        run.faults += 1


async def bad_receivers(run: Run) -> None:
    """One receiver is slow, one fails, one never answers. Then all are well, and events are recovered."""
    healthy, slow, failing, silent = (channel.path for channel in run.stage.channels)
    answers = {slow: Answer(delay=1.0), failing: Answer(status=500), silent: Answer(delay=3600)}
    since = datetime.now(UTC)
    run.stage.receiver.answer = _by_path(answers)
    await run.start(2)
    while run.goes_on:
        await run.pause(1.0)
    run.faults = len(answers)
    run.figures["lag of the healthy one"] = _lags(run, healthy, time.time())
    run.stage.receiver.answer = Answer()
    await run.load.end()
    for channel in run.stage.channels:
        for endpoint in await list_endpoints(run.stage.db, channel.id):
            path = f"/api/v1/webhooks/{ids.format_id('we', endpoint.id)}/recover"
            answer = await run.stage.call("POST", path, {"since": since.isoformat()}, key=channel.key)
            assert answer.status == 201, answer.body


def _by_path(answers: dict[str, Answer]) -> Callable[[Received], Answer]:
    return lambda request: answers.get(request.path, Answer())


def _lags(run: Run, path: str, until: float) -> str:
    """Return how long after its event a webhook came: the id of an event begins with its time in milliseconds."""
    lags = sorted(
        request.at - int(request.headers["webhook-id"][4:16], 16) / 1000
        for request in run.stage.receiver.requests
        if request.path == path and request.at < until
    )
    return f"p50 {1000 * lags[len(lags) // 2]:.0f} ms, p99 {1000 * lags[len(lags) * 99 // 100]:.0f} ms" if lags else "–"


SCENARIOS = (
    Scenario(
        name="black-hole",
        invariant="every call ends; doubled only if its response was lost",
        play=black_hole,
        options={"cloud__timeout": 2, "cloud__connect_timeout": 1},
    ),
    Scenario(
        name="lost-answers",
        invariant="a status decides; sent again only without one",
        play=lost_answers,
        options={"cloud__timeout": 2, "sending__attempts": 20},
    ),
    Scenario(name="disorder", invariant="each change is one event, and none goes backward", play=disorder),
    Scenario(name="poison", invariant="a message that cannot be sent fails alone", play=poison),
    Scenario(
        name="receivers",
        invariant="a bad receiver delays no other; all is delivered in the end",
        play=bad_receivers,
        options={"webhooks__timeout": 2},
    ),
)
