"""What a scenario is, and how it runs: set up the parts, let faults happen under load, compare the records."""

import asyncio
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from faults.load import Load
from faults.previous import PreviousProgram, previous_revision
from faults.proxy import running_proxy
from faults.run import Cell, Place, Play, Run, address_of
from gatepost.store.cells import name_cell
from gatepost.store.embedded import EmbeddedPostgres, running_dsn
from gatepost.store.embedded.postmaster import find_postmaster, shut_down
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from tests.conftest import Receiver, scratch_folder, serve_app
from tests.faults.ledger import Verdict
from tests.faults.stage import (
    APP_SECRET,
    METRICS_TOKEN,
    NUMBER_ID,
    SECRET_KEY,
    SHORT,
    Node,
    Stage,
    quick_network,
    running_stage,
)

# The network repeats a callback for longer than any fault lasts.
_CALLBACKS = {"retry": [0.15] * 20 + [0.5] * 2000, "timeout": 5.0, "connections": 8}


# Short, so that channels change hands often; not so short that a busy machine loses them without a fault.
LEASES = {"lease__ttl": 4, "lease__renew": 0.5}
_MOST_WORDS = 4000
_NUMBERS = 1000  # of the channels of a cell


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A fault under load, and what must hold."""

    name: str
    invariant: str
    play: Play
    seconds: float = 20.0
    channels: int = 4  # spread evenly over the cells
    cells: tuple[str, ...] = ("main",)
    embedded: bool = False  # the gateway runs its own database
    disk: str = ""  # the size of the file system of that database
    previous: bool = False  # a gateway of the version before runs already, and the database was migrated meanwhile
    options: Mapping[str, Any] = {}


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run. The counts are those of all channels together."""

    scenario: str
    invariant: str
    seed: int
    seconds: float
    faults: int
    accepted: int
    refused: int
    repeated: int
    problems: dict[str, list[str]]
    figures: dict[str, Any]
    errors: dict[str, int]  # that the gateways logged

    @property
    def passed(self) -> bool:
        return not self.problems


async def run_scenario(scenario: Scenario, seed: int, seconds: float | None, rate: float) -> Outcome:
    """Run a scenario once."""
    began = time.monotonic()
    async with set_up(scenario, seed, seconds or scenario.seconds, rate) as run:
        problems: dict[str, list[str]] = {}
        verdicts: list[Verdict] = []
        run.load.begin()
        try:
            await scenario.play(run)
            verdicts = await run.judge()
        except Exception as failure:  # one scenario that fails must not hide the others
            problems["failed"] = [f"{type(failure).__name__}: {failure}"[:_MOST_WORDS]]
        for verdict in verdicts:
            for kind, what in verdict.problems().items():
                problems.setdefault(kind, []).extend(what if isinstance(what, list) else [f"{what:+}"])
        errors, secrets = read_logs(run)
        if problems:
            problems["logs"] = [keep_logs(run)]
        if secrets:
            problems["secrets in logs"] = secrets
        return Outcome(
            scenario=scenario.name,
            invariant=scenario.invariant,
            seed=seed,
            seconds=round(time.monotonic() - began, 1),
            faults=run.faults,
            accepted=run.load.count,
            refused=run.load.refused,
            repeated=sum(len(verdict.repeated) for verdict in verdicts),
            problems=problems,
            figures=run.figures,
            errors=errors,
        )


def read_logs(run: Run) -> tuple[dict[str, int], list[str]]:
    """Return the errors in the logs of all gateways, counted, and the lines that show a secret."""
    secrets = [SECRET_KEY, APP_SECRET, METRICS_TOKEN, *(channel.key for channel in run.channels)]
    errors: Counter[str] = Counter()
    shown: list[str] = []
    for log in Path(run.stage.settings.data).glob("*.log"):
        for line in log.read_text().splitlines():
            if line.startswith("{") and (found := msgspec.json.decode(line))["level"] in ("error", "critical"):
                errors[found["event"]] += 1
            if any(secret in line for secret in secrets):
                shown.append(f"{log.name}: {line[:100]}")
    return dict(errors), shown


def keep_logs(run: Run) -> str:
    """Copy the logs of all gateways to a folder that stays."""
    return shutil.copytree(
        run.stage.settings.data,
        tempfile.mkdtemp(prefix="gatepost-faults-"),
        dirs_exist_ok=True,
        ignore=lambda folder, names: [name for name in names if not name.endswith(".log")],
    )


@asynccontextmanager
async def set_up(scenario: Scenario, seed: int, seconds: float, rate: float) -> AsyncIterator[Run]:
    """Start everything but the gateways."""
    receiver = Receiver()
    network = quick_network(callbacks=_CALLBACKS, seed=seed)
    async with AsyncExitStack() as stack:
        receiver.url = await stack.enter_async_context(serve_app(receiver))
        place, *others = await _databases(scenario, stack)
        options: dict[str, Any] = {} if place.first is None else {"data": str(place.folder)}
        if scenario.embedded:
            options["database__url"] = ""
        options |= {f"cells__{name}": one.url for name, one in zip(scenario.cells[1:], others, strict=True)}
        stage = await stack.enter_async_context(
            running_stage(place.url, receiver, network=network, **options, **(LEASES | dict(scenario.options)))
        )
        balancer = await stack.enter_async_context(running_proxy())
        to_network = await stack.enter_async_context(running_proxy(address_of(stage.sandbox_url)))
        stage.network_url = to_network.url
        cells = [Cell(scenario.cells[0], place, stage)]
        for name, one in zip(scenario.cells[1:], others, strict=True):
            cells.append(Cell(name, one, await stack.enter_async_context(_stage_beside(stage, name, one, len(cells)))))
        for index in range(scenario.channels):
            await cells[index % len(cells)].stage.add_channel(f"/hook/{index}", throughput=200)
        for cell in cells:
            await cell.stage.use_gateway(balancer.url)
        load = Load(stage, [channel for cell in cells for channel in cell.stage.channels], rate, seed)
        run = Run(cells, balancer, to_network, load, seed, seconds)
        if place.first is not None:
            run.gateways.append(place.first)
            run.add_target(place.first.url)
        try:
            yield run
        finally:
            load.cancel()
            receiver.close()


async def _databases(scenario: Scenario, stack: AsyncExitStack) -> list[Place]:
    """Start the databases of all cells at the same time."""
    async with asyncio.TaskGroup() as group:
        starts = (stack.enter_async_context(_database(scenario)) for _ in scenario.cells)
        starting = [group.create_task(start) for start in starts]
    return [task.result() for task in starting]


@asynccontextmanager
async def _stage_beside(stage: Stage, name: str, place: Place, index: int) -> AsyncIterator[Stage]:
    """Name a database as a cell; yield a stage with its channels."""
    db = await Database.connect(place.url, connections=8)
    try:
        await name_cell(db, name)
        yield stage.beside(db, int(NUMBER_ID) + _NUMBERS * index)
    finally:
        await db.close()


@asynccontextmanager
async def _database(scenario: Scenario) -> AsyncIterator[Place]:
    """Start a database: that of a gateway, or one of its own."""
    folder = scratch_folder()
    if scenario.disk:
        options = f"size={scenario.disk},mode=0711"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        async with _kind(scenario)(folder, scenario) as place:
            yield place
    finally:
        if scenario.disk:
            subprocess.run(["umount", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def _kind(scenario: Scenario) -> Callable[[Path, Scenario], AbstractAsyncContextManager[Place]]:
    return _embedded if scenario.embedded else _previous if scenario.previous else _server


@asynccontextmanager
async def _server(folder: Path, _: Scenario) -> AsyncIterator[Place]:
    server = EmbeddedPostgres(folder, logical=True)
    try:
        url = await server.start()
        await migrate(url)
        yield Place(folder, url, server)
    finally:
        await server.stop()


@asynccontextmanager
async def _embedded(folder: Path, scenario: Scenario) -> AsyncIterator[Place]:
    node = Node(_options(folder, scenario), "all", None, folder / "first.log")
    try:
        await node.ready()
        url = running_dsn(folder)
        assert url is not None
        yield Place(folder, url, first=node)
    finally:
        await node.kill()
        if (left := find_postmaster(folder / "postgres")) is not None:
            await shut_down(left, 10)


@asynccontextmanager
async def _previous(folder: Path, scenario: Scenario) -> AsyncIterator[Place]:
    """Start a gateway of the version before, with the schema of its time; then migrate the database, as an upgrade."""
    program = PreviousProgram(previous_revision(), folder / "previous")
    server = EmbeddedPostgres(folder, logical=True)
    try:
        url = await server.start()
        await migrate(url, program.migrations)
        node = program.launch(_options(folder, scenario) | {"database.url": url}, folder / "first.log")
        await node.ready()
        assert await migrate(url) > 0, "the version before has the same schema"
        yield Place(folder, url, server, first=node, previous=program)
    finally:
        await program.close()
        await server.stop()


def _options(folder: Path, scenario: Scenario) -> dict[str, Any]:
    """Return the settings of a gateway that is started before the stage."""
    changes = {name.replace("__", "."): value for name, value in (LEASES | dict(scenario.options)).items()}
    return SHORT | {"data": str(folder)} | changes
