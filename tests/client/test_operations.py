"""Both clients have an operation for every route, and lists end where they should."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from gatepost.api.app import ROUTES
from gatepost_client import AsyncGatepost, Gatepost, compose
from gatepost_client.files import File
from gatepost_client.operation import Listed, Operation
from gatepost_client.operations import Operations
from gatepost_client.retry import NEVER, run_steps
from gatepost_client.wire import Listing, Request
from tests.client.driver import Kind, driving
from tests.conftest import Answer, Received, Receiver

SEND = ("POST", "/api/v1/message/send")  # served in front of the routes
SAMPLES: dict[str, Any] = {
    "target_id": "cv_1",
    "file": File(b"x", "text/plain"),
    "table": b"phone\n",
    "messages": [compose.text("1", "x")],
    "media": "med_1",
    "message": compose.text("1", "x"),
    "latitude": 1.0,
    "longitude": 1.0,
    "buttons": {"yes": "Yes"},
    "phones": ["1"],
    "headers": {},
}


def request_of(describe: Callable[..., Any]) -> Request:
    """The first request of an operation, called with whatever it needs."""
    needed = [p for p in inspect.signature(describe).parameters.values() if p.default is p.empty]
    made = describe(*(SAMPLES.get(p.name, "one") for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD))
    if isinstance(made, Listing):
        return made.call.request
    request = next(run_steps(made, NEVER, lambda: 0.0))
    assert isinstance(request, Request)
    return request


def test_every_route_of_a_key_has_an_operation() -> None:
    reached = {
        (request.method, request.path)
        for operation in vars(Operations).values()
        if hasattr(operation, "describe")
        for request in [request_of(operation.describe)]
    }
    # The label operations choose their route by the id: here is the other one.
    reached |= {(method, path.replace("conversations/cv_1", "contacts/ct_1")) for method, path in reached}
    shown = {(method, re.sub(r"(?<=/)(one|cv_1|ct_1)(?=/|$)", "*", path)) for method, path in reached}
    routes = {
        (route.method, re.sub(r"\{\w+\}", "*", route.path))
        for route in ROUTES
        if route.access and route.access.scope  # a key can use it
    }
    assert routes - shown == set()
    assert {pair for pair in shown if "contacts/*/labels" not in pair[1]} - routes == {SEND}


def test_operations_keep_their_words() -> None:
    with Gatepost("http://127.0.0.1:1", "gpk_x") as gp:
        assert "Send a text message." in (gp.send_text.__doc__ or "")
        assert list(inspect.signature(gp.send_text).parameters)[:3] == ["phone", "body", "preview_url"]
    for name, operation in vars(Operations).items():
        if isinstance(operation, Operation | Listed):
            assert operation.describe.__doc__, name


def test_nothing_shows_the_key() -> None:
    with Gatepost("http://127.0.0.1:1", "gpk_secret") as gp:
        assert "gpk_secret" not in repr(gp) + repr(vars(gp))
    assert "gpk_secret" not in repr(vars(AsyncGatepost("http://127.0.0.1:1", "gpk_secret")))
    for kind in (Gatepost, AsyncGatepost):
        with pytest.raises(ValueError, match="line break") as caught:
            kind("http://127.0.0.1:1", "gpk_secret\n")
        assert "gpk_secret" not in str(caught.value)


@pytest.mark.parametrize("last", ["null", '"c2"'])
async def test_an_empty_page_may_have_a_next_one(kind: Kind, receiver: Receiver, last: str) -> None:
    event = b'{"id":"evt_1","type":"t","action":"a","timestamp":"2026-11-15T10:00:00Z","sequence":1,'
    event += b'"channel":{"id":"ch_1","kind":"qr","phone":"1"},"data":{}}'
    pages = {
        "limit=100": b'{"data":[],"paging":{"next":"c1"}}',
        "limit=100&after=c1": b'{"data":[%b],"paging":{"next":"c2"}}' % event,
        "limit=100&after=c2": b'{"data":[],"paging":{"next":%b}}' % last.encode(),
    }

    def answer(request: Received) -> Answer:
        return Answer(200, body=pages[request.query])

    receiver.answer = answer
    async with driving(kind, receiver.url, "gpk_x") as gp:
        assert [event.id for event in await gp.all("events")] == ["evt_1"]
    assert len(receiver.requests) == 3
