"""The gateway under test: a process as users run it, on a data folder of its own, with one channel."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import msgspec
import psutil
from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import PyreqwestError

from bench.load import FIRST, RECIPIENTS
from bench.processes import ROOT, BenchFailed, cpu_of, cpu_of_family, end
from gatepost.admin import accounts, channels, endpoints, keys
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.model import ids
from gatepost.settings import load
from gatepost.store.contacts import ensure_contacts
from gatepost.store.embedded import running_dsn
from gatepost.store.embedded.place import find_cluster
from gatepost.store.embedded.postmaster import find_postmaster, shut_down
from gatepost.store.pool import Database

_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_OPEN_LIMITS = {"throughput": 100_000, "pair_seconds": 0, "pair_burst": 1_000_000, "tier": 0}
NUMBER_ID, PHONE = "100000000000001", "15550001111"
TOKEN, APP_SECRET, VERIFY_TOKEN = "bench-token", "bench-app-secret", "bench-verify"


class Cpu(msgspec.Struct, frozen=True):
    """Seconds of processor time."""

    gateway: float
    postgres: float

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.gateway - other.gateway, self.postgres - other.postgres)


class Gateway:
    """A gateway that is ready."""

    def __init__(self, process: psutil.Process, data: Path, port: int, ready_after: float) -> None:
        cluster = find_cluster(data)
        postmaster = find_postmaster(cluster) if cluster else None
        dsn = running_dsn(data)
        if postmaster is None or dsn is None:
            raise BenchFailed("The gateway is ready, but its database is not to be found.")
        self.process, self.postmaster, self.dsn = process, postmaster, dsn
        self.data, self.port, self.ready_after = data, port, ready_after

    def cpu(self) -> Cpu:
        return Cpu(cpu_of(self.process), cpu_of_family(self.postmaster))


class Tenant(msgspec.Struct, frozen=True):
    """Whose messages are sent."""

    account_id: UUID
    channel_id: UUID
    key: str

    @property
    def channel(self) -> str:
        return ids.show("ch", self.channel_id)


# -- the folder -------------------------------------------------------------------------------------------------------


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on."""
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    for place in (folder.resolve(), *folder.resolve().parents):
        if place in mounts:
            return mounts[place]
    return ""


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder on a real disk: a commit that only reaches memory would flatter us."""
    places = [Path(tempfile.gettempdir()), Path("/var/tmp"), ROOT]
    place = next(place for place in places if place.is_dir() and file_system(place) not in _IN_MEMORY)
    folder = Path(tempfile.mkdtemp(prefix="gatepost-bench-", dir=place))
    folder.chmod(0o711)  # under root the database runs as another user, who has to pass
    try:
        yield folder
    finally:
        with contextlib.suppress(Exception):
            cluster = find_cluster(folder)
            if cluster is not None and folder not in cluster.parents:
                shutil.rmtree(cluster.parent, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def fsync_seconds(folder: Path, times: int = 50) -> float:
    """How long this disk takes to keep 8 KiB, in the middle of some tries."""
    took = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[times // 2]


def write_config(folder: Path, sandbox_url: str = "http://127.0.0.1:9") -> Path:
    """Settings for a bench: the limits that hold customers back are out of the way."""
    path = folder / "bench.toml"
    path.write_text(
        f'[api]\nrate = 1000000\nburst = 1000000\n[cloud]\nbase_url = "{sandbox_url}"\n'
        '[webhooks]\nallow = ["127.0.0.0/8"]\n[log]\nlevel = "warning"\n'
    )
    return path


# -- the process ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def running_gateway(folder: Path, config: Path, role: str = "all") -> AsyncIterator[Gateway]:
    """`gatepost serve` with the embedded database, from its start to its end."""
    port, data, log = free_port(), folder / "data", folder / "gateway.log"
    arguments = ["serve", "--role", role, "--port", str(port), "--data", str(data), "--config", str(config)]
    with log.open("ab") as said:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gatepost.cli",
            *arguments,
            stdout=said,
            stderr=said,
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        await _until_ready(process, port)
        yield Gateway(psutil.Process(process.pid), data, port, time.perf_counter() - began)
    except BenchFailed as failure:
        raise BenchFailed(f"{failure}\nThe gateway said: {log.read_text()[-2000:] or 'nothing'}") from None
    finally:
        await end(process)
        await _end_database(data)


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_client() -> Client:
    return ClientBuilder().no_proxy().build()


async def _until_ready(process: asyncio.subprocess.Process, port: int) -> None:
    give_up = time.monotonic() + 60
    async with new_client() as client:
        while time.monotonic() < give_up:
            if process.returncode is not None:
                raise BenchFailed("The gateway ended at once.")
            with contextlib.suppress(PyreqwestError):
                answer = await client.get(f"http://127.0.0.1:{port}/readyz").build().send()
                if answer.status == 200:
                    return
            await asyncio.sleep(0.01)
    raise BenchFailed("The gateway did not become ready.")


async def _end_database(data: Path) -> None:
    """A gateway that had to be killed leaves its database behind."""
    with contextlib.suppress(Exception):
        cluster = find_cluster(data)
        postmaster = find_postmaster(cluster) if cluster else None
        if postmaster is not None:
            await shut_down(postmaster, 10.0)


# -- the tenant -------------------------------------------------------------------------------------------------------


async def make_tenant(gateway: Gateway, config: Path, webhook_url: str | None = None) -> Tenant:
    """An account without a quota, a channel without limits, a key, and an endpoint if there is to be one."""
    settings, now = load(config, environ={}), datetime.now(UTC)
    vault = Vault(load_or_make_key("", gateway.data))
    db = await Database.connect(gateway.dsn, connections=2)
    try:
        account = await accounts.create_account(db, "Bench", "unlimited", plans=settings.plans, trial_days=14, now=now)
        channel = await channels.create_official(
            db,
            vault,
            account.id,
            phone=PHONE,
            name="Bench",
            number=channels.CloudNumber(NUMBER_ID),
            token=TOKEN,
            app_secret=APP_SECRET,
            verify_token=VERIFY_TOKEN,
            limits={"throughput": 1000, "pair_seconds": 0, "tier": 0},
            now=now,
        )
        await _open_limits(db, channel.id)
        if webhook_url:
            await endpoints.create_endpoint(db, vault, channel.id, webhook_url, now=now)
        key = await keys.create_key(db, channel.id, "Bench", now=now)
        return Tenant(account.id, channel.id, key.text)
    finally:
        await db.close()


async def _open_limits(db: Database, channel_id: UUID) -> None:
    """Beyond what a person may set: here the gateway itself is to be the limit."""
    async with db.connection() as conn:
        limits = msgspec.json.encode(_OPEN_LIMITS).decode()
        await conn.execute("UPDATE channels SET limits = $2 WHERE id = $1", channel_id, limits)


async def meet_recipients(gateway: Gateway, tenant: Tenant) -> None:
    """Makes the contacts beforehand: what is measured then does not depend on how many are new."""
    db = await Database.connect(gateway.dsn, connections=1)
    try:
        async with db.transaction() as conn:
            phones = [str(FIRST + i) for i in range(RECIPIENTS)]
            await ensure_contacts(conn, tenant.channel_id, phones, datetime.now(UTC))
    finally:
        await db.close()
