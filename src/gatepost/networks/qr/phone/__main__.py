"""Starts the driver: loads an engine, then serves the gateway on the socket whose descriptor is the last argument."""

import asyncio
import ctypes
import os
import signal
import sys
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from gatepost.networks.qr.phone.by_baileys.install import CannotInstall, program
from gatepost.networks.qr.phone.by_neonize.library import CouldNotLoad, load, load_types
from gatepost.networks.qr.phone.by_neonize.store_address import store_address
from gatepost.networks.qr.phone.failed_engine import FailedEngine
from gatepost.networks.qr.phone.wire import serve

_HERE = "gatepost.networks.qr.phone"
_PR_SET_PDEATHSIG = 1
_POSTGRESQL = ("postgresql://", "postgres://")
_KEY_BYTES = 32


def main() -> None:
    """Run until the gateway closes the socket."""
    _end_with_parent()
    fd = int(sys.argv[-1])
    try:
        make = _chosen()
    except (CouldNotLoad, CannotInstall) as error:
        asyncio.run(serve(fd, partial(FailedEngine, str(error))))
        return
    asyncio.run(_serve(fd, make))


def _chosen() -> Callable[[], Any]:
    """Return the factory of the configured engine.

    If it cannot be loaded, the driver must keep running and report the reason: the gateway would restart a driver that
    exits immediately, without end.
    """
    name = os.environ.get("GATEPOST_QR_ENGINE", "neonize")
    if name not in ENGINES:
        raise CouldNotLoad(f'There is no engine "{name}": qr.engine is one of {", ".join(ENGINES)}.')
    return ENGINES[name]()


async def _serve(fd: int, make: Callable[[], Any]) -> None:
    engine = make()
    await serve(fd, partial(import_module(f"{_HERE}.server").Server, engine), engine.stop_all)


def neonize() -> Callable[[], Any]:
    """Load the native library. Modules that need its types are imported only afterwards."""
    binder, store = load(), store_address(os.environ["GATEPOST_QR_STORE"])
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""
    return partial(import_module(f"{_HERE}.by_neonize.native").Neonize, binder, store, proxy)


def baileys() -> Callable[[], Any]:
    """Find the program for Node. It is started with the first link."""
    words = program()
    load_types()
    here = f"{_HERE}.by_baileys"
    start = partial(import_module(f"{here}.node").start, words)
    store, key = os.environ.get("GATEPOST_QR_STORE", ""), b64decode(os.environ.get("GATEPOST_QR_KEY", ""))
    if not store.startswith(_POSTGRESQL):
        raise CouldNotLoad("The engine baileys stores devices in PostgreSQL: qr.device_store must be its URL.")
    if not key or len(key) % _KEY_BYTES:
        raise CouldNotLoad("The engine baileys needs the gateway's key to encrypt devices (GATEPOST_QR_KEY).")
    devices = import_module(f"{here}.devices").DeviceStore(store, key)
    scratch = import_module(f"{here}.scratch").use_scratch()
    return partial(import_module(f"{here}.engine").Baileys, start, devices, scratch)


ENGINES = {"neonize": neonize, "baileys": baileys}


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, in case the library blocks the event loop."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
