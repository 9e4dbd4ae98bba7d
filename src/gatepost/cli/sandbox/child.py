"""A sandbox as a child process, restarted whenever it ends.

start ─► it prints its address ─► it ends ─┬─ because we stop: done
  ▲                                      └─ otherwise: log, wait
  └──────────────────────────────────────────────────────┘

It also ends when the program that started it is killed: its standard input closes. Its network is in its folder, so
the next one goes on where it was.
"""

import contextlib
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

log = structlog.get_logger("gatepost")
_START_SECONDS = 60.0
_STOP_SECONDS = 10.0
_WAITS = (0.2, 1.0, 5.0)  # seconds before each further start; the last one repeats


@contextmanager
def running_sandbox(host: str, port: int, folder: Path) -> Iterator[str]:
    """Run a sandbox that is restarted whenever it ends; yield its address."""
    child = SandboxProcess(host, port, folder)
    child.start()
    watch = threading.Thread(target=child.watch, daemon=True)
    watch.start()
    try:
        yield child.url
    finally:
        child.stop()
        watch.join()


class SandboxProcess:
    """The child process, and its successors."""

    def __init__(self, host: str, port: int, folder: Path) -> None:
        self._host = host
        self._port = port
        self._folder = folder
        self._stopping = threading.Event()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        """Start it, and wait until it listens."""
        place = ["--host", self._host, "--port", str(self._port), "--data", str(self._folder), "--with-parent"]
        with self._starting:
            if self._stopping.is_set():
                return
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "gatepost.cli", "sandbox", *place],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C reaches it through us only, after the gateway has drained
            )
        try:
            self.url = _address_of(self._process)
        except OSError:
            _end(self._process)
            raise
        self._port = int(self.url.rpartition(":")[2])

    def watch(self) -> None:
        """Start it again whenever it ends, until it is stopped."""
        failures = 0
        while not self._stopping.is_set():
            assert self._process is not None
            code = self._process.wait()
            if self._stopping.is_set():
                return
            wait = _WAITS[min(failures, len(_WAITS) - 1)]
            log.warning("sandbox ended", exit_code=code, starts_again_in=wait)
            if self._stopping.wait(wait):
                return
            try:
                self.start()
                failures = 0
            except (OSError, ValueError) as error:  # ValueError: we were stopped while it started
                failures += 1
                log.error("sandbox did not start", error=str(error))

    def stop(self) -> None:
        """Stop it."""
        with self._starting:
            self._stopping.set()
        if self._process is not None:
            _end(self._process)


def _address_of(process: "subprocess.Popen[str]") -> str:
    """Return the address that the sandbox prints once it listens."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_SECONDS)
    line = process.stdout.readline() if ready else ""
    if "http" not in line:
        raise OSError("The sandbox did not start.")
    return line.split()[-1]


def _end(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()  # it stops by this alone, also when we may no longer send it signals
    with contextlib.suppress(PermissionError):
        process.terminate()
    try:
        process.wait(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(PermissionError):
            process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()
