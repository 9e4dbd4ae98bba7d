"""Standard Webhooks signatures over `id.timestamp.body`: one `v1,…` or `v1a,…` for each live secret.

v1 is HMAC-SHA256 with a shared secret, v1a is ed25519; `model/signing.py` says how their keys are written.
"""

import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

from gatepost.model.signing import Key, decode_secret

USER_AGENT = "Gatepost"
SIGNATURE_NAMES = ("webhook-id", "webhook-timestamp", "webhook-signature")


def signed_text(event_id: str, timestamp: int | str, body: bytes) -> bytes:
    """Return the signed text; a timestamp that comes from a header is used as written."""
    return b"%b.%b.%b" % (event_id.encode(errors="replace"), str(timestamp).encode(), body)


class Signer:
    """Signs with one key; what depends on the key alone is computed once."""

    def __init__(self, secret: Key | str) -> None:
        key = decode_secret(secret) if isinstance(secret, str) else secret
        self._key = hmac.new(key, digestmod=hashlib.sha256) if isinstance(key, bytes) else key

    def sign(self, text: bytes) -> str:
        if not isinstance(self._key, hmac.HMAC):
            return "v1a," + _show(self._key.sign(text))
        signed = self._key.copy()  # faster than `hmac.digest`
        signed.update(text)
        return "v1," + _show(signed.digest())


def signature_values(signers: Sequence[Signer], event_id: str, timestamp: int, body: bytes) -> tuple[str, str, str]:
    """Return the values of `SIGNATURE_NAMES`: three headers that let a receiver verify `body`."""
    if not signers:
        raise ValueError("A webhook is never sent unsigned: at least one secret is needed.")
    stamp = str(timestamp)
    text = signed_text(event_id, stamp, body)
    return event_id, stamp, " ".join([signer.sign(text) for signer in signers])


def signature_headers(secrets: Sequence[Key | str], event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers that let a receiver verify `body`."""
    values = signature_values([Signer(secret) for secret in secrets], event_id, timestamp, body)
    return dict(zip(SIGNATURE_NAMES, values, strict=True))


def delivery_headers(
    custom: Mapping[str, str], secrets: Sequence[Key | str], event_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Return all headers of a delivery: ours, the customer's own, and the signature."""
    return {**fixed_headers(custom), **signature_headers(secrets, event_id, timestamp, body)}


def fixed_headers(custom: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that are the same in each delivery to an endpoint: ours, and the customer's own."""
    return {"content-type": "application/json", "user-agent": USER_AGENT, **custom}


def _show(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).decode()
