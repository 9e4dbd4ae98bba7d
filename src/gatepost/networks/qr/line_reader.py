"""Frames as lines of a byte stream. A line over the limit is skipped, not kept in memory."""

from gatepost.networks.qr.frames import MAX_FRAME


class LineReader:
    """Splits incoming data into lines."""

    def __init__(self, most: int = MAX_FRAME) -> None:
        self._most = most
        self._rest = bytearray()
        self._skipping = False
        self.too_long = 0  # lines that were skipped

    def feed(self, data: bytes) -> list[bytes]:
        """Add data and return the lines that it completes."""
        *whole, rest = data.split(b"\n")
        lines = [line for piece in whole if (line := self._end(piece)) is not None]
        self._keep(rest)
        return lines

    def _end(self, piece: bytes) -> bytes | None:
        self._keep(piece)
        line, self._rest = bytes(self._rest), bytearray()
        skipped, self._skipping = self._skipping, False
        return None if skipped or not line else line

    def _keep(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._rest) + len(piece) > self._most:
            self._skipping = True
            self.too_long += 1
            self._rest.clear()
        else:
            self._rest += piece
