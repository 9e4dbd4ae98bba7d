"""The log: one file of records, each with its length and checksum, so that a truncated record is detected.

record = length (4 bytes) │ CRC-32 (4 bytes) │ msgpack [sandbox time, real time, kind, values]
"""

import logging
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

log = logging.getLogger("gatepost_sandbox")
LOG_MAX = 32 * 1024 * 1024  # bytes; beyond this, a snapshot is written and a new log begins
_HEAD = struct.Struct("<II")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(type=list[Any]).decode


class Record(msgspec.Struct, frozen=True):
    """One input of the network."""

    now: float  # sandbox time
    wall: float  # real time
    kind: str
    values: list[Any]


class Log:
    """A log that is written to."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._path = path
        self.size = 0

    def write(self, now: float, kind: str, values: tuple[object, ...]) -> None:
        """Append one record; the operating system has it when this returns."""
        content = _encode((now, time.time(), kind, values))
        record = memoryview(_HEAD.pack(len(content), crc32(content)) + content)
        written = 0
        try:
            while written < len(record):
                written += os.write(self._file, record[written:])
        except OSError as error:
            os.ftruncate(self._file, self.size)
            log.error("The sandbox cannot write %s: %s.", self._path, error.strerror)
            raise
        self.size += written

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_log(path: Path) -> Iterator[Record]:
    """Yield the records of a log, up to the first one that is not whole."""
    if not path.exists():
        return
    with path.open("rb") as file:
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            packed = file.read(length)
            if len(packed) < length or crc32(packed) != checksum:
                return
            now, wall, kind, values = _decode(packed)
            yield Record(now, wall, kind, values)
