"""The cost of complete messages over one channel and over many, at the same total rate.

Nothing should depend on how messages are spread: hosts of many customers have many channels with few messages each.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, running_gateway
from bench.life import WEBHOOKS, register_number
from bench.processes import BenchFailed, Child, running
from bench.tenant import NUMBER, Tenant, make_channel, make_tenant
from gatepost.admin import endpoints, keys
from gatepost.admin.vault import Vault, load_or_make_key
from gatepost.model.endpoint import DeliveryOptions
from gatepost.model.errors import Unavailable
from gatepost.model.event import ACKNOWLEDGE, MESSAGE
from gatepost.store.pool import Database

MANY = 100
RATE = 100
BATCHED = DeliveryOptions(batch=100, batch_wait=0.5)
_PACED_SECONDS = 10
_QUIET = 5.0  # seconds without a webhook after which no more are expected
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
_SAMPLE = 0.2  # seconds between looks at the database's locks


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Messages over a number of channels. CPU times are in seconds, for all messages together."""

    channels: int
    rate: int  # messages per second; 0: as fast as possible
    batch: int  # most events in one webhook
    messages: int
    gateway_cpu: float
    postgres_cpu: float
    lock_waits: float  # sessions that wait for a lock, on average

    @property
    def cpu_micros(self) -> float:
        """CPU time per message, gateway and PostgreSQL together."""
        return (self.gateway_cpu + self.postgres_cpu) / self.messages * 1e6


class SpreadFindings(msgspec.Struct, frozen=True):
    rows: list[Spread]

    def pairs(self) -> list[tuple[Spread, Spread]]:
        """Return each measurement over one channel with the one over many."""
        return list(zip(self.rows[::2], self.rows[1::2], strict=True))


async def measure_life_channels(folder: Path, messages: int, progress: ShowProgress) -> SpreadFindings:
    """Process messages over one channel and over many, in turns."""
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(running("gatepost.cli", "sandbox", "--port", "0"))
        sandbox_url = (await sandbox.receive_text()).split()[-1]
        receiver = await stack.enter_async_context(running("bench.receiver"))
        url = f"http://127.0.0.1:{(await receiver.receive())['port']}/hook"
        config = write_config(folder, sandbox_url)
        progress(f"life over channels: starting a gateway with {2 * MANY} channels")
        gateway = await stack.enter_async_context(running_gateway(folder, config))
        account = await make_tenant(gateway, config)
        single = await _senders(gateway, sandbox_url, account, url, DeliveryOptions())
        batched = await _senders(gateway, sandbox_url, account, url, BATCHED)
        counter = _Counter(receiver)
        rows = []
        for senders, batch, rate in ((single, 1, RATE), (single, 1, 0), (batched, BATCHED.batch, 0)):
            for channels in (1, MANY):
                speed = f"{rate}/s" if rate else "as fast as possible"
                progress(f"life over channels: {channels}, {speed}, webhooks of up to {batch}")
                count = min(messages, rate * _PACED_SECONDS) if rate else messages
                rows.append(await _live(gateway, counter, senders[:channels], batch, rate, count))
                progress(f"life over channels: {rows[-1].cpu_micros:,.0f} µs of CPU per message")
    return SpreadFindings(rows)


async def _senders(
    gateway: Gateway, sandbox_url: str, account: Tenant, url: str, options: DeliveryOptions
) -> list[str]:
    """Create channels with an endpoint each, registered at the network; return a key of each."""
    now, vault = datetime.now(UTC), Vault(load_or_make_key("", gateway.data))
    db = await Database.connect(gateway.dsn, connections=2)
    made = []
    try:
        for place in range(MANY):
            random = uuid4().int
            phone, number_id = f"1555{random % 10**7:07}", f"{10**14 + random % 10**14}"
            channel = await make_channel(db, vault, account.account_id, phone, number_id, now)
            wanted = (MESSAGE, ACKNOWLEDGE)  # the four events of a message, without those of new contacts
            await endpoints.create_endpoint(db, vault, channel.id, url, events=wanted, options=options, now=now)
            key = await keys.create_key(db, channel.id, "Bench", now=now)
            tenant = Tenant(account.account_id, channel.id, key.text)
            callbacks = {"connections": 4 if place else 32}  # the first is also used alone
            number = NUMBER | {"phone": phone, "phone_number_id": number_id, "callbacks": callbacks}
            await register_number(sandbox_url, gateway, tenant, number)
            made.append(key.text)
    finally:
        await db.close()
    return made


class _Counter:
    """Counts the events that the receiver gets."""

    def __init__(self, receiver: Child) -> None:
        self._receiver = receiver
        self._events = 0

    async def wait_for(self, count: int) -> None:
        """Wait for events. There may be fewer: a status that arrives after a later one is not reported."""
        before = self._events
        while self._events < before + count:
            most = self._events > before + count * 0.7
            try:
                self._events = (await self._receiver.receive(_QUIET if most else 60))["events"]
            except BenchFailed:
                if most:
                    return
                raise


async def _live(
    gateway: Gateway, counter: _Counter, senders: Sequence[str], batch: int, rate: int, messages: int
) -> Spread:
    options = ["--port", str(gateway.port), "--key", ",".join(senders), "--body", measure.BODY]
    options += ["--connections", "64", "--requests", str(messages), "--rate", str(rate)]
    await _warm_up(gateway, counter, senders)
    before = gateway.cpu()
    async with _lock_waits(gateway) as waits, running("bench.load", *options) as driver:
        accepting = asyncio.create_task(measure.sample(driver, gateway.cpu, 300))
        await counter.wait_for(WEBHOOKS * messages)
        await accepting
        await asyncio.sleep(0.5)  # for the log of the last attempts
        used = gateway.cpu() - before
    return Spread(
        channels=len(senders),
        rate=rate,
        batch=batch,
        messages=messages,
        gateway_cpu=used.gateway,
        postgres_cpu=used.postgres,
        lock_waits=sum(waits) / max(1, len(waits)),
    )


async def _warm_up(gateway: Gateway, counter: _Counter, senders: Sequence[str]) -> None:
    """Send a few messages over each channel, so that each has an owner."""
    count = 3 * len(senders)
    options = ["--port", str(gateway.port), "--key", ",".join(senders), "--body", measure.BODY]
    async with running("bench.load", *options, "--connections", "8", "--requests", str(count)) as driver:
        accepting = asyncio.create_task(measure.sample(driver, gateway.cpu, 60))
        await counter.wait_for(WEBHOOKS * count)
        await accepting


@asynccontextmanager
async def _lock_waits(gateway: Gateway) -> AsyncIterator[list[int]]:
    """Look regularly how many sessions wait for a lock."""
    db, seen = await Database.connect(gateway.dsn, connections=1), list[int]()

    async def look() -> None:
        while True:
            with contextlib.suppress(Unavailable):  # a busy machine
                seen.append(await db.fetchval(_WAITING))
            await asyncio.sleep(_SAMPLE)

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
        await db.close()
