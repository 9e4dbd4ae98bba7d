"""The secret key on the command line: a missing one is no reason to make another."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.admin.headers import open_headers
from gatepost.admin.rotate_key import begin_rotation
from gatepost.admin.unlock import opens
from gatepost.admin.vault import KEY_FILE, Vault, load_or_make_key
from gatepost.networks.qr.phone.by_baileys.devices import DeviceStore
from gatepost.store.checks import list_secrets
from gatepost.store.pool import Database
from gatepost.store.sealed_values import list_with_headers
from tests.cli.conftest import Run
from tests.patience import PATIENCE


def create_official(run: Run, account: str, phone: str = "15550007777") -> str:
    secrets = ["--phone-number-id", "100", "--token", "t", "--app-secret", "s"]
    about = ["--kind", "official", "--phone", phone, *secrets]
    return str(run("channel", "create", account, *about, "--json").json()["id"])


def test_commands_that_need_the_key_refuse_without_it(run: Run, account: str, tmp_path: Path) -> None:
    channel = create_official(run, account)
    (tmp_path / KEY_FILE).unlink()
    refused = run("webhook", "create", channel, "https://shop.example.com/hook")
    assert (refused.code, refused.out) == (1, "")
    assert f"The file {tmp_path / KEY_FILE} is missing" in refused.err
    assert not (tmp_path / KEY_FILE).exists()
    assert run("channel", "list", "--json").json()[0]["id"] == channel


def test_the_gateway_refuses_to_start_and_names_the_file(
    run: Run, account: str, database_url: str, tmp_path: Path
) -> None:
    create_official(run, account)
    (tmp_path / KEY_FILE).unlink()
    places = ["--database-url", database_url, "--data", str(tmp_path), "--port", "0"]
    ended = subprocess.run(
        [sys.executable, "-m", "gatepost.cli", "serve", *places],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert ended.returncode == 1
    assert f"Error: The file {tmp_path / KEY_FILE} is missing" in ended.stderr
    assert not (tmp_path / KEY_FILE).exists()


def test_a_lost_key_is_replaced_on_request_and_what_it_encrypted_is_listed(
    run: Run, account: str, tmp_path: Path
) -> None:
    channel = create_official(run, account)
    hooked(run, channel)
    (tmp_path / KEY_FILE).unlink()
    seen = run("secret-key", "replace", "--yes", "--json").json()
    (hook,) = seen["endpoints"]
    assert seen == {"replaced": True, "channels": [channel], "endpoints": [hook]}
    renew = "channel", "token", channel, "--no-test", "--token", "new"
    assert "is needed too: the stored one cannot be decrypted" in run(*renew).err
    assert run(*renew, "--app-secret", "s").code == 0
    assert run(*renew).code == 0
    new = run("webhook", "rotate-secret", hook, "--json").json()
    assert (new["signing"], len(new["secrets"])) == ("v1", 1)
    assert run("webhook", "show", hook, "--secret", "--json").json()["secret"] == new["secret"]
    assert run("webhook", "change", hook, "--header", "X-Api-Key: 8").code == 0
    assert run("secret-key", "rotate", "--json").json()["unreadable"] == 0


def hooked(run: Run, channel: str) -> None:
    """Create a webhook with a secret and an encrypted header."""
    made = run("webhook", "create", channel, "https://shop.example.com/hook", "--header", "X-Api-Key: 7")
    assert made.code == 0, made.err


def test_the_key_is_rotated_and_everything_opens_with_the_new_one(
    run: Run, account: str, database_url: str, tmp_path: Path
) -> None:
    hooked(run, create_official(run, account))
    asyncio.run(link_device(database_url, tmp_path))
    old = (tmp_path / KEY_FILE).read_text()
    done = run("secret-key", "rotate", "--json").json()
    assert (done["encrypted"], done["unreadable"]) == (4, 0)  # channel, endpoint, its header, device
    new = (tmp_path / KEY_FILE).read_text()
    assert (new != old, len(new.split())) == (True, 1)
    assert Path(done["previous"]).read_text() == old
    vault = Vault(load_or_make_key("", tmp_path))
    asyncio.run(check_all(database_url, vault))
    (tmp_path / KEY_FILE).write_text(old)
    assert "is not the key" in run("secret-key", "rotate").err


async def link_device(url: str, folder: Path) -> None:
    store = DeviceStore(url, Vault(load_or_make_key("", folder)).derived(b"linked devices"))
    await store.keep("device", "credentials")
    await store.close()


async def check_all(url: str, vault: Vault) -> None:
    store, db = DeviceStore(url, vault.derived(b"linked devices")), await Database.connect(url, connections=2)
    assert await store.credentials("device") == "credentials"
    await store.close()
    assert all(opens(vault, secret) for secret in await list_secrets(db))
    ((endpoint, headers),) = await list_with_headers(db, None, 10)
    assert open_headers(vault, endpoint, json.loads(headers)) == {"X-Api-Key": "7"}
    await db.close()


def test_an_interrupted_rotation_is_continued_with_its_keys(
    run: Run, account: str, database_url: str, tmp_path: Path
) -> None:
    channel = create_official(run, account)
    old = load_or_make_key("", tmp_path)
    vault = begin_rotation(tmp_path, old)  # killed here
    hooked(run, channel)  # both keys are valid: the secret of the channel has the old one, this one has the new
    done = run("secret-key", "rotate", "--json").json()
    assert done["encrypted"] == 1  # the channel
    assert load_or_make_key("", tmp_path) == vault.keys[0]


def test_two_keys_in_the_setting_are_rotated_while_gateways_run(
    run: Run, account: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_official(run, account)
    old = (tmp_path / KEY_FILE).read_text().strip()
    (tmp_path / KEY_FILE).unlink()
    monkeypatch.setenv("GATEPOST_SECURITY__SECRET_KEY", old)
    assert "has one key" in run("secret-key", "rotate").err
    monkeypatch.setenv("GATEPOST_SECURITY__SECRET_KEY", f"{'A' * 43}=,{old}")
    done = run("secret-key", "rotate", "--json").json()
    assert (done["encrypted"], done["previous"]) == (1, None)
    monkeypatch.setenv("GATEPOST_SECURITY__SECRET_KEY", f"{'A' * 43}=")
    assert run("channel", "list").code == 0
    create_official(run, account, "15550008888")
