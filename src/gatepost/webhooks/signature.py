"""Standard Webhooks signatures over `id.timestamp.body`: one `v1,…` or `v1a,…` for each live secret.

v1 is HMAC-SHA256 with a shared secret, v1a is ed25519; `model/signing.py` says how their keys are written.
"""

import binascii
import hmac
from collections.abc import Mapping, Sequence

from gatepost.model.signing import Key, decode_secret

USER_AGENT = "Gatepost"


def signed_text(event_id: str, timestamp: int | str, body: bytes) -> bytes:
    """Return the signed text; a timestamp that comes from a header is used as written."""
    return b"%b.%b.%b" % (event_id.encode(errors="replace"), str(timestamp).encode(), body)


def signature_headers(secrets: Sequence[Key | str], event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers that let a receiver verify `body`; decode the secrets once and pass the keys."""
    if not secrets:
        raise ValueError("A webhook is never sent unsigned: at least one secret is needed.")
    text = signed_text(event_id, timestamp, body)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join([_signature(secret, text) for secret in secrets]),
    }


def delivery_headers(
    custom: Mapping[str, str], secrets: Sequence[Key | str], event_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Return all headers of a delivery: ours, the customer's own, and the signature."""
    return {**fixed_headers(custom), **signature_headers(secrets, event_id, timestamp, body)}


def fixed_headers(custom: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are the same in each delivery to an endpoint: ours, and the customer's own."""
    return {"content-type": "application/json", "user-agent": USER_AGENT, **custom}


def _signature(secret: Key | str, text: bytes) -> str:
    key = decode_secret(secret) if isinstance(secret, str) else secret
    if isinstance(key, bytes):
        return "v1," + _show(hmac.digest(key, text, "sha256"))
    return "v1a," + _show(key.sign(text))


def _show(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).decode()
