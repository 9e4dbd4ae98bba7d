"""The embedded database: a killed gateway leaves it behind, and the next gateway on the folder goes on with it."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gatepost.database_lifecycle import opened
from gatepost.settings import load
from gatepost.store.accounts import list_accounts
from gatepost.store.embedded import EmbeddedPostgres, running_dsn
from gatepost.store.embedded.postmaster import find_postmaster
from tests.conftest import Receiver, scratch_folder
from tests.faults.clients import Clients, Order, plan
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import METRICS_TOKEN, SHORT, Node, Stage, running_stage
from tests.patience import PATIENCE


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    """A data folder whose database is stopped in the end, no matter which process left it running."""
    data = scratch_folder()
    try:
        yield data
    finally:
        (data / "postgres" / "custom.conf").unlink(missing_ok=True)
        server = EmbeddedPostgres(data)
        await server.start()
        await server.stop()
        shutil.rmtree(data)


async def test_a_killed_gateway_leaves_a_folder_that_the_next_one_can_use(folder: Path, receiver: Receiver) -> None:
    first = Node(SHORT | {"data": str(folder)}, "all", None, folder / "first.log")
    await first.ready()
    url = running_dsn(folder)
    assert url is not None
    async with running_stage(url, receiver, data=str(folder), database__url="") as stage:
        await stage.create_channel(throughput=100)
        await stage.use_gateway(first.url)
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send(plan(recipients=6, each=5)))
        async with asyncio.timeout(PATIENCE):
            while len(await stage.ledger("accepted")) < 10:
                await asyncio.sleep(0.01)
        await first.kill()
        in_doubt = await find_in_doubt(stage)
        second = await stage.start()
        await sending
        await until_settled(stage, 30)
        check(await read_records(stage), clients.accepted_ids, in_doubt)
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


async def test_a_killed_server_is_started_again_and_nothing_is_lost(folder: Path, receiver: Receiver) -> None:
    # On a busy machine it takes some time to read which messages are in doubt; until then, none may be sent again.
    node = Node(SHORT | {"data": str(folder), "sending.unknown_grace": 4.0}, "all", None, folder / "first.log")
    await node.ready()
    async with furnished(folder, receiver, node) as stage:
        clients = Clients(stage)
        sending = asyncio.create_task(clients.send(plan(recipients=6, each=8)))
        async with asyncio.timeout(PATIENCE):
            while len(await stage.ledger("accepted")) < 10:
                await asyncio.sleep(0.01)
        kill_server(folder)
        began = time.monotonic()
        # A command beside the gateway waits for the server, and does not start one of its own.
        beside = load(environ={}, overrides={"data": str(folder)})
        async with asyncio.timeout(PATIENCE), opened(beside) as db:
            assert len(await list_accounts(db)) == 1
        in_doubt = await find_in_doubt(stage)
        sent = await until_sent(stage)
        print(f"sending again {time.monotonic() - began:.2f} s after the kill")
        async with asyncio.timeout(PATIENCE):
            await sending
        await until_settled(stage, 49)
        [row] = await stage.rows("SELECT id FROM messages WHERE client_ref = '5511966662222-0'")
        assert row["id"].hex.upper() == sent
        check(await read_records(stage), clients.accepted_ids | {"5511966662222-0": sent}, in_doubt)
        [died] = [line for line in node.log_lines() if "ended unexpectedly" in line["event"]]
        assert (died["level"], died["folder"]) == ("error", str(folder / "postgres"))
        assert Path(died["server_log"]).is_file()
        figures = await stage.call("GET", "/metrics", key=METRICS_TOKEN)
        assert b"gatepost_database_restarts_total 1.0" in figures.body
        assert await node.stop() == 0
        assert running_dsn(folder) is None


async def test_a_stop_without_a_server_ends_cleanly(folder: Path, receiver: Receiver) -> None:
    node = Node(SHORT | {"data": str(folder)}, "all", None, folder / "first.log")
    await node.ready()
    async with furnished(folder, receiver, node) as stage:
        sent = await stage.send(phone="5511966662222", body="Message 0", client_ref="x")
        await stage.until_status(sent, "READ")
        # A server that cannot start: the gateway goes on trying, with a pause in between.
        custom = folder / "postgres" / "custom.conf"
        custom.write_text("shared_buffers = 'plenty'\n")
        custom.chmod(0o644)
        kill_server(folder)
        async with asyncio.timeout(PATIENCE):
            while not [line for line in node.log_lines() if line["event"] == "the embedded PostgreSQL does not start"]:
                await asyncio.sleep(0.05)
        ready = await stage.call("GET", "/readyz", key="")
        assert (ready.status, ready.json()["success"]) == (503, False)
        before = len(node.log_lines())
        code = await node.stop()
        after = node.log_lines()[before:]
        traces = [line for line in after if "Traceback" in str(line)]
        assert (code, traces) == (0, []), "\n".join(str(line["event"]) for line in after)
        assert after[-1]["event"] == "stopped"


@asynccontextmanager
async def furnished(folder: Path, receiver: Receiver, node: Node) -> AsyncIterator[Stage]:
    url = running_dsn(folder)
    assert url is not None
    async with running_stage(url, receiver, data=str(folder), database__url="") as stage:
        await stage.create_channel(throughput=100)
        await stage.use_gateway(node.url)
        yield stage


def kill_server(folder: Path) -> None:
    postmaster = find_postmaster(folder / "postgres")
    assert postmaster is not None
    postmaster.kill()


async def until_sent(stage: Stage) -> str:
    """Asks again and again, as a client would, until a message was read."""
    clients = Clients(stage)
    async with asyncio.timeout(PATIENCE):
        while (sent := await clients.ask(Order("5511966662222", 0))) is None:
            await asyncio.sleep(0.05)
    await stage.until_status(sent, "READ")
    return sent
