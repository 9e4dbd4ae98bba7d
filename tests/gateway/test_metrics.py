"""The figures: each described, each counted where it happens, and none that gives anybody away."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gatepost.api.metrics_source import MetricsSource
from gatepost.metrics import CLASSES, OUTCOMES, SENDS, STAGES, STATES, BacklogFigures, CurrentFigures, ProcessMetrics
from gatepost.outbound.senders_now import SendersNow
from gatepost.store.deliveries.queue import count_retries
from gatepost.store.pool import Database
from gatepost.store.slots import USES, ConnectionSlots
from tests.conftest import Answer, Receiver
from tests.for_each import for_each
from tests.gateway.checks import TEXT, check_refused, until
from tests.movable_clock import MovableClock
from tests.patience import PATIENCE
from tests.running_gateway import Gateway, running_gateway

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
HOOKS = "/api/v1/webhooks"
TOKEN = "a-token"
Samples = dict[tuple[str, str], float]  # name and label's value → figure


def read(text: bytes) -> Samples:
    samples: Samples = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            samples[sample.name, ",".join(sample.labels.values())] = sample.value
    return samples


@pytest.fixture
async def gateway(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a running gateway that shows its figures."""
    async with running_gateway(parted_database_url, metrics__token=TOKEN) as one:
        yield one


@pytest.fixture
async def bare(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Give a running gateway that shows none."""
    async with running_gateway(parted_database_url, role="api") as one:
        yield one


async def scrape(gateway: Gateway) -> Samples:
    answer = await gateway.call("GET", "/metrics", key=TOKEN)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.body)


async def test_a_database_that_is_stuck_does_not_hide_the_metrics(
    parted_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.api.metrics_source._COUNT_WITHIN", 0.05)
    blocker = await asyncpg.connect(parted_database_url)
    async with asyncpg.create_pool(parted_database_url, min_size=1) as pool, blocker.transaction():
        await blocker.execute("LOCK TABLE delivery_retries IN ACCESS EXCLUSIVE MODE")
        db = Database(pool)  # whose statements have no limit
        source = MetricsSource(db, MovableClock(datetime.now(UTC)), ProcessMetrics("1", "all"), CurrentFigures, TOKEN)
        async with asyncio.timeout(PATIENCE):
            assert b"gatepost_requests_total" in await source.show()
        await db.close()
    await blocker.close()


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_lists_exactly_what_there_is() -> None:
    shown = {
        name: (kind, {label: set(re.findall(r"`([^`]+)`", values)) for label, values in labels_of(labels)})
        for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \|(.*?)\| .* \|$", PAGE.read_text(), re.MULTILINE)
    }
    there: dict[str, tuple[str, dict[str, set[str]]]] = {}
    for family in metrics_of_an_idle_process().registry.collect():
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        labels: dict[str, set[str]] = {}
        for sample in family.samples:
            for label, value in sample.labels.items():
                if label != "le":
                    labels.setdefault(label, set()).add(value)
        there[family.name + suffix] = ({"info": "gauge"}.get(family.type, family.type), labels)
    there["gatepost_cell_up"] = ("gauge", {"cell": set()})  # none with one database
    there["gatepost_build_info"] = ("gauge", {"version": set(), "role": set()})
    there["gatepost_mcp_calls_total"] = ("counter", {"tool": set(), "outcome": set()})  # none before the first call
    assert shown == there


def metrics_of_an_idle_process() -> ProcessMetrics:
    metrics, sending, slots = ProcessMetrics("1.0", "all"), SendersNow().total(), ConnectionSlots(16)
    metrics.set_current(
        CurrentFigures(
            conversations=sending.conversations,
            held=sending.held,
            uncommitted=dict.fromkeys(STAGES, 0),
            connections=slots.used(),
            without_connection=slots.waiting(),
            connection_timeouts=slots.timeouts,
        )
    )
    return metrics


def labels_of(cell: str) -> list[tuple[str, str]]:
    """`outcome`: `a`, `b` → [(outcome, "`a`, `b`")]; labels without their values: each with none."""
    if ":" in cell:
        name, _, values = cell.partition(":")
        return [(name.strip("` "), values)]
    return [(name, "") for name in re.findall(r"`(\w+)`", cell)]


# -- counting ---------------------------------------------------------------------------------------------------------


def test_it_is_what_the_rounds_count_with() -> None:
    metrics = ProcessMetrics()
    for outcome in OUTCOMES:
        metrics.attempt(outcome, 0.2)
    metrics.lag(0.02)
    metrics.lag(-5.0)  # a clock that was set back
    metrics.breaker(None, "active")
    metrics.breaker(None, "active")
    metrics.breaker("active", "paused")
    metrics.breaker("paused", None)
    found = read(metrics.show())
    assert [found["gatepost_webhook_attempts_total", outcome] for outcome in OUTCOMES] == [1, 1, 1, 1]
    assert found["gatepost_webhook_latency_seconds_count", ""] == 4
    assert found["gatepost_webhook_lag_seconds_count", ""] == 2
    assert found["gatepost_webhook_lag_seconds_sum", ""] == pytest.approx(0.02)
    assert [found["gatepost_webhook_endpoints", state] for state in STATES] == [1, 0, 0]


def test_each_process_has_figures_of_its_own() -> None:
    one, two = ProcessMetrics(), ProcessMetrics()
    one.accepted(3)
    assert read(one.show())["gatepost_messages_accepted_total", ""] == 3
    assert read(two.show())["gatepost_messages_accepted_total", ""] == 0


@pytest.mark.parametrize(("status", "kind"), [(100, "1xx"), (200, "2xx"), (304, "3xx"), (499, "4xx"), (503, "5xx")])
def test_a_status_belongs_to_its_class(status: int, kind: str) -> None:
    metrics = ProcessMetrics()
    metrics.answered(status)
    found = read(metrics.show())
    assert [found["gatepost_requests_total", one] for one in CLASSES] == [float(one == kind) for one in CLASSES]


def test_what_could_not_be_learned_stays_as_it_was() -> None:
    metrics = ProcessMetrics()
    metrics.set_current(CurrentFigures(channels=2), BacklogFigures(retries=7, unowned=3))
    metrics.set_current(CurrentFigures(channels=1))
    found = read(metrics.show())
    assert (found["gatepost_webhook_waiting", ""], found["gatepost_channels_owned", ""]) == (7, 1)
    assert found["gatepost_channels_unowned", ""] == 3


async def test_a_running_gateway_counts(gateway: Gateway, receiver: Receiver) -> None:
    receiver.answer = lambda request: Answer(500 if len(receiver.requests) == 1 else 200)
    await gateway.call("POST", HOOKS, {"url": receiver.url})
    before = await scrape(gateway)
    assert before["gatepost_requests_total", "2xx"] >= 1
    key = {"idempotency-key": "one"}
    for _ in range(2):
        assert (await gateway.call("POST", "/api/v1/message/send", TEXT, headers=key)).status == 200
    check_refused(await gateway.call("GET", "/api/v1/nothing"), 404, "not_found")
    await gateway.until_status(await gateway.send(**TEXT), "READ")
    await receiver.wait_for(8)
    found = await until_counted(gateway, 8)
    assert found["gatepost_messages_accepted_total", ""] == 2
    assert found["gatepost_sends_total", "sent"] == 2
    assert found["gatepost_requests_total", "4xx"] == 1
    assert found["gatepost_channels_owned", ""] == 1
    assert found["gatepost_webhook_endpoints", "active"] == 1
    assert found["gatepost_webhook_attempts_total", "retry"] == 1
    assert found["gatepost_webhook_lag_seconds_count", ""] >= 8
    assert found["gatepost_webhook_latency_seconds_count", ""] >= 8
    assert found["gatepost_send_lag_seconds_count", ""] == found["gatepost_network_seconds_count", ""] == 2
    assert 0 < found["gatepost_network_seconds_sum", ""] <= found["gatepost_send_lag_seconds_sum", ""] + 0.002
    assert found["gatepost_updates_total", "status"] >= 4  # two messages, each delivered and read
    assert {value for name, value in found if name == "gatepost_commit_waiting"} == set(STAGES)
    for stage, least in (("accept", 2), ("intent", 2), ("result", 2), ("receive", 1), ("delivery", 1)):
        assert found["gatepost_commit_items_total", stage] >= least
        assert found["gatepost_commit_seconds_count", stage] >= 1
        assert found["gatepost_commit_seconds_sum", stage] > 0
    assert {value for name, value in found if name == "gatepost_database_connections"} == set(USES)
    assert found["gatepost_database_connections_limit", ""] == gateway.settings.database.connections
    assert {name for name, _ in found if name.startswith("gatepost_sends")} == {
        "gatepost_sends_total",
    }
    assert {value for name, value in found if name == "gatepost_sends_total"} == set(SENDS)


async def until_counted(gateway: Gateway, least: float) -> Samples:
    """The figures, once so many attempts are in them."""

    async def enough() -> Samples | None:
        found = await scrape(gateway)
        done = sum(found["gatepost_webhook_attempts_total", outcome] for outcome in OUTCOMES)
        return found if done >= least else None

    return await until(enough)  # type: ignore[no-any-return]


async def test_what_waits_is_counted_but_not_for_each_who_asks(database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    insert = """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at)
                SELECT id, gen_random_uuid(), gen_random_uuid(), $1 FROM channels, generate_series(1, $2)"""
    async with running_gateway(database_url, clock=clock, role="api", metrics__token=TOKEN) as gateway:
        wanted = 0.0
        for more, moved, seen in ((3, 0, 3), (4, 9.9, 3), (0, 0.1, 7)):
            async with gateway.db.connection() as conn:
                await conn.execute(insert, clock.now() + timedelta(days=1), more)
            clock.advance(moved)
            wanted = (await scrape(gateway))["gatepost_webhook_waiting", ""]
            assert wanted == seen


async def test_what_waits_to_be_sent_is_shown_by_its_rule(parted_database_url: str) -> None:
    slow = {"throughput": 1000, "pair_seconds": 600, "pair_burst": 1, "tier": 0, "window": 0}
    async with running_gateway(parted_database_url, metrics__token=TOKEN) as gateway:
        channel = await gateway.new_channel(gateway.account_id, "15550002222", "100000000000002", limits=slow)
        gateway.key = await gateway.new_key(channel.id)
        for body in ("one", "two", "three"):
            await gateway.send(phone="5511999998888", body=body)

        async def parked() -> Samples | None:
            found = await scrape(gateway)
            return found if found["gatepost_conversations_waiting", "pair_limit"] == 1 else None

        found = await until(parked)
        assert found["gatepost_send_queue_messages", ""] == 2
        assert 0 <= found["gatepost_send_queue_oldest_seconds", ""] < 600
        assert sum(value for (name, _), value in found.items() if name == "gatepost_conversations_waiting") == 1


async def test_channels_without_an_owner_are_counted_also_where_nobody_sends(database_url: str) -> None:
    clock = MovableClock(datetime.now(UTC))
    async with running_gateway(database_url, clock=clock, role="api", metrics__token=TOKEN) as gateway:
        assert (await scrape(gateway))["gatepost_channels_unowned", ""] == 0
        await gateway.send(**TEXT)
        clock.advance(30)
        found = await scrape(gateway)
        assert found["gatepost_channels_unowned", ""] == 1
        assert found["gatepost_channels_unowned_oldest_seconds", ""] == pytest.approx(30, abs=1)


async def test_a_backlog_is_counted_up_to_a_limit(gateway: Gateway) -> None:
    insert = """INSERT INTO delivery_retries (channel_id, endpoint_id, event_id, next_at)
                SELECT id, gen_random_uuid(), gen_random_uuid(), 'infinity' FROM channels, generate_series(1, 3)"""
    async with gateway.db.connection() as conn:
        await conn.execute(insert)
    assert [await count_retries(gateway.db, most) for most in (2, 3, 4)] == [2, 3, 3]


# -- who may read -----------------------------------------------------------------------------------------------------


SPELLINGS = (
    "/metrics",
    "/metrics/",
    "/metrics//",
    "//metrics",
    "/METRICS",
    "/Metrics/",
    "/%6detrics",
    "/%6D%65trics%2F",
    "/./metrics",
    "/metrics?x=1",
    "/metrics;x",
    "/metrics%00",
    "/api/../metrics",
)


@for_each("token", [None, "", "None", "Bearer"])
async def test_without_a_token_there_is_no_such_address(bare: Gateway, token: str | None) -> None:
    for path in SPELLINGS:
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            answer = await bare.call(method, path, key=token, headers={"host": "localhost"})
            if method == "HEAD":
                assert (answer.status, answer.body) == (404, b""), path
            else:
                check_refused(answer, 404, "not_found", about=(method, path))


@for_each("path", SPELLINGS)
async def test_with_a_token_no_spelling_gets_around_it(gateway: Gateway, path: str) -> None:
    for method in ("GET", "HEAD"):
        for headers in ({}, {"authorization": "Bearer "}, {"x-forwarded-for": "127.0.0.1"}):
            answer = await gateway.call(method, path, key="", headers=headers)
            assert answer.status in (401, 404)
            assert b"gatepost_" not in answer.body


async def test_with_a_token_only_its_bearer_may_read(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, metrics__token="a-token") as gateway:
        assert await scrape(gateway)
        for key in ("", "a-toke", "a-token2", gateway.key):
            check_refused(await gateway.call("GET", "/metrics", key=key), 401, "invalid_api_key", about=key)
        basic = await gateway.call("GET", "/metrics", key="", headers={"authorization": "a-token"})
        check_refused(basic, 401, "invalid_api_key")
        proxied = await gateway.call("GET", "/metrics", key="a-token", headers={"x-forwarded-for": "10.0.0.1"})
        assert proxied.status == 200


async def test_no_figure_gives_anybody_away(gateway: Gateway, receiver: Receiver) -> None:
    hook = (await gateway.call("POST", HOOKS, {"url": receiver.url + "/canary", "headers": {"X-Key": "canary"}})).json()
    await gateway.until_status(await gateway.send(phone="5511999998888", body="canary"), "READ")
    await receiver.wait_for(6)
    text = (await gateway.call("GET", "/metrics", key=TOKEN)).body.decode()
    data = hook["data"]
    for secret in (gateway.key, data["secret"], data["secret"].removeprefix("whsec_"), data["id"], gateway.channel):
        assert secret not in text
    for word in ("canary", "5511999998888", "15550001111", "whsec", "gpk_", "127.0.0.1", "app-secret", "verify"):
        assert word not in text
    labels = re.findall(r'(\w+)="', text)
    assert set(labels) == {
        *("outcome", "state", "result", "status", "event", "le", "version", "role"),
        *("rule", "stage", "use", "kind", "reason"),
    }


async def test_it_is_no_part_of_the_reference(gateway: Gateway) -> None:
    document = (await gateway.call("GET", "/openapi.json", key="")).json()
    assert "/metrics" not in document["paths"]
    assert "/healthz" in document["paths"]
