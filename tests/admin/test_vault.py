"""The vault decrypts what it encrypted, in the same context, and nothing else."""

import base64
import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from gatepost.admin.vault import KEY_FILE, Vault, VaultError, load_or_make_key

KEY = bytes(range(32))


def test_what_was_sealed_opens() -> None:
    vault = Vault(KEY)
    sealed = vault.seal(b"token", b"channel:1")
    assert b"token" not in sealed
    assert vault.open(sealed, b"channel:1") == b"token"


def test_the_same_secret_never_looks_the_same() -> None:
    vault = Vault(KEY)
    assert vault.seal(b"token", b"x") != vault.seal(b"token", b"x")


@pytest.mark.parametrize(
    ("key", "context"), [(bytes(32), b"channel:1"), (KEY, b"channel:2"), (KEY, b"")], ids=["key", "place", "no place"]
)
def test_another_key_or_place_does_not_open(key: bytes, context: bytes) -> None:
    sealed = Vault(KEY).seal(b"token", b"channel:1")
    with pytest.raises(VaultError, match="another key"):
        Vault(key).open(sealed, context)


def test_every_changed_byte_is_noticed() -> None:
    vault = Vault(KEY)
    sealed = vault.seal(b"token", b"x")
    for i in range(len(sealed)):
        changed = sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1 :]
        with pytest.raises(VaultError):
            vault.open(changed, b"x")


@pytest.mark.parametrize("length", [0, 1, 12, 13, 20])
def test_a_cut_off_secret_is_noticed(length: int) -> None:
    vault = Vault(KEY)
    with pytest.raises(VaultError):
        vault.open(vault.seal(b"token", b"x")[:length], b"x")


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(VaultError, match="32 bytes"):
        Vault(bytes(31))


def test_the_setting_wins_over_the_file(tmp_path: Path) -> None:
    load_or_make_key("", tmp_path)
    assert load_or_make_key(base64.b64encode(KEY).decode(), tmp_path) == KEY


def test_the_key_is_made_once_and_for_the_owner_only(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    key = load_or_make_key("", data)
    assert len(key) == 32
    assert load_or_make_key("", data) == key
    assert stat.S_IMODE((data / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in data.iterdir()] == [KEY_FILE]


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", Mock(side_effect=OSError(errno.ENOTSUP, "Operation not supported")))
    key = load_or_make_key("", tmp_path)
    assert load_or_make_key("", tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_one_of_many_writers_wins(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: load_or_make_key("", tmp_path), range(16)))
    assert len(set(made)) == 1


@pytest.mark.parametrize("text", ["!!!", base64.b64encode(bytes(16)).decode(), base64.b64encode(bytes(33)).decode()])
def test_a_bad_key_is_refused_without_being_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_text(text)
    for setting in (text, ""):
        with pytest.raises(VaultError, match="32 bytes") as caught:
            load_or_make_key(setting, tmp_path)
        assert text not in caught.value.message


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).mkdir()
    with pytest.raises(VaultError, match=r"secret\.key"):
        load_or_make_key("", tmp_path)
