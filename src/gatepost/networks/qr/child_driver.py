"""A driver of links as a child process: a crash of the native library in it costs a reconnect, not the gateway.

gateway ◄══ socketpair, one frame per line ══► python -m gatepost.networks.qr.phone
        ◄── stdout and stderr: into our log, line by line

The child has its own session, so that signals from a terminal do not reach it. It exits when the socket closes.
"""

import asyncio
import os
import signal
import socket
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from gatepost.networks.qr.driver import Driver
from gatepost.networks.qr.driver_connection import ConnectionLost
from gatepost.networks.qr.line_reader import LineReader

log = structlog.get_logger()

PROGRAM = (sys.executable, "-P", "-m", "gatepost.networks.qr.phone")
STORE, KEY, ENGINE = "GATEPOST_QR_STORE", "GATEPOST_QR_KEY", "GATEPOST_QR_ENGINE"
END_WITHIN = 3.0
_LONGEST_LOG_LINE = 2000
# The variables of our environment that the child gets. None of them holds a secret of the gateway.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Devices(msgspec.Struct, frozen=True):
    """The address of the device store, the engine, and the key that encrypts the devices."""

    store: str
    engine: str = "neonize"
    key: bytes = b""


def environment(devices: Devices, ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the child: its device store, and the variables it needs to reach the network."""
    names = (*_KEPT, *_PROXIES, *(name.lower() for name in _PROXIES))
    about = {STORE: devices.store, ENGINE: devices.engine, KEY: b64encode(devices.key).decode()}
    return {name: ours[name] for name in names if name in ours} | about


class ChildTransport:
    """Frames as lines over a socket to a child process."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = process.pid
        self._process = process
        self._reader = reader
        self._writer = writer
        self._lines = LineReader()
        self._logging = asyncio.create_task(_log_output(process))

    async def send(self, frame: bytes) -> None:
        if self._writer.is_closing() or self._process.returncode is not None:
            raise ConnectionLost
        self._writer.write(frame + b"\n")
        try:
            await self._writer.drain()
        except OSError:
            raise ConnectionLost(sent=True) from None

    async def frames(self) -> AsyncIterator[bytes | str]:
        with suppress(OSError):
            while data := await self._reader.read(1 << 16):
                for line in self._lines.feed(data):
                    yield line

    async def close(self) -> None:
        """Close the socket, which ends the child; kill it if it does not exit in time."""
        self._writer.close()
        try:
            # Not asyncio.timeout: before Python 3.11.3 it raises CancelledError in a task that is being cancelled.
            await asyncio.wait_for(self._process.wait(), END_WITHIN)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        code = await self._process.wait()
        with suppress(OSError):  # not before its end: a child that does not read would keep us waiting
            await self._writer.wait_closed()
        await asyncio.wait({self._logging})
        log.info("driver of links ended", pid=self.pid, code=code)


async def spawn(program: Sequence[str], env: Mapping[str, str]) -> ChildTransport:
    """Start the child with one end of a socket pair; its descriptor is the last argument.

    Nothing is awaited after the start: a start that is cancelled leaves no child that nobody ends.
    """
    ours, theirs = socket.socketpair()
    writer: asyncio.StreamWriter | None = None
    try:
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours)
        process = await asyncio.create_subprocess_exec(
            *program,
            str(theirs.fileno()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(theirs.fileno(),),
            env=dict(env),
            cwd="/",
            start_new_session=True,
        )
    except BaseException:
        if writer is not None:
            writer.close()
        ours.close()
        raise
    finally:
        theirs.close()
    log.info("driver of links started", pid=process.pid)
    return ChildTransport(process, reader, writer)


async def _log_output(process: asyncio.subprocess.Process) -> None:
    """Write the output of the child to our log."""
    lines = LineReader(_LONGEST_LOG_LINE)
    if process.stdout:  # ends with the child
        while data := await process.stdout.read(1 << 14):
            for line in lines.feed(data):
                log.info("output of the driver of links", pid=process.pid, line=line.decode(errors="replace").rstrip())


class ChildDriver(Driver):
    """Links to real phones, in one child process for all channels."""

    def __init__(self, devices: Devices, *, program: Sequence[str] = PROGRAM, **options: Any) -> None:
        super().__init__(self._spawn, **options)
        self._devices = devices
        self._program = program
        self.pid: int | None = None  # of the current child

    async def _spawn(self) -> ChildTransport:
        transport = await spawn(self._program, environment(self._devices, os.environ))
        self.pid = transport.pid
        return transport
