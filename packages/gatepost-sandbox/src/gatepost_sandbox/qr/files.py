"""The files that the QR network holds, uploaded and downloaded in chunks.

put … put(last) ─► handle         get ─► piece … piece(last)
"""

import hashlib
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Iterator
from typing import Any

import msgspec

from gatepost_sandbox.qr.frames import CHUNK_MAX, Frame, Get, Put, answer, error

FILE_MAX = 100 * 1024 * 1024


class Stored(msgspec.Struct, frozen=True):
    """A file, and the phone that it was sent by or to."""

    phone: str
    mime: str
    data: bytes
    filename: str | None = None


class Files:
    """Everything that was uploaded or sent."""

    def __init__(self) -> None:
        self._stored: dict[str, Stored] = {}

    def keep(self, stored: Stored) -> str:
        """Store a file; return its handle."""
        digest = hashlib.sha256(stored.data).hexdigest()
        handle = f"{stored.phone}-{len(self._stored) + 1}-{digest[:16]}"
        self._stored[handle] = stored
        return handle

    def find(self, phone: str, handle: str) -> Stored | None:
        """Return a file of this phone; handles of other phones are unknown."""
        stored = self._stored.get(handle)
        return stored if stored is not None and stored.phone == phone else None


def describe(handle: str, stored: Stored) -> dict[str, Any]:
    """Return a file as events show it."""
    digest = hashlib.sha256(stored.data).hexdigest()
    described = {"handle": handle, "mime_type": stored.mime, "sha256": digest, "size": len(stored.data)}
    return described if stored.filename is None else {**described, "filename": stored.filename}


def fetch(stored: Stored | None, get: Get) -> Iterator[Frame]:
    """Yield the chunks of a file, or the reason for refusing it."""
    if stored is None:
        yield error(get.ref, 404, "Not found", "there is no such file, or it has been forgotten")
        return
    if len(stored.data) > get.most:
        yield error(get.ref, 413, "Too large", f"the file has {len(stored.data)} bytes, more than {get.most}")
        return
    pieces = [stored.data[start : start + CHUNK_MAX] for start in range(0, len(stored.data), CHUNK_MAX)] or [b""]
    for piece in pieces[:-1]:
        yield {"re": get.ref, "data": b64encode(piece).decode(), "last": False}
    yield answer(get.ref, data=b64encode(pieces[-1]).decode(), last=True, mime=stored.mime)


class Uploads:
    """The unfinished uploads of one connection."""

    def __init__(self) -> None:
        self._parts: dict[int, list[bytes]] = {}
        self._failed: set[int] = set()  # their further chunks are ignored: a ref gets one response

    def take(self, put: Put) -> bytes | str | None:
        """Add one chunk; return the complete file, an error, or None while more is expected."""
        if put.ref in self._failed:
            self._failed.difference_update({put.ref} if put.last else ())
            return None
        parts = self._parts.setdefault(put.ref, [])
        problem = _add(parts, put)
        if problem is not None and not put.last:
            self._failed.add(put.ref)
        if problem is not None or put.last:
            del self._parts[put.ref]
        return problem or (b"".join(parts) if put.last else None)


def _add(parts: list[bytes], put: Put) -> str | None:
    try:
        piece = b64decode(put.data, validate=True)
    except (BadBase64, ValueError):
        return "data is not base64"
    parts.append(piece)
    total = sum(map(len, parts))
    if put.size > FILE_MAX:
        return f"a file may have {FILE_MAX} bytes at most"
    if len(piece) > CHUNK_MAX:
        return f"a chunk may have {CHUNK_MAX} bytes at most"
    if total > put.size or (put.last and total < put.size):
        return f"{put.size} bytes were announced and {total} received"
    return None
