"""Stops the gateway that holds a data folder, as Ctrl-C in its terminal does."""

import asyncio
import time
from pathlib import Path

import psutil

from gatepost.model.errors import Conflict
from gatepost.store.embedded.data_folder import LOCK_FILE, holder_of

_PATIENCE = 90.0  # seconds: a stop waits for requests in progress, and for the database
_POLL = 0.1


async def stop_gateway(data: Path) -> None:
    """Ask the gateway of a data folder to stop, and wait until it has; without one, do nothing."""
    holder = holder_of(data)
    if holder is None:
        return
    _terminate(holder, data)
    give_up = time.monotonic() + _PATIENCE
    while holder_of(data) == holder:
        if time.monotonic() > give_up:
            raise Conflict(f"The gateway (process {holder}) has not stopped. Stop it, and try again.")
        await asyncio.sleep(_POLL)


def _terminate(holder: int, data: Path) -> None:
    try:
        gateway = psutil.Process(holder)
        # The process of a container has another number here.
        if str(data.resolve() / LOCK_FILE) not in [file.path for file in gateway.open_files()]:
            raise Conflict(f"The gateway of {data} runs elsewhere, such as in a container. Stop it, and try again.")
        gateway.terminate()
    except psutil.NoSuchProcess:
        pass
    except psutil.AccessDenied:
        raise Conflict(f"The gateway (process {holder}) belongs to another user. Stop it, and try again.") from None
