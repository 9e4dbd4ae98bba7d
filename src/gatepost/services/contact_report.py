"""The compressed report of an import, which is stored with the request's idempotency key."""

import zlib
from collections.abc import AsyncIterator

_GZIP = 31  # zlib's number for a whole gzip file
_CHUNK = 64 * 1024


class ImportReport:
    """The lines of a report. They are sent, and stored for repeated requests."""

    def __init__(self, *, kept: bool) -> None:
        self._packer = zlib.compressobj(wbits=_GZIP) if kept else None
        self._packed: list[bytes] = []

    def add(self, lines: bytes) -> bytes:
        """Add lines to the report, and return them."""
        if self._packer is not None:
            self._packed.append(self._packer.compress(lines))
        return lines

    def pack(self) -> bytes:
        """Return all lines, compressed."""
        end = self._packer.flush() if self._packer is not None else b""
        return b"".join(self._packed) + end


async def unpack_report(packed: bytes) -> AsyncIterator[bytes]:
    """Yield the lines of a report, chunk by chunk."""
    unpacker, rest = zlib.decompressobj(wbits=_GZIP), packed
    while chunk := unpacker.decompress(rest, _CHUNK):
        yield chunk
        rest = unpacker.unconsumed_tail
