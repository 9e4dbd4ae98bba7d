"""`gatepost doctor`: every trouble is named with its cure, and nothing is changed by looking."""

import asyncio
import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from gatepost_sandbox import SandboxSettings
from tests.cli.conftest import Ran, Run, invoke
from tests.sandbox.conftest import running


def found(ran: Ran) -> dict[str, Any]:
    """The findings by what was checked."""
    return {one["check"]: one for one in json.loads(ran.out)}


async def break_things(database_url: str) -> None:
    conn = await asyncpg.connect(database_url)
    await conn.execute("UPDATE endpoints SET state = 'paused', reason = 'It failed.'")
    await conn.execute("UPDATE channel_heads SET work_at = now() - interval '5 minutes'")
    await conn.execute("INSERT INTO schema_migrations (version, name) VALUES (9999, 'of_a_newer_version')")
    await conn.close()


def test_a_gateway_that_does_not_run_is_a_problem(run: Run, channel: str, tmp_path: Path) -> None:
    ran = run("doctor", "--json")
    assert ran.code == 1
    checks = found(ran)
    assert (checks["database"]["state"], checks["data folder"]["state"]) == ("ok", "ok")
    assert checks["gateway"]["state"] == "problem"
    assert checks["gateway"]["fix"] == f"gatepost serve --data {tmp_path} --database-url URL"
    assert "urlopen" not in checks["gateway"]["found"]
    assert checks[f"channel {channel}"]["state"] == "warning"
    assert checks[f"channel {channel}"]["fix"].startswith(f"gatepost channel link {channel} --data ")


def test_a_public_address_that_does_not_respond_may_be_a_problem_of_the_proxy(
    run: Run, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_SERVER__PUBLIC_URL", "http://127.0.0.1:1")
    assert "the proxy" in found(run("doctor", "--json"))["gateway"]["fix"]


def test_every_problem_is_named(run: Run, account: str, channel: str, database_url: str, tmp_path: Path) -> None:
    run("account", "trial", account, "--end")
    run("webhook", "create", channel, "https://shop.example.com/hook")
    asyncio.run(break_things(database_url))
    (tmp_path / "quickstart.json").write_text("{}")
    (tmp_path / "quickstart.json").chmod(0o644)
    (tmp_path / "media").mkdir(exist_ok=True)
    (tmp_path / "media" / "database.id").write_text("of another")
    checks = found(run("doctor", "--json"))
    assert checks[f"account {account}"]["fix"].startswith(f'gatepost account addon add {account} "API Access" --data ')
    (hook,) = [one for name, one in checks.items() if name.startswith("webhook we_")]
    assert (hook["state"], hook["found"]) == ("warning", "It is paused. It failed.")
    assert (checks["work"]["state"], channel in checks["work"]["found"]) == ("problem", True)
    assert checks["quickstart.json"]["fix"].startswith("chmod 600")
    assert "delete the object database.id" in checks["owner of files"]["fix"]
    assert (checks["database"]["state"], "to 9999" in checks["database"]["found"]) == ("warning", True)


def test_a_trial_ends_by_the_clock_of_the_gateway(run: Run, account: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = datetime.now(UTC) + timedelta(days=60)
    with running(SandboxSettings(start=start.timestamp())) as port:
        assert f"account {account}" not in found(run("doctor", "--json"))
        for name, scheme in (("CLOCK__FOLLOW", "http"), ("CLOUD__BASE_URL", "http"), ("QR__LINK_URL", "ws")):
            monkeypatch.setenv(f"GATEPOST_{name}", f"{scheme}://127.0.0.1:{port}/")
        assert "Its trial has ended" in found(run("doctor", "--json"))[f"account {account}"]["found"]


def test_a_missing_key_is_a_problem_and_none_is_made(run: Run, account: str, tmp_path: Path) -> None:
    number = ("--phone-number-id", "1", "--token", "t", "--app-secret", "s")
    made = run("channel", "create", account, "--kind", "official", "--phone", "15550001112", *number, "--json")
    assert made.code == 0, made.err
    assert "secret key" not in found(run("doctor", "--json"))
    (tmp_path / "secret.key").unlink()
    checks = found(run("doctor", "--json"))
    assert checks["secret key"]["state"] == "problem"
    assert not (tmp_path / "secret.key").exists()


def test_a_folder_without_a_gateway(tmp_path: Path) -> None:
    ran = invoke("doctor", "--data", str(tmp_path / "nothing"), "--json")
    assert ran.code == 1
    assert found(ran)["data folder"]["state"] == "problem"
    assert found(ran)["database"]["found"] == "There is no embedded database yet."
    assert found(ran)["database"]["fix"] == f"Start the gateway: gatepost serve --data {tmp_path / 'nothing'}"
    assert not (tmp_path / "nothing").exists()


def test_the_disk_of_a_database_elsewhere_is_checked_too(data: Path, tmp_path: Path) -> None:
    data.mkdir()
    (data / "PG_VERSION").write_text("18\n")
    (tmp_path / "postgres.path").write_text(f"{data}\n")
    disks = [
        one["found"]
        for one in json.loads(invoke("doctor", "--json", "--data", str(tmp_path)).out)
        if one["check"] == "disk"
    ]
    folders = [tmp_path] if data.stat().st_dev == tmp_path.stat().st_dev else [tmp_path, data]
    assert [found.partition(" free at ")[2] for found in disks] == [f"{folder}." for folder in folders]


def test_a_gateway_that_stores_everything_elsewhere_needs_no_data_folder(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_MEDIA__URL", f"file://{tmp_path}")
    given = ("--database-url", database_url, "--data", str(tmp_path / "nothing"), "--json")
    assert found(invoke("doctor", *given))["data folder"]["state"] == "problem"  # it has the key
    monkeypatch.setenv("GATEPOST_SECURITY__SECRET_KEY", b64encode(bytes(32)).decode())
    assert found(invoke("doctor", *given))["data folder"]["state"] == "ok"


def test_people_get_a_table(run: Run) -> None:
    ran = run("doctor")
    assert "problem" in ran.out
    assert "to fix." in ran.out


def test_what_an_operator_keeps_is_checked(run: Run, channel: str, database_url: str, tmp_path: Path) -> None:
    checks = found(run("doctor", "--json"))
    assert (checks["backup"]["state"], checks["files"]["state"]) == ("warning", "ok")
    assert "partitions" not in checks  # no gateway has run yet
    asyncio.run(make_partitions_until(database_url, datetime.now(UTC) - timedelta(days=50)))
    (tmp_path / "secret.key").write_text("A" * 43 + "=\n" + "B" * 42 + "A=\n")
    assert run("backup", str(tmp_path / "backup.tar")).code == 0
    checks = found(run("doctor", "--json"))
    assert (checks["partitions"]["state"], checks["retention"]["state"]) == ("problem", "warning")
    assert "events" in checks["retention"]["found"]
    assert (checks["backup"]["state"], str(tmp_path / "backup.tar") in checks["backup"]["found"]) == ("ok", True)
    assert checks["secret key"]["fix"].startswith("gatepost secret-key rotate --data ")


async def make_partitions_until(url: str, at: datetime) -> None:
    db = await Database.connect(url, connections=1)
    await make_partitions(db, at, 7)
    await db.close()
