"""The secret key inside a backup, encrypted with a passphrase: scrypt, then AES-256-GCM."""

import hashlib
import os

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatepost.model.errors import Conflict, invalid_field

SHORTEST = 12
_N, _R, _P = 1 << 16, 8, 1
_CONTEXT = b"gatepost secret key in a backup"


class SealedKey(msgspec.Struct, frozen=True):
    """An encrypted key, and how the passphrase becomes the key that decrypts it."""

    n: int
    r: int
    p: int
    salt: bytes
    nonce: bytes
    sealed: bytes


def seal_key(key: bytes, passphrase: str) -> bytes:
    """Encrypt a secret key."""
    if len(passphrase) < SHORTEST:
        raise invalid_field("passphrase", f"must have at least {SHORTEST} characters")
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_derive(passphrase, salt)).encrypt(nonce, key, _CONTEXT)
    return msgspec.json.encode(SealedKey(_N, _R, _P, salt, nonce, sealed))


def open_key(content: bytes, passphrase: str) -> bytes:
    """Decrypt a secret key, or raise Conflict."""
    kept = msgspec.json.decode(content, type=SealedKey)
    if (kept.n, kept.r, kept.p) != (_N, _R, _P):
        raise Conflict("The secret key in this backup was encrypted by a newer Gatepost. Upgrade this one.")
    try:
        return AESGCM(_derive(passphrase, kept.salt)).decrypt(kept.nonce, kept.sealed, _CONTEXT)
    except InvalidTag:
        raise Conflict("The passphrase is not the one that the backup's secret key was encrypted with.") from None


def _derive(passphrase: str, salt: bytes) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt, n=_N, r=_R, p=_P, maxmem=256 << 20, dklen=32)
