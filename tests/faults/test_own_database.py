"""The embedded database: a killed gateway leaves it behind, and the next gateway on the folder goes on with it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatepost.store.embedded import EmbeddedPostgres, running_dsn
from tests.conftest import Receiver, scratch_folder
from tests.faults.books import check, in_doubt, open_books, until_settled
from tests.faults.clients import Clients, plan
from tests.faults.stage import SHORT, Node, set_stage
from tests.patience import PATIENCE


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    """A data folder whose database is stopped in the end, whoever left it running."""
    data = scratch_folder()
    try:
        yield data
    finally:
        server = EmbeddedPostgres(data)
        await server.start()
        await server.stop()
        shutil.rmtree(data)


async def test_a_killed_gateway_leaves_a_folder_that_the_next_one_can_use(folder: Path, receiver: Receiver) -> None:
    first = Node(SHORT | {"data": str(folder)}, "all", None, folder / "first.log")
    await first.ready()
    url = running_dsn(folder)
    assert url is not None
    async with set_stage(url, receiver, data=str(folder), database__url="") as stage:
        await stage.furnish(throughput=100)
        await stage.turn_to(first.url)
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send(plan(recipients=6, each=5)))
        async with asyncio.timeout(PATIENCE):
            while len(await stage.ledger("accepted")) < 10:
                await asyncio.sleep(0.01)
        await first.kill()
        doubted = await in_doubt(stage)
        second = await stage.start()
        await sending
        await until_settled(stage, 30)
        check(await open_books(stage), clients.told, doubted)
        assert await second.stop() == 0
        assert running_dsn(folder) is None


async def test_a_second_gateway_on_the_folder_refuses_and_harms_nothing(folder: Path) -> None:
    first = Node(SHORT | {"data": str(folder)}, "all", None, folder / "first.log")
    await first.ready()
    second = Node(SHORT | {"data": str(folder)}, "all", None, folder / "second.log")
    assert await second.ended() == 1
    assert "is in use by another Gatepost (process" in (folder / "second.log").read_text()
    assert running_dsn(folder) is not None
    assert await first.stop() == 0
