"""What open pages of the dashboard cost the gateway: quiet, and while messages arrive.

The floor is the same gateway without pages, with the same events, measured before. All pages belong to one account, so
that each event and each presence goes to all of them: the most expensive case.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from bench import measure
from bench.accept import ShowProgress
from bench.data_folder import write_config
from bench.gateway import Gateway, running_gateway
from bench.history_data import fill_past
from bench.measure import Sample
from bench.processes import running
from bench.tenant import Tenant, add_sessions, list_conversations, make_tenant

PAGES = 100
PAGES_AIM = 0.05  # of a core, for all pages
RATE = 2.0  # messages that arrive in a second
_SECONDS = 11.0  # of each measurement
_MESSAGES = 50_000  # of the channel: 1,000 conversations


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of a core with and without pages, and what the pages got. Lags are those from an event to a stream."""

    name: str
    floor: float
    gateway: float
    postgres: float  # without its floor
    requests: float  # in a second
    p50: float
    p99: float

    @property
    def added(self) -> float:
        """The share of a core that the pages add to the gateway."""
        return self.gateway - self.floor


class PagesFindings(msgspec.Struct, frozen=True):
    pages: int
    quiet: Share
    busy: Share


async def measure_pages(folder: Path, progress: ShowProgress) -> PagesFindings:
    """Measure the pages of a gateway with one account."""
    config = write_config(folder)
    async with running_gateway(folder, config) as gateway:
        progress(f"pages: filling an inbox of {_MESSAGES:,} messages")
        tenant = await make_tenant(gateway, config)
        await fill_past(gateway.dsn, tenant.channel_id, _MESSAGES)
        pages = await page_arguments(gateway, tenant, PAGES)
        quiet = await _measure(gateway, tenant, pages, 0.0, "quiet", progress)
        busy = await _measure(gateway, tenant, pages, RATE, f"{RATE:g} messages a second", progress)
    return PagesFindings(PAGES, quiet, busy)


async def page_arguments(gateway: Gateway, tenant: Tenant, count: int) -> list[str]:
    """Add people who are signed in; return the arguments of `bench.open_pages` for a page of each."""
    tokens = await add_sessions(gateway, tenant.account_id, count)
    shown = await list_conversations(gateway, tenant, count)
    where = ["--port", str(gateway.port), "--channel", tenant.channel]
    return [*where, "--tokens", ",".join(tokens), "--conversations", ",".join(shown)]


async def _measure(
    gateway: Gateway, tenant: Tenant, pages: list[str], rate: float, name: str, progress: ShowProgress
) -> Share:
    progress(f"pages: {name}, without pages")
    floor = await _sample(gateway, tenant, None, rate)
    progress(f"pages: {name}, with {PAGES} pages")
    found = await _sample(gateway, tenant, pages, rate)
    return Share(
        name=name,
        floor=floor.server / floor.seconds,
        gateway=found.server / found.seconds,
        postgres=found.postgres / found.seconds - floor.postgres / floor.seconds,
        requests=found.rate,
        p50=found.p50,
        p99=found.p99,
    )


async def _sample(gateway: Gateway, tenant: Tenant, pages: list[str] | None, rate: float) -> Sample:
    """Measure the gateway while events are written at a rate, with or without pages."""
    async with AsyncExitStack() as stack:
        if rate:
            written = ["--dsn", gateway.dsn, "--channel", str(tenant.channel_id)]
            written += ["--rate", str(rate), "--seconds", str(10 * _SECONDS)]
            writer = await stack.enter_async_context(running("bench.event_writer", *written))
            await writer.receive()
        if pages is not None:
            driver = await stack.enter_async_context(running("bench.open_pages", *pages, "--seconds", str(_SECONDS)))
            return await measure.sample(driver, gateway.cpu, _SECONDS)
        await asyncio.sleep(1.0)
        before, began = gateway.cpu(), time.perf_counter()
        await asyncio.sleep(_SECONDS)
        used, seconds = gateway.cpu() - before, time.perf_counter() - began
    return Sample(count=0, seconds=seconds, cpu=0.0, server=used.gateway, postgres=used.postgres)
