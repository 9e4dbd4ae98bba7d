"""Requests to the other cells while the database of one refuses connections, or does not answer.

three PostgreSQL servers as cells; every cell gets the same number of requests in all rounds, with keys that the
gateway knows and, of the two healthy ones, with new keys

all up      the baseline
refusing    the server of one cell is stopped
silent      its processes are stopped with SIGSTOP: first before the gateway has noticed it, then afterwards
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import psutil
from pyreqwest.client import Client

from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, new_client, running_gateway
from bench.load import quantile
from bench.processes import BenchFailed
from bench.tenant import make_channel
from gatepost.admin import accounts, keys
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.settings import load
from gatepost.store.cells import name_cell
from gatepost.store.embedded import EmbeddedPostgres
from gatepost.store.embedded.postmaster import find_postmaster
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database

CELLS_AIM = 1.1
UP, REFUSING, UNNOTICED, SILENT = "all up", "one refuses", "one silent, not yet noticed", "one silent"
_ROUNDS = 4  # alternating, so that other load on the machine affects all measurements equally
_RATE = 40.0  # requests a second to each cell
_NEW_KEYS = 8.0  # a second, of each healthy cell
_WARM_UP = 2.0  # seconds
_SETTLE = 3.0  # seconds within which a cell that refuses connections is noticed
_NOTICE = 8.0  # seconds within which a cell that does not answer is noticed


class CellRow(msgspec.Struct, frozen=True):
    """The latencies of requests to healthy cells, in seconds, and those of the cell that is down."""

    name: str
    known: list[float]
    new: list[float]
    own: list[float]


Ask = Callable[[], Coroutine[object, object, None]]


class CellsFindings(msgspec.Struct, frozen=True):
    rows: list[CellRow]

    def ratio(self, name: str) -> float:
        """Return the p99 of requests to healthy cells relative to the baseline of the same run."""
        p99 = {row.name: quantile(row.known, 0.99) for row in self.rows}
        return p99[name] / p99[UP]


class _Tenant(msgspec.Struct, frozen=True):
    key: str
    new: Iterator[str]


async def measure_cells(folder: Path, seconds: float, progress: ShowProgress) -> CellsFindings:
    """Measure all rounds; each kind lasts `seconds` in each of them."""
    async with AsyncExitStack() as stack:
        west, east = [await stack.enter_async_context(_running_server(folder / name)) for name in ("west", "east")]
        config = write_config(folder)
        lines = [f'{name} = "{url}"' for name, url in (("west", west[1]), ("east", east[1]))]
        config.write_text(config.read_text() + "\n".join(["[cells]", *lines, ""]))
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        client = await stack.enter_async_context(new_client())
        count = round(_NEW_KEYS * (_WARM_UP + _ROUNDS * (3 * seconds + _SETTLE + _NOTICE)))
        down, *healthy = [await _make_tenant(gateway, config, url, count) for url in (west[1], gateway.dsn, east[1])]
        load = _Load(client, gateway.port, down, healthy)
        await load.run(UP, _WARM_UP)
        load.clear()
        for number in range(_ROUNDS):
            progress(f"cells: round {number + 1} of {_ROUNDS}")
            await load.run(UP, seconds)
            await west[0].stop()
            await load.run("", _SETTLE)
            await load.run(REFUSING, seconds)
            await west[0].start()
            await load.until_up()
            with _frozen(folder / "west" / "postgres"):
                await load.run(UNNOTICED, _NOTICE)
                await load.run(SILENT, seconds)
            await load.until_up()
        return load.found()


class _Load:
    """Requests at a constant rate, whatever the answers are."""

    def __init__(self, client: Client, port: int, down: _Tenant, healthy: Sequence[_Tenant]) -> None:
        self._client, self._url, self._down, self._healthy = client, f"http://127.0.0.1:{port}", down, healthy
        self._rows: dict[str, CellRow] = {}

    def clear(self) -> None:
        self._rows.clear()

    async def run(self, name: str, seconds: float) -> None:
        """Send requests for some seconds; their latencies are added to the row of this name."""
        row = self._rows.setdefault(name, CellRow(name, [], [], []))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(group, seconds, _RATE, partial(self._own, row)))
            for tenant in self._healthy:
                group.create_task(self._repeat(group, seconds, _RATE, partial(self._other, tenant.key, row.known)))
                group.create_task(self._repeat(group, seconds, _NEW_KEYS, partial(self._new, tenant, row.new)))

    async def until_up(self) -> None:
        """Wait until the cell that was down answers."""
        give_up = time.monotonic() + 60
        while await self._ask(self._down.key) != 200:
            if time.monotonic() > give_up:
                raise BenchFailed("The cell did not come back.")
            await asyncio.sleep(0.1)

    async def _repeat(self, group: asyncio.TaskGroup, seconds: float, rate: float, ask: Ask) -> None:
        begin = time.perf_counter()
        for number in range(round(seconds * rate)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            group.create_task(ask())

    async def _other(self, key: str, latencies: list[float]) -> None:
        began = time.perf_counter()
        status = await self._ask(key)
        latencies.append(time.perf_counter() - began)
        if status != 200:
            raise BenchFailed(f"A request to a healthy cell got {status}.")

    async def _new(self, tenant: _Tenant, latencies: list[float]) -> None:
        await self._other(next(tenant.new), latencies)

    async def _own(self, row: CellRow) -> None:
        began = time.perf_counter()
        await self._ask(self._down.key)
        row.own.append(time.perf_counter() - began)

    async def _ask(self, key: str) -> int:
        request = self._client.get(f"{self._url}/api/v1/channel").header("authorization", f"Bearer {key}")
        return (await request.build().send()).status

    def found(self) -> CellsFindings:
        rows = [self._rows[name] for name in (UP, REFUSING, UNNOTICED, SILENT)]
        return CellsFindings([CellRow(r.name, sorted(r.known), sorted(r.new), sorted(r.own)) for r in rows])


async def _make_tenant(gateway: Gateway, config: Path, url: str, count: int) -> _Tenant:
    """Create an account, a channel and keys in a database."""
    settings, now = load(config, environ={}), datetime.now(UTC)
    vault = Vault(load_or_make_key("", gateway.data))
    db = await Database.connect(url, connections=2)
    try:
        account = await accounts.create_account(db, "Bench", "unlimited", plans=settings.plans, trial_days=14, now=now)
        channel = await make_channel(db, vault, account.id, "15550001111", "100000000000001", now)
        first, *new = [(await keys.create_key(db, channel.id, "Bench", now=now)).text for _ in range(count + 1)]
        return _Tenant(first, iter(new))
    finally:
        await db.close()


@asynccontextmanager
async def _running_server(folder: Path) -> AsyncIterator[tuple[EmbeddedPostgres, str]]:
    """Run a server whose database is a cell with the name of its folder."""
    folder.mkdir(mode=0o711)
    server = EmbeddedPostgres(folder)
    try:
        url = await server.start()
        await migrate(url)
        db = await Database.connect(url, connections=1)
        await name_cell(db, folder.name)
        await db.close()
        yield server, url
    finally:
        await server.stop()


@contextmanager
def _frozen(cluster: Path) -> Iterator[None]:
    """Stop the processes of a server with SIGSTOP."""
    postmaster = find_postmaster(cluster)
    if postmaster is None:
        raise BenchFailed("The server of the cell is not to be found.")
    try:
        _signal(postmaster, signal.SIGSTOP)
        yield
    finally:
        _signal(postmaster, signal.SIGCONT)


def _signal(postmaster: psutil.Process, number: int) -> None:
    for process in [postmaster, *postmaster.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def cells_table(found: CellsFindings) -> tuple[str, list[str], list[list[str | int | float]]]:
    """Return the title, the columns and the rows of the table."""
    columns = ["other cells", "requests", "p50 ms", "p99 ms", "p99 × all up", "new key p50 ms", "new key p99 ms"]
    rows: list[list[str | int | float]] = [
        [
            row.name,
            len(row.known),
            *(round(quantile(row.known, share) * 1000, 2) for share in (0.5, 0.99)),
            round(found.ratio(row.name), 2),
            *(round(quantile(values, share) * 1000, 2) for values in (row.new, row.own) for share in (0.5, 0.99)),
        ]
        for row in found.rows
    ]
    return "Requests while one of three cells is down", [*columns, "its own p50 ms", "its own p99 ms"], rows
