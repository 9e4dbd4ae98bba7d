"""Standard Webhooks signatures: HMAC-SHA256 over `id.timestamp.body`, one `v1,…` for each live secret."""

import base64
import binascii
import hmac
import secrets as entropy
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32
SHORTEST, LONGEST = 24, 64


def new_secret() -> str:
    """Return a fresh signing secret, as the customer sees it."""
    return PREFIX + base64.b64encode(entropy.token_bytes(SECRET_BYTES)).decode()


def decode_secret(secret: str) -> bytes:
    """Return the key bytes of a written secret, or raise ValueError when it is not one."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        # The cause is left out: it could quote the secret in a log.
        raise ValueError("The signing secret is not base64.") from None
    if not SHORTEST <= len(key) <= LONGEST:
        raise ValueError(f"The signing secret must hold {SHORTEST} to {LONGEST} bytes.")
    return key


def signature_headers(secrets: Sequence[bytes | str], event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers that let a receiver verify `body`; decode the secrets once and pass the bytes."""
    if not secrets:
        raise ValueError("A webhook is never sent unsigned: at least one secret is needed.")
    text = b"%b.%d.%b" % (event_id.encode(), timestamp, body)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join([_signature(secret, text) for secret in secrets]),
    }


def _signature(secret: bytes | str, text: bytes) -> str:
    key = decode_secret(secret) if isinstance(secret, str) else secret
    return "v1," + binascii.b2a_base64(hmac.digest(key, text, "sha256"), newline=False).decode()
