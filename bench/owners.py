"""How soon channels are sent that wake at once, and those of a gateway that ends.

wake    the first message on each of many idle channels, all within a moment
stop    two gateways on one database, each channel has a message now and then; one gateway is stopped
kill    the same, but it is killed: its leases end after `lease.ttl`
idle    the CPU time and the memory of many channels that have nothing to do
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import data_folder, write_config
from bench.gateway import Gateway, running_gateway
from bench.life import register_number
from bench.load import quantile
from bench.processes import BenchFailed, resident, running
from bench.tenant import NUMBER, Tenant, make_channel, make_tenant
from gatepost.admin import keys
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.store.pool import Database

WAKING, BUSY, IDLE = 1_000, 300, 10_000
WAKE_AIM = 5.0  # seconds until the last of them is sent
IDLE_CPU_AIM, IDLE_BYTES_AIM = 0.02, 2048  # of a core, and for each channel
_BUSY_RATE = 100  # messages per second, over all channels
_IDLE_SECONDS = 20.0
_SETTLE = 30.0  # seconds for the work of a start, such as the day's first look at each channel
_AFTER_END = 35.0  # seconds in which messages are counted: longer than a lease
_PATIENCE = 240.0


class Delays(msgspec.Struct, frozen=True):
    """Seconds from a moment to the intent to send, over all channels."""

    channels: int
    p50: float
    p99: float
    longest: float


class OwnersFindings(msgspec.Struct, frozen=True):
    wake: Delays
    stop: Delays
    kill: Delays  # they wait for the end of a lease at least
    idle_cpu: float  # seconds of CPU per second, gateway and PostgreSQL
    idle_bytes: float  # memory of the gateway for each idle channel


async def measure_owners(progress: ShowProgress) -> OwnersFindings:
    """Measure all of it."""
    with data_folder() as folder:
        wake = await _wake(folder, progress)
    ended = {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        with data_folder() as folder:
            ended[number] = await _end(folder, number, progress)
    with data_folder() as folder:
        cpu, memory = await _idle(folder, progress)
    return OwnersFindings(wake, ended[signal.SIGTERM], ended[signal.SIGKILL], cpu, memory)


async def _wake(folder: Path, progress: ShowProgress) -> Delays:
    async with _gateways(folder, WAKING, 1, progress) as ([gateway], senders), _opened(gateway) as db:
        progress(f"owners: the first message on each of {WAKING} channels")
        before = gateway.cpu()
        await _send(gateway, senders, WAKING, 0)
        found = await _until_sent(db, WAKING)
        progress(f"owners: {found} with {gateway.cpu() - before} s of CPU")
        return found


async def _until_sent(db: Database, count: int) -> Delays:
    """Wait until each channel has sent its message; return how long each waited."""
    give_up = time.monotonic() + _PATIENCE
    while await db.fetchval("SELECT count(*) FROM messages WHERE sending_at IS NOT NULL") < count:
        if time.monotonic() > give_up:
            raise BenchFailed("The messages were not sent.")
        await asyncio.sleep(0.2)
    rows = await db.fetch("SELECT id, sending_at FROM messages WHERE NOT incoming")
    return _delays([(row["sending_at"].timestamp() - _created(row["id"])) for row in rows])


def _created(id_: UUID) -> float:
    """Return the time in an id."""
    return float((id_.int >> 80) / 1000)


def _delays(seconds: Sequence[float]) -> Delays:
    ordered = sorted(seconds)
    return Delays(len(ordered), quantile(ordered, 0.5), quantile(ordered, 0.99), ordered[-1])


async def _end(folder: Path, number: signal.Signals, progress: ShowProgress) -> Delays:
    """Return how long the messages of those channels wait that change their owner when a gateway ends."""
    async with _gateways(folder, BUSY, 2, progress) as ([stays, ends], senders), _opened(stays) as db:
        options = ["--port", str(stays.port), "--key", ",".join(senders), "--body", measure.BODY]
        options += ["--connections", "16", "--rate", str(_BUSY_RATE), "--requests", "1000000"]
        async with running("bench.load", *options):
            await _until_shared(db, progress)
            progress(f"owners: {number.name} to a gateway with about half of {BUSY} busy channels")
            leases = "SELECT channel_id, epoch FROM channel_heads"
            before = {row["channel_id"]: row["epoch"] for row in await db.fetch(leases)}
            at = datetime.now(UTC)
            ends.process.send_signal(number)
            await asyncio.sleep(_AFTER_END)
            moved = [row["channel_id"] for row in await db.fetch(leases) if row["epoch"] != before[row["channel_id"]]]
            waits = await db.fetch(
                """SELECT id, sending_at, attempt FROM messages
                   WHERE channel_id = ANY ($1::uuid[]) AND sending_at > $2""",
                moved,
                at,
            )
    once = [row for row in waits if row["attempt"] == 1]  # the others were in flight: they wait for a late status first
    progress(f"owners: {len(waits) - len(once)} messages of these channels were sent again")
    return _delays([row["sending_at"].timestamp() - _created(row["id"]) for row in once])


async def _until_shared(db: Database, progress: ShowProgress) -> None:
    """Wait until both gateways own channels, or half a minute."""
    give_up = time.monotonic() + 40
    counts: list[int] = []
    while time.monotonic() < give_up:
        rows = await db.fetch("SELECT owner, count(*) AS n FROM channel_heads WHERE owner IS NOT NULL GROUP BY owner")
        counts = [row["n"] for row in rows]
        if len(counts) == 2 and max(counts) - min(counts) <= BUSY / 5 and sum(counts) == BUSY:
            break
        await asyncio.sleep(0.5)
    progress(f"owners: channels of each gateway: {counts}")


async def _idle(folder: Path, progress: ShowProgress) -> tuple[float, float]:
    """Return the CPU time per second of a gateway with many idle channels, and what it needs more than with none."""
    config = write_config(folder)
    async with running_gateway(folder, config) as gateway:
        await asyncio.sleep(3)
        without = resident(gateway.process)
        tenant = await make_tenant(gateway, config)
        async with _opened(gateway) as db:
            await _copy_channels(db, tenant, IDLE)
    async with running_gateway(folder, config) as gateway:
        await asyncio.sleep(_SETTLE)
        progress(f"owners: {IDLE} idle channels for {_IDLE_SECONDS:g} s")
        before = gateway.cpu()
        await asyncio.sleep(_IDLE_SECONDS)
        used = gateway.cpu() - before
        memory = (resident(gateway.process) - without) / IDLE
    cpu = (used.gateway + used.postgres) / _IDLE_SECONDS
    progress(f"owners: idle: {used} in {_IDLE_SECONDS:g} s, {memory:,.0f} bytes for each channel")
    return cpu, memory


async def _copy_channels(db: Database, tenant: Tenant, count: int) -> None:
    """Copy a channel, with its head, many times. Each head is as after the end of some work."""
    columns = "account_id, kind, name, network, secrets, limits, connection, reason, created_at"
    await db.execute(
        f"""WITH made AS (
               INSERT INTO channels (id, phone, {columns})
               SELECT gen_random_uuid(), (15550000000 + n)::text, {columns} FROM channels, generate_series(1, $2) n
               WHERE id = $1 RETURNING id)
           INSERT INTO channel_heads (channel_id, last_event_id, last_message_id, send_floor)
           SELECT id, $3, $3, $3 FROM made""",
        tenant.channel_id,
        count,
        UUID(int=0),
    )


async def _send(gateway: Gateway, senders: Sequence[str], count: int, rate: int) -> None:
    options = ["--port", str(gateway.port), "--key", ",".join(senders), "--body", measure.BODY]
    options += ["--connections", "64", "--requests", str(count), "--rate", str(rate)]
    async with running("bench.load", *options) as driver:
        await measure.sample(driver, gateway.cpu, 300)


@asynccontextmanager
async def _opened(gateway: Gateway) -> AsyncIterator[Database]:
    db = await Database.connect(gateway.dsn, connections=2)
    try:
        yield db
    finally:
        await db.close()


@asynccontextmanager
async def _gateways(
    folder: Path, channels: int, count: int, progress: ShowProgress
) -> AsyncIterator[tuple[list[Gateway], list[str]]]:
    """Run gateways on one database, with channels that are registered at the network; yield a key of each channel."""
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        sandbox_url = (await sandbox.receive_text()).split()[-1]
        config = write_config(folder, sandbox_url)
        progress(f"owners: starting gateways with {channels} channels")
        first = await stack.enter_async_context(running_gateway(folder, config))
        more = [running_gateway(folder, config, beside=first) for _ in range(count - 1)]
        gateways = [first, *[await stack.enter_async_context(one) for one in more]]
        tenant = await make_tenant(first, config)
        yield gateways, await _senders(first, sandbox_url, tenant, channels)


async def _senders(gateway: Gateway, sandbox_url: str, tenant: Tenant, count: int) -> list[str]:
    now, vault = datetime.now(UTC) - timedelta(seconds=1), Vault(load_or_make_key("", gateway.data))
    made = []
    async with _opened(gateway) as db:
        for _ in range(count):
            random = uuid4().int
            phone, number_id = f"1555{random % 10**7:07}", f"{10**14 + random % 10**14}"
            channel = await make_channel(db, vault, tenant.account_id, phone, number_id, now)
            key = await keys.create_key(db, channel.id, "Bench", now=now)
            number = NUMBER | {"phone": phone, "phone_number_id": number_id, "callbacks": {"connections": 2}}
            await register_number(sandbox_url, gateway, Tenant(tenant.account_id, channel.id, key.text), number)
            made.append(key.text)
    return made


def owners_table(found: OwnersFindings) -> tuple[str, list[str], list[list[str | int | float]]]:
    """Return the title, the columns and the rows of the table."""
    cases = {
        f"{WAKING:,} channels wake at once": found.wake,
        f"a gateway with some of {BUSY} channels stops": found.stop,
        "the same gateway is killed": found.kill,
    }
    rows: list[list[str | int | float]] = [
        [name, one.channels, round(one.p50, 2), round(one.p99, 2), round(one.longest, 2)] for name, one in cases.items()
    ]
    return "From a message to its send, in seconds", ["case", "messages", "p50", "p99", "longest"], rows
