"""The keys that sign deliveries, in the formats of Standard Webhooks.

    v1    whsec_… ─────────────── shared with the receiver ────────► HMAC-SHA256
    v1a   whsk_… (private) ────► whpk_… (public, for the receiver) ► ed25519

After the prefix a secret is base64: 24 to 64 bytes after whsec_; seed and public key, 64 bytes, after whsk_.
"""

import base64
import binascii
import secrets as entropy

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

V1, V1A = "v1", "v1a"
SIGNINGS = (V1, V1A)
SHARED, PRIVATE, PUBLIC = "whsec_", "whsk_", "whpk_"
SECRET_BYTES = 32
SECRET_BYTES_MIN, SECRET_BYTES_MAX = 24, 64
SEED_BYTES = PUBLIC_BYTES = 32

Key = bytes | Ed25519PrivateKey  # signs
Check = bytes | Ed25519PublicKey  # verifies


def new_secret(signing: str = V1) -> str:
    """Return a new secret; the customer sees a v1 secret itself, and only the public key of a v1a secret."""
    if signing == V1:
        return SHARED + _show(entropy.token_bytes(SECRET_BYTES))
    seed = entropy.token_bytes(SEED_BYTES)
    return PRIVATE + _show(seed + _public_bytes(seed))


def signing_of(secret: str) -> str:
    """Return the signature scheme of a secret."""
    return V1A if secret.startswith(PRIVATE) else V1


def public_key(secret: str) -> str | None:
    """Return the public key of a v1a secret; None for a v1 secret, which is shared."""
    if signing_of(secret) == V1:
        return None
    return PUBLIC + _show(_seed_and_public(secret)[SEED_BYTES:])


def decode_secret(secret: str) -> Key:
    """Return the signing key of a secret, or raise ValueError."""
    if signing_of(secret) == V1A:
        return Ed25519PrivateKey.from_private_bytes(_seed_and_public(secret)[:SEED_BYTES])
    key = _decode(secret.removeprefix(SHARED))
    if not SECRET_BYTES_MIN <= len(key) <= SECRET_BYTES_MAX:
        raise ValueError(f"The signing secret must have {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes.")
    return key


def decode_check(written: str) -> Check:
    """Return the verification key of a secret or of a public key, or raise ValueError."""
    if written.startswith(PUBLIC):
        raw = _decode(written.removeprefix(PUBLIC))
        if len(raw) != PUBLIC_BYTES:
            raise ValueError(f"The public key of a signing secret must have {PUBLIC_BYTES} bytes.")
        return Ed25519PublicKey.from_public_bytes(raw)
    key = decode_secret(written)
    return key if isinstance(key, bytes) else key.public_key()


def _seed_and_public(secret: str) -> bytes:
    raw = _decode(secret.removeprefix(PRIVATE))
    if len(raw) != SEED_BYTES + PUBLIC_BYTES or raw[SEED_BYTES:] != _public_bytes(raw[:SEED_BYTES]):
        raise ValueError("The signing secret must be a seed followed by its public key.")
    return raw


def _public_bytes(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        # Without the cause: it could show the secret in a log.
        raise ValueError("The signing secret is not base64.") from None


def _show(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
