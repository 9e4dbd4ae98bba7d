"""The database is stopped, killed, cut off, full, or has no connection left."""

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, quote, urlsplit

import asyncpg

from faults.processes import CLEAN
from faults.proxy import running_proxy
from faults.run import Run, spread
from faults.scenario import Scenario
from gatepost.store.embedded import admin_dsn
from gatepost.store.embedded.postmaster import find_postmaster

_OURS = "datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'gatepost'"
_SOCKET = ".s.PGSQL.5432"


async def restart_server(run: Run) -> None:
    """The server is stopped for some seconds, and started again."""
    await run.start(2)
    server = run.place.server
    took: list[float] = []
    assert server is not None
    while run.goes_on or not took:
        await run.pause(2.0, 3.0)
        stopped_at = time.time()
        await server.stop()
        await run.pause(0.5)  # for responses that are on their way
        accepted = run.load.count
        await run.pause(1.0, 5.0)
        assert run.load.count == accepted, "a message was accepted without a database"
        await server.start()
        started_at = time.time()
        took.append(await run.resumed(started_at))
        run.outage(stopped_at)
    run.figures["sends again after the start"] = spread(took)


async def end_backends(run: Run) -> None:
    """One backend is terminated five times a second, now and then all of them."""
    await run.start(2)
    conn = await asyncpg.connect(admin_dsn(run.place.url))
    try:
        while run.goes_on:
            await run.pause(0.15, 0.25)
            began = time.time()
            limit = "" if run.random.random() < 0.05 else "ORDER BY random() LIMIT 1"
            await conn.execute(
                f"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE {_OURS} {limit}) AS p"
            )
            run.outage(began)
    finally:
        await conn.close()


async def kill_embedded(run: Run) -> None:
    """The embedded server is killed with SIGKILL, now and then together with its gateway."""
    took: list[float] = []
    while run.goes_on or not took:
        await run.pause(2.0, 4.0)
        killed_at = time.time()
        postmaster = find_postmaster(run.place.folder / "postgres")
        assert postmaster is not None
        postmaster.kill()
        if run.random.random() < 0.3:
            node = run.gateways[-1]
            await node.kill()
            run.balancer.targets.clear()
            await run.start()
        took.append(await run.resumed(killed_at))
        run.outage(killed_at)
    run.figures["sends again after a kill"] = spread(took)


async def fill_disk(run: Run) -> None:
    """The disk of the database is full for some seconds."""
    filler = run.place.folder / "filler"
    took: list[float] = []
    while run.goes_on or not took:
        await run.pause(2.0, 3.0)
        full_at = time.time()
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
        await run.pause(4.0, 6.0)
        filler.unlink()
        freed_at = time.time()
        took.append(await run.resumed(freed_at))
        run.outage(full_at)
    run.figures["sends again with space"] = spread(took)
    run.figures["refused"] = run.load.refused


async def cut_off(run: Run) -> None:
    """One of two gateways reaches the network but not the database, for longer than its leases last."""
    real = parse_qs(urlsplit(run.place.url).query)["host"][0]
    async with AsyncExitStack() as stack:
        proxies = []
        for _ in range(2):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            proxy = running_proxy(Path(real) / _SOCKET, at=folder / _SOCKET)
            proxies.append(await stack.enter_async_context(proxy))
            await run.start(database__url=run.place.url.replace(quote(real), quote(str(folder))))
        while run.goes_on:
            await run.pause(2.0, 3.0)
            index = run.random.randrange(2)
            await run.disturb(run.gateways[index], proxies[index].go_silent)
            await run.pause(3.0, 7.0)
            proxies[index].resume()
            run.faults += 1
        old = list(run.gateways)
        await run.start()  # the rest does not need the proxies
        for node in old:
            await run.stop(node)


async def use_up_connections(run: Run) -> None:
    """Other programs take every connection of the server, and those of the gateways are ended."""
    await run.start(2)
    took: list[float] = []
    while run.goes_on or not took:
        await run.pause(2.0, 3.0)
        began, others = time.time(), list[asyncpg.Connection]()
        admin = await asyncpg.connect(admin_dsn(run.place.url))
        try:
            while time.time() < began + 3.0:
                await admin.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_OURS}")
                with suppress(asyncpg.TooManyConnectionsError):
                    while True:
                        others.append(await asyncpg.connect(run.place.url))
                await asyncio.sleep(0.2)
        finally:
            for conn in [admin, *others]:
                await conn.close()
        free_at = time.time()
        took.append(await run.resumed(free_at))
        run.outage(began)
    run.figures["sends again with connections"] = spread(took)


SCENARIOS = (
    Scenario(
        name="postgres-restart", invariant="no 200 without a database, sends again by itself", play=restart_server
    ),
    Scenario(name="end-backends", invariant=CLEAN, play=end_backends),
    Scenario(name="kill-embedded", invariant=CLEAN, play=kill_embedded, embedded=True),
    Scenario(
        name="disk-full",
        invariant="nothing that was accepted is lost, sends again by itself",
        play=fill_disk,
        embedded=True,
        disk="256m",
    ),
    Scenario(name="cut-off", invariant="a gateway without its database stops sending within its lease", play=cut_off),
    Scenario(name="no-connections", invariant="refuses, and recovers by itself", play=use_up_connections),
)
