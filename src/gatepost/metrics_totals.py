"""Adds up the metrics of several processes.

counters, histograms   added up, including those of processes that have ended
gauges                 added up over the running processes, unless `_RULES` says otherwise
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

Rule = Literal["sum", "max", "min", "first"]
# "first": the value of the process that answers.
_RULES: dict[str, Rule] = {
    "gatepost_webhook_waiting": "first",  # of the whole database, and outdated in processes that are not asked
    "gatepost_channels_unowned": "first",
    "gatepost_channels_unowned_oldest_seconds": "first",
    "gatepost_send_queue_oldest_seconds": "max",
    "gatepost_loop_lag_longest_seconds": "max",
    "gatepost_cell_up": "min",
    "process_max_fds": "max",
    "process_start_time_seconds": "min",
}
_SINCE_START = {"gatepost_loop_lag_longest_seconds"}  # gauges that stay true after the end of a process

Sample = tuple[str, dict[str, str], float]  # name, labels, value


class MetricFamily(msgspec.Struct, frozen=True):
    """The samples of one metric."""

    name: str
    kind: str
    words: str
    samples: list[Sample]

    @property
    def rule(self) -> Rule:
        return "first" if self.kind == "info" else _RULES.get(self.name, "sum")


def read_metrics(registry: CollectorRegistry) -> list[MetricFamily]:
    """Return the current values of all metrics of this process."""
    return [
        MetricFamily(
            metric.name,
            metric.type,
            metric.documentation,
            [(sample.name, dict(sample.labels), float(sample.value)) for sample in metric.samples],
        )
        for metric in registry.collect()
    ]


def lasting(families: Iterable[MetricFamily]) -> list[MetricFamily]:
    """Return what counts on after the end of a process: what it has counted, not what it had."""
    return [one for one in families if one.kind in ("counter", "histogram") or one.name in _SINCE_START]


def add_up(processes: Iterable[Iterable[MetricFamily]]) -> list[MetricFamily]:
    """Return the metrics of several processes as one."""
    return _add_up(processes, lambda one: one.rule)


def add_up_cells(main: Iterable[MetricFamily], others: Iterable[Iterable[MetricFamily]]) -> list[MetricFamily]:
    """Return the metrics of the cells of one process as one. What the process has, its first cell reports."""
    of_cells = [[one for one in families if not one.name.startswith("process_")] for families in others]
    return _add_up([main, *of_cells], _cell_rule)


def _cell_rule(family: MetricFamily) -> Rule:
    """Return how cells are added up: a number of one database counts, since each cell has another database."""
    if family.rule != "first" or family.kind == "info":
        return family.rule
    return "max" if family.name.endswith("_seconds") else "sum"


def _add_up(processes: Iterable[Iterable[MetricFamily]], rule_of: Callable[[MetricFamily], Rule]) -> list[MetricFamily]:
    known: dict[str, MetricFamily] = {}
    values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for families in processes:
        for one in families:
            rule, new = rule_of(one), one.name not in known
            if new:
                known[one.name], values[one.name] = one, {}
            if new or rule != "first":
                _add(values[one.name], one.samples, rule)
    return [
        MetricFamily(
            one.name,
            one.kind,
            one.words,
            [(name, dict(labels), value) for (name, labels), value in values[one.name].items()],
        )
        for one in known.values()
    ]


def _add(total: dict[tuple[str, tuple[tuple[str, str], ...]], float], samples: Iterable[Sample], rule: Rule) -> None:
    for name, labels, value in samples:
        key = name, tuple(labels.items())
        before = total.get(key)
        if before is None:
            total[key] = value
        elif rule == "sum":
            total[key] = before + value
        else:
            total[key] = max(before, value) if rule == "max" else min(before, value)


def as_text(families: Iterable[MetricFamily]) -> bytes:
    """Return metrics in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Fixed(families))
    return generate_latest(registry)


class _Fixed(Collector):
    def __init__(self, families: Iterable[MetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        for one in self._families:
            metric = Metric(one.name, one.words, one.kind)
            for name, labels, value in one.samples:
                metric.add_sample(name, labels, value)
            yield metric
