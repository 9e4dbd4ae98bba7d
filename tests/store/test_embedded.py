"""The embedded PostgreSQL: one owner, quick to start, found again after a crash, gone after a stop."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import psutil
import pytest

from gatepost.store.embedded import (
    DataFolderInUse,
    EmbeddedPostgres,
    EmbeddedPostgresError,
    admin_dsn,
    lock_data_folder,
    running_dsn,
)
from gatepost.store.embedded.conf import KEPT_LOGS, trim_logs
from gatepost.store.embedded.postmaster import find_postmaster, lives
from gatepost.store.embedded.supervise import LONGEST_PAUSE, pause_after
from tests.conftest import PostgresServer, scratch_folder
from tests.patience import PATIENCE

HOLDER = """
import sys, time
from pathlib import Path
from gatepost.store.embedded import lock_data_folder
lock = lock_data_folder(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""

GATEWAY = """
import asyncio, sys
from pathlib import Path
from gatepost.store.embedded import EmbeddedPostgres, lock_data_folder
async def main():
    lock = lock_data_folder(Path(sys.argv[1]))
    print(await EmbeddedPostgres(Path(sys.argv[1])).start(), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.fixture
def new_data() -> Iterator[Path]:
    """Yield the path of a data folder that the server's user can reach, root or not."""
    folder = scratch_folder()
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture
def data(new_data: Path, initdb_once: None) -> Path:
    """Return such a path; a cluster in it is created quickly."""
    return new_data


@asynccontextmanager
async def running(data: Path, **options: object) -> AsyncIterator[str]:
    data.mkdir(mode=0o711, exist_ok=True)
    server = EmbeddedPostgres(data, **options)  # type: ignore[arg-type]
    try:
        yield await server.start()
    finally:
        await server.stop()


def spawn(script: str, data: Path) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", script, str(data)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    # Log lines may come first; the last one before the child goes to sleep is its report.
    for line in child.stdout:
        if line.startswith((b"held", b"postgresql://")):
            return child
    raise AssertionError("the child ended early")


def kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


async def value(url: str, query: str) -> object:
    conn = await asyncpg.connect(url)
    try:
        return await conn.fetchval(query)
    finally:
        await conn.close()


def processes_of(data: Path) -> list[int]:
    """Return every live process that works in the cluster of a data folder."""
    cluster = str(data / "postgres")
    found = []
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE and process.cwd() == cluster:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


# --- the lock


def test_a_second_gateway_names_the_process_that_uses_the_folder(data: Path) -> None:
    child = spawn(HOLDER, data)
    try:
        with pytest.raises(DataFolderInUse, match=rf"{data} is in use .*process {child.pid}.*--data"):
            lock_data_folder(data)
    finally:
        kill(child)


def test_the_folder_is_free_after_its_holder_was_killed(data: Path) -> None:
    kill(spawn(HOLDER, data))
    with lock_data_folder(data):
        assert (data / "gateway.lock").read_text() == f"{os.getpid()}\n"


def test_the_folder_is_free_after_release(data: Path) -> None:
    lock = lock_data_folder(data)
    lock.release()
    lock.release()
    lock_data_folder(data).release()


def test_a_new_folder_is_closed_and_an_old_one_keeps_its_mode(data: Path) -> None:
    lock_data_folder(data).release()
    assert stat.S_IMODE(data.stat().st_mode) & 0o066 == 0
    data.chmod(0o755)
    lock_data_folder(data).release()
    assert stat.S_IMODE(data.stat().st_mode) == 0o755


# --- starting and stopping


async def test_it_starts_keeps_its_rows_and_stops_without_a_trace(new_data: Path) -> None:
    data = new_data
    async with running(data) as url:
        await value(url, "CREATE TABLE kept AS SELECT 42 AS x")
        assert running_dsn(data) == url
    assert running_dsn(data) is None
    assert processes_of(data) == []
    async with running(data) as url:
        assert await value(url, "SELECT x FROM kept") == 42


async def test_it_has_the_settings_we_rely_on(data: Path) -> None:
    async with running(data) as url:
        expected = {
            "server_version_num": "18",
            "listen_addresses": "",
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "data_checksums": "on",
            "jit": "off",
            "server_encoding": "UTF8",
            "max_connections": "300",
            "shared_buffers": "128MB",
            "max_wal_size": "2GB",
            "checkpoint_timeout": "15min",
            "autovacuum_naptime": "10s",
            "random_page_cost": "1.1",
            "wal_compression": "pglz",
            "TimeZone": "UTC",
        }
        found = {name: str(await value(url, f"SELECT current_setting('{name}')")) for name in expected}
        found["server_version_num"] = found["server_version_num"][:2]
        assert found == expected
        assert await value(url, "SELECT datlocale FROM pg_database WHERE datname = current_database()") == "C.UTF-8"


async def test_the_operators_own_settings_win(data: Path) -> None:
    async with running(data):
        pass
    (data / "postgres" / "custom.conf").write_text("max_connections = 33\n")
    (data / "postgres" / "custom.conf").chmod(0o644)
    async with running(data) as url:
        assert await value(url, "SHOW max_connections") == "33"


def test_the_cluster_and_its_socket_are_closed_to_others(postgres_server: PostgresServer) -> None:
    cluster = postgres_server.data / "postgres"
    for path in (cluster, cluster / "run", cluster / "run" / ".s.PGSQL.5432"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_it_lives_in_a_session_of_its_own(postgres_server: PostgresServer) -> None:
    postmaster = find_postmaster(postgres_server.data / "postgres")
    assert postmaster is not None
    assert os.getsid(postmaster.pid) == os.getpgid(postmaster.pid) == postmaster.pid


async def test_the_loop_runs_on_while_it_starts(new_data: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.01)

    beating = asyncio.create_task(beat())
    async with running(new_data):
        beating.cancel()
    assert beats > 10


async def test_starting_twice_reaches_the_same_server(data: Path) -> None:
    data.mkdir(mode=0o711)
    server = EmbeddedPostgres(data)
    try:
        first, pids = await server.start(), processes_of(data)
        assert await server.start() == first
        assert set(pids) <= set(processes_of(data))
    finally:
        await server.stop()
    assert processes_of(data) == []
    await server.stop()


async def test_a_server_that_does_not_listen_is_killed_with_all_its_processes(data: Path) -> None:
    data.mkdir(mode=0o711)
    server = EmbeddedPostgres(data)
    await server.start()
    postmaster = find_postmaster(data / "postgres")
    assert postmaster is not None
    postmaster.suspend()
    await server.stop(patience=0.05)
    assert processes_of(data) == []
    # The next start cleans up what the kill left, shared memory included.
    assert await value(await server.start(), "SELECT 1") == 1
    await server.stop()


async def test_a_start_that_is_cancelled_leaves_no_process(data: Path) -> None:
    async with running(data):
        pass
    for pause in (0.0, 0.01, 0.02, 0.03, 0.04):
        server = EmbeddedPostgres(data)
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(pause)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        if not starting.cancelled():
            await server.stop()
        assert processes_of(data) == []


async def test_a_first_start_that_is_cancelled_waits_for_initdb(new_data: Path) -> None:
    new_data.mkdir(mode=0o711)
    starting = asyncio.create_task(EmbeddedPostgres(new_data).start())
    draft = new_data / "postgres.new"
    while not (draft / "postgresql.conf").exists():
        await asyncio.sleep(0.001)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert starting.cancelled()
    assert not draft.exists()
    async with running(new_data) as url:
        assert await value(url, "SELECT 1") == 1


async def test_a_deep_data_folder_gets_a_short_private_socket_folder(data: Path) -> None:
    deep = data / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    async with running(deep) as url:
        assert await value(url, "SELECT 1") == 1
        sockets = Path(str(await value(admin_dsn(url), "SHOW unix_socket_directories")).strip('"'))
        assert len(str(sockets)) < 90
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not sockets.exists()


@pytest.mark.parametrize("name", ["a,b", 'it\'s a "wide" f\u00f4lder?&#%41\\'])
async def test_a_folder_with_odd_letters_works(data: Path, name: str) -> None:
    odd = data / name
    odd.mkdir(parents=True)
    async with running(odd) as url:
        assert await value(url, "SELECT 1") == 1
        assert running_dsn(odd) == url


# --- after a crash


async def test_a_server_left_by_a_killed_gateway_is_used_again(data: Path) -> None:
    kill(spawn(GATEWAY, data))
    left = find_postmaster(data / "postgres")
    assert left is not None
    with lock_data_folder(data):
        async with running(data) as url:
            again = find_postmaster(data / "postgres")
            assert again is not None
            assert again.pid == left.pid
            assert await value(url, "SELECT 1") == 1
    assert processes_of(data) == []


async def test_it_starts_again_after_everything_was_killed(data: Path) -> None:
    child = spawn(GATEWAY, data)
    postmaster = find_postmaster(data / "postgres")
    assert postmaster is not None
    url = running_dsn(data)
    assert url is not None
    await value(url, "CREATE TABLE kept AS SELECT 42 AS x")
    postmaster.send_signal(signal.SIGKILL)
    kill(child)
    async with running(data) as url:
        assert await value(url, "SELECT x FROM kept") == 42
    assert processes_of(data) == []


@pytest.mark.parametrize("held_by", ["nobody", "a stranger"])
async def test_a_stale_pid_file_is_no_hindrance(data: Path, held_by: str) -> None:
    async with running(data):
        lines = (data / "postgres" / "postmaster.pid").read_text().splitlines()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if held_by == "nobody":
        kill(stranger)
    try:
        lines[0] = str(stranger.pid)
        (data / "postgres" / "postmaster.pid").write_text("\n".join(lines) + "\n")
        (data / "postgres" / "run" / ".s.PGSQL.5432.lock").write_text("\n".join(lines) + "\n")
        assert running_dsn(data) is None
        async with running(data) as url:
            assert await value(url, "SELECT 1") == 1
        assert (stranger.poll() is None) == (held_by == "a stranger")
    finally:
        kill(stranger)


async def test_a_server_of_another_folder_is_not_mistaken_for_ours(data: Path) -> None:
    other = data / "other"
    other.mkdir(parents=True)
    async with running(data):
        pass
    async with running(other):
        stale = data / "postgres" / "postmaster.pid"
        shutil.copy(other / "postgres" / "postmaster.pid", stale)
        assert find_postmaster(data / "postgres") is None
        async with running(data) as url:
            assert await value(url, "SELECT 1") == 1
        assert running_dsn(other) is not None


async def test_an_interrupted_initdb_is_repeated(data: Path) -> None:
    data.mkdir(mode=0o711)
    (data / "postgres.new").mkdir()
    (data / "postgres.new" / "PG_VERSION").write_text("18\n")
    async with running(data) as url:
        assert await value(url, "SELECT 1") == 1
    assert not (data / "postgres.new").exists()


# --- when it ends by itself


async def until_it_answers(url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                assert await value(url, "SELECT 1") == 1
                return
            await asyncio.sleep(0.05)


def command_of(process: psutil.Process) -> str:
    """The command line of a process; empty once it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie, too
        return ""


async def test_a_killed_server_comes_back_though_a_worker_of_it_is_deep_in_thought(data: Path) -> None:
    ends: list[str] = []
    async with running(data, on_restart=lambda: ends.append("ended")) as url:
        await value(url, "CREATE TABLE kept AS SELECT 42 AS x")
        first = find_postmaster(data / "postgres")
        assert first is not None
        thinking = asyncio.create_task(value(url, "SELECT count(*) FROM generate_series(1, 100000000000)"))
        while not any("SELECT" in command_of(process) for process in first.children()):
            await asyncio.sleep(0.01)
        old = first.children()
        first.kill()
        await until_it_answers(url)
        assert await value(url, "SELECT x FROM kept") == 42
        await asyncio.gather(thinking, return_exceptions=True)
        second = find_postmaster(data / "postgres")
        assert second is not None
        assert second.pid != first.pid
        assert not [process for process in old if lives(process)]
        assert ends == ["ended"]
    assert processes_of(data) == []


async def test_a_server_that_another_process_started_is_supervised_too(data: Path) -> None:
    child = spawn(GATEWAY, data)
    kill(child)
    left = find_postmaster(data / "postgres")
    assert left is not None
    async with running(data) as url:
        left.kill()
        await until_it_answers(url)
        again = find_postmaster(data / "postgres")
        assert again is not None
        assert again.pid != left.pid
    assert processes_of(data) == []


async def test_a_stop_while_it_is_down_leaves_nothing(data: Path) -> None:
    async with running(data):
        postmaster = find_postmaster(data / "postgres")
        assert postmaster is not None
        postmaster.kill()
    assert processes_of(data) == []
    async with running(data) as url:
        assert await value(url, "SELECT 1") == 1


def test_the_pause_grows_up_to_its_limit() -> None:
    assert [pause_after(failures) for failures in range(5)] == [0.0, 0.5, 1.0, 2.0, 4.0]
    assert pause_after(100) == LONGEST_PAUSE


# --- when it cannot work


async def test_a_broken_setting_is_shown_with_the_servers_own_words(data: Path) -> None:
    async with running(data):
        pass
    (data / "postgres" / "custom.conf").write_text("shared_buffers = 'plenty'\n")
    (data / "postgres" / "custom.conf").chmod(0o644)
    with pytest.raises(EmbeddedPostgresError, match=r'(?s)did not start in .*shared_buffers.*"plenty"'):
        await EmbeddedPostgres(data).start()
    assert processes_of(data) == []


async def test_a_cluster_of_another_version_is_refused(data: Path) -> None:
    (data / "postgres").mkdir(parents=True)
    (data / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedPostgresError, match=r"made by PostgreSQL 16; this Gatepost brings 18"):
        await EmbeddedPostgres(data).start()


async def test_a_folder_full_of_other_things_is_left_alone(data: Path) -> None:
    (data / "postgres").mkdir(parents=True)
    (data / "postgres" / "holiday.jpg").write_bytes(b"sea")
    with pytest.raises(EmbeddedPostgresError, match="something else is there"):
        await EmbeddedPostgres(data).start()
    assert (data / "postgres" / "holiday.jpg").read_bytes() == b"sea"


async def test_a_note_that_leads_nowhere_is_an_error_not_an_empty_database(data: Path) -> None:
    data.mkdir()
    (data / "postgres.path").write_text("/nowhere/at/all\n")
    with pytest.raises(EmbeddedPostgresError, match=r"database is in /nowhere/at/all, but there is none"):
        await EmbeddedPostgres(data).start()


def test_only_the_newest_logs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for day in range(1, 10):
        (tmp_path / "log" / f"postgres-2026010{day}-000000.log").touch()
    trim_logs(tmp_path)
    kept = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert kept == [f"postgres-2026010{day}-000000.log" for day in range(10 - KEPT_LOGS, 10)]
