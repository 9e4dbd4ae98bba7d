"""A route that will end says so in every answer, in the reference and, now and then, in the log."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
import structlog

from gatepost.api.app import ROUTES
from gatepost.api.deprecations import DEPRECATIONS, NOTICE, Deprecation, check_deprecations
from gatepost.api.openapi.document import build_document
from gatepost.api.openapi.routes import list_operations
from gatepost.model import ids
from tests.gateway.checks import SEND, TEXT
from tests.movable_clock import MovableClock
from tests.running_gateway import Answer, Gateway, running_gateway

SINCE = datetime(2030, 1, 1, tzinfo=UTC)
END = Deprecation(SINCE, SINCE + NOTICE, "https://gateway.example.com/docs/labels")
LABEL, MESSAGE = "GET /api/v1/labels/{label_id}", f"POST {SEND}"
SAID = ("deprecation", "sunset", "link")


def _check_told(answer: Answer) -> None:
    assert answer.headers["deprecation"] == f"@{int(SINCE.timestamp())}"
    assert answer.headers["sunset"] == "Sun, 30 Jun 2030 00:00:00 GMT"
    assert parsedate_to_datetime(answer.headers["sunset"]) == END.sunset
    assert answer.headers["link"] == '<https://gateway.example.com/docs/labels>; rel="deprecation"'


def _check_silent(answer: Answer) -> None:
    assert not set(SAID) & set(answer.headers)


def test_a_route_is_named_as_the_reference_names_it() -> None:
    routes = {operation.key for operation in list_operations(ROUTES)}
    check_deprecations(DEPRECATIONS | {LABEL: END, MESSAGE: END}, routes)
    with pytest.raises(ValueError, match="no such route"):
        check_deprecations({LABEL.replace("GET", "PUT"): END}, routes)


def test_an_end_is_announced_half_a_year_ahead() -> None:
    check_deprecations({LABEL: END}, {LABEL})
    check_deprecations({LABEL: Deprecation(SINCE, SINCE + NOTICE + timedelta(days=1), "")}, {LABEL})
    with pytest.raises(ValueError, match="180 days"):
        check_deprecations({LABEL: Deprecation(SINCE, SINCE + NOTICE - timedelta(seconds=1), "")}, {LABEL})
    with pytest.raises(ValueError, match="no such route"):
        check_deprecations({LABEL: END}, {MESSAGE})


async def test_no_route_says_so_today(gateway: Gateway) -> None:
    _check_silent(await gateway.call("POST", SEND, TEXT))
    _check_silent(await gateway.call("GET", "/api/v1/labels"))


async def test_a_route_that_ends_says_so(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for route in (LABEL, MESSAGE):
        monkeypatch.setitem(DEPRECATIONS, route, END)
    async with running_gateway(parted_database_url) as gateway:
        label = (await gateway.call("POST", "/api/v1/labels", {"name": "VIP"})).json()["data"]["id"]
        for answer in (
            await gateway.call("GET", f"/api/v1/labels/{label}"),
            await gateway.call("GET", "/api/v1/labels/lb_nothing"),
            await gateway.call("GET", f"/api/v1/labels/{label}", key=""),
            await gateway.call("POST", SEND, TEXT),
            await gateway.call("POST", SEND, {}),
            await gateway.call("POST", SEND, TEXT, key=""),
        ):
            _check_told(answer)
        for method, path in (
            ("DELETE", f"/api/v1/labels/{label}"),
            ("GET", "/api/v1/labels"),
            ("GET", SEND),
            ("GET", "/api/v1/nothing"),
            ("GET", "/healthz"),
        ):
            _check_silent(await gateway.call(method, path))


async def test_a_start_with_too_short_a_notice_fails(parted_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEPRECATIONS, LABEL, Deprecation(SINCE, SINCE + timedelta(days=179), ""))
    with pytest.raises(ValueError, match="180 days"):
        async with running_gateway(parted_database_url):
            pass


def test_the_reference_marks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEPRECATIONS, LABEL, END)
    paths = build_document(list_operations(ROUTES))["paths"]
    marked = [
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, spec in methods.items()
        if spec.get("deprecated")
    ]
    assert marked == [LABEL]


async def test_its_use_is_logged_once_an_hour_per_key(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for route in (LABEL, MESSAGE):
        monkeypatch.setitem(DEPRECATIONS, route, END)
    clock = MovableClock(SINCE)
    async with running_gateway(database_url, clock=clock) as gateway:
        channel = ids.parse_id("ch", gateway.channel)
        assert channel
        other = await gateway.new_key(channel)

        async def noted() -> list[str]:
            with structlog.testing.capture_logs() as lines:
                for key in (gateway.key, gateway.key, other):
                    await gateway.call("GET", "/api/v1/labels/lb_x", key=key)
                    await gateway.call("POST", SEND, TEXT, key=key)
            found = [line for line in lines if line["event"] == "deprecated route used"]
            assert all(line["sunset"] == "2030-06-30T00:00:00.000Z" for line in found)
            assert all(line["channel"] == gateway.channel for line in found)
            return [line["route"] for line in found]

        assert sorted(await noted()) == [LABEL, LABEL, MESSAGE, MESSAGE]
        assert await noted() == []
        clock.advance(3599)
        assert await noted() == []
        clock.advance(1)
        assert len(await noted()) == 4
