"""A gateway of several processes: they share the port, the channels and the metrics, and one that dies is replaced."""

import asyncio
import signal
from collections import Counter
from pathlib import Path

import psutil

from gatepost.model.account import new_key
from tests.conftest import Receiver
from tests.faults.clients import Clients, plan
from tests.faults.run_records import check, find_in_doubt, read_records, until_settled
from tests.faults.stage import NOBODY, Stage, running_stage
from tests.patience import patience
from tests.processes.running_processes import RunningProcesses, running_processes, start_processes

REQUESTS = 40


async def test_all_processes_answer_and_any_of_them_counts_for_all(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage, running_processes(stage) as gateway:
        before = await gateway.metrics()
        answered = Counter([await process_that_answers(stage) for _ in range(REQUESTS)])
        assert len(answered) == 2, answered
        after = await gateway.metrics()
        counted = 'gatepost_requests_total{status="2xx"}'
        assert after[counted] == before[counted] + REQUESTS + 1  # and the first reading
        assert (after["gatepost_processes"], after["gatepost_process_restarts_total"]) == (2, 0)
        assert after["gatepost_loop_lag_seconds_count"] > before["gatepost_loop_lag_seconds_count"]
        memory = sum(child.memory_info().rss for child in gateway.children())
        assert after["process_resident_memory_bytes"] > memory / 2
        assert {line["process"] for line in gateway.lines("owner started")} == {1, 2}


async def test_limits_of_a_key_and_an_address_apply_to_all_processes_together(
    database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        async with running_processes(stage, api__rate=0.01, api__burst=20, api__wrong_keys=20):
            # Separately, two processes would let up to 40 pass.
            assert Counter([await ask(stage, stage.key) for _ in range(50)]) == {200: 20, 429: 30}
            wrong = Counter([await ask(stage, new_key()) for _ in range(60)])
            assert set(wrong) == {401, 429}
            assert 20 <= wrong[401] < 35  # a count reaches the other process a moment later


async def ask(stage: Stage, key: str) -> int:
    """Send a request over a new connection; return its status."""
    answer = await stage.call("GET", "/api/v1/channel", key=key, headers={"Connection": "close"})
    return answer.status


async def process_that_answers(stage: Stage) -> str:
    """Return the part of a request's id that the requests of a process have in common."""
    answer = await stage.call("GET", "/healthz", key="", headers={"Connection": "close"})
    assert answer.status == 200
    return answer.headers["x-request-id"][:20]


async def test_a_killed_process_loses_nothing_and_is_replaced(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver, lease__ttl=60) as stage:
        await stage.create_channel(throughput=60)
        async with running_processes(stage) as gateway:
            clients = Clients(stage)
            sending = asyncio.create_task(clients.send(plan(recipients=20, each=10)))
            owner, number = await owner_of_the_channel(stage, gateway)
            async with patience(lambda: len(clients.accepted_ids)):
                while len(clients.accepted_ids) < 50:
                    await asyncio.sleep(0.01)
            before = await gateway.metrics()
            killed = gateway.children()[number - 1]
            killed.kill()
            in_doubt = await find_in_doubt(stage)
            [ended] = await gateway.until_logged("process ended")
            in_doubt |= await find_in_doubt(stage)
            assert (ended["number"], ended["pid"], ended["ended"]) == (number, killed.pid, "signal SIGKILL")
            await gateway.until_logged("process ready", 3)
            await sending
            assert len(clients.accepted_ids) == 200
            await until_settled(stage, 200)  # long before the lease of the killed process would have ended
            assert (await owner_of_the_channel(stage, gateway))[0] != owner
            after = await gateway.metrics()
            assert (after["gatepost_processes"], after["gatepost_process_restarts_total"]) == (2, 1)
            assert after["gatepost_messages_accepted_total"] >= before["gatepost_messages_accepted_total"] >= 50
            assert after['gatepost_sends_total{result="sent"}'] >= before['gatepost_sends_total{result="sent"}']
            assert await stops_cleanly(gateway) == 0
            gateway_again = running_processes(stage)  # an event feed to read, from a gateway that never saw the fault
        async with gateway_again:
            check(await read_records(stage), clients.accepted_ids, in_doubt)


async def owner_of_the_channel(stage: Stage, gateway: RunningProcesses) -> tuple[str, int]:
    """Return the channel's owner once there is one, and the number of its process."""
    async with patience(lambda: "The channel has no owner."):
        while True:
            [row] = await stage.rows("SELECT owner FROM channel_heads")
            for line in gateway.lines("owner started"):
                if row["owner"] is not None and line["owner"] == row["owner"].hex:
                    return line["owner"], line["process"]
            await asyncio.sleep(0.02)


async def stops_cleanly(gateway: RunningProcesses) -> int:
    gateway.children()
    gateway.supervisor.send_signal(signal.SIGTERM)
    code = await gateway.ended()
    await gateway.until_children_ended()
    return code


async def test_a_stop_under_load_ends_all_processes_and_keeps_what_was_accepted(
    database_url: str, receiver: Receiver
) -> None:
    async with running_stage(database_url, receiver, lease__ttl=60) as stage:
        await stage.create_channel(throughput=60)
        clients = Clients(stage)
        async with running_processes(stage) as gateway:
            sending = asyncio.create_task(clients.send(plan(recipients=10, each=10)))
            async with patience(lambda: len(clients.accepted_ids)):
                while len(clients.accepted_ids) < 20:
                    await asyncio.sleep(0.01)
            assert await stops_cleanly(gateway) == 0
            assert not gateway.lines("process ended")
            assert not gateway.lines("process killed: it did not stop in time")
            assert await stage.rows("SELECT 1 FROM channel_heads WHERE owner IS NOT NULL") == []
            in_doubt = await find_in_doubt(stage)
            assert not in_doubt
        async with running_processes(stage):
            await sending
            await until_settled(stage, 100)
            check(await read_records(stage), clients.accepted_ids, in_doubt)


async def test_processes_end_with_a_killed_supervisor(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage:
        await stage.create_channel()
        async with running_processes(stage) as gateway:
            await stage.until_status(await stage.send(phone="5511999990000", body="Hello"), "READ")
            assert len(gateway.children()) == 2
            gateway.supervisor.kill()
            await gateway.until_children_ended()
            assert await stage.rows("SELECT 1 FROM channel_heads WHERE owner IS NOT NULL") == []


async def test_a_process_that_is_stopped_alone_is_replaced(database_url: str, receiver: Receiver) -> None:
    async with running_stage(database_url, receiver) as stage, running_processes(stage) as gateway:
        first, second = gateway.children()
        second.terminate()
        [ended] = await gateway.until_logged("process ended")
        assert (ended["number"], ended["ended"], ended["level"]) == (2, "exit code 0", "error")
        await gateway.until_logged("process ready", 3)
        assert gateway.children()[0] == first
        assert gateway.children()[1] != second
        assert (await gateway.metrics())["gatepost_processes"] == 2


async def test_a_process_that_cannot_start_ends_the_gateway_with_an_error(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    unreachable = {
        "clock.follow": NOBODY,
        "cloud.base_url": NOBODY,
        "qr.link_url": f"ws{NOBODY.removeprefix('http')}/qr/link",
    }
    options = {"data": str(tmp_path), "database.url": database_url, "server.port": 0, "server.user": "root"}
    process = await start_processes(2, log, options | unreachable)
    async with patience(log.read_text):
        assert await process.wait() == 1
    *_, last = log.read_text().splitlines()
    assert last.startswith("Error: Process ")
    assert "ended after its start, with exit code 1: the gateway cannot start." in last
    assert not [one for one in psutil.process_iter() if one.ppid() == process.pid]
