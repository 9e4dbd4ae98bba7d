"""Moving a database to another server, and restoring into a gateway that runs with the embedded one."""

import asyncio
import base64
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from gatepost.admin.database_move import move_database
from gatepost.model.errors import Conflict
from gatepost.store.embedded.data_folder import holder_of
from gatepost.store.migrate import migrate
from gatepost.store.pool import Database
from tests.cli.conftest import Run, invoke
from tests.cli.test_backup import contents
from tests.cli.test_secret_key import create_official
from tests.conftest import run_apart
from tests.patience import PATIENCE, patience


def test_a_database_is_moved_whole(
    run: Run,
    account: str,
    database_url: str,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_official(run, account)
    owner = tmp_path / "media" / "database.id"
    owner.parent.mkdir()
    owner.write_text("of the old one")
    assert "same database" in run("move-database", "--to", database_url, "--json").error()["message"]
    assert run("move-database", "--to", "mysql://here", "--json").error()["code"] == "invalid_field"
    moved = run("move-database", "--to", empty_database_url, "--json").json()
    assert moved["rows"] > 0
    assert not owner.exists()
    assert run_apart(contents(empty_database_url)) == run_apart(contents(database_url))
    for command in (("account", "list"), ("move-database", "--to", empty_database_url, "--replace")):
        assert "was moved to" in run(*command, "--json").error()["message"]
    run_apart(execute(database_url, "COMMENT ON TABLE schema_migrations IS NULL"))
    assert "--replace" in run("move-database", "--to", empty_database_url, "--json").error()["message"]
    assert run("move-database", "--to", empty_database_url, "--replace", "--json").json() == moved
    there = ("--database-url", empty_database_url, "--data", str(tmp_path), "--json")
    assert [one["id"] for one in invoke("account", "list", *there).json()] == [account]
    assert "--replace" in invoke("move-database", "--to", database_url, *there).error()["message"]
    monkeypatch.setenv("GATEPOST_QR__DEVICE_STORE", empty_database_url)
    back = invoke("move-database", "--to", database_url, "--replace", *there[:-1])
    assert "qr.device_store: if that is the old database" in " ".join(back.out.split())
    monkeypatch.delenv("GATEPOST_QR__DEVICE_STORE")
    assert "was moved to" in invoke("account", "list", *there).error()["message"]
    assert [one["id"] for one in run("account", "list", "--json").json()] == [account]


async def test_no_command_starts_on_a_database_that_is_being_moved(database_url: str, empty_database_url: str) -> None:
    started: list[asyncio.Task[int]] = []

    def start(*_: object) -> None:
        if not started:
            started.append(asyncio.create_task(migrate(database_url)))  # as each command does at first

    await move_database(database_url, empty_database_url, replace=False, progress=start)
    assert not started[0].done()
    assert await started[0] == 0


async def test_a_database_that_a_gateway_uses_meanwhile_is_not_moved(
    database_url: str, empty_database_url: str
) -> None:
    connections: list[asyncio.Task[Database]] = []

    def connect(*_: object) -> None:
        if not connections:
            connections.append(asyncio.create_task(used(database_url)))

    with pytest.raises(Conflict, match="A gateway uses this database"):
        await move_database(database_url, empty_database_url, replace=False, progress=connect)
    await (await connections[0]).close()
    assert (await move_database(database_url, empty_database_url, replace=False, progress=connect)).rows > 0


async def execute(dsn: str, sql: str) -> None:
    conn = await asyncpg.connect(dsn)
    try:
        await conn.execute(sql)
    finally:
        await conn.close()


async def used(dsn: str) -> Database:
    """Return a database with a connection, as a gateway has that was running before."""
    db = await Database.connect(dsn, connections=1)
    await db.fetchval("SELECT 1")
    return db


async def test_a_running_gateway_is_stopped_restored_and_moved(
    data: Path, empty_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup.tar"
    here = ("--data", str(data), "--json")
    command = [sys.executable, "-m", "gatepost.cli", "serve", "--port", "0", "--processes", "1", "--data", str(data)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with patience(lambda: f"the gateway did not start: {child.poll()}"):
            while holder_of(data) != child.pid or not (data / "gateway.url").exists():  # it is ready
                await asyncio.sleep(0.05)
        kept = (await asyncio.to_thread(invoke, "account", "create", "Shop", *here)).json()["id"]
        (await asyncio.to_thread(invoke, "backup", str(file), *here)).json()
        (await asyncio.to_thread(invoke, "account", "create", "Later", *here)).json()
        refused = (await asyncio.to_thread(invoke, "restore", str(file), *here)).error()["message"]
        assert f"gatepost restore {file} --data {data} --replace --stop" in refused
        not_empty = (await asyncio.to_thread(invoke, "restore", str(file), "--stop", *here)).error()["message"]
        assert "--replace" in not_empty
        key = data / "secret.key"
        right = key.read_bytes()
        key.write_bytes(base64.b64encode(bytes(32)))
        other_key = await asyncio.to_thread(invoke, "restore", str(file), "--replace", "--stop", *here)
        assert "is not the secret key of this backup" in other_key.error()["message"]
        key.write_bytes(right)
        assert holder_of(data) == child.pid  # it was not stopped for nothing
        (await asyncio.to_thread(invoke, "restore", str(file), "--replace", "--stop", *here)).json()
        assert await asyncio.to_thread(child.wait, PATIENCE) == 0
    finally:
        child.terminate()
        await asyncio.to_thread(child.wait, PATIENCE)
    (await asyncio.to_thread(invoke, "move-database", "--to", empty_database_url, *here)).json()
    there = ("--database-url", empty_database_url, *here)
    listed = (await asyncio.to_thread(invoke, "account", "list", *there)).json()
    assert [one["id"] for one in listed] == [kept]
    assert "was moved to" in (await asyncio.to_thread(invoke, "account", "list", *here)).error()["message"]
