"""The control connection between the supervisor and one of its processes.

    supervisor                                   process
    Begin(settings, …)            ─►
                                  ◄─             Ready            it listens
                                  ◄─             Measured         its metrics: every second, and when asked
    Measure                       ─►
                                  ◄─             AskOthers        somebody reads GET /metrics
    Others                        ─►                              the metrics of everybody else
    Counted                       ◄─►            Counted          a failed sign-in, a wrong key: for all others

Each message has a length of four bytes and a body in MessagePack.
"""

import asyncio
import contextlib
import socket
from typing import Generic, TypeVar
from uuid import UUID

import msgspec

from gatepost.metrics_totals import MetricFamily
from gatepost.settings import Settings

_LENGTH = 4


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The first message to a process: what it has to do."""

    settings: Settings
    role: str
    database: str
    owner: UUID  # of the channels that it takes
    number: int
    processes: int
    listener: int  # the file descriptor of its socket
    rates: int  # the file descriptor of the rates of keys
    gateway: UUID  # the id of all processes


class Measure(msgspec.Struct, frozen=True, tag=True):
    """A request for the metrics of a process."""


class Others(msgspec.Struct, frozen=True, tag=True):
    """The metrics of all others, added up: the supervisor's, and those of other processes, running and ended."""

    number: int
    metrics: list[MetricFamily]


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The process listens."""


class Measured(msgspec.Struct, frozen=True, tag=True):
    """The metrics of a process."""

    metrics: list[MetricFamily]


class AskOthers(msgspec.Struct, frozen=True, tag=True):
    """A request for `Others`, with the current metrics of the process that asks."""

    number: int
    metrics: list[MetricFamily]


class Counted(msgspec.Struct, frozen=True, tag=True):
    """An action that a limit of all processes has counted, or has given back."""

    limit: str
    actor: str
    given_back: bool


ToProcess = Begin | Measure | Others | Counted
ToSupervisor = Ready | Measured | AskOthers | Counted
T = TypeVar("T")


class Control(Generic[T]):
    """One end of the connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, decoder: "msgspec.msgpack.Decoder[T]"
    ) -> None:
        self._reader, self._writer, self._decoder = reader, writer, decoder

    def send(self, message: ToProcess | ToSupervisor) -> None:
        """Send a message; if the other end is gone, do nothing: both ends notice that by reading."""
        body = msgspec.msgpack.encode(message)
        if not self._writer.is_closing():
            self._writer.write(len(body).to_bytes(_LENGTH, "big") + body)

    async def receive(self) -> T | None:
        """Return the next message; None at the end of the connection."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            return self._decoder.decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, OSError):
            return None

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


async def process_end(end: socket.socket) -> "Control[ToProcess]":
    """Return a process's end of the connection."""
    reader, writer = await asyncio.open_unix_connection(sock=end)
    return Control(reader, writer, msgspec.msgpack.Decoder(ToProcess))


async def supervisor_end(end: socket.socket) -> "Control[ToSupervisor]":
    """Return the supervisor's end of the connection."""
    reader, writer = await asyncio.open_unix_connection(sock=end)
    return Control(reader, writer, msgspec.msgpack.Decoder(ToSupervisor))
