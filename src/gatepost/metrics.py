"""Prometheus metrics of one process, read at GET /metrics. `metrics_totals.py` adds up those of several.

Every label has a small, fixed set of values: never an id, a phone number, an address or a name.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Info, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

OUTCOMES = ("delivered", "retry", "exhausted", "gone")
STATES = ("active", "paused", "disabled")
COUNTED = 100_000  # maximum count of waiting deliveries
SENDS = ("sent", "failed", "retry", "expired")
LOOKUPS = ("found", "failed", "timeout")
LOOKUP_STATES = ("running", "waiting")
LEASE_EVENTS = ("taken_over", "renewal_failed", "dropped")
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15)
_LOOP = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
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
    """A histogram of durations in seconds."""

    def __init__(self, name: str, words: str, bounds: tuple[float, ...]) -> None:
        self._name, self._words, self._bounds = name, words, bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def family(self) -> Metric:
        """Return the metric family for Prometheus, with cumulative buckets."""
        names = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        buckets = list(zip(names, accumulate(self._counts), strict=True))
        return HistogramMetricFamily(self._name, self._words, buckets=buckets, sum_value=self._sum)


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
        self._waiting = LabeledCounter(
            GaugeMetricFamily,
            "gatepost_webhook_waiting",
            f"Deliveries of the whole gateway that wait for another try, counted up to {COUNTED:,}.",
        ).begin([""])
        self._accepted = LabeledCounter(
            CounterMetricFamily, "gatepost_messages_accepted", "Messages accepted for sending."
        ).begin([""])
        self._sends = LabeledCounter(
            CounterMetricFamily, "gatepost_sends", "Tries to send a message, by result.", "result"
        ).begin(SENDS)
        self._requests = LabeledCounter(
            CounterMetricFamily, "gatepost_requests", "HTTP requests answered, by status.", "status"
        ).begin(CLASSES)
        self._channels = LabeledCounter(
            GaugeMetricFamily, "gatepost_channels_owned", "Channels that this process owns."
        ).begin([""])
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
        self._tools = LabeledCounter(
            CounterMetricFamily, "gatepost_mcp_calls", "Calls of MCP tools, by tool and outcome.", "tool", "outcome"
        )
        self.registry = CollectorRegistry()
        self.registry.register(self)
        Info("gatepost_build", "What runs here.", registry=self.registry).info({"version": version, "role": role})
        ProcessCollector(registry=self.registry)

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        for figure in (self._attempts, self._latency, self._lag, self._endpoints, self._waiting):
            yield figure.family()
        for figure in (self._accepted, self._sends, self._requests, self._channels, self._restarts, self._leases):
            yield figure.family()
        for figure in (self._lookups, self._lookups_now, self._tools):
            yield figure.family()
        for figure in (self._processes, self._process_restarts):
            yield figure.family()
        for figure in (self._loop_lag, self._longest_lag, self._stalls, self._unindexed):
            yield figure.family()

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

    def lease_event(self, event: str) -> None:
        """Count a problem with a lease: of this process, or of an owner that died."""
        self._leases.of[event] += 1

    # -- reading -----------------------------------------------------------------------------------------------------

    def set_current(self, *, waiting: int | None, channels: int) -> None:
        """Set the current numbers. None is unknown and keeps the last number."""
        self._channels.of[""] = channels
        if waiting is not None:
            self._waiting.of[""] = waiting

    def show(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self.registry)
