"""One run of a scenario: the parts that stay, the gateways that fail, and what was noted about the faults.

load ─► balancer ─► gateways (killed, stopped, cut off) ─► network proxy ─► sandbox
            ▲             │           │                                        │
            │             │           └─► database proxies ─► PostgreSQL       │
            │             └─► receiver                                         │
            └──────────────────────────── callbacks ◄──────────────────────────┘
"""

import asyncio
import math
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import msgspec

from faults.load import Load
from faults.previous import PreviousProgram
from faults.proxy import Proxy
from gatepost.store.embedded import EmbeddedPostgres
from tests.faults.ledger import Verdict, compare, message_of
from tests.faults.run_records import read_records, until_settled
from tests.faults.stage import Node, Stage, StageChannel

PATIENCE = 300.0  # seconds until everything that was accepted is read and delivered
_SLACK = 1.0  # seconds around an outage in which the outcome of a send may be lost
_STALLED = 6.0  # seconds for which a gateway may have waited for the database before it lost a lease

ShowProgress = Callable[[str], None]
Held = set[tuple[UUID, int]]


class Place(msgspec.Struct, frozen=True):
    """Where a database of a run is. `server` is None if the gateway runs it."""

    folder: Path
    url: str
    server: EmbeddedPostgres | None = None
    first: Node | None = None
    previous: PreviousProgram | None = None


class Cell(msgspec.Struct, frozen=True, eq=False):
    """One of several databases: its server, and its channels."""

    name: str
    place: Place
    stage: Stage


class Run:
    """A run in progress."""

    def __init__(
        self, cells: Sequence[Cell], balancer: Proxy, network: Proxy, load: Load, seed: int, seconds: float
    ) -> None:
        self.cells, self.balancer, self.network, self.load = cells, balancer, network, load
        self.stage, self.place = cells[0].stage, cells[0].place  # of most scenarios, the only ones
        self.seed, self.random = seed, Random(seed)
        self.gateways: list[Node] = []
        self.faults = 0
        self.figures: dict[str, Any] = {}
        self.failing: set[str] = set()
        self._joining: set[asyncio.Task[None]] = set()
        self._not_started: list[Node] = []
        self._started: list[Node] = []
        self._disturbed: set[Node] = set()  # whose sends are in doubt because of a fault
        self._doubts: Counter[str] = Counter()
        self._outages: dict[str, list[tuple[float, float]]] = {cell.name: [] for cell in cells}
        self._seconds = seconds
        self._end: float | None = None

    # -- time ---------------------------------------------------------------------------------------------------------

    @property
    def goes_on(self) -> bool:
        """Whether the time of the run is not over. It begins with the first look, when the gateways have started."""
        if self._end is None:
            self._end = time.monotonic() + self._seconds
        return time.monotonic() < self._end

    async def pause(self, low: float, high: float | None = None) -> None:
        """Wait for a random time."""
        await asyncio.sleep(self.random.uniform(low, high or low))

    @property
    def channels(self) -> list[StageChannel]:
        """The channels of all databases."""
        return [channel for cell in self.cells for channel in cell.stage.channels]

    # -- gateways -----------------------------------------------------------------------------------------------------

    async def start(self, count: int = 1, **options: Any) -> list[Node]:
        """Start gateways, and wait until they listen."""
        nodes = [self.stage.launch(**options) for _ in range(count)]
        self.gateways += nodes
        for node in nodes:
            await self._join(node)
        return nodes

    async def start_previous(self) -> Node:
        """Start a gateway of the version before, and wait until it listens."""
        assert self.place.previous is not None
        number = len(list(self.place.folder.glob("*.log")))
        node = self.place.previous.launch(self.stage.options, self.place.folder / f"previous-{number}.log")
        self.gateways.append(node)
        await self._join(node)
        return node

    def start_soon(self, **options: Any) -> Node:
        """Start a gateway. It is used once it listens."""
        node = self.stage.launch(**options)
        self.gateways.append(node)
        joining = asyncio.create_task(self._join(node))
        self._joining.add(joining)
        joining.add_done_callback(self._joining.discard)
        return node

    async def _join(self, node: Node) -> None:
        self._started.append(node)
        try:
            url = await node.ready()
        except AssertionError:
            if await node.ended() != -signal.SIGKILL:
                self._not_started.append(node)
            return
        if node in self.gateways:  # it was not killed meanwhile
            self.add_target(url)

    def add_target(self, url: str) -> None:
        """Let clients and the network use a gateway."""
        self.balancer.targets.append(address_of(url))

    def _leave(self, node: Node) -> None:
        if node.url and address_of(node.url) in self.balancer.targets:
            self.balancer.targets.remove(address_of(node.url))

    async def kill(self, node: Node) -> Held:
        """Kill a gateway with SIGKILL; return the channels that it owned."""
        held = await self.held_by(node.owner)
        await node.kill()
        held |= await self.held_by(node.owner)
        self._disturbed.add(node)
        self._leave(node)
        self.gateways.remove(node)
        await self.doubt(held)
        self.faults += 1
        return held

    async def stop(self, node: Node) -> int:
        """Stop a gateway with SIGTERM; return its exit code."""
        node.signal(signal.SIGTERM)
        return await self.leave(node)

    async def leave(self, node: Node) -> int:
        """Wait until a gateway has ended; return its exit code."""
        code = await node.ended()
        self._leave(node)
        self.gateways.remove(node)
        return code

    async def freeze(self, node: Node, seconds: float) -> None:
        """Stop a gateway with SIGSTOP for a time."""
        await self.disturb(node, lambda: node.signal(signal.SIGSTOP))
        self._leave(node)  # as the health check of a load balancer would
        await asyncio.sleep(seconds)
        node.signal(signal.SIGCONT)
        self.add_target(node.url)
        self.faults += 1

    async def disturb(self, node: Node, fault: Callable[[], None]) -> None:
        """Apply a fault after which a gateway cannot record the outcome of its sends."""
        held = await self.held_by(node.owner)
        fault()
        self._disturbed.add(node)
        await self.doubt(held | await self.held_by(node.owner))  # it may have claimed a channel meanwhile

    # -- which sends may have happened twice --------------------------------------------------------------------------

    async def held_by(self, owner: UUID | None) -> Held:
        """Return the channels of an owner, with the number of its lease."""
        rows = await self._rows("SELECT channel_id, epoch FROM channel_heads WHERE owner = $1", owner)
        return {(row["channel_id"], row["epoch"]) for row in rows}

    async def _rows(self, query: str, *given: Any) -> list[Any]:
        """Return the rows of a query in all cells."""
        return [row for cell in self.cells for row in await cell.stage.rows(query, *given)]

    async def doubt(self, held: Held) -> None:
        """Note the messages of these leases whose outcome is unknown, also if their intent commits a moment later."""
        found: set[str] = set()
        channels, epochs = [channel for channel, _ in held], [epoch for _, epoch in held]
        for wait in (0.0, 0.2):
            await asyncio.sleep(wait)
            rows = await self._rows(
                """SELECT m.id FROM messages m JOIN unnest($1::uuid[], $2::bigint[]) AS h (channel_id, epoch)
                   ON m.channel_id = h.channel_id AND m.epoch = h.epoch WHERE m.state = 1""",
                channels,
                epochs,
            )
            found |= {row["id"].hex for row in rows}
        self._doubts.update(found)

    def outage(self, since: float, of: Cell | None = None) -> None:
        """Note that from this time (of the wall clock) until now no outcome could be recorded, or none was answered.

        The outage is that of one cell, if it is given.
        """
        for cell in [of] if of else self.cells:
            begin, end = since - _SLACK, time.time() + _SLACK
            outages = self._outages[cell.name]
            if outages and begin <= outages[-1][1]:
                begin = outages.pop()[0]
            outages.append((begin, end))
        self.faults += 1

    def _stalls(self, channel: StageChannel) -> list[tuple[float, float]]:
        """Return when gateways lost the lease of a channel without a fault: on a busy machine a renewal can be late."""
        lines = [line for node in self._started if node not in self._disturbed for line in node.log_lines()]
        lost = [line for line in lines if line["event"] == "channel dropped" and line["channel"] == channel.id.hex]
        times = [datetime.fromisoformat(line["timestamp"]).timestamp() for line in lost]
        return [(at - _STALLED, at + _SLACK) for at in times]

    def _all_doubts(self, cell: Cell, channel: StageChannel, accepted: Iterable[dict[str, Any]]) -> Counter[str]:
        """Return how often the outcome of each message of a channel was unknown."""
        outages = self._outages[cell.name] + self._stalls(channel)
        lost = (message_of(row) for row in accepted if any(low <= row["at"] <= high for low, high in outages))
        return self._doubts + Counter(lost)

    # -- the end ------------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Begin no more messages; wait until all that were accepted have come to their end."""
        await self.load.end()
        for cell in self.cells:
            await until_settled(cell.stage, self.load.count_of(cell.stage.channels), PATIENCE)
        assert not self._not_started, f"A gateway did not start: {self._not_started[0].log_lines()[-3:]}"

    async def judge(self) -> list[Verdict]:
        """Compare the records of each channel, when everything is settled."""
        await self.settle()
        found = []
        for cell in self.cells:
            for channel in cell.stage.channels:
                records = await read_records(cell.stage, channel)
                doubts = self._all_doubts(cell, channel, records.accepted)
                found.append(
                    compare(records, self.load.accepted(channel), doubts.elements(), failing=frozenset(self.failing))
                )
        return found

    async def resumed(self, since: float, channels: Iterable[UUID] | None = None) -> float:
        """Wait until each channel has sent again since this time; return the seconds that the last one took."""
        wanted = {c.number_id for c in self.channels if channels is None or c.id in set(channels)}
        async with asyncio.timeout(PATIENCE):
            while True:
                first: dict[str, float] = {}
                for row in await self.stage.ledger("accepted"):
                    if row["at"] > since:
                        first.setdefault(row["phone_number_id"], row["at"])
                if wanted <= set(first):
                    return max((first[number] for number in wanted), default=since) - since
                await asyncio.sleep(0.1)

    async def longest_pause(self, since: float) -> float:
        """Return the longest time since then in which a channel sent nothing."""
        longest = 0.0
        for channel in self.channels:
            rows = await self.stage.ledger("accepted", phone_number_id=channel.number_id)
            times = [since, *(row["at"] for row in rows if row["at"] > since)]
            longest = max([longest, *(later - earlier for earlier, later in pairwise(times))])
        return longest


def address_of(url: str) -> tuple[str, int]:
    """Return the host and the port of an address."""
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def spread(values: Iterable[float]) -> str:
    """Return the median and the highest of some seconds."""
    ordered = sorted(values)
    if not ordered:
        return "–"
    return f"{ordered[math.ceil(len(ordered) / 2) - 1]:.1f} s, at most {ordered[-1]:.1f} s"


Play = Callable[[Run], Awaitable[None]]
