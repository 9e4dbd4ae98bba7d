"""Time from start to readiness: with a new database, and with an existing one."""

from pathlib import Path

import msgspec

from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import running_gateway


class StartFindings(msgspec.Struct, frozen=True):
    """Seconds until `/readyz` returns 200."""

    first: float
    second: float


async def measure_start(folder: Path, progress: ShowProgress) -> StartFindings:
    """Start a gateway twice on the same folder."""
    config = write_config(folder)
    progress("start: the first, which makes the database")
    async with running_gateway(folder, config) as gateway:
        first = gateway.ready_after
    progress("start: the second")
    async with running_gateway(folder, config) as gateway:
        second = gateway.ready_after
    return StartFindings(first, second)
