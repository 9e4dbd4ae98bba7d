"""Traces: one message is followed from the request to the webhook, by what a collector receives over HTTP."""

import socket
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from gatepost.model import ids
from gatepost.model.errors import GatepostError
from gatepost.settings import BadSettings, load
from gatepost.trace_export import BATCH, TraceExporter
from gatepost.tracing import SpanLink, Tracer, parse_traceparent
from tests.conftest import Answer, Received, Receiver
from tests.gateway.checks import until
from tests.running_gateway import running_gateway

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
REMOTE = SpanLink("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
TRACEPARENT = f"00-{REMOTE.trace_id}-{REMOTE.span_id}-01"
Spans = list[dict[str, Any]]


class Counts(dict[str, int]):
    def add(self, result: str, count: int) -> None:
        self[result] = self.get(result, 0) + count


def exports(receiver: Receiver) -> list[Received]:
    return [request for request in receiver.requests if request.path == "/v1/traces"]


def spans_of(receiver: Receiver) -> Spans:
    """Return the spans that the collector has received."""
    found: Spans = []
    for request in exports(receiver):
        (resource,) = msgspec.json.decode(request.body)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        names = {one["key"]: one["value"]["stringValue"] for one in resource["resource"]["attributes"]}
        assert (names["service.name"], scope["scope"]["name"]) == ("gatepost", "gatepost")
        found += scope["spans"]
    return found


def attributes(span: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


async def test_a_message_is_followed_from_the_request_to_the_webhook(
    parted_database_url: str, receiver: Receiver
) -> None:
    failed: list[str] = []

    def answer(request: Received) -> Answer:
        first = request.path.startswith("/canary") and b'"SENT"' in request.body and not failed
        failed.extend(["once"] * first)
        return Answer(500 if first else 200)

    receiver.answer = answer
    options: dict[str, Any] = {"tracing__endpoint": receiver.url, "tracing__headers": "x-team=ops%20one"}
    async with running_gateway(parted_database_url, **options) as gateway:
        hook = {"url": receiver.url + "/canary?token=canary", "headers": {"X-Key": "canary-header"}}
        made = (await gateway.call("POST", "/api/v1/webhooks", hook)).json()["data"]
        text = {"phone": "5511999998888", "body": "canary-text", "client_ref": "canary-ref"}
        sent = await gateway.call("POST", "/api/v1/message/send", text, headers={"traceparent": TRACEPARENT})
        message_id = sent.json()["data"]["key"]["id"]
        await gateway.until_status(message_id, "READ")

        async def complete() -> Spans | None:
            spans = [span for span in spans_of(receiver) if span["traceId"] == message_id.lower()]
            return spans if sum(span["name"] == "event delivery" for span in spans) == 4 else None

        spans: Spans = await until(complete)
        secrets = (gateway.key, made["secret"].removeprefix("whsec_"), "5511999998888", "15550001111", "canary")
    by_id = {span["spanId"]: span for span in spans}
    (accept,) = [span for span in spans if span["name"] == "message accept"]
    assert "parentSpanId" not in accept
    assert accept["links"] == [{"traceId": REMOTE.trace_id, "spanId": REMOTE.span_id}]

    def path(span: dict[str, Any]) -> tuple[str, ...]:
        parent = span.get("parentSpanId")
        return (*path(by_id[parent]), span["name"]) if parent else (span["name"],)

    found = [path(span) for span in spans]
    assert ("message accept", "message send", "network send") in found
    statuses = {attributes(one)["gatepost.message.status"] for one in spans if one["name"] == "message status"}
    assert {"DELIVERED", "READ"} <= statuses
    delivered = [attributes(one) for one in spans if one["name"] == "event delivery"]
    assert {one["gatepost.message.status"] for one in delivered} == {"PENDING", "SENT", "DELIVERED", "READ"}
    assert {one["gatepost.delivery.outcome"] for one in delivered} == {"delivered"}
    assert found.count(("message accept", "event delivery", "webhook POST")) == 5  # one of them failed
    posts = [(attributes(one), one.get("status")) for one in spans if one["name"] == "webhook POST"]
    (refused,) = [(shown, status) for shown, status in posts if shown["http.response.status_code"] == "500"]
    assert (refused[0]["gatepost.attempt"], refused[1]) == ("1", {"code": 2})
    assert all(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) for span in spans)
    for request in exports(receiver):
        assert request.headers["x-team"] == "ops one"
        assert not [secret for secret in secrets if secret.encode() in request.body]


async def test_without_a_collector_nothing_is_traced(parted_database_url: str, receiver: Receiver) -> None:
    async with running_gateway(parted_database_url, metrics__token="a-token") as gateway:
        sent = {"phone": "5511999998888", "body": "Hello"}
        assert (await gateway.call("POST", "/api/v1/message/send", sent, headers={"traceparent": "x"})).status == 200
        figures = (await gateway.call("GET", "/metrics", key="a-token")).body.decode()
    assert [line.split()[-1] for line in figures.splitlines() if line.startswith("gatepost_spans_total")] == ["0.0"] * 3
    assert exports(receiver) == []


# -- the exporter -----------------------------------------------------------------------------------------------------


def record(tracer: Tracer, message_id: UUID, stage: str = "accept") -> None:
    tracer.record(message_id, stage, "message accept", NOW, NOW + timedelta(seconds=1), {"number": 7}, parent=None)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
async def test_a_busy_collector_gets_the_spans_later(receiver: Receiver, status: int) -> None:
    counts = Counts()
    tracer = Tracer(1.0, counts.add)
    exporter = TraceExporter(tracer, receiver.url + "/", {}, counts.add)
    record(tracer, ids.new_id(NOW))
    receiver.answer = lambda _: Answer(status if len(receiver.requests) == 1 else 200)
    with pytest.raises(GatepostError, match=str(status)):
        await exporter.export()
    await exporter.export()
    assert receiver.requests[0].body == receiver.requests[1].body
    assert (counts, len(tracer)) == ({"exported": 1}, 0)
    await exporter.close()


async def test_a_collector_that_rejects_spans_or_is_away_delays_nothing(receiver: Receiver) -> None:
    counts = Counts()
    tracer = Tracer(1.0, counts.add)
    receiver.answer = Answer(400)
    record(tracer, ids.new_id(NOW))
    rejecting = TraceExporter(tracer, receiver.url, {}, counts.add)
    with pytest.raises(GatepostError, match="400"):
        await rejecting.export()
    assert (counts, len(tracer)) == ({"rejected": 1}, 0)
    await rejecting.close()
    record(tracer, ids.new_id(NOW))
    with socket.socket() as silent:  # bound, but nobody listens
        silent.bind(("127.0.0.1", 0))
        away = TraceExporter(tracer, f"http://127.0.0.1:{silent.getsockname()[1]}", {}, counts.add)
        with pytest.raises(GatepostError, match="not reached"):
            await away.export()
        await away.close()  # tries once more, and ends
    assert counts == {"rejected": 1}


async def test_one_request_has_at_most_a_batch_and_the_end_exports_all(receiver: Receiver) -> None:
    counts = Counts()
    tracer = Tracer(1.0, counts.add)
    exporter = TraceExporter(tracer, receiver.url, {}, counts.add)
    for _ in range(BATCH + 1):
        record(tracer, ids.new_id(NOW))
    await exporter.close()
    requests = [msgspec.json.decode(one.body)["resourceSpans"][0]["scopeSpans"][0] for one in receiver.requests]
    sizes = [len(scope["spans"]) for scope in requests]
    assert (sizes, counts) == ([BATCH, 1], {"exported": BATCH + 1})


# -- the tracer -------------------------------------------------------------------------------------------------------


def test_above_the_limit_spans_are_dropped_and_counted() -> None:
    counts = Counts()
    tracer = Tracer(1.0, counts.add, limit=3)
    for _ in range(3):
        record(tracer, ids.new_id(NOW))
    assert (len(tracer), counts) == (3, {})
    record(tracer, ids.new_id(NOW))
    assert (len(tracer), counts) == (3, {"dropped": 1})
    assert len(tracer.take(2)) == 2
    record(tracer, ids.new_id(NOW))
    assert (len(tracer), counts) == (2, {"dropped": 1})


def test_every_process_gives_a_stage_the_same_ids_and_chooses_the_same_messages() -> None:
    one, two = Tracer(0.25, Counts().add), Tracer(0.25, Counts().add)
    messages = ids.next_ids(ids.ZERO, NOW, 4000)
    chosen = [message for message in messages if one.takes(message)]
    assert chosen == [message for message in messages if two.takes(message)]
    assert 800 < len(chosen) < 1200
    for tracer in (one, two):
        record(tracer, chosen[0])
        record(tracer, chosen[0], "send/1")
    first, second = one.take(2), two.take(2)
    assert first == second
    assert first[0].trace_id == chosen[0].hex
    assert first[0].span_id != first[1].span_id
    assert first[0].start_time_unix_nano == "1794736800000000000"
    assert first[0].attributes[-1] == {"key": "number", "value": {"intValue": "7"}}


@pytest.mark.parametrize("header", [TRACEPARENT, f"01-{REMOTE.trace_id}-{REMOTE.span_id}-00-more"])
def test_a_traceparent_becomes_a_link(header: str) -> None:
    assert parse_traceparent(header) == REMOTE


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "x", TRACEPARENT.upper(), TRACEPARENT[:-1], TRACEPARENT + "0", "ff" + TRACEPARENT[2:]),
        f"00-{'0' * 32}-{REMOTE.span_id}-01",
        f"00-{REMOTE.trace_id}-{'0' * 16}-01",
        "0" * 100_000,
    ],
)
def test_what_is_no_traceparent_is_ignored(header: str | None) -> None:
    assert parse_traceparent(header) is None


# -- the settings -----------------------------------------------------------------------------------------------------


def test_the_usual_variables_set_the_collector_and_settings_take_precedence() -> None:
    usual = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, X-Team = ops"}
    tracing = load(environ=usual).tracing
    assert (tracing.endpoint, tracing.header_fields) == ("http://a:4318", {"x-key": "a b", "x-team": "ops"})
    assert load(environ=usual | {"GATEPOST_TRACING__ENDPOINT": "https://b"}).tracing.endpoint == "https://b"
    assert (load(environ={}).tracing.endpoint, load(environ={}).tracing.header_fields) == ("", {})


@pytest.mark.parametrize(
    ("name", "value"),
    [("endpoint", "collector:4318"), ("headers", "s3cret"), ("sample", 0), ("sample", 1.01)],
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(BadSettings, match=name if name != "sample" else r"\$.tracing.sample") as raised:
        load(environ={}, overrides={f"tracing.{name}": value})
    assert "s3cret" not in str(raised.value)
