"""Fixtures for all tests: a real database, a real HTTP server, a real receiver of webhooks.

postgres_server   one embedded PostgreSQL per test process, its database `gatepost` migrated once
database_url      a fresh copy of that database for one test
serve_app         any ASGI app on 127.0.0.1, in the test's own loop
receiver          an HTTP server that records requests and responds as the test sets
"""

import asyncio
import gc
import inspect
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import hypothesis
import msgspec
import pytest
import structlog
import uvicorn
from argon2 import PasswordHasher

from gatepost.admin import passwords
from gatepost.logs import console
from gatepost.networks.qr.phone.by_neonize.library import load_types
from gatepost.store.embedded import EmbeddedPostgres, admin_dsn
from gatepost.store.embedded.conf import GATEWAY_ROLE
from gatepost.store.migrate import migrate
from gatepost.store.partitions import make_partitions
from gatepost.store.pool import Database
from tests.authority import trust_only_one
from tests.daily_sample import keep_sample
from tests.listening import stop_listening
from tests.patience import PATIENCE, patience
from tests.reused_database import ReusedDatabase, in_use
from tests.shared_compilation import pytest_collection
from tests.slow_first import put_slow_first
from tests.thorough import DAY, THOROUGH

__all__ = ["pytest_collection"]

T = TypeVar("T")
REAL_HASHER = passwords._hasher  # tests use a quick one

# A limit of 200 ms for each example, by default, would fail on a busy machine.
hypothesis.settings.register_profile("gatepost", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("gatepost")
load_types()  # of the library for linked phones; its native part is only loaded in child processes, as in the gateway

# A copy has the same owner as its original: the gateway's role.
AS_MADE = f"OWNER {GATEWAY_ROLE} STRATEGY FILE_COPY"
# These tests switch to another user, which only root can do.
collect_ignore = [] if os.geteuid() == 0 else ["store/test_embedded_root.py", "cli/test_privileges.py"]
# Whether tests can mount file systems in a namespace of their own.
CAN_MOUNT = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0
# Whether another user can run this Python: it, or the checkout, may be in a folder that only its owner can enter.
AS_OTHER = ["setpriv", "--reuid", "10001", "--clear-groups", sys.executable, "-c", "import gatepost"]
OTHERS_CAN_RUN = CAN_MOUNT and subprocess.run(AS_OTHER, check=False, capture_output=True).returncode == 0
collect_ignore += [] if CAN_MOUNT else ["faults/test_full_disk.py"]
collect_ignore += [] if OTHERS_CAN_RUN else ["deploy/test_container.py"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of this run, and their order."""
    keep_sample(config, items)
    put_slow_first(items)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collections: on a busy machine one took six seconds."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to repeat the sample of this run."""
    if not THOROUGH:
        terminalreporter.write_line(f"Sample of the long tests: GATEPOST_TESTS_DAY={DAY}. All of them: make test-all")


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread, so that session fixtures do not affect the event loops of tests."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def scratch_folder() -> Path:
    """Create a folder for a cluster that all users may enter; in memory if there is enough, for speed."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    fast = roomy and not os.statvfs(memory).f_flag & os.ST_NOEXEC
    folder = Path(tempfile.mkdtemp(prefix="gatepost-tests-", dir=memory if fast else None))
    # As root, the server runs as another user, who must be able to enter this folder.
    folder.chmod(0o711)
    return folder


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Save time: trust only one authority, share compiled code with child processes, hash passwords quickly."""
    bytecodes = tempfile.TemporaryDirectory(prefix="gatepost-tests-", ignore_cleanup_errors=True)
    with bytecodes as bytecode, pytest.MonkeyPatch.context() as patch:
        for name, value in trust_only_one(tmp_path_factory.mktemp("authority")).items():
            patch.setenv(name, value)
        if sys.dont_write_bytecode:  # child processes share the bytecode, which is deleted after the run
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", bytecode)
        patch.setenv("NODE_COMPILE_CACHE", str(Path(sys.prefix) / "node"))
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # child processes inherit that `nohup` ignores it
        # The default renders each traceback with all variables, which takes a second.
        structlog.configure(processors=[*structlog.get_config()["processors"][:-1], console()])
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
        yield


@pytest.fixture(autouse=True)
def same_logs() -> Iterator[None]:
    """Restore the settings of the log: a command that a test runs in this process changes them."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


class Administrator:
    """A connection outside all test databases, which is kept: a new one takes as long as copying a third of a database.

    It has a thread and an event loop of its own, because most tests have an event loop of their own.
    """

    def __init__(self, url: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()
        self._conn: asyncpg.Connection = self._run(asyncpg.connect(admin_dsn(url))).result()

    def _run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return self._thread.submit(self._runner.run, work)

    async def execute(self, statement: str) -> None:
        """Run one statement."""
        await self.run(self._conn.execute(statement))

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something else in its loop."""
        return await asyncio.wrap_future(self._run(work))

    def close(self) -> None:
        """End the connection and the thread."""
        self._run(self._conn.close()).result()
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()


class PostgresServer(msgspec.Struct, frozen=True):
    """The PostgreSQL server of this test process. A test that stops servers starts its own."""

    data: Path
    template_url: str
    administrator: Administrator

    def url(self, database: str) -> str:
        """Return the address of one of its databases."""
        return self.template_url.replace("/gatepost?", f"/{database}?")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Yield an embedded PostgreSQL whose database `gatepost` is migrated. Connect only to copies of it."""
    data = scratch_folder()
    server = EmbeddedPostgres(data, logical=True)
    try:
        url = run_apart(server.start())
        run_apart(migrate(url))
        administrator = Administrator(url.replace("/gatepost?", "/postgres?"))
        started = PostgresServer(data=data, template_url=url, administrator=administrator)
        run_apart(forget_the_disk(started))
        yield started
        administrator.close()
    finally:
        run_apart(server.stop())
        shutil.rmtree(data)


async def forget_the_disk(server: PostgresServer) -> None:
    """Disable waiting for the disk. Only a power failure would lose data, not a killed process."""
    await administer(server, "ALTER SYSTEM SET fsync = off")
    await administer(server, "ALTER SYSTEM SET full_page_writes = off")
    await administer(server, "ALTER SYSTEM SET max_wal_size = '256MB'")
    # Tests decide whether a table has statistics; it must not depend on autovacuum's timing.
    await administer(server, "ALTER SYSTEM SET autovacuum = off")
    await administer(server, "SELECT pg_reload_conf()")


@pytest.fixture
async def database_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """Yield the address of a new, migrated database that only this test uses."""
    async with copied_database(postgres_server, "gatepost") as url:
        yield url


@pytest.fixture(scope="session")
def parted_template(postgres_server: PostgresServer) -> str:
    """Return the name of a database that also has today's partitions: creating them is most of a gateway's start."""
    run_apart(administer(postgres_server, f"CREATE DATABASE gatepost_parted TEMPLATE gatepost {AS_MADE}"))
    run_apart(_part(postgres_server.url("gatepost_parted"), datetime.now(UTC)))
    return "gatepost_parted"


async def _part(url: str, at: datetime) -> None:
    db = await Database.connect(url, connections=1)
    await make_partitions(db, at, days=7)
    await db.close()


@contextmanager
def common_database(server: PostgresServer, at: datetime) -> Iterator[str]:
    """Create a database that many tests share, like unrelated accounts, with the partitions of a given time."""
    name = f"test_{uuid.uuid4().hex}"
    run_apart(administer(server, f"CREATE DATABASE {name} TEMPLATE gatepost {AS_MADE}"))
    try:
        run_apart(_part(server.url(name), at))
        yield server.url(name)
    finally:
        run_apart(administer(server, f"DROP DATABASE {name} WITH (FORCE)"))


class ReusedDatabases:
    """The databases of gateways that no test uses at the moment."""

    def __init__(self, server: PostgresServer, template: str, runner: asyncio.Runner) -> None:
        self._server = server
        self._template = template
        self._runner = runner
        self._free: list[ReusedDatabase] = []

    @asynccontextmanager
    async def one(self) -> AsyncIterator[str]:
        """Yield the address of a database that looks new. Outside of the shared event loop it is new."""
        if asyncio.get_running_loop() is not self._runner.get_loop():
            async with copied_database(self._server, self._template) as url:
                yield url
            return
        found = self._free.pop() if self._free else await self._copy()
        in_use[found.url] = found
        try:
            yield found.url
        finally:
            del in_use[found.url]
            if await self._server.administrator.run(found.clean()):
                self._free.append(found)
            else:
                await self._close(found)
                await administer(self._server, f"DROP DATABASE {found.name} WITH (FORCE)")

    async def _copy(self) -> ReusedDatabase:
        name = f"test_{uuid.uuid4().hex}"
        await administer(self._server, f"CREATE DATABASE {name} TEMPLATE {self._template} {AS_MADE}")
        copy = ReusedDatabase(name, self._server.url(name))
        await self._server.administrator.run(copy.open())
        return copy

    async def _close(self, one: ReusedDatabase) -> None:
        await one.warm.close()
        await self._server.administrator.run(one.close())

    def close(self) -> None:
        """Close all connections."""
        for one in self._free:
            self._runner.run(self._close(one))


@pytest.fixture(scope="session")
def reused_databases(
    postgres_server: PostgresServer, parted_template: str, _session_scoped_runner: asyncio.Runner
) -> Iterator[ReusedDatabases]:
    """Yield the databases of gateways."""
    databases = ReusedDatabases(postgres_server, parted_template, _session_scoped_runner)
    yield databases
    databases.close()


@pytest.fixture
async def parted_database_url(reused_databases: ReusedDatabases) -> AsyncIterator[str]:
    """Yield the address of a database for a gateway of today, which looks new.

    A gateway whose clock shows another year uses `database_url`: here it would fill all weeks between with partitions.
    """
    async with reused_databases.one() as url:
        yield url


@pytest.fixture
async def empty_database_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """Yield the address of an empty database."""
    async with copied_database(postgres_server, "template1") as url:
        yield url


@asynccontextmanager
async def copied_database(server: PostgresServer, template: str) -> AsyncIterator[str]:
    """Yield the address of a copy of a database; drop it at the end, with all connections to it."""
    name = f"test_{uuid.uuid4().hex}"
    await administer(server, f"CREATE DATABASE {name} TEMPLATE {template} {AS_MADE}")
    try:
        yield server.url(name)
    finally:
        await administer(server, f"DROP DATABASE {name} WITH (FORCE)")


async def administer(server: PostgresServer, statement: str) -> None:
    """Run one statement outside all test databases."""
    await server.administrator.execute(statement)


class TestServer(uvicorn.Server):
    """A server that does not handle signals or exit the process, and that stops immediately on request.

    uvicorn's own loops wait up to 0.2 seconds when they stop, which took a quarter of the time of all tests.
    """

    __test__ = False

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Request the server to stop."""
        self._ending.set()

    async def main_loop(self) -> None:
        """Serve until `end`; each turn updates the Date header of responses."""
        while not self._ending.is_set():
            await self.on_tick(0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 1.0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests in flight finish within the grace period of the config, and close the other connections."""
        await stop_listening(*self.servers)
        state = self.server_state
        for _ in range(5):  # a connection that was accepted just now is among them some turns of the loop later
            await asyncio.sleep(0)
        for connection in list(state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while state.connections or state.tasks:
                    await asyncio.sleep(0.002)
        left = list(state.tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for connection in list(state.connections):  # of clients that neither read nor disconnect
            connection.transport.abort()
        await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, or raise an error that fails the test."""
        try:
            await super().startup(sockets)
        except SystemExit as ended:
            raise RuntimeError("The app did not start: its lifespan failed.") from ended


@asynccontextmanager
async def serve_app(app: Any) -> AsyncIterator[str]:
    """Serve an ASGI app on a free port of 127.0.0.1, in the running loop, and yield its base URL."""
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1)
    async with serve_config(config) as url:
        yield url


@asynccontextmanager
async def serve_config(config: uvicorn.Config) -> AsyncIterator[str]:
    """Serve a uvicorn config on a free port of 127.0.0.1, in the running loop, and yield its base URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        # asyncio sets this only for sockets that name their protocol; without it each response takes 40 ms longer.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = TestServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            if serving.done():
                await serving
            await asyncio.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.end()
            await serving


ServeApp = Callable[[Any], AbstractAsyncContextManager[str]]


@pytest.fixture(name="serve_app")
def serve_app_fixture() -> ServeApp:
    """Return `serve_app`, for tests that do not import it."""
    return serve_app


class Received(msgspec.Struct, frozen=True):
    """A received request. Header names are in lower case; `at` is the wall clock time."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    at: float

    def json(self) -> Any:
        """Return the body, decoded from JSON."""
        return msgspec.json.decode(self.body)


class Answer(msgspec.Struct, frozen=True):
    """A response of the receiver, and its delay in seconds."""

    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b""
    delay: float = 0.0


class Receiver:
    """A customer's web server: records every request, and responds with `answer` or with what `answer` returns."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.answer: Answer | Callable[[Received], Answer | Awaitable[Answer]] = Answer()
        self._news = asyncio.Condition()
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End all delays, so that a slow response does not delay the end of a test."""
        self._closing.set()

    async def wait_for(self, count: int, timeout: float = PATIENCE) -> list[Received]:
        """Wait until at least `count` requests have arrived."""
        async with patience(lambda: f"{len(self.requests)} of {count} requests have come", timeout), self._news:
            await self._news.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle an ASGI request."""
        if scope["type"] != "http":
            return
        request = await read_request(scope, receive)
        async with self._news:
            self.requests.append(request)
            self._news.notify_all()
        answer = await self._choose(request)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), answer.delay)
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _choose(self, request: Received) -> Answer:
        if isinstance(self.answer, Answer):
            return self.answer
        chosen = self.answer(request)
        return await chosen if inspect.isawaitable(chosen) else chosen


async def read_request(scope: Any, receive: Any) -> Received:
    """Read a complete request from ASGI."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return Received(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode(),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=body,
        at=time.time(),
    )


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Yield a running receiver; `receiver.url` is its base URL."""
    one = Receiver()
    async with serve_app(one) as one.url:
        yield one
        one.close()
