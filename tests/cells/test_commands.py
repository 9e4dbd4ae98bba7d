"""The commands of a gateway with several cells: each finds the cell of its record."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gatepost.admin import account_move
from gatepost.store.cells import read_cell_name
from gatepost.store.pool import Database
from tests.cells.conftest import NOWHERE, resume, stop
from tests.cli.conftest import Ran, Run, invoke
from tests.conftest import PostgresServer, run_apart
from tests.for_each import for_each
from tests.patience import PATIENCE


@pytest.fixture
def settings_file(urls: dict[str, str], tmp_path: Path) -> Path:
    """Write the settings of a gateway with three cells."""
    return write_settings(tmp_path, urls)


def write_settings(folder: Path, urls: dict[str, str]) -> Path:
    cells = [f"{name} = {json.dumps(url)}" for name, url in urls.items() if name != "main"]
    text = f"data = {json.dumps(str(folder))}\n[database]\nurl = {json.dumps(urls['main'])}\n[cells]\n"
    path = folder / "gatepost.toml"
    path.write_text(text + "\n".join(cells) + "\n")
    return path


@pytest.fixture
def run(settings_file: Path) -> Run:
    """Give a way to run commands with these settings."""

    def one(*arguments: str) -> Ran:
        return invoke(*arguments, "--config", str(settings_file))

    return one


def test_records_are_found_in_their_cell(run: Run, urls: dict[str, str]) -> None:
    made = {name: run("account", "create", name, "--cell", name, "--json").json() for name in ("west", "east")}
    made["main"] = run("account", "create", "main", "--json").json()
    assert {name: one["cell"] for name, one in made.items()} == {name: name for name in made}
    listed = run("account", "list", "--json").json()
    assert {one["name"]: one["cell"] for one in listed} == {name: name for name in made}
    west = made["west"]["id"]
    assert run("account", "show", west, "--json").json()["cell"] == "west"
    assert run("account", "plan", west, "unlimited", "--json").json()["plan"] == "unlimited"
    channel = run("channel", "create", west, "--kind", "qr", "--phone", "15550001111", "--json").json()["id"]
    assert [one["cell"] for one in run("channel", "list", "--json").json()] == ["west"]
    assert len(run("channel", "list", "--account", west, "--json").json()) == 1
    key = run("key", "create", channel, "shop", "--json").json()["id"]
    assert run("key", "revoke", key, "--json").json()["revoked_at"]
    user = run("user", "create", west, "ana@example.com", "--json").json()
    assert run("user", "role", "ana@example.com", "reader", "--json").json()["id"] == user["id"]
    assert len(run("user", "list", west, "--json").json()) == 1
    sent = run("send", channel, "5511999998888", "Hello", "--json").json()
    assert sent["status"] == "PENDING"
    assert run_apart(count(urls["west"], "messages")) == 1
    assert run_apart(count(urls["main"], "channels")) == 0


async def count(url: str, table: str) -> int:
    db = await Database.connect(url, connections=1)
    try:
        return int(await db.fetchval(f"SELECT count(*) FROM {table}"))
    finally:
        await db.close()


async def name_of(url: str) -> str | None:
    db = await Database.connect(url, connections=1)
    try:
        return await read_cell_name(db)
    finally:
        await db.close()


def test_an_unknown_cell_or_record(run: Run) -> None:
    unknown = run("account", "create", "Shop", "--cell", "north", "--json").error()
    assert unknown["message"] == "cell: must be one of: main, west, east"
    assert run("account", "show", "acc_" + "0" * 31 + "1", "--json").error()["code"] == "not_found"


def test_the_list_of_cells(run: Run, urls: dict[str, str], postgres_server: PostgresServer) -> None:
    run("account", "create", "Shop", "--cell", "west")
    cells = {one["name"]: one for one in run("cell", "list", "--json").json()}
    assert list(cells) == ["main", "west", "east"]
    assert [one["accounts"] for one in cells.values()] == [0, 1, 0]
    assert all(one["up"] and "gatepost_gateway" not in one["address"] for one in cells.values())
    run_apart(stop(postgres_server, urls["west"]))
    listed = run("cell", "list", "--json")
    assert listed.code == 1
    assert [one["up"] for one in json.loads(listed.out)] == [True, False, True]
    found = {one["check"]: one["state"] for one in json.loads(run("doctor", "--json").out)}
    assert (found["cell west"], found["cell east"]) == ("problem", "ok")


def test_the_doctor_looks_into_every_cell(run: Run, urls: dict[str, str]) -> None:
    account = run("account", "create", "Shop", "--cell", "west", "--json").json()["id"]
    run("channel", "create", account, "--kind", "qr", "--phone", "15550002222", "--json").json()
    run_apart(execute(urls["west"], "UPDATE channel_heads SET work_at = now() - interval '1 hour'"))
    found = {one["check"]: one["state"] for one in json.loads(run("doctor", "--json").out)}
    assert (found["cell west"], found["cell west: work"]) == ("ok", "problem")
    assert [state for check, state in found.items() if check.startswith("cell west: channel ch_")] == ["warning"]
    assert "channels" not in found


def test_commands_while_a_cell_is_down(run: Run, urls: dict[str, str], postgres_server: PostgresServer) -> None:
    east = run("account", "create", "Shop", "--cell", "east", "--json").json()["id"]
    run_apart(stop(postgres_server, urls["west"]))
    assert run("account", "show", east, "--json").json()["cell"] == "east"
    listed = run("account", "list", "--json")
    assert (listed.code, [one["id"] for one in json.loads(listed.out)]) == (1, [east])
    assert "west" in listed.err
    for arguments in (("account", "show", "acc_" + "0" * 31 + "1"), ("account", "create", "Shop", "--cell", "west")):
        down = run(*arguments, "--json").error()
        assert (down["code"], "The cell west cannot be used" in down["message"]) == ("database_unavailable", True)
    run_apart(stop(postgres_server, urls["main"]))
    assert run("account", "show", east, "--json").json()["cell"] == "east"
    assert "The cell main cannot be used" in run("account", "create", "Shop", "--json").error()["message"]


def test_adding_a_cell(urls: dict[str, str], empty_database_url: str, tmp_path: Path) -> None:
    given = {"main": urls["main"], "south": empty_database_url, "north": urls["west"], "away": NOWHERE}
    config = str(write_settings(tmp_path, given))

    def add(name: str) -> Any:
        return invoke("cell", "add", name, "--config", config, "--json")

    assert "gatepost cell add south" in invoke("cell", "list", "--config", config, "--json").out
    assert add("south").json()["added"] is True
    assert add("south").json()["added"] is False
    assert run_apart(name_of(empty_database_url)) == "south"
    assert "is the cell west" in add("north").error()["message"]
    assert add("away").error()["code"] == "database_unavailable"
    assert "[cells]" in add("unknown").error()["message"]


@for_each("command", ["backup", "restore"])
def test_commands_for_one_database_need_its_name(run: Run, command: str) -> None:
    assert "with --cell: main, west, east." in run(command, "x.backup", "--json").error()["message"]
    unknown = run(command, "x.backup", "--cell", "north", "--json").error()
    assert unknown["message"] == "cell: must be one of: main, west, east"


def test_a_backup_of_one_cell(run: Run, tmp_path: Path) -> None:
    made = {name: run("account", "create", name, "--cell", name, "--json").json()["id"] for name in ("west", "east")}
    file = str(tmp_path / "west.backup")
    assert run("backup", file, "--cell", "west", "--json").json()["files"] == 0
    later = run("account", "create", "Later", "--cell", "west", "--json").json()["id"]
    other = run("restore", file, "--cell", "east", "--replace", "--json").error()
    assert other["message"] == "This is a backup of the cell west, not of east. Nothing was changed."
    assert run("account", "show", made["east"], "--json").json()["cell"] == "east"
    assert run("restore", file, "--cell", "west", "--replace", "--json").code == 0
    assert run("account", "show", made["west"], "--json").json()["cell"] == "west"
    assert run("account", "show", later, "--json").error()["code"] == "not_found"


def test_the_secret_key_of_all_cells(
    run: Run, urls: dict[str, str], postgres_server: PostgresServer, tmp_path: Path
) -> None:
    for name in ("main", "west"):
        account = run("account", "create", name, "--cell", name, "--json").json()["id"]
        number = ("--phone", "15550001111", "--phone-number-id", "100", "--token", "t", "--app-secret", "s")
        assert run("channel", "create", account, "--kind", "official", *number, "--json").code == 0
    before, file = (tmp_path / "secret.key").read_bytes(), str(tmp_path / "west.backup")
    assert run("backup", file, "--cell", "west", "--json").code == 0
    run_apart(stop(postgres_server, urls["west"]))
    assert "The cell west cannot be used" in run("secret-key", "rotate", "--json").error()["message"]
    assert (tmp_path / "secret.key").read_bytes() == before
    run_apart(resume(postgres_server, urls["west"]))
    rotated = run("secret-key", "rotate", "--json").json()
    assert (rotated["encrypted"], rotated["unreadable"]) == (2, 0)
    assert (tmp_path / "secret.key").read_bytes() != before
    assert [one["up"] for one in run("cell", "list", "--json").json()] == [True] * 3
    refused = run("restore", file, "--cell", "west", "--replace", "--json").error()
    assert "another secret key than that of the gateway" in refused["message"]
    assert run("secret-key", "rotate", "--json").code == 0


def test_a_database_with_accounts_is_not_added(urls: dict[str, str], database_url: str, tmp_path: Path) -> None:
    assert invoke("account", "create", "Shop", "--database-url", database_url, "--data", str(tmp_path)).code == 0
    config = str(write_settings(tmp_path, {"main": urls["main"], "south": database_url}))
    refused = invoke("cell", "add", "south", "--config", config, "--json").error()
    assert "has accounts and no name" in refused["message"]


def test_an_account_is_moved(run: Run, urls: dict[str, str]) -> None:
    account = run("account", "create", "Shop", "--cell", "west", "--json").json()["id"]
    channel = run("channel", "create", account, "--kind", "qr", "--phone", "15550001111", "--json").json()["id"]
    run("user", "create", account, "ana@example.com", "--json").json()
    for number in range(3):
        run("send", channel, "5511999998888", f"Hello {number}", "--json").json()
    run_apart(link_device(urls["west"]))
    moved = run("cell", "move", account, "--to", "east", "--json").json()
    assert (moved["account"], moved["cell"]) == (account, "east")
    assert moved["rows"] >= 3
    assert run("account", "show", account, "--json").json()["cell"] == "east"
    assert [run_apart(count(urls[cell], "messages")) for cell in ("west", "east")] == [0, 3]
    assert [run_apart(count(urls[cell], "users")) for cell in ("west", "east")] == [0, 1]
    assert run_apart(count(urls["east"], "qr_devices.baileys_keys")) == 1
    assert run_apart(count(urls["west"], "forgotten_devices")) == 1  # housekeeping deletes its rows
    sent = run("send", channel, "5511999998888", "Hello from east", "--json").json()
    assert sent["status"] == "PENDING"
    assert "is in the cell east" in run("cell", "move", account, "--to", "east", "--json").error()["message"]
    assert run("cell", "move", account, "--to", "main", "--json").json()["cell"] == "main"
    assert run_apart(count(urls["main"], "messages")) == 4


@pytest.mark.parametrize("what", ["messages", "contacts"])
def test_an_export_is_not_cut_off_by_a_move(run: Run, urls: dict[str, str], settings_file: Path, what: str) -> None:
    """The rows in the old cell are deleted: the rest of the file would be missing, without an error."""
    account = run("account", "create", "Shop", "--cell", "west", "--json").json()["id"]
    channel = run("channel", "create", account, "--kind", "qr", "--phone", "15550001111", "--json").json()["id"]
    run("send", channel, "5511999998888", "Hello", "--json").json()
    run_apart(fill(urls["west"], channel))
    file = settings_file.parent / "all.ndjson"
    command = [sys.executable, "-m", "gatepost.cli", "export", what, channel, str(file), "--config", str(settings_file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as exporting:
        try:
            while not (draft := file.with_name("all.ndjson.partial")).exists() or not draft.stat().st_size:
                assert exporting.poll() is None, exporting.communicate()
                time.sleep(0.001)
            exporting.send_signal(signal.SIGSTOP)
            assert run("cell", "move", account, "--to", "east", "--json").json()["cell"] == "east"
            exporting.send_signal(signal.SIGCONT)
            said, _ = exporting.communicate(timeout=PATIENCE)
        finally:
            exporting.kill()
    assert (exporting.returncode, "moved to another cell" in said) == (1, True), said
    assert list(file.parent.glob("all*")) == []
    assert run("export", what, channel, str(file), "--json").json()["lines"] == 20_001


async def fill(url: str, channel: str) -> None:
    """Write many messages and contacts into a channel."""
    db = await Database.connect(url, connections=1)
    async with db.connection() as conn:
        await conn.execute(
            """INSERT INTO messages SELECT (jsonb_populate_record(m, jsonb_build_object('id', substr(m.id::text, 1, 24)
                   || lpad(to_hex(i), 12, '0')))).* FROM messages m, generate_series(1, 20000) i""",
        )
        await conn.execute(
            """INSERT INTO contacts (channel_id, id, phone, created_at, updated_at)
               SELECT $1, gen_random_uuid(), '5511' || i, now(), now() FROM generate_series(1, 20000) i""",
            channel.removeprefix("ch_"),
        )
    await db.close()


def test_a_restore_leaves_out_accounts_that_were_moved_since(
    run: Run,
    urls: dict[str, str],
    postgres_server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(account_move, "_STRAGGLERS", 0.1)
    moved, stays = [run("account", "create", name, "--cell", "west", "--json").json()["id"] for name in "AB"]
    channels = {}
    for account in (moved, stays):
        channel = run("channel", "create", account, "--kind", "qr", "--phone", "15550001111", "--json").json()["id"]
        run("send", channel, "5511999998888", "Hello", "--json").json()
        channels[account] = UUID(channel[3:])
    row = f"'{UUID(moved[4:])}', 'out', 'east', 'copying', '{{{channels[moved]}}}'"
    begin = f"INSERT INTO account_moves (account_id, direction, cell, state, channels) VALUES ({row})"
    run_apart(execute(urls["west"], begin))  # the backup is made while the account moves
    file = str(tmp_path / "west.backup")
    assert run("backup", file, "--cell", "west", "--json").code == 0
    assert run("cell", "move", moved, "--to", "east", "--json").code == 0
    restore = ("restore", file, "--cell", "west", "--replace", "--json")
    run_apart(stop(postgres_server, urls["east"]))
    assert "The cell east cannot be used" in run(*restore).error()["message"]
    run_apart(resume(postgres_server, urls["east"]))
    assert run(*restore).json()["moved"] == 1
    shown = {one["id"]: one["cell"] for one in run("account", "list", "--json").json()}
    assert shown == {moved: "east", stays: "west"}
    undo = ("cell", "move", moved, "--undo", "--json")
    assert "not being moved" in run(*undo).error()["message"]
    run_apart(execute(urls["west"], begin))  # as after a restore with other tools
    assert "has this account" in run(*undo).error()["message"]
    assert [run_apart(count(urls[cell], "messages")) for cell in ("west", "east")] == [1, 1]


def test_a_move_that_cannot_begin_changes_nothing(run: Run, urls: dict[str, str]) -> None:
    account = run("account", "create", "Shop", "--cell", "west", "--json").json()["id"]
    run("user", "create", account, "ana@example.com", "--json").json()
    other = run("account", "create", "Other", "--cell", "east", "--json").json()["id"]
    run("user", "create", other, "Ana@example.com", "--json").json()

    def refused(*arguments: str) -> str:
        return str(run("cell", "move", *arguments, "--json").error()["message"])

    assert refused(account, "--to", "north") == "to: must be one of: main, west, east"
    assert refused(account) == "to: must be one of: main, west, east"
    assert "another user Ana@example.com" in refused(account, "--to", "east")
    assert "no such account" in refused("acc_" + "0" * 31 + "1", "--to", "east")
    assert "not being moved" in refused(account, "--undo")
    assert run("account", "show", account, "--json").json()["cell"] == "west"
    assert run_apart(count(urls["west"], "account_moves")) == 0
    begun = f"'{UUID(account[4:])}', 'out', 'main', 'copying'"
    run_apart(execute(urls["west"], f"INSERT INTO account_moves (account_id, direction, cell, state) VALUES ({begun})"))
    found = {one["check"]: one for one in json.loads(run("doctor", "--json").out)}
    assert f"gatepost cell move {account} --to main" in found["cell west"]["fix"]
    assert "being moved to main" in refused(account, "--to", "east")
    assert run("cell", "move", account, "--undo", "--json").json()["cell"] == "west"
    assert run_apart(count(urls["west"], "account_moves")) == 0


async def link_device(url: str) -> None:
    """Let the only channel of a database have a linked device, as an engine leaves it."""
    await execute(url, "CREATE SCHEMA IF NOT EXISTS qr_devices")
    await execute(
        url,
        """CREATE TABLE qr_devices.baileys_keys (
               device text, kind text, id text, value bytea NOT NULL, PRIMARY KEY (device, kind, id))""",
    )
    for device in ("mine", "of another"):
        await execute(url, f"INSERT INTO qr_devices.baileys_keys VALUES ('{device}', 'session', '1', '\\x00ff')")
    await execute(
        url,
        "INSERT INTO channel_links (channel_id, device) SELECT id, 'mine' FROM channels ON CONFLICT "
        "(channel_id) DO UPDATE SET device = excluded.device",
    )


async def execute(url: str, sql: str) -> None:
    db = await Database.connect(url, connections=1)
    await db.execute(sql)
    await db.close()
