"""The results as tables. Ratios are relative to a baseline of the same run."""

from collections.abc import Sequence

import msgspec

from bench.accept import AcceptFindings, AcceptRow
from bench.cells import cells_table
from bench.channels import CONNECTIONS, ChannelsFindings
from bench.dashboard import DashboardFindings
from bench.history import HistoryFindings
from bench.hostile import HostileFindings
from bench.life import CALLBACKS, WEBHOOKS, BareParts, LifeFindings
from bench.life_channels import SpreadFindings
from bench.mcp import CALLERS, McpFindings
from bench.measure import Sample
from bench.measurements import Aim, Findings, aims
from bench.memory import MemoryFindings
from bench.owners import owners_table
from bench.pages import PagesFindings
from bench.screen import ScreenFindings, p50, p99
from bench.several import several_table
from bench.start import StartFindings
from bench.throughput import Held, ThroughputFindings
from bench.webhooks import BATCH, Delivered, WebhookFindings

Cell = str | int | float | None


class Section(msgspec.Struct, frozen=True):
    """One table."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def sections(findings: Findings) -> list[Section]:
    """Return the tables of all measurements that were made."""
    found: list[Section] = []
    if findings.accept:
        found += [_accept(findings.accept), _accept_floors(findings.accept)]
    if findings.cells:
        found.append(Section(*cells_table(findings.cells)))
    if findings.channels:
        found.append(_channels(findings.channels))
    if findings.life:
        found += [_life(findings.life), _parts(findings.life.parts)]
    if findings.life_channels:
        found.append(_spread(findings.life_channels))
    if findings.memory:
        found.append(_memory(findings.memory))
    if findings.start:
        found.append(_start(findings.start))
    if findings.throughput:
        found.append(_throughput(findings.throughput))
    if findings.dashboard:
        found.append(_dashboard(findings.dashboard))
    if findings.pages:
        found.append(_pages(findings.pages))
    if findings.screen:
        found.append(_screen(findings.screen))
    if findings.history:
        found += [_history(findings.history), _history_rates(findings.history)]
    if findings.hostile:
        found.append(_hostile(findings.hostile))
    if findings.mcp:
        found.append(_mcp(findings.mcp))
    if findings.owners:
        found.append(Section(*owners_table(findings.owners)))
    if findings.several:
        found.append(Section(*several_table(findings.several)))
    if findings.webhooks:
        found += [_webhooks(findings.webhooks), _lags(findings.webhooks)]
    return [*found, _aims(aims(findings))]


def _ratio(one: float, other: float) -> float:
    return round(one / other, 2) if other else 0.0


def _dashboard(found: DashboardFindings) -> Section:
    rows: list[list[Cell]] = [
        ["first page, KiB gzipped", round(found.first_page, 1)],
        [f"opening a thread, p50 ms of {len(found.opened)}", round(found.p50)],
        ["opening a thread, slowest ms", round(found.opened[-1])],
        [f"longest task while scrolling past {found.scrolled:,} conversations, ms", round(found.longest_task)],
    ]
    return Section(f"The dashboard in Chromium, with an inbox of {found.conversations:,}", ["", "found"], rows)


def _pages(found: PagesFindings) -> Section:
    rows: list[list[Cell]] = [
        [
            share.name,
            round(share.floor * 100, 1),
            round(share.gateway * 100, 1),
            round(share.added * 100, 1),
            round(share.postgres * 100, 1),
            round(share.requests, 1),
            round(share.p50 * 1000) or None,
            round(share.p99 * 1000) or None,
        ]
        for share in (found.quiet, found.busy)
    ]
    columns = ["", "gateway without, %", "with, %", "pages, %", "PostgreSQL for pages, %", "requests/s"]
    columns += ["event to stream p50 ms", "p99 ms"]
    return Section(f"{found.pages} open pages of one account, in % of a core", columns, rows)


def _screen(found: ScreenFindings) -> Section:
    rows: list[list[Cell]] = [
        [name, len(lags), round(p50(lags) * 1000), round(p99(lags) * 1000)]
        for name, lags in (("one page", found.alone), (f"beside {found.others} others", found.beside))
    ]
    return Section("From a person's message to the screen in Chromium", ["", "messages", "p50 ms", "p99 ms"], rows)


def _accept(found: AcceptFindings) -> Section:
    most = found.rows[-1]
    rows = [_accept_row(str(row.connections), row) for row in found.rows]
    for name, sample in (("with Idempotency-Keys", found.keyed), ("all recipients new", found.strangers)):
        rows.append(_accept_row(f"{most.connections}, {name}", msgspec.structs.replace(most, accept=sample)))
    columns = ["connections", "accepts/s", "p50 ms", "p99 ms", "of server+batch", "of raw+batch", "of bare server"]
    columns += ["of bare batch", "CPU × server+batch", "CPU × raw+batch", "gateway µs", "PostgreSQL µs", "load µs"]
    return Section("Durable accepts (gateway with role api, one channel)", columns, rows)


def _accept_row(name: str, row: AcceptRow) -> list[Cell]:
    accept = row.accept
    return [
        name,
        round(accept.rate),
        round(accept.p50 * 1000, 2),
        round(accept.p99 * 1000, 2),
        _ratio(accept.rate, row.batch.rate),
        _ratio(accept.rate, row.raw.rate),
        _ratio(accept.rate, row.server.rate),
        _ratio(accept.rate, row.direct.rate),
        _ratio(accept.cost, row.batch.cost),
        _ratio(accept.cost, row.raw.cost),
        round(accept.micros(accept.server)),
        round(accept.micros(accept.postgres)),
        round(accept.micros(accept.cpu)),
    ]


def _channels(found: ChannelsFindings) -> Section:
    one = found.rows[0].accept
    rows = [_channels_row(str(row.channels), row.accept, one) for row in found.rows]
    rows.append(_channels_row(f"{found.first.count}, one message each", found.first, one))
    columns = ["channels", "accepts/s", "of one channel", "p50 ms", "p99 ms", "gateway µs", "PostgreSQL µs", "load µs"]
    return Section(f"Accept over 1, 20, 200 channels of one account ({CONNECTIONS} connections)", columns, rows)


def _channels_row(name: str, sample: Sample, one: Sample) -> list[Cell]:
    return [
        name,
        round(sample.rate),
        _ratio(sample.rate, one.rate),
        round(sample.p50 * 1000, 2),
        round(sample.p99 * 1000, 2),
        round(sample.micros(sample.server)),
        round(sample.micros(sample.postgres)),
        round(sample.micros(sample.cpu)),
    ]


def _accept_floors(found: AcceptFindings) -> Section:
    rows: list[list[Cell]] = []
    for row in found.rows:
        n = row.connections
        rows.append(_floor_row(f"{n}: bare server (no database)", row.server))
        rows.append(_floor_row(f"{n}: server+batch (one plain row each)", row.batch))
        rows.append(_floor_row(f"{n}: raw+batch (the same without an HTTP server)", row.raw))
        rows.append(_floor_row(f"{n}: bare batch (the gateway's own commit, no server)", row.direct))
    most = found.rows[-1].connections
    rows.append(_floor_row(f"{most}: bare server on Litestar", found.framework_server))
    rows.append(_floor_row(f"{most}: server+batch on Litestar", found.framework_batch))
    columns = ["connections: floor", "per second", "p50 ms", "p99 ms", "server µs", "PostgreSQL µs", "driver µs"]
    return Section("Floors of accepting, measured beside it", columns, rows)


def _floor_row(name: str, sample: Sample) -> list[Cell]:
    timed = sample.p50 > 0
    return [
        name,
        round(sample.rate),
        round(sample.p50 * 1000, 2) if timed else None,
        round(sample.p99 * 1000, 2) if timed else None,
        round(sample.micros(sample.server)),
        round(sample.micros(sample.postgres)),
        round(sample.micros(sample.cpu)),
    ]


def _life(found: LifeFindings) -> Section:
    lives, accept, floor = found.lives, found.lives.accept, found.parts.cpu_micros
    rows: list[list[Cell]] = [
        ["messages per second, first accept to last webhook", round(lives.messages / lives.seconds)],
        ["webhooks per message", round(lives.webhooks / lives.messages, 3)],
        ["accepts per second meanwhile (64 connections)", round(accept.rate)],
        ["accept p50 ms meanwhile", round(accept.p50 * 1000, 2)],
        ["accept p99 ms meanwhile", round(accept.p99 * 1000, 2)],
        ["gateway CPU µs per message", round(lives.micros(lives.gateway_cpu))],
        ["PostgreSQL CPU µs per message", round(lives.micros(lives.postgres_cpu))],
        ["together µs", round(lives.cpu_micros)],
        ["floor µs (sum of the bare parts)", round(floor)],
        ["together × floor", _ratio(lives.cpu_micros, floor)],
    ]
    title = f"The whole life of {lives.messages:,} messages (accept, send, three statuses, four webhooks)"
    return Section(title, ["figure", "value"], rows)


def _spread(found: SpreadFindings) -> Section:
    rows: list[list[Cell]] = [
        [
            f"{row.rate}/s" if row.rate else "full speed",
            row.batch,
            row.channels,
            round(row.gateway_cpu / row.messages * 1e6),
            round(row.postgres_cpu / row.messages * 1e6),
            round(row.cpu_micros),
            round(many.cpu_micros / one.cpu_micros, 2) if row is many else None,
            round(row.lock_waits, 2),
        ]
        for one, many in found.pairs()
        for row in (one, many)
    ]
    columns = ["rate", "events per webhook", "channels", "gateway µs", "PostgreSQL µs", "together µs", "× one channel"]
    return Section("The whole life over one channel and over many", [*columns, "sessions that wait for a lock"], rows)


def _parts(found: BareParts) -> Section:
    request, callback, post, written = found.request, found.callback, found.post, found.rows
    parts: list[tuple[str, int, float]] = [
        ("bare request served (accept)", 1, request.micros(request.server)),
        ("bare request served (callback)", CALLBACKS, callback.micros(callback.server)),
        ("bare POST made (send, webhooks)", 1 + WEBHOOKS, post.micros(post.cpu)),
        ("bare rows written, client's side", 1, written.micros(written.cpu)),
        ("bare rows written, PostgreSQL", 1, written.micros(written.postgres)),
    ]
    rows: list[list[Cell]] = [[name, times, round(each), round(times * each)] for name, times, each in parts]
    return Section("Floor of the whole life", ["part", "times", "CPU µs each", "CPU µs per message"], rows)


def _memory(found: MemoryFindings) -> Section:
    rows: list[list[Cell]] = [
        ["gateway (RSS)", round(found.gateway_rest, 1), round(found.gateway_peak, 1)],
        ["PostgreSQL, all processes (PSS)", round(found.postgres_rest, 1), round(found.postgres_after, 1)],
    ]
    return Section("Memory", ["MiB", "at rest", "whole life: gateway's peak, PostgreSQL's end"], rows)


def _start(found: StartFindings) -> Section:
    rows: list[list[Cell]] = [
        ["first start (makes the database)", round(found.first, 2)],
        ["second start", round(found.second, 2)],
    ]
    return Section("From start to ready", ["start", "seconds"], rows)


def _throughput(found: ThroughputFindings) -> Section:
    columns = ["limit, messages/s", "held, s", "sent/s", "of limit", "busiest second", "seconds over", "over by > 1 %"]
    columns += ["refused", "out of order", "gateway µs", "PostgreSQL µs", "sandbox µs"]
    return Section("Throughput of one number (sending alone)", columns, [_held(found.slow), _held(found.fast)])


def _held(held: Held) -> list[Cell]:
    return [
        f"{held.limit:,}",
        round(held.seconds, 1),
        round(held.rate, 1),
        _ratio(held.rate, held.limit),
        held.busiest,
        f"{held.over:.2%}",
        f"{held.far_over:.2%}",
        held.refused,
        held.disordered,
        round(held.micros(held.gateway_cpu)),
        round(held.micros(held.postgres_cpu)),
        round(held.micros(held.sandbox_cpu)),
    ]


def _history(found: HistoryFindings) -> Section:
    few, many = found.few, found.many
    rows: list[list[Cell]] = [
        [
            small.name,
            *(round(took * 1000, 2) for took in (small.p50, small.p99, small.cpu, big.p50, big.p99, big.cpu)),
            *(_ratio(one, other) for one, other in ((big.p50, small.p50), (big.p99, small.p99), (big.cpu, small.cpu))),
        ]
        for small, big in zip(few.looks, many.looks, strict=True)
    ]
    small, big = f"{few.messages:,}", f"{many.messages:,}"
    columns = ["question, ms", f"{small}: p50", "p99", "CPU", f"{big}: p50", "p99 ", "CPU ", "p50 ×", "p99 ×", "CPU ×"]
    return Section("Looking back on a channel (one request at a time)", columns, rows)


def _history_rates(found: HistoryFindings) -> Section:
    few, many = found.few, found.many
    pairs: list[tuple[str, float, float]] = [
        ("exported, messages/s", few.exported, many.exported),
        ("put into blocks of words, messages/s", few.indexed, many.indexed),
        ("accepted, messages/s (64 connections)", few.accept.rate, many.accept.rate),
        ("accept p50 ms", few.accept.p50 * 1000, many.accept.p50 * 1000),
        ("accept p99 ms", few.accept.p99 * 1000, many.accept.p99 * 1000),
        ("accept CPU µs, gateway and PostgreSQL", few.accept.cost, many.accept.cost),
    ]
    rows: list[list[Cell]] = [[name, round(small, 1), round(big, 1), _ratio(big, small)] for name, small, big in pairs]
    columns = ["figure", f"{few.messages:,} messages", f"{many.messages:,} messages", "×"]
    return Section("Rates on a channel with a past", columns, rows)


def _hostile(found: HostileFindings) -> Section:
    rows: list[list[Cell]] = [
        [one.name, one.status, round(one.seconds, 2), round(one.stall * 1000), round(one.own * 1000)]
        for one in (found.quiet, *found.inputs)
    ]
    columns = ["input", "answer", "after s", "longest stall ms", "own CPU in it ms"]
    return Section("Stalls of the event loop by the worst input of each kind (below 10 ms: 0)", columns, rows)


def _webhooks(found: WebhookFindings) -> Section:
    rows: list[list[Cell]] = [
        *_clients("", found.floor, found.own),
        _delivered("one event in a POST", found.plain, found.floor),
        _delivered(f"{BATCH} events in a POST", found.batched, found.floor),
        *_clients(" over TLS", found.secure_floor, found.secure_own),
        _delivered("one event in a POST over TLS", found.secure, found.secure_floor),
    ]
    columns = ["webhooks", "events/s", "of floor", "gateway µs", "PostgreSQL µs", "together µs", "CPU × floor"]
    return Section("Webhooks from a full queue (one endpoint)", columns, rows)


def _clients(over: str, floor: Sample, own: Sample) -> list[list[Cell]]:
    named = ((f"HTTP client alone{over} (floor)", floor), (f"the gateway's client alone{over}", own))
    return [[name, round(one.rate), None, round(one.micros(one.cpu)), None, None, None] for name, one in named]


def _delivered(name: str, sent: Delivered, floor: Sample) -> list[Cell]:
    cost = sent.micros(sent.gateway_cpu + sent.postgres_cpu)
    gateway, postgres = round(sent.micros(sent.gateway_cpu)), round(sent.micros(sent.postgres_cpu))
    share, times = _ratio(sent.rate, floor.rate), _ratio(cost, floor.micros(floor.cpu))
    return [name, round(sent.rate), share, gateway, postgres, round(cost), times]


def _lags(found: WebhookFindings) -> Section:
    alone = found.lags[0]
    rows: list[list[Cell]] = [
        [
            lag.name,
            round(lag.seen.rate),
            round(lag.p50 * 1000),
            round(lag.p99 * 1000),
            _ratio(lag.p99, alone.p99),
            round(lag.seen.micros(lag.seen.server)),
            round(lag.seen.micros(lag.seen.postgres)),
        ]
        for lag in found.lags
    ]
    columns = ["healthy endpoint", "events/s", "p50 ms", "p99 ms", "p99 ×", "gateway µs", "PostgreSQL µs"]
    return Section(f"From event to first attempt at half load ({found.load:,.0f} events/s)", columns, rows)


def _mcp(found: McpFindings) -> Section:
    named = [
        ("the same over REST (floor)", found.rest),
        ("bare SDK (floor)", found.sdk),
        ("call of a tool", found.call),
        (f"the same, {CALLERS} callers", found.many),
    ]
    rows: list[list[Cell]] = [
        [
            name,
            round(one.rate),
            round(one.p50 * 1000, 1),
            round(one.p99 * 1000, 1),
            round(one.micros(one.server)),
            round(one.micros(one.postgres)),
            round(one.cost),
        ]
        for name, one in named
    ]
    title = f"Calls of assistants; gateway {found.rest_mib:.0f} MiB before the first call, {found.loaded_mib:.0f} after"
    return Section(
        title, ["20 contacts", "calls/s", "p50 ms", "p99 ms", "gateway µs", "PostgreSQL µs", "together µs"], rows
    )


def _aims(found: Sequence[Aim]) -> Section:
    rows = [[aim.name, aim.wanted, aim.found, "yes" if aim.met else "no"] for aim in found]
    return Section("Aims", ["figure", "wanted", "found", "met"], rows)
