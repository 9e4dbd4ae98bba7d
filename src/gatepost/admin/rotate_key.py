"""Changes the secret key: every stored secret is encrypted again with the first of the keys at hand.

secret.key: old ─► new, old ─► all values again, page by page ─► none is left with the old key ─► new
                    └ killed here: a gateway starts with both keys, and the next rotation continues

With `security.secret_key` the operator writes both keys into the setting, and removes the old one at the end.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatepost.admin.headers import open_headers, seal_headers
from gatepost.admin.unlock import CHECK_CONTEXT
from gatepost.admin.vault import (
    KEY_BYTES,
    KEY_FILE,
    Vault,
    VaultError,
    channel_context,
    endpoint_context,
    read_key,
    write_key,
)
from gatepost.model.errors import Conflict
from gatepost.store import sealed_values as values
from gatepost.store.pool import Database
from gatepost.store.sealed_values import SealedColumn, SealedRow, list_sealed, replace_sealed

PREVIOUS = f"{KEY_FILE}.previous"
_NONCE = 12
_PAGE = 100
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode
# In this order: the check value is last, so that the old key is the database's until everything else is done.
_CONTEXTS: dict[SealedColumn, Callable[..., bytes]] = {
    values.CHANNELS: channel_context,
    values.ENDPOINTS: lambda _channel, id_: endpoint_context(id_),
    values.USERS: lambda id_: b"totp:" + id_.hex.encode(),
    values.ANSWERS: lambda owner, route, key: f"answer:{owner.hex}:{route}:{key}".encode(),
    values.DEVICES: lambda *place: "\0".join(place).encode(),
    values.KEY_CHECK: lambda _id: CHECK_CONTEXT,
}


class Rotation(msgspec.Struct):
    """How many values were encrypted again, and how many no key at hand decrypts."""

    encrypted: int = 0
    unreadable: int = 0


def begin_rotation(folder: Path, keys: bytes) -> Vault:
    """Return the vault with the new key and the old one. An interrupted rotation is continued with its keys."""
    if len(keys) == KEY_BYTES:
        keys = os.urandom(KEY_BYTES) + keys
        write_key(folder / KEY_FILE, keys)
    return Vault(keys)


def finish_rotation(folder: Path, vault: Vault) -> Path:
    """Remove the old keys. They are kept in another file, for backups that were made with them."""
    before = read_key("", folder, PREVIOUS) or b""
    write_key(folder / PREVIOUS, b"".join(vault.keys[1:]) + before)
    write_key(folder / KEY_FILE, vault.keys[0])
    return folder / PREVIOUS


async def reencrypt(db: Database, vault: Vault, device_store: str, progress: Callable[[str], None]) -> Rotation:
    """Encrypt all values with the first key, and check that none is left that only an older key decrypts."""
    done = await _pass(db, vault, device_store, progress)
    again = await _pass(db, vault, device_store, progress)
    if again.encrypted:
        left = await _pass(db, vault, device_store, progress)
        if left.encrypted:
            raise Conflict(
                "A gateway still encrypts with an older key. Start all gateways with the new key as the first one, and "
                "run this command again."
            )
    return Rotation(done.encrypted + again.encrypted, again.unreadable)


async def _pass(db: Database, vault: Vault, device_store: str, progress: Callable[[str], None]) -> Rotation:
    done = Rotation()
    for column, context in _CONTEXTS.items():
        if column is values.KEY_CHECK:
            await _pass_headers(db, vault, done)
        progress(column.table)
        cipher = _DeviceCipher(vault) if column is values.DEVICES else vault
        after = None
        while rows := await list_sealed(db, column, after, device_store):
            changes = [change for row in rows if (change := _changed(cipher, row, context(*row.key), done))]
            if changes:
                await replace_sealed(db, column, changes, device_store)
            after = rows[-1].key
    return done


def _changed(
    cipher: "Vault | _DeviceCipher", row: SealedRow, context: bytes, done: Rotation
) -> tuple[SealedRow, bytes] | None:
    try:
        cipher.newest.open(row.value, context)
        return None
    except VaultError:
        pass
    try:
        secret = cipher.open(row.value, context)
    except VaultError:
        done.unreadable += 1
        return None
    done.encrypted += 1
    return row, cipher.seal(secret, context)


async def _pass_headers(db: Database, vault: Vault, done: Rotation) -> None:
    after = None
    while found := await values.list_with_headers(db, after, _PAGE):
        for endpoint_id, text in found:
            headers = _decode_headers(text)
            try:
                open_headers(vault.newest, endpoint_id, headers)
                continue
            except VaultError:
                pass
            try:
                whole = seal_headers(vault, endpoint_id, open_headers(vault, endpoint_id, headers))
            except VaultError:
                done.unreadable += 1
                continue
            done.encrypted += await values.replace_headers(db, endpoint_id, text, whole)
        after = found[-1][0]


class _DeviceCipher:
    """Linked devices of the engine baileys, as the process that links phones encrypts them."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        keys = vault.derived(b"linked devices")
        self._ciphers = [AESGCM(keys[i : i + KEY_BYTES]) for i in range(0, len(keys), KEY_BYTES)]

    @property
    def newest(self) -> "_DeviceCipher":
        return _DeviceCipher(self._vault.newest)

    def seal(self, secret: bytes, context: bytes) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._ciphers[0].encrypt(nonce, secret, context)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], context)
            except InvalidTag:
                continue
        raise VaultError("The keys of a linked device cannot be decrypted.")
