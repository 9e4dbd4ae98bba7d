"""One of several databases is killed, or does not answer; or an account moves from one to another."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any
from uuid import UUID

import psutil

from faults.run import Cell, Run, spread
from faults.scenario import Scenario
from gatepost.admin.account_move import AccountMove, MovedAccount, MovePlace
from gatepost.model.account import new_key
from gatepost.store.embedded.postmaster import find_postmaster
from gatepost.store.media.objects import ObjectStorage, media_place
from tests.faults.stage import Node

_OK = (200, "")
_DOWN = (503, "database_unavailable")
_WAITED = (503, "overloaded")  # for a connection, before it was noticed that the database does not answer
NAMES = ("main", "west", "east")
Outage = Callable[[Cell], AbstractAsyncContextManager[None]]
Meanwhile = Callable[[Run], Coroutine[Any, Any, None]]


async def nothing(run: Run) -> None:
    """Do nothing else than losing cells."""


async def lose_cells(run: Run, outage: Outage, meanwhile: Meanwhile = nothing) -> None:
    """One cell after the other is away for some seconds. `meanwhile` runs beside it, once."""
    nodes = await run.start(2)
    for channel in run.channels:  # from now on, their cells are known
        assert await _ask(run, nodes, [channel.key]) == {_OK}
    other = asyncio.create_task(meanwhile(run))
    ended, back = list[float](), list[float]()
    try:
        while run.goes_on or not back:
            await run.pause(1.0, 2.0)
            await _lose(run, run.random.choice(run.cells), outage, nodes, ended, back)
        await other
    finally:
        other.cancel()
    run.figures["requests to a lost cell end after"] = spread(ended)
    run.figures["sends again when the cell is back"] = spread(back)


async def _lose(run: Run, cell: Cell, outage: Outage, nodes: list[Node], ended: list[float], back: list[float]) -> None:
    """Let one cell be away. Note how long its requests take, and the time until all its channels send again."""
    healthy = [one for one in run.cells if one is not cell]
    own, others = cell.stage.channels, [channel for one in healthy for channel in one.stage.channels]
    fresh = [await one.stage.new_key(one.stage.channels[0].id) for one in healthy]
    refused, began = len(run.load.refusals_of(others)), time.time()
    async with outage(cell):
        await run.pause(0.5)  # for responses that are on their way
        accepted, sent = run.load.count_of(own), run.load.count_of(others)
        found = await _ask(run, nodes, [*fresh, *(channel.key for channel in others)])
        assert found == {_OK}, f"another cell answered {found} while {cell.name} was away"
        asked = time.monotonic()
        found = await _ask(run, nodes, [new_key(), *(channel.key for channel in own)])
        assert found <= ({_DOWN, _WAITED} if outage is silent else {_DOWN}), (
            f"the cell {cell.name} answered {found} while it was away"
        )
        ended.append(time.monotonic() - asked)
        await run.pause(1.0, 4.0)
        assert run.load.count_of(own) == accepted, f"a message was accepted without the cell {cell.name}"
        assert run.load.count_of(others) > sent, f"nothing was accepted while the cell {cell.name} was away"
    back_at = time.time()
    back.append(await run.resumed(back_at, {channel.id for channel in own}))
    run.outage(began, cell)
    assert len(run.load.refusals_of(others)) == refused, f"other cells refused while {cell.name} was away"


async def move_accounts(run: Run) -> None:
    """An account moves to another cell while the third one is killed, and back when it runs again."""
    await run.start(2)
    paused, stopped = list[float](), list[float]()
    while run.goes_on or not paused:
        home, away, third = run.random.sample(run.cells, 3)
        channel = run.random.choice(home.stage.channels)
        began = time.time()
        async with killed(third):
            there = await _move(run, channel.account_id, home, away)
            await run.pause(0.5, 2.0)
        await run.resumed(time.time(), {one.id for one in third.stage.channels} | {channel.id})
        run.outage(began, third)
        back = await _move(run, channel.account_id, away, home)
        paused += [there.paused_seconds, back.paused_seconds]
        stopped += [there.sending_paused_seconds, back.sending_paused_seconds]
        await run.pause(0.5, 1.0)
    run.figures["moves"] = len(paused)
    run.figures["requests of a moving account paused"] = spread(paused)
    run.figures["its sending paused"] = spread(stopped)


async def _move(run: Run, account_id: UUID, source: Cell, target: Cell) -> MovedAccount:
    def place(cell: Cell) -> MovePlace:
        objects = ObjectStorage.open(*media_place("", run.stage.settings.data_folder, cell.name))
        return MovePlace(cell.name, cell.place.url, cell.stage.db, objects)

    ends = place(source), place(target)
    days = run.stage.settings.retention.partition_days
    move = AccountMove(account_id, *ends, partition_days=days, shared_devices=False, progress=lambda *_: None)
    return await move.run()


async def _ask(run: Run, nodes: Iterable[Node], keys: Iterable[str]) -> set[tuple[int, str]]:
    """Send a request with each of the keys to each of the gateways; return the statuses and codes."""
    asked = [run.stage.call("GET", f"{node.url}/api/v1/channel", key=key) for key in keys for node in nodes]
    bodies = [(answer.status, answer.json()) for answer in await asyncio.gather(*asked)]
    return {(status, body["error"]["code"] if status != 200 else "") for status, body in bodies}


@asynccontextmanager
async def killed(cell: Cell) -> AsyncIterator[None]:
    """Kill the server of a cell with all its processes; start it again at the end."""
    server = cell.place.server
    assert server is not None
    _signal(cell, signal.SIGKILL)
    await server.stop()  # it would be started again at once
    yield
    await server.start()


@asynccontextmanager
async def silent(cell: Cell) -> AsyncIterator[None]:
    """Stop all processes of the server of a cell with SIGSTOP, so that it answers nothing; they continue at the end."""
    _signal(cell, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(cell, signal.SIGCONT)


def _signal(cell: Cell, number: int) -> None:
    """Send a signal to the postmaster and its children: it first, so that it starts no more of them."""
    postmaster = find_postmaster(cell.place.folder / "postgres")
    assert postmaster is not None
    for process in [postmaster, *postmaster.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


OTHERS = "the other cells refuse nothing, the lost one acknowledges nothing and loses nothing"
MOVED = "a moved account loses nothing, sends nothing twice and keeps its order; the killed cell loses nothing"
SCENARIOS = (
    Scenario(name="cell-killed", invariant=OTHERS, play=partial(lose_cells, outage=killed), channels=30, cells=NAMES),
    Scenario(name="cell-moves", invariant=MOVED, play=move_accounts, channels=30, cells=NAMES),
    Scenario(name="cell-silent", invariant=OTHERS, play=partial(lose_cells, outage=silent), channels=30, cells=NAMES),
)
