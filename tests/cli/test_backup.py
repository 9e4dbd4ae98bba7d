"""Backups: what was there is restored, a bad file changes nothing, and a killed command leaves nothing half done."""

import asyncio
import errno
import fcntl
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import asyncpg
import msgspec
import pytest

from gatepost.admin.vault import KEY_FILE, RESTORED_KEY
from gatepost.model import ids, times
from gatepost.model.errors import Conflict
from gatepost.store.backup.archive import MANIFEST, ArchiveWriter, verify, written_file
from gatepost.store.backup.load import check_unused, open_load
from gatepost.store.backup.snapshot import open_snapshot
from gatepost.store.migrate import migrate, shipped
from gatepost.store.partitions import drop_old_partitions, make_partitions
from gatepost.store.pool import Database
from tests.cli.conftest import NO_WATCHDOG, Ran, Run, invoke
from tests.cli.test_secret_key import create_official
from tests.conftest import run_apart
from tests.patience import PATIENCE, patience
from tests.running_gateway import running_gateway

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2_000
NO_PROGRESS = lambda _step, _done, _total: None  # noqa: E731
CHANGED = {"channel_heads", "sessions", "messages"}  # what a restore settles


async def contents(url: str) -> dict[str, tuple[int, str]]:
    """Return the number of rows of each table, and a hash of them."""
    found = {}
    async with open_snapshot(url) as snapshot:
        for table in snapshot.content.tables:
            pieces: list[bytes] = []
            rows = await snapshot.copy(table, collect(pieces))
            found[table.parent or table.name, table.name] = (rows, str(sorted(b"".join(pieces).splitlines())))
    return {name: seen for (parent, name), seen in found.items() if parent not in CHANGED}


def collect(pieces: list[bytes]) -> Callable[[bytes], Any]:
    async def write(piece: bytes) -> None:
        pieces.append(piece)

    return write


async def fetch(url: str, sql: str, *arguments: Any) -> Any:
    conn = await asyncpg.connect(url)
    try:
        return await conn.fetchval(sql, *arguments)
    finally:
        await conn.close()


def at(command: str, file: Path, url: str, data: Path, *more: str) -> Ran:
    return invoke(command, str(file), "--database-url", url, "--data", str(data), "--json", *more)


async def test_a_running_gateway_is_backed_up_and_what_waited_is_not_sent_again(
    parted_database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    data, other, file = tmp_path / "data", tmp_path / "other", tmp_path / "backup.tar"
    async with running_gateway(parted_database_url, role="api", data=str(data), **NO_WATCHDOG) as gateway:
        waiting = [await gateway.send(phone="5511999998888", body=f"{n}") for n in range(3)]
        scheduled = {"send_at": times.format_time(datetime.now(UTC) + timedelta(days=2))}
        later = await gateway.send(phone="5511999998888", body="later", **scheduled)
        upload = await gateway.call("POST", "/api/v1/media", raw=PICTURE, headers={"content-type": "image/png"})
        made = await asyncio.to_thread(at, "backup", file, parted_database_url, data)
        seen = made.json()
        assert upload.status == 201, upload.body
        assert (seen["files"], seen["files_missing"], seen["secret_key"]) == (1, 0, False)
        in_use = await asyncio.to_thread(at, "restore", file, parted_database_url, data, "--replace")
        assert "Stop all gateways" in in_use.error()["message"]
        before = await contents(parted_database_url)
        key = gateway.key
    (other / KEY_FILE).parent.mkdir()
    (other / KEY_FILE).write_bytes((data / KEY_FILE).read_bytes())
    unsent = "SELECT array_agg((state, fail_unknown)::text) FROM messages WHERE send_at IS NULL"
    number = "SELECT seq FROM channel_heads"
    last = await fetch(parted_database_url, number)
    for rule, each in (("send", "(0,f)"), ("on-unknown", "(1,f)"), ("fail", "(1,t)")):
        chosen = ("--replace", "--waiting", rule)
        restored = (await asyncio.to_thread(at, "restore", file, empty_database_url, other, *chosen)).json()
        assert (restored["unknown"], restored["files"]) == (0 if rule == "send" else len(waiting), 1)
        assert await fetch(empty_database_url, unsent) == [each] * len(waiting)
        # Events that happened since have these numbers; unless there are none.
        assert await fetch(empty_database_url, number) == last + (0 if rule == "send" else 1_000_000_000)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "back-up.md").read_text()
    conn = await asyncpg.connect(parted_database_url)
    await conn.execute(page.split("```sql")[1].split("```")[0])  # after a restore with other tools
    await conn.close()
    assert await fetch(parted_database_url, unsent) == ["(1,t)"] * len(waiting)
    assert await fetch(parted_database_url, number) == await fetch(empty_database_url, number)
    after = await contents(empty_database_url)
    assert {name for name in before if before[name] != after.get(name)} <= {"write_check", "api_keys"}
    async with running_gateway(empty_database_url, data=str(other)) as gateway:
        for message in waiting:
            await until_failed(gateway.db, message)
        assert (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"] == []
        state = await gateway.db.fetchval("SELECT state FROM messages WHERE id = $1", ids.parse_id("", later))
        assert state == 0  # it cannot have been sent: its time has not come
        content = f"/api/v1/media/{upload.json()['data']['id']}/content"
        assert (await gateway.call("GET", content, key=key)).body == PICTURE


async def until_failed(db: Database, message: str) -> None:
    row = None
    async with patience(lambda: f"{message} is {row}"):
        while not row or row["state"] != -1:
            row = await db.fetchrow("SELECT state, error FROM messages WHERE id = $1", ids.parse_id("", message))
            await asyncio.sleep(0.02)
    assert "unknown_outcome" in row["error"]


@pytest.fixture
def backed_up(run: Run, account: str, database_url: str, tmp_path: Path) -> Path:
    """Give the backup of a database with an official channel, made with a passphrase."""
    create_official(run, account)
    (tmp_path / "passphrase").write_text("correct horse battery\n")
    file = tmp_path / "backup.tar"
    made = at("backup", file, database_url, tmp_path, "--passphrase-file", str(tmp_path / "passphrase"))
    assert made.json()["secret_key"] is True
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def test_a_damaged_file_is_refused_and_changes_nothing(
    backed_up: Path, empty_database_url: str, tmp_path: Path
) -> None:
    whole = backed_up.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "cut": whole[:middle],
        "cut at a block": whole[: middle - middle % 512],
        "without its manifest": whole[: whole.index(MANIFEST.encode()) - 1_536],
        "something else": b"not a backup" * 1_000,
        "empty": b"",
    }
    for name, content in damaged.items():
        file = tmp_path / name
        file.write_bytes(content)
        refused = at("restore", file, empty_database_url, tmp_path)
        assert refused.error()["code"] == "wrong_state", name
        assert "backup" in refused.error()["message"], name
    assert run_apart(fetch(empty_database_url, "SELECT to_regclass('accounts')::text")) is None


def test_a_database_with_data_is_replaced_only_on_request(
    backed_up: Path, run: Run, database_url: str, tmp_path: Path
) -> None:
    run("account", "create", "Later")
    assert "--replace" in at("restore", backed_up, database_url, tmp_path).error()["message"]
    assert len(run("account", "list", "--json").json()) == 2
    restored = run("restore", str(backed_up), "--replace")
    assert f"Start the gateway: gatepost serve --data {tmp_path} --database-url URL." in restored.out
    assert [one["name"] for one in run("account", "list", "--json").json()] == ["Shop"]
    assert "exists" in at("backup", backed_up, database_url, tmp_path).error()["message"]


def test_the_key_comes_from_the_backup_or_the_restore_is_refused(
    backed_up: Path, empty_database_url: str, tmp_path: Path
) -> None:
    other, given = tmp_path / "other", ("--passphrase-file", str(tmp_path / "passphrase"))
    assert "--passphrase-file" in at("restore", backed_up, empty_database_url, other).error()["message"]
    (tmp_path / "wrong").write_text("incorrect horse\n")
    wrong = at("restore", backed_up, empty_database_url, other, "--passphrase-file", str(tmp_path / "wrong"))
    assert "passphrase" in wrong.error()["message"]
    assert run_apart(fetch(empty_database_url, "SELECT to_regclass('accounts')::text")) is None
    at("restore", backed_up, empty_database_url, other, *given).json()
    assert (other / KEY_FILE).read_bytes() == (tmp_path / KEY_FILE).read_bytes()
    # Killed between the commit and the change of the key: the next command uses the restored key.
    (other / KEY_FILE).rename(other / RESTORED_KEY)
    (other / KEY_FILE).write_text("A" * 43 + "=\n")
    places = ("--database-url", empty_database_url, "--data", str(other))
    channel = invoke("channel", "list", "--json", *places).json()[0]["id"]
    assert invoke("webhook", "create", channel, "https://shop.example.com/hook", *places).code == 0
    assert (other / KEY_FILE).read_bytes() == (tmp_path / KEY_FILE).read_bytes()
    assert (
        at("backup", tmp_path / "short", empty_database_url, other, *short(tmp_path)).error()["code"] == "invalid_field"
    )
    assert not (tmp_path / "short").exists()


def short(folder: Path) -> tuple[str, str]:
    (folder / "passphrase").write_text("x" * 11)
    return "--passphrase-file", str(folder / "passphrase")


def test_an_older_backup_is_migrated_and_a_newer_one_is_refused(
    empty_database_url: str, database_url: str, tmp_path: Path
) -> None:
    old = tmp_path / "migrations"
    old.mkdir()
    for entry in shipped().iterdir():
        if entry.name < "0016":
            (old / entry.name).write_text(entry.read_text())
    run_apart(migrate(empty_database_url, old))
    run_apart(part(empty_database_url))
    file = tmp_path / "old.tar"
    assert at("backup", file, empty_database_url, tmp_path).json()["migration"] == 15
    restored = at("restore", file, database_url, tmp_path).json()
    assert restored["migrated"] == len(list(shipped().iterdir())) - len(list(old.iterdir()))
    with file.open("rb") as opened:
        manifest = msgspec.structs.replace(verify(opened, NO_PROGRESS), migrations=(1, 9_999), tables=())
    newer = io.BytesIO()
    ArchiveWriter(newer).finish(manifest)
    (tmp_path / "newer.tar").write_bytes(newer.getvalue())
    assert "Upgrade this Gatepost" in at("restore", tmp_path / "newer.tar", database_url, tmp_path).error()["message"]


async def part(url: str) -> None:
    db = await Database.connect(url, connections=1)
    await make_partitions(db, datetime.now(UTC), 7)
    await db.close()


async def test_no_partition_is_dropped_while_a_backup_reads(parted_database_url: str, tmp_path: Path) -> None:
    db = await Database.connect(parted_database_url, connections=2)
    future = datetime.now(UTC) + timedelta(days=10)
    async with open_snapshot(parted_database_url):
        assert await drop_old_partitions(db, future, 1, 1) == []
    while not await drop_old_partitions(db, future, 1, 1):  # the server ends the session a moment later
        await asyncio.sleep(0.01)
    await db.close()


async def test_a_migration_does_not_empty_a_table_that_a_backup_has_not_read_yet(database_url: str) -> None:
    await fetch(database_url, "INSERT INTO cell (id, name) VALUES (1, 'main')")
    conn = await asyncpg.connect(database_url, server_settings={"lock_timeout": "1ms"})
    async with open_snapshot(database_url) as snapshot:
        with suppress(asyncpg.LockNotAvailableError):  # the migration is tried again later
            await conn.execute("ALTER TABLE cell ADD COLUMN known boolean GENERATED ALWAYS AS (true) STORED")
        [cell] = [table for table in snapshot.content.tables if table.name == "cell"]
        assert await snapshot.copy(cell, collect([])) == 1
    await conn.close()


async def test_a_table_that_is_created_meanwhile_is_in_the_backup(database_url: str) -> None:
    await fetch(database_url, "CREATE TABLE other (id int)")
    conn = await asyncpg.connect(database_url)
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute("ALTER TABLE other RENAME TO renamed; CREATE TABLE other (id int); INSERT INTO other VALUES (1)")
    opening = asyncio.create_task(contents(database_url))
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with patience(lambda: "it does not wait for the table"):
        while not await fetch(database_url, waiting):
            await asyncio.sleep(0.01)
    await transaction.commit()
    found = await opening
    assert (found["other"][0], found["renamed"][0]) == (1, 0)
    await conn.close()


async def test_a_gateway_that_connects_again_during_a_restore_is_noticed(
    database_url: str, empty_database_url: str
) -> None:
    async with open_snapshot(database_url) as snapshot:
        content = snapshot.content
    pooled = await asyncpg.connect(
        empty_database_url, server_settings={"application_name": "gatepost - 10.0.0.1:50123"}
    )
    with pytest.raises(Conflict, match="A gateway uses this database"):  # through PgBouncer
        await check_unused(empty_database_url)
    await pooled.close()
    db = await Database.connect(empty_database_url, connections=1)
    await until_unused(empty_database_url)
    with pytest.raises(Conflict, match="A gateway uses this database"):
        async with open_load(empty_database_url, content, replace=False):
            await db.fetchval("SELECT 1")
    await db.close()


async def until_unused(url: str) -> None:
    """Wait until the server has ended the sessions of closed connections."""
    async with patience(lambda: "the database is still in use"):
        while await fetch(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'gatepost - %'"):
            await asyncio.sleep(0.01)


async def start_blocked(table: str, url: str, *arguments: str) -> tuple[Any, Any]:
    """Start a command that waits for a table, which the returned connection has locked."""
    conn = await asyncpg.connect(url)
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    command = [sys.executable, "-m", "gatepost.cli", *arguments, "--database-url", url]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    waiting = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                 AND application_name = 'gatepost backup' AND wait_event_type = 'Lock'"""
    async with patience(lambda: f"{arguments} does not wait"):
        while not await fetch(url, waiting):
            assert child.poll() is None, child.communicate()
            await asyncio.sleep(0.02)
    return conn, child


async def kill(conn: Any, child: Any) -> None:
    child.send_signal(signal.SIGKILL)
    await asyncio.to_thread(child.communicate, timeout=PATIENCE)
    await conn.close()


def test_a_backup_that_was_just_completed_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lock = tmp_path / "one.tar", fcntl.flock
    with ExitStack() as first:
        first.enter_context(written_file(path)).write(b"complete")

        def finish_first(*arguments: Any) -> None:  # after the second one has opened the same draft
            first.close()
            lock(*arguments)

        monkeypatch.setattr(fcntl, "flock", finish_first)
        with pytest.raises(Conflict, match="just written"), written_file(path):
            pass
    assert path.read_bytes() == b"complete"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of a USB stick: the backup was complete, and was deleted again."""
    monkeypatch.setattr(os, "link", Mock(side_effect=PermissionError(errno.EPERM, "Operation not permitted")))
    path, other = tmp_path / "backup.tar", tmp_path / "other.tar"
    with written_file(path) as file:
        file.write(b"complete")
    with pytest.raises(Conflict, match="exists"), written_file(other):
        other.write_bytes(b"mine")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {path.name: b"complete", other.name: b"mine"}


async def test_a_killed_backup_has_no_name_and_a_killed_restore_changes_nothing(
    backed_up: Path, run: Run, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "second.tar"
    await kill(*await start_blocked("messages, contacts", database_url, "backup", str(file), "--data", str(tmp_path)))
    assert not file.exists()
    assert file.with_name("second.tar.partial").exists()
    (await asyncio.to_thread(at, "backup", file, database_url, tmp_path)).json()
    assert not file.with_name("second.tar.partial").exists()
    await asyncio.to_thread(run, "account", "create", "Later")
    places = ("--data", str(tmp_path), "--replace")
    await kill(*await start_blocked("contacts", database_url, "restore", str(backed_up), *places))
    names = (await asyncio.to_thread(run, "account", "list", "--json")).json()
    assert {one["name"] for one in names} == {"Shop", "Later"}


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGHUP])
async def test_a_backup_that_is_told_to_stop_leaves_no_file(
    backed_up: Path, database_url: str, tmp_path: Path, name: signal.Signals
) -> None:
    """As Ctrl-C does: by `timeout`, by systemd, or because its terminal was closed."""
    file = tmp_path / "second.tar"
    conn, child = await start_blocked("messages, contacts", database_url, "backup", str(file), "--data", str(tmp_path))
    assert file.with_name("second.tar.partial").exists()
    child.send_signal(name)
    said, _ = await asyncio.to_thread(child.communicate, timeout=PATIENCE)
    await conn.close()
    assert (child.returncode, said) == (128 + name, b"")
    assert list(tmp_path.glob("second*")) == []
