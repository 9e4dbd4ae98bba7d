"""Starts the driver: loads an engine, then serves the gateway at the socket whose number is the last argument."""

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

from gatepost.networks.qr.phone.broken import Broken
from gatepost.networks.qr.phone.by_baileys.install import CannotInstall, program
from gatepost.networks.qr.phone.by_neonize.library import CouldNotLoad, load, load_types
from gatepost.networks.qr.phone.by_neonize.store_address import store_address
from gatepost.networks.qr.phone.wire import serve

_HERE = "gatepost.networks.qr.phone"
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs until the gateway goes away."""
    _end_with_parent()
    fd = int(sys.argv[-1])
    try:
        make = ENGINES[os.environ.get("GATEPOST_QR_ENGINE", "neonize")]()
    except (CouldNotLoad, CannotInstall) as error:
        asyncio.run(serve(fd, partial(Broken, str(error))))
        return
    asyncio.run(_serve(fd, make))


async def _serve(fd: int, make: Callable[[], Any]) -> None:
    engine = make()
    await serve(fd, partial(import_module(f"{_HERE}.serve").Server, engine), engine.stop_all)


def neonize() -> Callable[[], Any]:
    """Loads the native library. What needs its types is imported only then."""
    binder, store = load(), store_address(os.environ["GATEPOST_QR_STORE"])
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""
    return partial(import_module(f"{_HERE}.by_neonize.native").Neonize, binder, store, proxy)


def baileys() -> Callable[[], Any]:
    """Looks for the parts that Node runs; they are started with the first link."""
    words = program()
    load_types()
    here = f"{_HERE}.by_baileys"
    start = partial(import_module(f"{here}.node").start, words)
    devices = import_module(f"{here}.devices").Devices(
        os.environ["GATEPOST_QR_STORE"], b64decode(os.environ["GATEPOST_QR_KEY"])
    )
    return partial(import_module(f"{here}.engine").Baileys, start, devices)


ENGINES = {"neonize": neonize, "baileys": baileys}


def _end_with_parent() -> None:
    """Asks the system to end this process with its parent, should the library ever keep it from noticing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
