"""The public address of the gateway that runs on a data folder, for commands that show it."""

import contextlib
import os
import socket
from pathlib import Path

_FILE = "gateway.url"


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def note_address(folder: Path, url: str) -> None:
    """Write the gateway's address into the data folder; ignore a folder that is not writable."""
    draft = folder / f"{_FILE}.{os.getpid()}"
    try:
        draft.write_text(url + "\n", "utf-8")
        draft.replace(folder / _FILE)
    except OSError:
        with contextlib.suppress(OSError):  # a read-only file system does not even remove what is not there
            draft.unlink()


def noted_address(folder: Path) -> str | None:
    """Return the last address of the gateway on this folder; None if none has run yet."""
    try:
        return (folder / _FILE).read_text("utf-8").strip() or None
    except OSError:
        return None
