"""Starts the driver: loads the library, then serves the gateway at the socket whose number is the last argument."""

import asyncio
import ctypes
import os
import signal
import sys
from functools import partial
from importlib import import_module

from gatepost.networks.qr.neonize_driver.broken import Broken
from gatepost.networks.qr.neonize_driver.library import CouldNotLoad, load
from gatepost.networks.qr.neonize_driver.store_address import store_address
from gatepost.networks.qr.neonize_driver.wire import serve

_HERE = "gatepost.networks.qr.neonize_driver"
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Runs until the gateway goes away."""
    _end_with_parent()
    fd = int(sys.argv[-1])
    try:
        binder = load()
    except CouldNotLoad as error:
        asyncio.run(serve(fd, partial(Broken, str(error))))
        return
    # These need the library's types, so that they are imported only now.
    proxy = os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or ""
    native = import_module(f"{_HERE}.native").Native(binder, store_address(os.environ["GATEPOST_QR_STORE"]), proxy)
    asyncio.run(serve(fd, partial(import_module(f"{_HERE}.serve").Server, native), native.stop_all))


def _end_with_parent() -> None:
    """Asks the system to end this process with its parent, should the library ever keep it from noticing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
