"""Follows the clock of a sandbox in tests: a request waits for its next change.

GET /control/clock/follow?seen=… ─► now, speed, frozen ─► set ─► the same again
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import msgspec
import structlog
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

log = structlog.get_logger("gatepost.clock")
_WAIT = 20  # seconds that one request waits for a change
_AGAIN = 0.5

SetTime = Callable[[float, float], None]  # Unix seconds, and seconds per real second


class _Face(msgspec.Struct, frozen=True):
    now: float
    speed: float
    frozen: bool
    version: str


class SandboxClockFeed:
    """Keeps a clock at the time of one sandbox."""

    def __init__(self, url: str, set_time: SetTime) -> None:
        self._url = f"{url.rstrip('/')}/control/clock/follow"
        self._set_time = set_time
        self._follower = uuid4().hex
        self._seen = ""
        self._client: Client = ClientBuilder().no_proxy().follow_redirects(False).build()

    async def start(self) -> None:
        """Set the clock once; raise OSError if the sandbox does not answer."""
        try:
            await self._take(0)
        except (PyreqwestError, msgspec.DecodeError, ValueError) as error:
            raise OSError(f"The clock cannot follow {self._url}: {type(error).__name__}.") from error

    async def step(self) -> None:
        """Wait for the next change and set the clock. If the sandbox is restarting, try again later."""
        try:
            await self._take(_WAIT)
        except (PyreqwestError, OSError, msgspec.DecodeError, ValueError) as error:
            log.debug("sandbox clock away", error=type(error).__name__)
            await asyncio.sleep(_AGAIN)

    async def _take(self, wait: int) -> None:
        query = {"follower": self._follower, "seen": self._seen, "wait": str(wait)}
        request = self._client.get(self._url).query(query).timeout(timedelta(seconds=wait + 10)).build()
        answer = await request.send()
        if answer.status != 200:
            raise ValueError(f"HTTP {answer.status}")
        face = msgspec.json.decode(bytes(await answer.bytes()), type=_Face)
        self._set_time(face.now, 0.0 if face.frozen else face.speed)
        self._seen = face.version

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()
