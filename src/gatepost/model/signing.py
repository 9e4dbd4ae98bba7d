"""The keys that sign deliveries, as Standard Webhooks writes them.

    v1    whsec_… ─────────────── both sides know it ──────────────► HMAC-SHA256
    v1a   whsk_… (stays here) ──► whpk_… (what a receiver gets) ───► ed25519

A written secret is base64 after its prefix: 24 to 64 bytes of a whsec_; seed and public key, 64 bytes, of a whsk_.
"""

import base64
import binascii
import secrets as entropy

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

V1, V1A = "v1", "v1a"
SIGNINGS = (V1, V1A)
SHARED, PRIVATE, PUBLIC = "whsec_", "whsk_", "whpk_"
SECRET_BYTES = 32
SHORTEST, LONGEST = 24, 64
SEED_BYTES = PUBLIC_BYTES = 32

Key = bytes | Ed25519PrivateKey  # signs
Check = bytes | Ed25519PublicKey  # verifies


def new_secret(signing: str = V1) -> str:
    """Return a fresh secret; of a v1 one the customer sees all, of a v1a one only the public key."""
    if signing == V1:
        return SHARED + _show(entropy.token_bytes(SECRET_BYTES))
    seed = entropy.token_bytes(SEED_BYTES)
    return PRIVATE + _show(seed + _public_bytes(seed))


def signing_of(secret: str) -> str:
    """Return which kind of signature a written secret makes."""
    return V1A if secret.startswith(PRIVATE) else V1


def public_key(secret: str) -> str | None:
    """Return what a receiver needs of a v1a secret; None of a v1 one, which both sides share."""
    if signing_of(secret) == V1:
        return None
    return PUBLIC + _show(_seed_and_public(secret)[SEED_BYTES:])


def decode_secret(secret: str) -> Key:
    """Return the key of a written secret, or raise ValueError when it is not one."""
    if signing_of(secret) == V1A:
        return Ed25519PrivateKey.from_private_bytes(_seed_and_public(secret)[:SEED_BYTES])
    key = _decode(secret.removeprefix(SHARED))
    if not SHORTEST <= len(key) <= LONGEST:
        raise ValueError(f"The signing secret must hold {SHORTEST} to {LONGEST} bytes.")
    return key


def decode_check(written: str) -> Check:
    """Return what verifies signatures: of a secret, or of a public key; raise ValueError when it is neither."""
    if written.startswith(PUBLIC):
        raw = _decode(written.removeprefix(PUBLIC))
        if len(raw) != PUBLIC_BYTES:
            raise ValueError(f"A public key for a signing secret must hold {PUBLIC_BYTES} bytes.")
        return Ed25519PublicKey.from_public_bytes(raw)
    key = decode_secret(written)
    return key if isinstance(key, bytes) else key.public_key()


def _seed_and_public(secret: str) -> bytes:
    raw = _decode(secret.removeprefix(PRIVATE))
    if len(raw) != SEED_BYTES + PUBLIC_BYTES or raw[SEED_BYTES:] != _public_bytes(raw[:SEED_BYTES]):
        raise ValueError("The signing secret does not hold a seed and its public key.")
    return raw


def _public_bytes(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        # The cause is left out: it could quote the secret in a log.
        raise ValueError("The signing secret is not base64.") from None


def _show(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
