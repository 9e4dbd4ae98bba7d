"""Stops the gateway that holds a data folder, as Ctrl-C in its terminal does."""

import asyncio
import os
import signal
import time
from pathlib import Path

from gatepost.model.errors import Conflict
from gatepost.store.embedded.lock import holder_of

_PATIENCE = 90.0  # seconds: a stop waits for requests in progress, and for the database
_POLL = 0.1


async def stop_gateway(data: Path) -> None:
    """Ask the gateway of a data folder to stop, and wait until it has; without one, do nothing."""
    holder = holder_of(data)
    if holder is None:
        return
    try:
        os.kill(holder, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise Conflict(f"The gateway (process {holder}) belongs to another user. Stop it, and try again.") from None
    give_up = time.monotonic() + _PATIENCE
    while holder_of(data) == holder:
        if time.monotonic() > give_up:
            raise Conflict(f"The gateway (process {holder}) has not stopped. Stop it, and try again.")
        await asyncio.sleep(_POLL)
