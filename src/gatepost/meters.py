"""Figures of one process, for Prometheus: counted where things happen, read at GET /metrics.

Every label has few values, known beforehand: no id, number, address or name of anybody ever becomes one.
"""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

OUTCOMES = ("delivered", "retry", "exhausted", "gone")
STATES = ("active", "paused", "disabled")
COUNTED = 100_000  # deliveries that wait are counted no further
SENDS = ("sent", "failed", "retry", "expired")
CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
_LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15)
_LAG = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600)

CONTENT_TYPE = "text/plain; version=0.0.4"  # what every reader of such figures knows


class Meters:
    """All figures of a process, in a registry of their own."""

    def __init__(self, version: str = "", role: str = "") -> None:
        self.registry = CollectorRegistry()
        self._webhooks()
        self._house()
        Info("gatepost_build", "What runs here.", registry=self.registry).info({"version": version, "role": role})
        ProcessCollector(registry=self.registry)

    def _webhooks(self) -> None:
        self._attempts = self._counter(
            "gatepost_webhook_attempts", "Deliveries tried, by outcome.", "outcome", OUTCOMES
        )
        self._latency = Histogram(
            "gatepost_webhook_latency_seconds",
            "How long one POST to an endpoint took.",
            buckets=_LATENCY,
            registry=self.registry,
        )
        self._lag = Histogram(
            "gatepost_webhook_lag_seconds",
            "From an event to its first delivery attempt.",
            buckets=_LAG,
            registry=self.registry,
        )
        self._endpoints = self._gauge(
            "gatepost_webhook_endpoints", "Endpoints that this process delivers to, by state.", "state", STATES
        )
        self._waiting = Gauge(
            "gatepost_webhook_waiting",
            f"Deliveries of the whole gateway that wait for another try, counted up to {COUNTED:,}.",
            registry=self.registry,
        )

    def _house(self) -> None:
        self._accepted = Counter("gatepost_messages_accepted", "Messages accepted for sending.", registry=self.registry)
        self._sends = self._counter("gatepost_sends", "Tries to send a message, by result.", "result", SENDS)
        self._requests = self._counter("gatepost_requests", "HTTP requests answered, by status.", "status", CLASSES)
        self._channels = Gauge("gatepost_channels_owned", "Channels that this process owns.", registry=self.registry)

    # -- what happens ------------------------------------------------------------------------------------------------

    def attempt(self, outcome: str, seconds: float) -> None:
        """One POST to an endpoint ended."""
        self._attempts[outcome].inc()
        self._latency.observe(seconds)

    def lag(self, seconds: float) -> None:
        """One event had its first attempt, so long after it happened."""
        self._lag.observe(max(0.0, seconds))

    def breaker(self, before: str | None, after: str | None) -> None:
        """An endpoint of ours changed its state; None: it came to us, or went away."""
        if before is not None:
            self._endpoints[before].dec()
        if after is not None:
            self._endpoints[after].inc()

    def accepted(self, count: int) -> None:
        """Messages are on disk and will be sent."""
        self._accepted.inc(count)

    def sent(self, result: str, count: int = 1) -> None:
        """Tries to send ended."""
        self._sends[result].inc(count)

    def answered(self, status: int) -> None:
        """A request has its answer."""
        self._requests[CLASSES[min(max(status // 100, 1), 5) - 1]].inc()

    # -- what is looked at when somebody asks ------------------------------------------------------------------------

    def stand(self, *, waiting: int | None, channels: int) -> None:
        """How things stand at this moment; None: could not be learned, and stays as it was."""
        self._channels.set(channels)
        if waiting is not None:
            self._waiting.set(waiting)

    def show(self) -> bytes:
        """All figures as text."""
        return generate_latest(self.registry)

    def _counter(self, name: str, words: str, label: str, values: tuple[str, ...]) -> Mapping[str, Counter]:
        counter = Counter(name, words, [label], registry=self.registry)
        return {value: counter.labels(value) for value in values}

    def _gauge(self, name: str, words: str, label: str, values: tuple[str, ...]) -> Mapping[str, Gauge]:
        gauge = Gauge(name, words, [label], registry=self.registry)
        return {value: gauge.labels(value) for value in values}
