"""The parts of a gateway of several processes: its port, shares, metrics, and the restarts of a process."""

import asyncio
import os
import signal
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from gatepost.access import shared_dues
from gatepost.access.costly import CostlyRequests
from gatepost.access.rate_limit import RateLimit
from gatepost.access.shared_dues import SharedDues
from gatepost.access.sliding_limit import SlidingLimit
from gatepost.metrics import BacklogFigures, CurrentFigures, ProcessMetrics
from gatepost.metrics_totals import MetricFamily, add_up, as_text, lasting, read_metrics
from gatepost.model.account import Principal
from gatepost.model.errors import LimitReached
from gatepost.processes import process_slot
from gatepost.processes.control import Begin
from gatepost.processes.port import SharedPort, stop_listening
from gatepost.processes.process_slot import FAILURES, ProcessFailed, ProcessListener, ProcessSlot, describe_end, pause
from gatepost.processes.shares import default_processes, share_of
from gatepost.processes.supervisor import release_channels
from gatepost.settings import BadSettings, Settings, load
from gatepost.start_errors import CannotStart
from gatepost.store.pool import Database
from tests.cli.conftest import invoke
from tests.for_each import for_each
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE

SETTINGS = load(environ={}, overrides={"server.port": 0})


# -- the number of processes ----------------------------------------------------------------------------------------


def test_one_process_per_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, processes in ((1, 1), (2, 1), (3, 1), (4, 2), (12, 6), (64, 8)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False)
        assert default_processes() == processes


@for_each("given", ["0", "65", "-1", "two"])
def test_a_bad_number_is_a_clear_error(given: str) -> None:
    ran = invoke("serve", "--processes", given)
    assert ran.code == 2
    assert "Invalid value for '--processes': Input should be" in ran.err


@for_each("given", [-1, 65, 1.5, "two"])
def test_a_bad_setting_is_a_clear_error(given: object) -> None:
    with pytest.raises(BadSettings, match=r"\$\.server\.processes"):
        load(environ={}, overrides={"server.processes": given})


def test_limits_of_the_gateway_are_divided() -> None:
    assert share_of(SETTINGS, 1) is SETTINGS
    for processes in (2, 3, 4, 8, 64):
        one = share_of(SETTINGS, processes)
        for section, name in (("server", "connections"), ("api", "costly"), ("webhooks", "total_in_flight")):
            total, part = getattr(getattr(SETTINGS, section), name), getattr(getattr(one, section), name)
            assert total <= processes * part < total + processes
        assert one.database.connections == max(4, 16 // processes)
        assert (one.api.rate, one.api.streams, one.api.costly_per_key) == (200, 10, 4)
        assert_valid(one)


def assert_valid(settings: Settings) -> None:
    """The settings of a process are ones that an operator could have written."""
    values = msgspec.to_builtins(settings)
    load(
        environ={},
        overrides={
            f"{section}.{name}": value
            for section in ("server", "database", "api", "webhooks")
            for name, value in values[section].items()
        },
    )
    assert CostlyRequests(settings.api.costly_per_key, settings.api.costly).count == 0


# -- the port -------------------------------------------------------------------------------------------------------


def test_a_socket_listens_again_after_the_end_of_its_process() -> None:
    port = SharedPort(SETTINGS.server, 2)
    first, second = port.socket_of(1), port.socket_of(2)
    address = port.listener.getsockname()
    assert first.getsockname() == second.getsockname() == address
    first.listen()
    second.listen()
    stop_listening(first)
    stop_listening(first)  # the process does it when it stops, and the supervisor when it has ended
    for _ in range(20):  # all of them reach the other one
        with socket.create_connection(address, 10):
            second.accept()[0].close()
    stop_listening(second)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 10)
    first.listen()
    with socket.create_connection(address, 10) as client, first.accept()[0] as server:
        client.sendall(b"hello")
        assert server.recv(10) == b"hello"
    port.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, 10)


def test_elsewhere_the_processes_share_one_listening_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.processes.port.own_sockets", lambda: False)
    port = SharedPort(SETTINGS.server, 3)
    assert {port.socket_of(number) for number in (1, 2, 3)} == {port.listener}
    stop_listening(port.listener)  # one of them has ended: the others go on
    with socket.create_connection(port.listener.getsockname(), 10):
        port.listener.accept()[0].close()
    port.close()


@for_each("processes", [1, 2])
def test_a_port_in_use_is_a_clear_error(processes: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = load(environ={}, overrides={"server.port": other.getsockname()[1]})
        with pytest.raises(CannotStart, match=r"^Cannot listen on 127\.0\.0\.1:\d+: Address already in use"):
            SharedPort(taken.server, processes)


@for_each(("one", "processes"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_two_gateways_that_start_at_the_same_time_do_not_share_a_port(one: int, processes: int) -> None:
    first = SharedPort(SETTINGS.server, one)
    with pytest.raises(ConnectionRefusedError):  # it does not listen yet: a load balancer tries another gateway
        socket.create_connection(first.listener.getsockname(), 10)
    taken = load(environ={}, overrides={"server.port": first.listener.getsockname()[1]})
    with pytest.raises(CannotStart, match="Address already in use"):
        SharedPort(taken.server, processes)
    first.close()
    SharedPort(taken.server, processes).close()


# -- limits ---------------------------------------------------------------------------------------------------------


def test_the_rate_of_a_key_counts_in_all_processes() -> None:
    descriptor = shared_dues.create()
    processes = [RateLimit(0.001, 10, SharedDues(descriptor)) for _ in range(3)]
    principal = a_principal(uuid4())
    for number in range(10):
        processes[number % 3].take(principal)
    for one in processes:
        with pytest.raises(LimitReached):
            one.take(principal)
    processes[0].take(a_principal(uuid4()))  # another key has its own rate


def test_a_full_table_of_rates_forgets_what_is_over_first() -> None:
    dues = SharedDues(shared_dues.create())
    now, same_place = time.monotonic(), [UUID(int=number << 64) for number in range(1, 21)]
    for number, principal in enumerate(same_place):
        dues[principal] = now + 1000 + number
    kept = [dues.get(principal, 0.0) for principal in same_place]
    assert sum(map(bool, kept)) == 8
    assert kept[-1] == now + 1019
    dues[same_place[-1]] = now + 5000
    assert dues.get(same_place[-1], 0.0) == now + 5000


def test_what_one_process_counts_counts_in_the_other() -> None:
    clock = MovableClock(datetime(2026, 11, 16, tzinfo=UTC))
    one, other = SlidingLimit(3, clock), SlidingLimit(3, clock)
    one.share(other.note)
    other.share(one.note)
    assert [one.take("a"), other.take("a"), one.take("a")] == [0, 0, 0]
    assert one.take("a") == other.take("a") == 60
    assert other.take("b") == 0
    one.give_back("a")
    assert other.take("a") == 0
    assert one.take("a") == 60


def a_principal(id_: UUID) -> Principal:
    return Principal("key", id_, frozenset())


# -- metrics --------------------------------------------------------------------------------------------------------


def metrics_of(accepted: int, channels: int, lag: float, *, serving: bool = True) -> list[MetricFamily]:
    metrics = ProcessMetrics("1.0", "all", serving=serving)
    metrics.accepted(accepted)
    metrics.loop_lag(lag, stalled=False)
    now = CurrentFigures(
        channels, queued=channels, oldest=lag, held={"hold": channels}, connection_timeouts={"api": accepted}
    )
    metrics.set_current(now, BacklogFigures(channels * 100, channels, lag))
    metrics.committed("accept", accepted, lag)
    return read_metrics(metrics.registry)


def values_of(families: list[MetricFamily]) -> dict[str, float]:
    return {name + "".join(labels.values()): value for one in families for name, labels, value in one.samples}


def test_metrics_of_processes_are_added_up() -> None:
    ended = lasting(metrics_of(1, 50, 9.0))
    total = values_of(add_up([metrics_of(10, 1, 0.2), ended, metrics_of(100, 2, 0.02)]))
    assert total["gatepost_messages_accepted_total"] == 111
    assert total["gatepost_channels_owned"] == 3
    assert total["gatepost_processes"] == 2
    assert total["gatepost_webhook_waiting"] == 100  # of the first one
    assert (total["gatepost_channels_unowned"], total["gatepost_channels_unowned_oldest_seconds"]) == (1, 0.2)
    assert total["gatepost_send_queue_messages"] == total["gatepost_channels_waitinghold"] == 3
    assert total["gatepost_send_queue_oldest_seconds"] == 0.2  # not that of a process that has ended
    assert total["gatepost_database_timeouts_totalapi"] == total["gatepost_commit_items_totalaccept"] == 111
    assert total["gatepost_commit_seconds_countaccept"] == total["gatepost_commit_seconds_bucketaccept+Inf"] == 3
    assert total["gatepost_commit_seconds_bucketaccept0.25"] == 2
    assert total["gatepost_loop_lag_longest_seconds"] == 9.0
    assert total["gatepost_loop_lag_seconds_bucket0.025"] == 1
    assert total["gatepost_loop_lag_seconds_bucket+Inf"] == total["gatepost_loop_lag_seconds_count"] == 3
    assert total["gatepost_build_info1.0all"] == 1


def test_the_text_of_one_process_is_the_same_in_both_ways() -> None:
    metrics = ProcessMetrics("1.0", "all")
    metrics.tool_called("send", "done")
    lines = [line for line in metrics.show().splitlines() if not line.startswith(b"process_")]
    again = as_text(add_up([read_metrics(metrics.registry)]))
    assert [line for line in again.splitlines() if not line.startswith(b"process_")] == lines


# -- restarts -------------------------------------------------------------------------------------------------------


def test_pauses_and_words() -> None:
    assert [pause(failures) for failures in range(8)] == [0, 0, 1, 2, 4, 8, 8, 8]
    assert [describe_end(code) for code in (0, 3, -9, -11, -90)] == [
        "exit code 0",
        "exit code 3",
        "signal SIGKILL",
        "signal SIGSEGV",
        "signal 90",
    ]


async def test_a_process_that_ends_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ends_at_once.py").write_text("raise SystemExit(7)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(process_slot, "_MODULE", "ends_at_once")
    monkeypatch.setattr(process_slot, "_FIRST_PAUSE", 0.001)
    ends: list[tuple[UUID, int]] = []

    async def ended(_: ProcessSlot, owner: UUID, code: int) -> None:
        ends.append((owner, code))

    listener = ProcessListener(ready=lambda _: None, ended=ended, asked=lambda *_: None, counted=lambda *_: None)
    port = SharedPort(SETTINGS.server, 2)
    slot = ProcessSlot(
        1, port.socket_of(1), Begin(SETTINGS, "all", "", uuid4(), 0, 2, 0, shared_dues.create(), uuid4()), listener
    )
    with pytest.raises(ProcessFailed, match=r"^Process 1 ended 6 times in a row right after its start, with exit"):
        await asyncio.wait_for(slot.keep(patient=lambda: True), 90)
    assert [code for _, code in ends] == [7] * FAILURES
    assert len({owner for owner, _ in ends}) == FAILURES
    port.close()


_STUCK = """
import signal, socket, sys
from gatepost.processes.control import Ready
import msgspec

body = msgspec.msgpack.encode(Ready())
end = socket.socket(fileno=int(sys.argv[2]))
end.recv(1_000_000)
end.sendall(len(body).to_bytes(4, "big") + body)
signal.pause()
"""


async def test_a_process_that_is_stuck_is_killed_and_started_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "becomes_stuck.py").write_text(_STUCK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(process_slot, "_MODULE", "becomes_stuck")
    monkeypatch.setattr(process_slot, "_CHECK_EVERY", 0.02)
    ends: list[int] = []

    async def ended(slot: ProcessSlot, _: UUID, code: int) -> None:
        ends.append(code)
        if len(ends) == 2:
            slot.stop()

    listener = ProcessListener(ready=lambda _: None, ended=ended, asked=lambda *_: None, counted=lambda *_: None)
    port = SharedPort(SETTINGS.server, 2)
    begin = Begin(SETTINGS, "all", "", uuid4(), 0, 2, 0, shared_dues.create(), uuid4())
    async with asyncio.timeout(PATIENCE):
        await ProcessSlot(1, port.socket_of(1), begin, listener).keep(patient=lambda: True)
    assert ends == [-signal.SIGKILL] * 2
    port.close()


async def test_a_database_that_is_stuck_delays_no_restart(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.processes.supervisor._RELEASE_WITHIN", 0.05)
    async with asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool:  # statements have no limit
        db = Database(pool)
        session = await db.fetchval("SELECT pg_backend_pid()")
        os.kill(session, signal.SIGSTOP)
        try:
            async with asyncio.timeout(PATIENCE):
                await release_channels([db], uuid4())
        finally:
            os.kill(session, signal.SIGCONT)
        await db.close()
