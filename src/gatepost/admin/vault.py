"""The vault: secrets that the gateway has to read again, encrypted at rest.

    sealed = version (1 byte) | nonce (12 bytes) | AES-256-GCM ciphertext and tag

Each secret is bound to its row by a context ("channel:<id>"), so that a copy in another row cannot be decrypted.

While the key is being changed there are several (`rotate_key.py`), one after the other: the first encrypts, and each
of them decrypts.
"""

import base64
import binascii
import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gatepost.model.errors import GatepostError
from gatepost.store.embedded.data_folder import give_to_owner, make_data_folder, put_in_place

KEY_BYTES = 32
KEY_FILE = "secret.key"
RESTORED_KEY = f"{KEY_FILE}.restored"  # the key of a restored database, until it is in its place
_VERSION = b"\x01"
_NONCE_BYTES = 12


class VaultError(GatepostError):
    """The key is invalid, or is not the one that a secret was encrypted with."""


class Vault:
    """Encrypts secrets with the first of its keys, and decrypts them with any."""

    def __init__(self, keys: bytes) -> None:
        if not keys or len(keys) % KEY_BYTES:
            raise VaultError(f"The secret key must have {KEY_BYTES} bytes, but has {len(keys)}.")
        self.keys = tuple(keys[i : i + KEY_BYTES] for i in range(0, len(keys), KEY_BYTES))
        self._ciphers = [AESGCM(key) for key in self.keys]

    @property
    def newest(self) -> "Vault":
        """The vault with the first key only."""
        return Vault(self.keys[0])

    def seal(self, secret: bytes, context: bytes) -> bytes:
        """Encrypt a secret for a context."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, secret, context)

    def derived(self, purpose: bytes) -> bytes:
        """Return other keys, one of each, for a purpose that must not know these."""
        return b"".join(_derive(key, b"gatepost " + purpose) for key in self.keys)

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Decrypt a secret of `seal`, or raise VaultError."""
        version, nonce, text = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        if version == _VERSION and len(nonce) == _NONCE_BYTES:
            for cipher in self._ciphers:
                with contextlib.suppress(InvalidTag):
                    return cipher.decrypt(nonce, text, context)
        raise VaultError(
            "A stored secret cannot be decrypted: it was encrypted with another key. Start with the key it was "
            f"made with (security.secret_key, or {KEY_FILE} in the data folder), or set the secret again."
        )


def _derive(key: bytes, purpose: bytes) -> bytes:
    return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=purpose).derive(key)


def channel_context(channel_id: UUID) -> bytes:
    """Return the context of a channel's secrets."""
    return b"channel:" + channel_id.hex.encode()


def endpoint_context(endpoint_id: UUID) -> bytes:
    """Return the context of an endpoint's secrets."""
    return b"endpoint:" + endpoint_id.hex.encode()


def load_or_make_key(setting: str, data_folder: Path) -> bytes:
    """Return the keys of the setting, or of the data folder, where one is created if there is none."""
    if setting:
        return _decode(setting, "The setting security.secret_key")
    path = data_folder / KEY_FILE
    try:
        if not path.exists():
            _make(path)
        return _decode(path.read_text("ascii"), f"The file {path}")
    except (OSError, UnicodeDecodeError) as error:
        raise VaultError(f"The key that encrypts secrets cannot be read from {path}: {error}") from None


def read_key(setting: str, data_folder: Path, name: str = KEY_FILE) -> bytes | None:
    """Return the keys of the setting, or of a file in the data folder; None if there are none."""
    if setting or (data_folder / name).exists():
        return _decode(setting or (data_folder / name).read_text("ascii"), f"The key in {name}")
    return None


def write_key(path: Path, keys: bytes) -> None:
    """Write keys into a file that only its owner can read: the old content or the new one, never a part."""
    with private_file(path, _lines(keys)) as draft:
        draft.replace(path)


def _lines(keys: bytes) -> bytes:
    return b"".join(base64.b64encode(key) + b"\n" for key in Vault(keys).keys)


def put_restored_key(data_folder: Path) -> None:
    """Put the key of a restored database in its place. The key before it is kept beside it."""
    path, restored = data_folder / KEY_FILE, data_folder / RESTORED_KEY
    if path.exists():
        with private_file(path, path.read_bytes()) as draft:
            draft.replace(data_folder / f"{KEY_FILE}.before-restore")
    restored.replace(path)


def _decode(text: str, where: str) -> bytes:
    """Return the keys of a text, which are separated by spaces, lines or commas."""
    return b"".join(_decode_one(one, where) for one in text.replace(",", " ").split() or [""])


def _decode_one(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        # Without the cause: it could show the key.
        raise VaultError(
            f"{where} is not base64. It must be {KEY_BYTES} bytes, for example from: openssl rand -base64 32"
        ) from None
    if len(key) != KEY_BYTES:
        raise VaultError(f"{where} must be {KEY_BYTES} bytes in base64, but is {len(key)}.")
    return key


def _make(path: Path) -> None:
    """Write a new key, unless another process has written one: the first of two writers wins."""
    with private_file(path, _lines(os.urandom(KEY_BYTES))) as draft, contextlib.suppress(FileExistsError):
        put_in_place(draft, path)


@contextlib.contextmanager
def private_file(path: Path, content: bytes) -> Iterator[Path]:
    """Write a temporary file beside `path` that only its owner can read, to be linked or renamed to it.

    So readers never see a partial file.
    """
    make_data_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            give_to_owner(file.fileno(), path.parent)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
