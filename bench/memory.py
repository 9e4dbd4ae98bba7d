"""Memory use: idle, and the maximum under load."""

import asyncio
import contextlib

import msgspec
import psutil

from bench.processes import resident

MIB = 1024 * 1024
_EVERY = 0.2


class MemoryFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Memory in MiB: RSS of the gateway, and PSS of all PostgreSQL processes."""

    gateway_rest: float
    gateway_peak: float
    postgres_rest: float
    postgres_after: float


class Peak:
    """Records the maximum memory of a process."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.highest = resident(process)

    async def __aenter__(self) -> "Peak":
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching

    async def _watch(self) -> None:
        while True:
            self.highest = max(self.highest, resident(self._process))
            await asyncio.sleep(_EVERY)
