"""A database opens only with its own key, and no new key is created while it has secrets."""

import base64
from pathlib import Path
from typing import Any

import pytest

from gatepost.admin import accounts, channels, endpoints
from gatepost.admin.unlock import replace_key, unlock
from gatepost.admin.vault import KEY_FILE, Vault, VaultError, load_or_make_key
from gatepost.store.pool import Database
from tests.admin.conftest import NOW, PLANS

OTHER = base64.b64encode(b"o" * 32).decode()


async def store_secret(db: Database, vault: Vault, kind: str) -> None:
    account = await accounts.create_account(db, "Shop", "starter", plans=PLANS, trial_days=1, now=NOW)
    if kind == "channel":
        number = channels.CloudNumber("100")
        about: dict[str, Any] = {"phone": "15550001111", "name": "Shop", "token": "t", "app_secret": "s"}
        await channels.create_official(db, vault, account.id, number=number, **about, limits={}, now=NOW)
    else:
        made = await channels.create_qr(db, account.id, phone="15550002222", name="Shop", limits={}, now=NOW)
        await endpoints.create_endpoint(db, vault, made.id, "https://shop.example.com/hook", now=NOW)


async def test_a_new_database_accepts_a_new_key_and_then_only_that_one(own_db: Database, tmp_path: Path) -> None:
    first = await unlock(own_db, "", tmp_path)
    again = await unlock(own_db, "", tmp_path)
    assert again.open(first.seal(b"x", b"y"), b"y") == b"x"
    with pytest.raises(VaultError, match=r"security\.secret_key is not the key that the database's secrets"):
        await unlock(own_db, OTHER, tmp_path)


@pytest.mark.parametrize("kind", ["channel", "endpoint"])
async def test_a_lost_file_is_not_replaced(own_db: Database, tmp_path: Path, kind: str) -> None:
    """Of a database that an older version filled: there is no check value yet."""
    await store_secret(own_db, Vault(load_or_make_key("", tmp_path)), kind)
    kept = (tmp_path / KEY_FILE).read_bytes()
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(VaultError, match=rf"The file {tmp_path / KEY_FILE} is missing.*Restore the file"):
        await unlock(own_db, "", tmp_path)
    assert not (tmp_path / KEY_FILE).exists()
    (tmp_path / KEY_FILE).write_bytes(kept)
    await unlock(own_db, "", tmp_path)
    await unlock(own_db, "", tmp_path)


@pytest.mark.parametrize("kind", ["channel", "endpoint"])
async def test_another_nodes_key_is_refused(own_db: Database, tmp_path: Path, kind: str) -> None:
    await store_secret(own_db, Vault(load_or_make_key("", tmp_path)), kind)
    elsewhere = tmp_path / "second"
    load_or_make_key("", elsewhere)
    with pytest.raises(VaultError, match=rf"The file {elsewhere / KEY_FILE} is not the key .*every node"):
        await unlock(own_db, "", elsewhere)
    with pytest.raises(VaultError, match=r"The setting security\.secret_key is not the key"):
        await unlock(own_db, OTHER, elsewhere)


async def test_the_check_value_alone_is_reason_enough(own_db: Database, tmp_path: Path) -> None:
    """Linked devices are encrypted as well, and are not looked at."""
    await unlock(own_db, "", tmp_path)
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(VaultError, match="is missing"):
        await unlock(own_db, "", tmp_path)


async def test_a_key_that_is_lost_for_good_can_be_replaced(own_db: Database, tmp_path: Path) -> None:
    await store_secret(own_db, await unlock(own_db, "", tmp_path), "channel")
    (tmp_path / KEY_FILE).unlink()
    await replace_key(own_db, "", tmp_path)
    await unlock(own_db, "", tmp_path)
