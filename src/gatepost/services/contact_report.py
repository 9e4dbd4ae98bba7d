"""The report of an import, packed: it is kept with the request's key, and its lines say much the same."""

import zlib
from collections.abc import AsyncIterator

_GZIP = 31  # zlib's word for a whole gzip file
_PIECE = 64 * 1024


class ImportReport:
    """Lines on their way to whoever imports, and packed beside for whoever asks again."""

    def __init__(self, *, kept: bool) -> None:
        self._packer = zlib.compressobj(wbits=_GZIP) if kept else None
        self._packed: list[bytes] = []

    def tell(self, lines: bytes) -> bytes:
        """The lines, once they are noted."""
        if self._packer is not None:
            self._packed.append(self._packer.compress(lines))
        return lines

    def pack(self) -> bytes:
        """All that was told."""
        end = self._packer.flush() if self._packer is not None else b""
        return b"".join(self._packed) + end


async def unpack_report(packed: bytes) -> AsyncIterator[bytes]:
    """What was told, a piece at a time."""
    unpacker, rest = zlib.decompressobj(wbits=_GZIP), packed
    while piece := unpacker.decompress(rest, _PIECE):
        yield piece
        rest = unpacker.unconsumed_tail
