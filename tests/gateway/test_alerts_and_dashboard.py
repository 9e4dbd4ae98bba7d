"""The alert rules and the Grafana dashboard name only metrics, labels and values that a running gateway exposes."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]
from prometheus_client.parser import text_string_to_metric_families

from gatepost.metrics import COUNTED
from tests.docs.test_links import anchors
from tests.running_gateway import running_gateway

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "gatepost.json"
RUNBOOK = "docs/how-to/respond-to-alerts.md"
PROMETHEUS = {"instance", "job"}  # labels that Prometheus adds to every metric
KEYWORDS = {"and", "or", "unless", "by", "without"}
TOKEN = re.compile(r'"[^"]*"|\d+(?:\.\d+)?[a-z]*|(?P<name>[a-zA-Z_]\w*)(?P<call>\s*\()?(?:\{(?P<matchers>[^}]*)\})?')
GROUPING = re.compile(r"\b(?:by|without)\s*\(([^)]*)\)")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')

Exposed = dict[str, dict[str, set[str]]]  # metric → label → values


class Selector(msgspec.Struct, frozen=True):
    """A metric in an expression, its matchers, and the labels by which the expression groups."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    grouped: frozenset[str]


def selectors(expression: str) -> Iterator[Selector]:
    """Return what an expression of PromQL reads."""
    text = expression.replace("$__rate_interval", "5m")
    grouped = frozenset(label.strip() for labels in GROUPING.findall(text) for label in labels.split(","))
    for found in TOKEN.finditer(GROUPING.sub("", text)):
        if found["name"] and not found["call"] and found["name"] not in KEYWORDS:
            yield Selector(found["name"], tuple(MATCHER.findall(found["matchers"] or "")), grouped)


def faults(expression: str, exposed: Exposed) -> list[str]:
    """Return what an expression names and a gateway does not expose."""
    wrong = []
    for one in selectors(expression):
        labels = exposed.get(one.metric)
        if labels is None:
            wrong.append(one.metric)
            continue
        used = {name for name, _, _ in one.matchers} | one.grouped
        wrong += [f"{one.metric}: {label}" for label in sorted(used - PROMETHEUS - labels.keys())]
        for label, _, wanted in one.matchers:
            values = set() if label in PROMETHEUS else set(wanted.split("|"))
            wrong += [f"{one.metric}: {label}={value}" for value in sorted(values - labels.get(label, values))]
    return wrong


def read_exposed(text: str) -> Exposed:
    """Return the names, labels and values of an exposition, and those that Prometheus itself records."""
    exposed: Exposed = {"up": {}}
    for family in text_string_to_metric_families(text):
        exposed.setdefault(family.name + ("_total" if family.type == "counter" else ""), {})
        for sample in family.samples:
            labels = exposed.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return exposed


def rules() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    return found


def panel_expressions() -> list[str]:
    panels = msgspec.json.decode(DASHBOARD.read_bytes())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


async def test_what_rules_and_dashboard_name_is_exposed(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, metrics__token="a-token") as gateway:
        answer = await gateway.call("GET", "/metrics", key="a-token")
    exposed = read_exposed(answer.body.decode())
    expressions = [rule["expr"] for rule in rules()] + panel_expressions()
    assert len(expressions) > 60
    assert all(list(selectors(expression)) for expression in expressions)
    assert [fault for expression in expressions for fault in faults(expression, exposed)] == []
    shown = {one.metric for expression in panel_expressions() for one in selectors(expression)}
    assert {name for name in exposed if name.startswith("gatepost_send_queue")} <= shown


def test_other_programs_of_the_same_prometheus_raise_no_alert_and_are_not_shown() -> None:
    common = [one for rule in rules() for one in selectors(rule["expr"]) if not one.metric.startswith("gatepost_")]
    assert {one.metric for one in common} == {"up", "process_open_fds", "process_max_fds"}
    assert all(("job", "=", "gatepost") in one.matchers for one in common)
    variables = msgspec.json.decode(DASHBOARD.read_bytes())["templating"]["list"]
    (instance,) = [one for one in variables if one["name"] == "instance"]
    assert instance["query"] == "label_values(gatepost_build_info, instance)"
    assert "allValue" not in instance  # “All” is the gateways that were found


def test_the_alert_about_a_backlog_goes_on_when_counting_ends() -> None:
    (rule,) = [rule for rule in rules() if rule["alert"] == "GatepostWebhookBacklog"]
    assert f"or max(gatepost_webhook_waiting) >= {COUNTED})" in rule["expr"]


def test_a_wrong_name_label_or_value_is_found() -> None:
    exposed = {"a_total": {"result": {"sent", "failed"}}, "b_bucket": {"le": {"1"}, "stage": {"accept"}}}
    quantile = "histogram_quantile(0.9, sum by (le, stage) (rate(b_bucket[5m]))) > 1"
    assert faults(quantile, exposed) == []
    assert faults('sum(rate(a_total{result=~"sent|failed",instance="x"}[5m])) / 2 and a_total', exposed) == []
    assert faults("rate(c_total[5m]) > 0", exposed) == ["c_total"]
    assert faults("sum by (stage) (a_total)", exposed) == ["a_total: stage"]
    assert faults('a_total{reason="x"}', exposed) == ["a_total: reason"]
    assert faults('a_total{result="gone"}', exposed) == ["a_total: result=gone"]


def test_every_alert_has_a_section_and_every_section_an_alert() -> None:
    named = [rule["alert"] for rule in rules()]
    assert [rule["annotations"]["runbook"] for rule in rules()] == [f"{RUNBOOK}#{name.lower()}" for name in named]
    assert anchors(ROOT / RUNBOOK) == {name.lower() for name in named} | {"respond-to-alerts"}
    assert {rule["labels"]["severity"] for rule in rules()} == {"critical", "warning", "info"}
    assert all(rule["annotations"]["summary"] for rule in rules())


def test_panels_have_their_own_ids_and_do_not_overlap() -> None:
    panels = msgspec.json.decode(DASHBOARD.read_bytes())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    squares = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(squares)) == len(squares)
    assert max(x for x, _ in squares) < 24
