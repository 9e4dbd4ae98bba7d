"""What every answer gets on its way out: its id, what is left of the rate, who may read it in a browser."""

import re
from typing import Any

import pytest

from gatepost.settings import BadSettings, load
from tests.gateway.checks import SEND, TEXT, check_refused
from tests.running_gateway import Answer, Gateway, running_gateway

PAGE = "https://shop.example.com"
CHANNEL = "/api/v1/channel"
_LEFT = re.compile(r'"api";r=(\d+);t=(\d+)')


# -- ids --------------------------------------------------------------------------------------------------------------


async def test_every_answer_has_an_id_of_its_own(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, server__body_limit=1024, server__callback_limit=1024) as gateway:
        callback = f"/callbacks/cloud/{gateway.channel}"
        asked: list[tuple[int, str, str, Any]] = [
            (200, "POST", SEND, TEXT),
            (405, "PUT", SEND, None),
            (413, "POST", SEND, {"phone": "1", "body": "x" * 1024}),
            (404, "GET", "/api/v1/nothing", None),
            (405, "PUT", "/api/v1/labels", None),
            (413, "POST", "/api/v1/labels", {"name": "x" * 1024}),
            (404, "GET", "/nothing", None),
            (401, "POST", callback, {}),
            (401, "POST", callback, {"entry": "x" * 1024}),
            (405, "PUT", callback, None),
            (200, "GET", CHANNEL, None),
            (200, "GET", "/openapi.json", None),
        ]
        seen = set()
        for status, method, path, body in asked:
            answer = await gateway.call(method, path, body)
            assert answer.status == status, (method, path, answer.body)
            assert answer.headers["x-request-id"].startswith("req_")
            seen.add(answer.headers["x-request-id"])
            if status >= 400:
                check_refused(answer, status, answer.json()["error"]["code"], about=(method, path))
                assert answer.json()["error"]["retryable"] is False
        assert len(seen) == len(asked)


async def test_a_wrong_method_names_the_right_ones(gateway: Gateway) -> None:
    for path, allowed in ((SEND, {"POST", "OPTIONS"}), ("/api/v1/labels", {"GET", "HEAD", "POST", "OPTIONS"})):
        answer = await gateway.call("PUT", path)
        check_refused(answer, 405, "method_not_allowed")
        assert set(answer.headers["allow"].split(", ")) == allowed


# -- pace -------------------------------------------------------------------------------------------------------------


def _left(answer: Answer) -> tuple[int, int]:
    found = _LEFT.fullmatch(answer.headers["ratelimit"])
    assert found, answer.headers
    return int(found.group(1)), int(found.group(2))


async def test_what_is_left_of_the_rate(parted_database_url: str) -> None:
    """One request in 100 seconds, so that none comes back while the test runs."""
    async with running_gateway(parted_database_url, api__rate=0.01, api__burst=5) as gateway:
        stranger = await gateway.new_stranger()
        for left, (method, path, body) in zip(
            (4, 3, 2, 1, 0),
            [("GET", CHANNEL, None), ("POST", SEND, TEXT), ("GET", CHANNEL, None), ("POST", SEND, TEXT)] * 2,
            strict=False,
        ):
            answer = await gateway.call(method, path, body, headers={"idempotency-key": "same"})
            assert answer.status == 200, answer.body
            assert answer.headers["ratelimit-policy"] == '"api";q=5;w=500'
            remaining, seconds = _left(answer)
            assert remaining == left
            assert 100 * (5 - left) - 30 <= seconds <= 100 * (5 - left) + 1
        refused = await gateway.call("GET", CHANNEL)
        check_refused(refused, 429, "rate_limited")
        assert refused.headers["ratelimit-policy"] == '"api";q=5;w=500'
        assert _left(refused)[0] == 0
        assert 470 <= _left(refused)[1] <= 501
        assert 70 <= int(refused.headers["retry-after"]) <= 100
        assert _left(await gateway.call("GET", CHANNEL, key=stranger))[0] == 4


async def test_nothing_of_the_rate_where_there_is_no_key(gateway: Gateway) -> None:
    for path in ("/healthz", "/openapi.json", "/docs"):
        assert "ratelimit" not in (await gateway.call("GET", path, key="")).headers
    refused = await gateway.call("GET", CHANNEL, key="")
    assert "ratelimit" not in refused.headers


# -- browsers ---------------------------------------------------------------------------------------------------------


async def _preflight(gateway: Gateway, path: str, origin: str, method: str = "POST") -> Answer:
    asks = {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": "authorization",
    }
    return await gateway.call("OPTIONS", path, key="", headers=asks)


def _said(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}


async def test_no_page_may_call_unless_it_is_set(gateway: Gateway) -> None:
    for path in (SEND, CHANNEL, "/nothing"):
        answer = await gateway.call("GET", path, headers={"origin": PAGE})
        assert not _said(answer)
        assert "origin" not in answer.headers.get("vary", "").lower()
        asked = await _preflight(gateway, path, PAGE)
        assert asked.status in (204, 404)
        assert not _said(asked)
        assert "origin" not in asked.headers.get("vary", "").lower()


async def test_the_pages_that_are_set_may_call(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__cors_origins=[PAGE, "http://localhost:3000"]) as gateway:
        for origin in (PAGE, "http://localhost:3000"):
            for path in (SEND, CHANNEL, "/api/v1/contacts/import", "/nothing"):
                asked = await _preflight(gateway, path, origin)
                assert (asked.status, asked.body) == (204, b"")
                assert asked.headers["access-control-allow-origin"] == origin
                assert {"GET", "POST", "PUT", "PATCH", "DELETE"} <= _words(asked, "access-control-allow-methods")
                allowed = _words(asked, "access-control-allow-headers")
                assert {"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"} <= allowed
                assert int(asked.headers["access-control-max-age"]) > 0
                assert "Origin" in asked.headers["vary"].title()
            for method, path, body, status in (
                ("POST", SEND, TEXT, 200),
                ("GET", CHANNEL, None, 200),
                ("GET", "/nothing", None, 404),
                ("POST", SEND, {}, 422),
            ):
                answer = await gateway.call(method, path, body, headers={"origin": origin})
                assert answer.status == status
                assert answer.headers["access-control-allow-origin"] == origin
                exposed = _words(answer, "access-control-expose-headers")
                assert {
                    "X-Request-Id",
                    "RateLimit",
                    "RateLimit-Policy",
                    "Retry-After",
                    "Idempotent-Replayed",
                } <= exposed
                assert "origin" in answer.headers["vary"]
                assert "access-control-allow-credentials" not in answer.headers


async def test_no_other_page_may(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__cors_origins=[PAGE]) as gateway:
        near = (
            "https://shop.example.com.evil.com",
            "http://shop.example.com",
            PAGE + ":8443",
            PAGE.upper(),
            "null",
            "*",
        )
        for origin in near:
            for path in (SEND, CHANNEL):
                asked = await _preflight(gateway, path, origin)
                assert not _said(asked), origin
                assert asked.status == 204
                answer = await gateway.call("GET", path, headers={"origin": origin})
                assert not _said(answer), origin
                assert "origin" in answer.headers["vary"]
        plain = await gateway.call("GET", CHANNEL)
        assert plain.status == 200
        assert not _said(plain)
        assert "origin" in plain.headers["vary"]
        bare = await gateway.call("OPTIONS", CHANNEL, key="", headers={"origin": PAGE})
        assert "access-control-allow-methods" not in bare.headers


def _words(answer: Answer, name: str) -> set[str]:
    return {word.strip() for word in answer.headers[name].split(",")}


def test_only_exact_origins_can_be_set() -> None:
    for good in (PAGE, "http://localhost:3000", "http://[::1]:8080", "capacitor://localhost"):
        assert load(environ={}, overrides={"api.cors_origins": [good]}).api.cors_origins == (good,)
    assert load(environ={}).api.cors_origins == ()
    for bad in ("*", "null", "", "shop.example.com", PAGE + "/", PAGE + "/app", "https://*.example.com", PAGE.upper()):
        with pytest.raises(BadSettings):
            load(environ={}, overrides={"api.cors_origins": [bad]})
