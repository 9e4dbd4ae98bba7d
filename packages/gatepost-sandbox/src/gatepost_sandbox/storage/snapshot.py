"""A snapshot: the whole network as one file, readable only by the code that wrote it.

first line: a fingerprint of the sandbox's code │ the pickled state
"""

import io
import os
import pickle
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from gatepost_sandbox.callback_client import CallbackClient
from gatepost_sandbox.network import Network
from gatepost_sandbox.qr import QrNetwork
from gatepost_sandbox.settings import SandboxSettings

_CALLBACK_CLIENT = "callback_client"


class OtherCode(Exception):
    """The file was written by another version of the sandbox."""


class State(msgspec.Struct):
    """The network at a point in real time."""

    settings: SandboxSettings  # of the first start: a reset goes back to them
    network: Network
    qr: QrNetwork
    wall: float


@cache
def fingerprint() -> bytes:
    """Return a hash of the sandbox's code."""
    root, digest = Path(__file__).parents[1], sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest().encode()


def write_snapshot(path: Path, state: State) -> None:
    """Write a snapshot atomically."""
    content = io.BytesIO()
    content.write(fingerprint() + b"\n")
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(msgspec.structs.astuple(state))
    draft = path.with_suffix(".tmp")
    with open(draft, "wb", opener=_private) as file:
        file.write(content.getbuffer())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_snapshot(path: Path, callback_client: CallbackClient) -> State:
    """Read a snapshot of this version."""
    with path.open("rb") as file:
        if file.readline().strip() != fingerprint():
            raise OtherCode(path.name)
        return State(*_Unpickler(file, callback_client).load())


class _Pickler(pickle.Pickler):
    def persistent_id(self, thing: Any) -> str | None:
        return _CALLBACK_CLIENT if isinstance(thing, CallbackClient) else None


class _Unpickler(pickle.Unpickler):  # the file is our own, in a folder that only its owner can write
    def __init__(self, file: Any, callback_client: CallbackClient) -> None:
        super().__init__(file)
        self._callback_client = callback_client

    def persistent_load(self, name: str) -> CallbackClient:
        if name != _CALLBACK_CLIENT:
            raise pickle.UnpicklingError(name)
        return self._callback_client


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
