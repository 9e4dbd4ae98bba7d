"""The parts of a fault test: a database, a sandbox and a receiver that stay, and gateways as real processes.

clients ─► Node (a process: killed, stopped, started again) ─► sandbox ─► its ledger: what really happened
             │                     ▲                              │
             └─► receiver          └────────── callbacks ◄────────┘
"""

import asyncio
import base64
import multiprocessing
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import msgspec
import psutil
from pyreqwest.client import Client, ClientBuilder

from gatepost.admin import channels, endpoints
from gatepost.admin.vault import Vault
from gatepost.model import ids
from gatepost.settings import load
from gatepost.store.pool import Database
from gatepost_sandbox import SandboxSettings
from gatepost_sandbox import serve as serve_sandbox
from tests.conftest import Receiver
from tests.faults.killable_gateway import run
from tests.patience import PATIENCE
from tests.running_gateway import FAST_NETWORK, QUICK, Gateway

NOBODY = "http://127.0.0.1:9"
SECRET_KEY = base64.b64encode(b"k" * 32).decode()
NUMBER_ID = "100000000000001"
_PAGE = 100_000  # entries of the sandbox's ledger
APP_SECRET = "app-secret"
# Leases are short, so that a take-over is quick; the time of grace is longer than the network's retry of a callback.
METRICS_TOKEN = "figures-please"
SHORT = QUICK | {
    "lease.ttl": 1.2,
    "lease.renew": 0.25,
    "lease.sweep": 0.1,
    "sending.unknown_grace": 0.7,
    "cloud.base_url": NOBODY,  # each channel names its sandbox; nothing ever leaves the machine by mistake
    "server.port": 0,
    "server.drain_seconds": 3,
    "security.secret_key": SECRET_KEY,
    "metrics.token": METRICS_TOKEN,
    "log.format": "json",
}
# Started once for all gateways, with everything imported and the web framework set up: a gateway is
# then a fork away.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.faults.killable_gateway", "tests.faults.warm"])


class ChildProcess(Protocol):
    """What a node needs of its process."""

    @property
    def pid(self) -> int | None: ...

    @property
    def exitcode(self) -> int | None: ...

    def is_alive(self) -> bool: ...


class Node:
    """A gateway in its own process."""

    _process: ChildProcess

    def __init__(self, overrides: dict[str, Any], role: str, point: str | None, log: Path) -> None:
        self._told, child = _processes.Pipe(duplex=False)
        process = _processes.Process(target=run, args=(overrides, role, point, str(log), child), daemon=True)
        process.start()
        self._process = process
        child.close()
        self._log = log
        self.url = ""

    async def ready(self, seconds: float = PATIENCE) -> str:
        """Wait until it listens; return its address."""
        async with asyncio.timeout(seconds):
            self.url = await _receive_url(self._told, self)
        return self.url

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def stopped(self) -> bool:
        return self.process.status() == psutil.STATUS_STOPPED

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._process.pid)

    @property
    def owner(self) -> UUID | None:
        """The id with which it owns channels, once it has logged it."""
        started = [line for line in self.log_lines() if line["event"] == "owner started"]
        return UUID(started[0]["owner"]) if started else None

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    async def ended(self, seconds: float = PATIENCE) -> int:
        """Wait until it has ended; return its exit code, which is -9 if it was killed."""
        async with asyncio.timeout(seconds):
            while self.alive:
                await asyncio.sleep(0.01)
        assert self._process.exitcode is not None
        return self._process.exitcode

    async def kill(self) -> None:
        """Kill it."""
        if self.alive:
            self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """Ask it to stop, and wait until it has ended."""
        self.signal(signal.SIGTERM)
        return await self.ended()

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [
            msgspec.json.decode(line) if line.startswith("{") else {"event": line, "level": "raw"} for line in lines
        ]


async def _receive_url(channel: Connection, node: Node) -> str:
    while not channel.poll():
        await asyncio.sleep(0.005)
    try:
        url: str = channel.recv()
    except EOFError:
        raise AssertionError(f"The gateway did not start: {node.log_lines()}") from None
    return url


class StageChannel(msgspec.Struct, frozen=True):
    """A channel of an account of its own, with a key, and with an endpoint at a path of the receiver."""

    account_id: UUID
    id: UUID
    number_id: str
    key: str
    path: str

    @property
    def name(self) -> str:
        """The id as the API shows it."""
        return ids.format_id("ch", self.id)


class Stage(Gateway):
    """A database, a sandbox and a receiver with channels, and methods to use them. Most tests have one channel."""

    def __init__(
        self,
        sandbox_url: str,
        db: Database,
        receiver: Receiver,
        client: Client,
        options: dict[str, Any],
        first_number: int = int(NUMBER_ID),
    ) -> None:
        vault = Vault(base64.b64decode(SECRET_KEY))
        super().__init__(NOBODY, sandbox_url, db, vault, load(environ={}, overrides=options), client)
        self.receiver = receiver
        self.network_url = sandbox_url  # where the gateways find the network
        self.channel_id = UUID(int=0)
        self.channels: list[StageChannel] = []
        self.options = options
        self._first_number = first_number
        self._nodes: list[Node] = []

    def beside(self, db: Database, first_number: int) -> "Stage":
        """Return a stage with the same parts and another database, whose channels have numbers from this one on."""
        other = Stage(self.sandbox_url, db, self.receiver, self._client, self.options, first_number)
        other.network_url = self.network_url
        return other

    async def create_channel(self, **limits: float) -> None:
        """Create the channel that requests use unless they name another key."""
        made = await self.add_channel("/hook", **limits)
        self.account_id, self.channel_id, self.channel, self.key = made.account_id, made.id, made.name, made.key

    async def add_channel(self, path: str, **limits: float) -> StageChannel:
        """Create an account, a channel that is registered at the sandbox, a key, and an endpoint at the receiver."""
        now = datetime.now(UTC)
        account_id, number = await self.new_account(), self._first_number + len(self.channels)
        number_id, phone = str(number), str(15550001111 + 1111 * (number - int(NUMBER_ID)))
        made = await channels.create_official(
            self.db,
            self.vault,
            account_id,
            phone=phone,
            name="Test",
            number=channels.CloudNumber(number_id, base_url=self.network_url),
            token="token",
            app_secret=APP_SECRET,
            verify_token="verify",
            limits=FAST_NETWORK | limits,
            now=now,
        )
        await endpoints.create_endpoint(self.db, self.vault, made.id, self.receiver.url + path, now=now)
        spec = {"phone_number_id": number_id, "phone": phone, "token": "token", "app_secret": APP_SECRET}
        await self.sandbox("POST", "/control/numbers", spec | {"verify_token": "verify"})
        self.channels.append(StageChannel(account_id, made.id, number_id, await self.new_key(made.id), path))
        return self.channels[-1]

    def launch(self, *, role: str = "all", point: str | None = None, **overrides: Any) -> Node:
        """Start a gateway without waiting for it."""
        options = self.options | {name.replace("__", "."): value for name, value in overrides.items()}
        node = Node(options, role, point, Path(self.settings.data) / f"node-{len(self._nodes)}.log")
        self._nodes.append(node)
        return node

    async def start(self, *, role: str = "all", point: str | None = None, **overrides: Any) -> Node:
        """Start a gateway, and let clients and the network use it."""
        node = self.launch(role=role, point=point, **overrides)
        await self.use_gateway(await node.ready())
        return node

    async def use_gateway(self, url: str) -> None:
        """Send requests and callbacks to this gateway from now on."""
        self.url = url
        for channel in self.channels:
            changed = {"callback_url": f"{url}/callbacks/cloud/{channel.name}", "verify": False}
            await self.sandbox("PATCH", f"/control/numbers/{channel.number_id}", changed)

    async def ledger(self, kind: str, **filters: str) -> list[dict[str, Any]]:
        """Return entries of the sandbox's ledger."""
        asked = "".join(f"&{name}={value}" for name, value in filters.items())
        entries: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = await self.sandbox("GET", f"/control/ledger?kind={kind}&limit={_PAGE}&after={after}{asked}")
            entries += page["entries"]
            after = page["next"]
        return entries

    async def rows(self, query: str, *given: Any) -> list[Any]:
        """Return the rows of a query."""
        async with self.db.connection() as conn:
            return list(await conn.fetch(query, *given))

    def log_lines(self) -> str:
        """Return the last lines of every gateway's log."""
        return "\n".join(str(line)[:600] for node in self._nodes for line in node.log_lines()[-5:])

    async def close(self) -> None:
        """Kill every gateway that still runs."""
        for node in self._nodes:
            with suppress(ProcessLookupError):
                await node.kill()


@asynccontextmanager
async def running_sandbox(settings: SandboxSettings) -> AsyncIterator[str]:
    """Run a sandbox that can also cut connections, in this loop."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_sandbox("127.0.0.1", 0, settings, ready=port.set_result, signals=False))
    try:
        async with asyncio.timeout(PATIENCE):
            bound = await port
        yield f"http://127.0.0.1:{bound}"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def quick_network(**changes: Any) -> SandboxSettings:
    """Return settings of a sandbox that sends and repeats its callbacks quickly."""
    return msgspec.convert(
        {
            "delays": {"sent": 0.01, "delivered": 0.03, "read": 0.06},
            "limits": {"throughput": None, "pair_interval": None},
            "callbacks": {"retry": [0.15] * 200, "timeout": 3.0, "connections": 8},
            **changes,
        },
        SandboxSettings,
    )


@asynccontextmanager
async def running_stage(
    database_url: str, receiver: Receiver, *, network: SandboxSettings | None = None, **overrides: Any
) -> AsyncIterator[Stage]:
    """Yield a stage without gateways. The overrides apply to each gateway: lease__ttl=…"""
    async with running_sandbox(network or quick_network()) as sandbox_url:
        with tempfile.TemporaryDirectory() as folder:
            options = SHORT | {"data": folder, "database.url": database_url}
            options |= {name.replace("__", "."): value for name, value in overrides.items()}
            db = await Database.connect(database_url, connections=16)
            async with ClientBuilder().no_proxy().timeout(timedelta(seconds=PATIENCE)).build() as client:
                stage = Stage(sandbox_url, db, receiver, client, options)
                try:
                    yield stage
                finally:
                    await stage.close()
                    await db.close()
