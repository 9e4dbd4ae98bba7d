"""Prometheus metrics of one process, read at GET /metrics. `metrics_totals.py` adds up those of several.

Every label has a small, fixed set of values: never an id, a phone number, an address or a name.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec
from prometheus_client import CollectorRegistry, Info, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

OUTCOMES = ("delivered", "retry", "exhausted", "gone")
STATES = ("active", "paused", "disabled")
COUNTED = 100_000  # maximum count of waiting deliveries
UNOWNED = 1_000  # maximum count of channels without an owner
SENDS = ("sent", "failed", "retry", "expired")
LOOKUPS = ("found", "failed", "timeout")
LOOKUP_STATES = ("running", "waiting")
LEASE_EVENTS = ("taken_over", "renewal_failed", "dropped")
LEASE_MOVES = ("claimed", "taken_over", "balance", "idle", "stop", "move", "dropped")
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
UPDATES = ("message", "status", "other")
SPANS = ("exported", "dropped", "rejected")
STAGES = ("accept", "intent", "result", "receive", "delivery")  # what commits in batches
_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15)
_LOOP = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COMMIT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_LAG = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)

CONTENT_TYPE = "text/plain; version=0.0.4"  # the text format that all Prometheus clients read


class LabeledCounter:
    """A number for each value of a label, or for each tuple of values of several labels.

    All counting happens in one thread and needs no lock.
    """

    def __init__(self, kind: type[CounterMetricFamily | GaugeMetricFamily], name: str, words: str, *label: str) -> None:
        self._kind, self._name, self._words, self._label = kind, name, words, label
        self.of: dict[str | tuple[str, ...], float] = {}

    def begin(self, values: Sequence[str]) -> "LabeledCounter":
        """Set each value to 0."""
        self.of = dict.fromkeys(values, 0)
        return self

    def family(self) -> Metric:
        """Return the metric family for Prometheus."""
        family = self._kind(self._name, self._words, labels=self._label)
        for value, count in self.of.items():
            values = value if isinstance(value, tuple) else (value,)
            family.add_metric(values if self._label else (), count)
        return family


class DurationHistogram:
    """A histogram of durations in seconds, or one for each value of a label."""

    def __init__(
        self, name: str, words: str, bounds: tuple[float, ...], label: str = "", values: Sequence[str] = ("",)
    ) -> None:
        self._name, self._words, self._bounds, self._label = name, words, bounds, label
        self._counts = {value: [0] * (len(bounds) + 1) for value in values}
        self._sums = dict.fromkeys(values, 0.0)

    def add(self, seconds: float, value: str = "") -> None:
        self._counts[value][bisect_left(self._bounds, seconds)] += 1
        self._sums[value] += seconds

    def family(self) -> Metric:
        """Return the metric family for Prometheus, with cumulative buckets."""
        names = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        family = HistogramMetricFamily(self._name, self._words, labels=[self._label] if self._label else [])
        for value, counts in self._counts.items():
            buckets = list(zip(names, accumulate(counts), strict=True))
            family.add_metric([value] if self._label else [], buckets, self._sums[value])
        return family


class CurrentFigures(msgspec.Struct, frozen=True):
    """What a process has at the moment. It is read when somebody asks, from numbers in memory."""

    channels: int = 0  # that it owns
    queued: int = 0  # messages in the queues of its senders
    oldest: float = 0.0  # seconds that one of them has waited since it was due
    conversations: Mapping[str, int] = {}  # that wait, by rule
    held: Mapping[str, int] = {}  # channels that wait, by rule
    posting: int = 0  # POSTs to webhook endpoints in flight
    uncommitted: Mapping[str, int] = {}  # items that wait for a commit, by stage
    connections: Mapping[str, int] = {}  # to the database that are in use, by use
    without_connection: Mapping[str, int] = {}  # statements that wait for a connection, by use
    connection_timeouts: Mapping[str, int] = {}  # since the start, by use
    connections_most: int = 0


class BacklogFigures(msgspec.Struct, frozen=True):
    """What all gateways of a database have to do, counted up to a limit."""

    retries: int = 0
    unowned: int = 0  # channels with work and without an owner
    unowned_seconds: float = 0.0  # how long the first of them has had work


class ProcessMetrics(Collector):
    """All metrics of a process, in their own registry. Counting is much cheaper than with the library's own classes."""

    def __init__(self, version: str = "", role: str = "", *, serving: bool = True) -> None:
        self._attempts = LabeledCounter(
            CounterMetricFamily, "gatepost_webhook_attempts", "Deliveries tried, by outcome.", "outcome"
        ).begin(OUTCOMES)
        self._latency = DurationHistogram(
            "gatepost_webhook_latency_seconds", "How long one POST to an endpoint took.", _LATENCY
        )
        self._lag = DurationHistogram(
            "gatepost_webhook_lag_seconds", "From an event to its first delivery attempt.", _LAG
        )
        self._endpoints = LabeledCounter(
            GaugeMetricFamily,
            "gatepost_webhook_endpoints",
            "Endpoints that this process delivers to, by state.",
            "state",
        ).begin(STATES)
        self._accepted = LabeledCounter(
            CounterMetricFamily, "gatepost_messages_accepted", "Messages accepted for sending."
        ).begin([""])
        self._sends = LabeledCounter(
            CounterMetricFamily, "gatepost_sends", "Tries to send a message, by result.", "result"
        ).begin(SENDS)
        self._requests = LabeledCounter(
            CounterMetricFamily, "gatepost_requests", "HTTP requests answered, by status.", "status"
        ).begin(CLASSES)
        self._loop_lag = DurationHistogram(
            "gatepost_loop_lag_seconds", "How late the event loop ran its heartbeat.", _LOOP
        )
        self._longest_lag = LabeledCounter(
            GaugeMetricFamily, "gatepost_loop_lag_longest_seconds", "The longest such delay since the start."
        ).begin([""])
        self._stalls = LabeledCounter(
            CounterMetricFamily, "gatepost_loop_stalls", "Delays beyond the setting watchdog.stall."
        ).begin([""])
        self._unindexed = LabeledCounter(
            CounterMetricFamily, "gatepost_search_set_aside", "Messages that cannot be found by their words."
        ).begin([""])
        self._restarts = LabeledCounter(
            CounterMetricFamily, "gatepost_database_restarts", "Unexpected ends of the embedded PostgreSQL."
        ).begin([""])
        self._processes = LabeledCounter(
            GaugeMetricFamily, "gatepost_processes", "Running processes of this gateway, without their supervisor."
        ).begin([""])
        self._processes.of[""] = int(serving)
        self._process_restarts = LabeledCounter(
            CounterMetricFamily, "gatepost_process_restarts", "Unexpected ends of a process of this gateway."
        ).begin([""])
        self._lookups = LabeledCounter(
            CounterMetricFamily, "gatepost_dns_lookups", "Lookups of host names in URLs, by result.", "result"
        ).begin(LOOKUPS)
        self._lookups_now = LabeledCounter(
            GaugeMetricFamily, "gatepost_dns_lookups_now", "Lookups of host names that run or wait now.", "state"
        ).begin(LOOKUP_STATES)
        self._leases = LabeledCounter(
            CounterMetricFamily, "gatepost_lease_events", "What went wrong with the ownership of channels.", "event"
        ).begin(LEASE_EVENTS)
        self._moves = LabeledCounter(
            CounterMetricFamily, "gatepost_lease_moves", "Channels that were claimed or released, by reason.", "reason"
        ).begin(LEASE_MOVES)
        self._cells = LabeledCounter(
            GaugeMetricFamily,
            "gatepost_cell_up",
            "Whether the database of a cell answers.",
            "cell",
        )
        self._tools = LabeledCounter(
            CounterMetricFamily, "gatepost_mcp_calls", "Calls of MCP tools, by tool and outcome.", "tool", "outcome"
        )
        self._commits = DurationHistogram(
            "gatepost_commit_seconds", "How long a commit of a batch took, by stage.", _COMMIT, "stage", STAGES
        )
        self._committed = LabeledCounter(
            CounterMetricFamily, "gatepost_commit_items", "Items in those commits, by stage.", "stage"
        ).begin(STAGES)
        self._send_lag = DurationHistogram(
            "gatepost_send_lag_seconds", "From the time a message was due until the network had it.", _LAG
        )
        self._network = DurationHistogram(
            "gatepost_network_seconds", "How long a call that sends a message took at the network.", _LATENCY
        )
        self._updates = LabeledCounter(
            CounterMetricFamily, "gatepost_updates", "Updates of networks that were stored, by kind.", "kind"
        ).begin(UPDATES)
        self._spans = LabeledCounter(
            CounterMetricFamily, "gatepost_spans", "Spans of traces that ended, by what became of them.", "result"
        ).begin(SPANS)
        self._current, self._backlog = CurrentFigures(), BacklogFigures()
        self.registry = CollectorRegistry()
        self.registry.register(self)
        Info("gatepost_build", "What runs here.", registry=self.registry).info({"version": version, "role": role})
        ProcessCollector(registry=self.registry)

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        for figure in (self._attempts, self._latency, self._lag, self._endpoints):
            yield figure.family()
        for figure in (self._accepted, self._sends, self._requests, self._restarts, self._leases):
            yield figure.family()
        for figure in (self._moves, self._lookups, self._lookups_now, self._tools, self._cells):
            yield figure.family()
        for figure in (self._processes, self._process_restarts):
            yield figure.family()
        for figure in (self._loop_lag, self._longest_lag, self._stalls, self._unindexed):
            yield figure.family()
        for figure in (self._commits, self._committed, self._send_lag, self._network, self._updates, self._spans):
            yield figure.family()
        yield from _gauges(self._current, self._backlog)

    # -- recording ---------------------------------------------------------------------------------------------------

    def attempt(self, outcome: str, seconds: float) -> None:
        """Count a POST to an endpoint that ended."""
        self._attempts.of[outcome] += 1
        self._latency.add(seconds)

    def lag(self, seconds: float) -> None:
        """Record the time between an event and its first delivery attempt."""
        self._lag.add(max(0.0, seconds))

    def breaker(self, before: str | None, after: str | None) -> None:
        """Record the state change of an endpoint of this process. None before or after: it was added or removed."""
        if before is not None:
            self._endpoints.of[before] -= 1
        if after is not None:
            self._endpoints.of[after] += 1

    def lookup(self, result: str) -> None:
        """Count a host name lookup that ended."""
        self._lookups.of[result] += 1

    def lookups(self, running: int, waiting: int) -> None:
        """Set the numbers of running and waiting host name lookups."""
        self._lookups_now.of["running"], self._lookups_now.of["waiting"] = running, waiting

    def tool_called(self, tool: str, outcome: str) -> None:
        """Count a call of an MCP tool that ended. Both have few values: names of tools, and outcomes of calls."""
        self._tools.of[tool, outcome] = self._tools.of.get((tool, outcome), 0) + 1

    def accepted(self, count: int) -> None:
        """Count messages that were stored for sending."""
        self._accepted.of[""] += count

    def sent(self, result: str, count: int = 1) -> None:
        """Count attempts to send that ended."""
        self._sends.of[result] += count

    def answered(self, status: int) -> None:
        """Count an answered request."""
        self._requests.of[CLASSES[min(max(status // 100, 1), 5) - 1]] += 1

    def loop_lag(self, seconds: float, stalled: bool) -> None:
        """Record the delay of a heartbeat of the event loop."""
        self._loop_lag.add(seconds)
        self._longest_lag.of[""] = max(self._longest_lag.of[""], seconds)
        self._stalls.of[""] += stalled

    def set_aside(self, count: int) -> None:
        """Count messages that the search index set aside."""
        self._unindexed.of[""] += count

    def database_ended(self) -> None:
        """Count an unexpected end of the embedded PostgreSQL."""
        self._restarts.of[""] += 1

    def process_ended(self) -> None:
        """Count an unexpected end of one of several processes."""
        self._process_restarts.of[""] += 1

    def cell_up(self, name: str, up: bool) -> None:
        """Set whether the database of a cell answers."""
        self._cells.of[name] = int(up)

    def lease_event(self, event: str) -> None:
        """Count a problem with a lease: of this process, or of an owner that died."""
        self._leases.of[event] += 1

    def committed(self, stage: str, items: int, seconds: float) -> None:
        """Record a commit of a batch."""
        self._commits.add(seconds, stage)
        self._committed.of[stage] += items

    def send_lag(self, seconds: float) -> None:
        """Record how long a message took from when it was due until the network had accepted it."""
        self._send_lag.add(max(0.0, seconds))

    def network_call(self, seconds: float) -> None:
        """Record how long the network took to answer a send."""
        self._network.add(seconds)

    def received(self, kind: str, count: int) -> None:
        """Count updates of networks that are stored."""
        self._updates.of[kind] += count

    def lease_moved(self, reason: str) -> None:
        """Count a channel that this process has claimed or released."""
        self._moves.of[reason] += 1

    def spans(self, result: str, count: int) -> None:
        """Count spans that were exported, rejected by the collector, or dropped because too many waited."""
        self._spans.of[result] += count

    # -- reading -----------------------------------------------------------------------------------------------------

    def set_current(self, current: CurrentFigures, backlog: BacklogFigures | None = None) -> None:
        """Set the current numbers. Without those of the database, the last ones remain."""
        self._current, self._backlog = current, backlog or self._backlog

    def show(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self.registry)


def _gauges(now: CurrentFigures, backlog: BacklogFigures) -> Iterator[Metric]:
    yield _gauge("gatepost_channels_owned", "Channels that this process owns.", now.channels)
    yield _gauge("gatepost_send_queue_messages", "Messages in the queues of the senders of this process.", now.queued)
    yield _gauge("gatepost_send_queue_oldest_seconds", "How long the oldest of them has been due.", now.oldest)
    yield _by("gatepost_conversations_waiting", "Conversations that wait, by rule.", "rule", now.conversations)
    yield _by("gatepost_channels_waiting", "Channels that cannot send now, by rule.", "rule", now.held)
    yield _gauge("gatepost_webhook_posts_now", "POSTs to endpoints in flight.", now.posting)
    yield _by("gatepost_commit_waiting", "Items that wait for a commit, by stage.", "stage", now.uncommitted)
    yield _by("gatepost_database_connections", "Connections in use, by use.", "use", now.connections)
    yield _by("gatepost_database_waiting", "Statements that wait for one, by use.", "use", now.without_connection)
    yield _gauge("gatepost_database_connections_limit", "Connections that may be in use.", now.connections_most)
    timeouts = CounterMetricFamily(
        "gatepost_database_timeouts", "Statements that got no connection in time.", labels=["use"]
    )
    for use, count in now.connection_timeouts.items():
        timeouts.add_metric([use], count)
    yield timeouts
    words = f"Deliveries of the whole database that wait for another try, counted up to {COUNTED:,}."
    yield _gauge("gatepost_webhook_waiting", words, backlog.retries)
    words = f"Channels of the whole database with work and without an owner, counted up to {UNOWNED:,}."
    yield _gauge("gatepost_channels_unowned", words, backlog.unowned)
    words = "How long the first of these channels has had work."
    yield _gauge("gatepost_channels_unowned_oldest_seconds", words, backlog.unowned_seconds)


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


def _by(name: str, words: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
