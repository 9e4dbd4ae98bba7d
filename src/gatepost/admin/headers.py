"""The customer's own headers of webhooks, which may contain credentials: their values are encrypted at rest.

stored   {"X-Api-Key": " sealed:<base64>"}    a value that a customer sets never starts with a space
         {"X-Api-Key": "7"}                   written by an older version: still readable

Names are not encrypted, and the column has the same JSON format as before: a node of an older version can read it, but
sends the encrypted text. Values of older versions are encrypted at their next change, or by
`gatepost webhook seal-headers`.
"""

import base64
import binascii
from collections.abc import Mapping
from uuid import UUID

import msgspec

from gatepost.admin.vault import Vault, VaultError, endpoint_context
from gatepost.store import sealed_values as store
from gatepost.store.pool import Database

_MARK = " sealed:"
_PAGE = 100
_decode = msgspec.json.Decoder(dict[str, str]).decode


def seal_headers(vault: Vault, endpoint_id: UUID, headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers as they are stored."""
    return {
        name: _MARK + base64.b64encode(vault.seal(value.encode(), _context(endpoint_id, name))).decode()
        for name, value in headers.items()
    }


def open_headers(vault: Vault, endpoint_id: UUID, stored: Mapping[str, str]) -> dict[str, str]:
    """Return headers as they are sent."""
    return {name: _open(vault, endpoint_id, name, value) for name, value in stored.items()}


def is_sealed(stored: Mapping[str, str]) -> bool:
    """Return whether every value is encrypted."""
    return all(value.startswith(_MARK) for value in stored.values())


async def seal_old_headers(db: Database, vault: Vault) -> int:
    """Encrypt the headers that older versions wrote; return of how many endpoints."""
    after, sealed = None, 0
    while found := await store.list_with_headers(db, after, _PAGE):
        for endpoint_id, text in found:
            headers = _decode(text)
            if not is_sealed(headers):
                whole = seal_headers(vault, endpoint_id, open_headers(vault, endpoint_id, headers))
                sealed += await store.replace_headers(db, endpoint_id, text, whole)
        after = found[-1][0]
    return sealed


def _open(vault: Vault, endpoint_id: UUID, name: str, value: str) -> str:
    if not value.startswith(_MARK):
        return value
    try:
        raw = base64.b64decode(value.removeprefix(_MARK), validate=True)
    except binascii.Error:
        raise VaultError(f"The stored header {name} of a webhook is damaged: set it again.") from None
    return vault.open(raw, _context(endpoint_id, name)).decode()


def _context(endpoint_id: UUID, name: str) -> bytes:
    return endpoint_context(endpoint_id) + b":header:" + name.lower().encode()
