"""All results of a run, and the targets for them."""

from datetime import datetime

import msgspec

from bench.accept import AcceptFindings
from bench.cells import CELLS_AIM, REFUSING, SILENT, UNNOTICED, CellsFindings
from bench.channels import ChannelsFindings
from bench.dashboard import FIRST_PAGE_AIM, OPEN_AIM, TASK_AIM, DashboardFindings
from bench.history import HistoryFindings
from bench.hostile import AIM, HostileFindings
from bench.life import LifeFindings
from bench.life_channels import SpreadFindings
from bench.mcp import COST_AIM, LATENCY_AIM, McpFindings
from bench.memory import MemoryFindings
from bench.owners import IDLE, IDLE_BYTES_AIM, IDLE_CPU_AIM, WAKE_AIM, WAKING, OwnersFindings
from bench.pages import PAGES_AIM, PagesFindings
from bench.screen import SCREEN_AIM, ScreenFindings, p99
from bench.several import SEVERAL_AIM, SeveralFindings
from bench.start import StartFindings
from bench.throughput import ThroughputFindings
from bench.webhooks import WebhookFindings


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of the run. Results of different machines are comparable only by their ratios."""

    cores: int
    python: str
    system: str
    file_system: str
    fsync_ms: float
    others_share: float  # share of CPU time that other programs used


class Aim(msgspec.Struct, frozen=True):
    """A target for a result. It is only reported: a missed target does not fail the run."""

    name: str
    wanted: str
    found: float
    met: bool


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run."""

    at: datetime
    machine: Machine
    accept: AcceptFindings | None = None
    cells: CellsFindings | None = None
    channels: ChannelsFindings | None = None
    dashboard: DashboardFindings | None = None
    history: HistoryFindings | None = None
    hostile: HostileFindings | None = None
    life: LifeFindings | None = None
    life_channels: SpreadFindings | None = None
    mcp: McpFindings | None = None
    memory: MemoryFindings | None = None
    pages: PagesFindings | None = None
    screen: ScreenFindings | None = None
    owners: OwnersFindings | None = None
    several: SeveralFindings | None = None
    start: StartFindings | None = None
    throughput: ThroughputFindings | None = None
    webhooks: WebhookFindings | None = None


def aims(findings: Findings) -> list[Aim]:
    """Return the targets and whether they were reached."""
    found = []
    if findings.accept:
        row = findings.accept.rows[-1]
        share = row.accept.rate / row.batch.rate
        found.append(Aim("accepts/s at 64 connections", "> 3000", round(row.accept.rate), row.accept.rate > 3000))
        found.append(Aim("of server+batch at 64 connections", "≥ 0.8", round(share, 2), share >= 0.8))
        share = row.accept.rate / findings.accept.framework_batch.rate
        found.append(Aim("of server+batch on Litestar at 64 connections", "≥ 0.5", round(share, 2), share >= 0.5))
    if findings.channels:
        one, some, *_ = findings.channels.rows
        share = some.accept.rate / one.accept.rate
        found.append(Aim(f"accepts/s over {some.channels} channels, of one", "≥ 0.7", round(share, 2), share >= 0.7))
    if findings.cells:
        for name in (REFUSING, UNNOTICED, SILENT):
            ratio = findings.cells.ratio(name)
            met = ratio <= CELLS_AIM
            found.append(Aim(f"p99 of other cells, {name} × all up", f"≤ {CELLS_AIM}", round(ratio, 2), met))
    if findings.life:
        cost = findings.life.lives.cpu_micros
        found.append(Aim("CPU µs of a whole life, PostgreSQL included", "< 3500", round(cost), cost < 3500))
    if findings.life_channels:
        found += _spread_aims(findings.life_channels)
    if findings.memory:
        rest = findings.memory.gateway_rest
        found.append(Aim("gateway MiB at rest", "≤ 90", round(rest, 1), rest <= 90))
    if findings.start:
        second = findings.start.second
        found.append(Aim("seconds from second start to ready", "≤ 1.5", round(second, 2), second <= 1.5))
    if findings.throughput:
        found += _throughput_aims(findings.throughput)
    if findings.dashboard:
        found += _dashboard_aims(findings.dashboard)
    if findings.pages:
        found += _pages_aims(findings.pages)
    if findings.screen:
        slow = p99(findings.screen.beside)
        name = f"from a message to the screen beside {findings.screen.others} pages, p99 ms"
        found.append(Aim(name, f"≤ {SCREEN_AIM * 1000:.0f}", round(slow * 1000), slow <= SCREEN_AIM))
    if findings.history:
        found += _history_aims(findings.history)
    if findings.hostile:
        longest = findings.hostile.longest * 1000
        found.append(
            Aim("longest stall by a hostile input, ms of own CPU", "≤ 50", round(longest), longest <= AIM * 1000)
        )
    if findings.mcp:
        found += _mcp_aims(findings.mcp)
    if findings.owners:
        found += _owners_aims(findings.owners)
    if findings.several:
        found += _several_aims(findings.several)
    if findings.webhooks:
        found += _webhook_aims(findings.webhooks)
    return found


def _spread_aims(found: SpreadFindings) -> list[Aim]:
    aims_ = []
    for one, many in found.pairs():
        speed = f"{one.rate}/s" if one.rate else "full speed"
        ratio = many.cpu_micros / one.cpu_micros
        name = f"CPU of a life over {many.channels} channels × one, {speed}, webhooks of up to {one.batch}"
        aims_.append(Aim(name, "≤ 1.5", round(ratio, 2), ratio <= 1.5))
        if not one.rate:
            most = 2000 if one.batch == 1 else 1200
            cost = one.cpu_micros
            aims_.append(
                Aim(f"CPU µs of a whole life, webhooks of up to {one.batch}", f"≤ {most}", round(cost), cost <= most)
            )
    return aims_


def _dashboard_aims(found: DashboardFindings) -> list[Aim]:
    size, opened, task = found.first_page, found.opened[-1], found.longest_task
    return [
        Aim("first page of the dashboard, KiB gzipped", f"≤ {FIRST_PAGE_AIM}", round(size), size <= FIRST_PAGE_AIM),
        Aim(
            f"slowest opening of a thread of {found.conversations:,}, ms",
            f"≤ {OPEN_AIM}",
            round(opened),
            opened <= OPEN_AIM,
        ),
        Aim("longest task while the list scrolls, ms", f"≤ {TASK_AIM}", round(task), task <= TASK_AIM),
    ]


def _several_aims(found: SeveralFindings) -> list[Aim]:
    one, most = found.rows[0], found.rows[-1]
    accept, bare = most.customers.cost / one.customers.cost, most.floor.cost / one.floor.cost
    ratios = {
        "an accept of many customers": accept,
        "an accept of many customers, divided by that of the floor,": accept / bare,
        "a whole life of one channel": most.life_micros / one.life_micros,
    }
    return [
        Aim(
            f"CPU of {name} with {most.processes} processes × 1",
            f"≤ {SEVERAL_AIM}",
            round(ratio, 2),
            ratio <= SEVERAL_AIM,
        )
        for name, ratio in ratios.items()
    ]


def _owners_aims(found: OwnersFindings) -> list[Aim]:
    longest, cpu, size = found.wake.longest, found.idle_cpu, found.idle_bytes
    return [
        Aim(f"{WAKING:,} channels wake at once, last one s", f"≤ {WAKE_AIM:g}", round(longest, 1), longest <= WAKE_AIM),
        Aim(
            f"{IDLE:,} idle channels, % of a core",
            f"≤ {IDLE_CPU_AIM * 100:g}",
            round(cpu * 100, 1),
            cpu <= IDLE_CPU_AIM,
        ),
        Aim("memory of an idle channel, bytes", f"≤ {IDLE_BYTES_AIM}", round(size), size <= IDLE_BYTES_AIM),
    ]


def _mcp_aims(found: McpFindings) -> list[Aim]:
    slow = found.many.p99
    return [
        Aim(
            "CPU of an MCP call × REST and the bare SDK",
            f"≤ {COST_AIM}",
            round(found.ratio, 2),
            found.ratio <= COST_AIM,
        ),
        Aim("MCP calls of 10 callers, p99 ms", f"≤ {LATENCY_AIM * 1000:.0f}", round(slow * 1000), slow <= LATENCY_AIM),
    ]


def _pages_aims(found: PagesFindings) -> list[Aim]:
    return [
        Aim(
            f"{found.pages} open pages, {share.name}: % of a core of the gateway",
            f"≤ {PAGES_AIM * 100:g}",
            round(share.added * 100, 1),
            share.added <= PAGES_AIM,
        )
        for share in (found.quiet, found.busy)
    ]


def _history_aims(found: HistoryFindings) -> list[Aim]:
    accepts = found.many.accept.rate / found.few.accept.rate
    slowest = max(look.p99 for look in found.many.looks) * 1000
    ratio = max(many.p50 / few.p50 for few, many in zip(found.few.looks, found.many.looks, strict=True))
    return [
        Aim(f"slowest look back on {found.many.messages:,} messages, p99 ms", "≤ 20", round(slowest, 1), slowest <= 20),
        Aim(f"the same × {found.few.messages:,} messages, p50", "≤ 2", round(ratio, 2), ratio <= 2),
        Aim(f"accepts/s × {found.few.messages:,} messages", "≥ 0.5", round(accepts, 2), accepts >= 0.5),
    ]


def _throughput_aims(found: ThroughputFindings) -> list[Aim]:
    slow, fast = found.slow, found.fast
    reached, most, late = slow.rate / slow.limit, round(fast.limit * 1.01), slow.disordered + fast.disordered
    return [
        Aim("of 80 messages a second, reached", "≥ 0.98", round(reached, 3), reached >= 0.98),
        Aim("busiest second of a number of 80", "≤ 80", slow.busiest, slow.busiest <= slow.limit),
        Aim("busiest second of a number of 1,000", f"≤ {most}", fast.busiest, fast.busiest <= most),
        Aim("messages out of their conversation's order", "0", late, late == 0),
    ]


def _webhook_aims(found: WebhookFindings) -> list[Aim]:
    share, (alone, *beside) = found.plain.rate / found.floor.rate, found.lags
    secure = found.secure.rate / found.secure_floor.rate
    worse = max(lag.p99 for lag in beside) / alone.p99 if alone.p99 else 0.0
    return [
        Aim("webhooks/s, of the HTTP client alone", "≥ 0.5", round(share, 2), share >= 0.5),
        Aim("the same over TLS", "≥ 0.5", round(secure, 2), secure >= 0.5),
        Aim("from event to first attempt at half load, p99 ms", "< 250", round(alone.p99 * 1000), alone.p99 < 0.25),
        Aim("the same beside a dead endpoint ×", "≤ 1.1", round(worse, 2), worse <= 1.1),
    ]
