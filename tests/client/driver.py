"""One set of tests, both clients: the blocking one runs in a thread, and looks like the other from here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from gatepost_client import AsyncGatepost, Gatepost

Kind = Literal["blocking", "awaiting"]
KINDS: tuple[Kind, ...] = ("blocking", "awaiting")


class Driver:
    """Calls operations by their names, whichever client it holds."""

    def __init__(self, client: Gatepost | AsyncGatepost) -> None:
        self._client = self.client = client

    async def do(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """One operation with one result."""
        operation = getattr(self._client, name)
        if isinstance(self._client, Gatepost):
            return await asyncio.to_thread(operation, *args, **kwargs)
        return await operation(*args, **kwargs)

    async def all(self, name: str, /, *args: Any, **kwargs: Any) -> list[Any]:
        """All items of a list, or all pieces of a file."""
        operation = getattr(self._client, name)
        if isinstance(self._client, Gatepost):
            return await asyncio.to_thread(lambda: list(operation(*args, **kwargs)))
        return [item async for item in operation(*args, **kwargs)]


class Naps:
    """A clock that only naps move, and the naps that were taken."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def now(self) -> float:
        return sum(self.taken)

    def nap(self, seconds: float) -> None:
        self.taken.append(seconds)

    async def async_nap(self, seconds: float) -> None:
        self.taken.append(seconds)


@asynccontextmanager
async def driving(kind: Kind, url: str, key: str, naps: Naps | None = None, **options: Any) -> AsyncIterator[Driver]:
    """A client of either kind; with naps, it waits for nothing."""
    if kind == "blocking":
        waits: dict[str, Any] = {"sleep": naps.nap, "now": naps.now} if naps else {}
        with Gatepost(url, key, **waits, **options) as client:
            yield Driver(client)
        return
    waits = {"sleep": naps.async_nap, "now": naps.now} if naps else {}
    async with AsyncGatepost(url, key, **waits, **options) as awaiting:
        yield Driver(awaiting)
