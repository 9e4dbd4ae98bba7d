"""A gateway with three cells: three databases of the test server, each with an account, a channel and a key."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pyreqwest.client import ClientBuilder

from gatepost import serving
from gatepost.cells import cell as cell_module
from gatepost.cells.gateway import CellGateway, opened_gateway
from gatepost.clock import SystemClock
from gatepost.metrics import ProcessMetrics
from gatepost.model import ids
from gatepost.settings import Settings, load
from gatepost.store.cells import name_cell
from gatepost.store.pool import Database
from gatepost_sandbox import SandboxSettings
from tests.conftest import PostgresServer, administer, copied_database, serve_config
from tests.events import check_all_events
from tests.patience import patience
from tests.running_gateway import QUICK, Gateway, running_sandbox

NAMES = ("main", "west", "east")
NOWHERE = "postgres://gatepost@127.0.0.1:1/gatepost"  # a port that nothing listens on
TOKEN = "metrics-token"


class Cells(msgspec.Struct):
    """A running gateway: as the accounts of each cell see it, and its databases."""

    of: dict[str, Gateway]
    parts: CellGateway
    urls: Mapping[str, str]
    server: PostgresServer

    async def furnish(self, name: str) -> None:
        """Create an account with a channel and a key in a cell."""
        gateway, number = self.of[name], list(self.urls).index(name)
        gateway.account_id = await gateway.new_account()
        channel = await gateway.new_channel(gateway.account_id, f"1555000111{number}", f"10000000000000{number}")
        gateway.channel, gateway.key = ids.format_id("ch", channel.id), await gateway.new_key(channel.id)

    async def stop(self, name: str) -> None:
        """Let the database of a cell refuse all connections, and end those that it has."""
        await stop(self.server, self.urls[name])

    async def resume(self, name: str) -> None:
        """Let the database of a cell accept connections again."""
        await resume(self.server, self.urls[name])

    async def until_cells(self, **wanted: bool) -> None:
        """Wait until /readyz says which cells are ready."""
        seen: Any = None
        async with patience(lambda: seen):
            while (seen := await self.ready()) != wanted:
                await asyncio.sleep(0.02)

    async def ready(self) -> Any:
        return (await self.of["main"].call("GET", "/readyz", key="")).json()["data"]["cells"]


def channel_id(gateway: Gateway) -> UUID:
    """Return the id of a gateway's channel."""
    found = ids.parse_id("ch", gateway.channel)
    assert found is not None
    return found


async def stop(server: PostgresServer, url: str) -> None:
    """Let a database refuse all connections, and end those that it has."""
    await administer(server, f"ALTER DATABASE {_database(url)} ALLOW_CONNECTIONS false")
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_database(url)}'"
    await administer(server, ended)


async def resume(server: PostgresServer, url: str) -> None:
    """Let a database accept connections again."""
    await administer(server, f"ALTER DATABASE {_database(url)} ALLOW_CONNECTIONS true")


def _database(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


@pytest.fixture
async def urls(postgres_server: PostgresServer, parted_template: str) -> AsyncIterator[dict[str, str]]:
    """Yield the addresses of three new databases that are named as cells."""
    async with AsyncExitStack() as stack:
        found = {}
        for name in NAMES:
            found[name] = await stack.enter_async_context(copied_database(postgres_server, parted_template))
            db = await Database.connect(found[name], connections=1)
            await name_cell(db, name)
            await db.close()
        yield found


def cell_settings(urls: Mapping[str, str], folder: str, **overrides: Any) -> Settings:
    """Return the settings of a gateway with these cells."""
    values = QUICK | {"data": folder, "database.url": urls["main"], "metrics.token": TOKEN}
    values |= {f"cells.{name}": url for name, url in urls.items() if name != "main"}
    return load(environ={}, overrides=values | {name.replace("__", "."): value for name, value in overrides.items()})


@asynccontextmanager
async def running_cells(
    urls: Mapping[str, str], server: PostgresServer, away: Collection[str] = (), **overrides: Any
) -> AsyncIterator[Cells]:
    """Run a gateway with an account in each cell except those whose databases are away."""
    quick = {"sent": 0.01, "delivered": 0.02, "read": 0.03}
    unlimited = {"throughput": None, "pair_interval": None}
    repeated = {"retry": [0.15] * 200, "timeout": 3.0, "connections": 8}
    network = msgspec.convert({"delays": quick, "limits": unlimited, "callbacks": repeated}, SandboxSettings)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_module, "_AGAIN", 0.05)
        async with AsyncExitStack() as stack:
            sandbox_url = await stack.enter_async_context(running_sandbox(network))
            link_url = f"ws{sandbox_url.removeprefix('http')}/qr/link"
            more = {"cloud.base_url": sandbox_url, "qr.link_url": link_url, "database.connections": 6}
            settings = cell_settings(urls, folder, **more, **overrides)
            dbs = {name: await Database.connect(url, connections=6) for name, url in urls.items()}
            clock, metrics = SystemClock(), ProcessMetrics()
            opening = opened_gateway(settings, dbs["main"], urls["main"], clock, "all", metrics)
            parts = await stack.enter_async_context(opening)
            assert isinstance(parts, CellGateway)
            await parts.start()
            try:
                config = serving.server_config(parts, settings)
                config.timeout_graceful_shutdown = 1
                client = await stack.enter_async_context(ClientBuilder().no_proxy().build())
                async with serve_config(config) as url:
                    of = {name: Gateway(url, sandbox_url, dbs[name], parts.vault, settings, client) for name in urls}
                    cells = Cells(of, parts, urls, server)
                    for name in urls:
                        if name not in away:
                            await cells.furnish(name)
                    yield cells
                    parts.end_streams()
                for name, db in dbs.items():
                    if urls[name] != NOWHERE:
                        await resume(server, urls[name])
                        await check_all_events(db)
            finally:
                await parts.stop()
                for db in dbs.values():
                    await db.close()


@pytest.fixture
async def cells(urls: dict[str, str], postgres_server: PostgresServer) -> AsyncIterator[Cells]:
    """Yield a running gateway with three cells."""
    async with running_cells(urls, postgres_server) as one:
        yield one
