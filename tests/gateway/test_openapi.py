"""The reference is valid, and says what is there: every route, every body, every code, each with an example."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import schemathesis

from gatepost.api.app import HEALTH, REFERENCE, ROUTES
from gatepost.api.hot_routes import hot_route
from gatepost.api.openapi.document import build_document
from gatepost.api.openapi.error_codes import REASONS, STATUS
from gatepost.api.openapi.routes import CALLBACKS, SEND, list_operations
from gatepost.model import ids
from gatepost.model.message import check_send
from gatepost.model.send_request import TYPES, SendRequest
from gatepost.networks.kinds import NETWORK_KINDS
from gatepost.outbound.send_answer import send_answer
from tests.gateway.reference import Route, routes_of, served
from tests.model.sends import FULLEST, PHONE, SMALLEST
from tests.running_gateway import Gateway

OPERATIONS = list_operations([*ROUTES, *REFERENCE, *HEALTH])
DOCUMENT = msgspec.json.decode(msgspec.json.encode(build_document(OPERATIONS)))
ERRORS = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"


def test_the_document_is_valid_openapi() -> None:
    schemathesis.openapi.from_dict(DOCUMENT).validate()
    assert DOCUMENT["openapi"] == "3.1.0"


def test_the_document_lists_exactly_the_routes_that_exist() -> None:
    there = {f"{route.method} {route.path}" for route in [*ROUTES, *REFERENCE, *HEALTH]}
    hot = {operation.key for operation in (SEND, *CALLBACKS)}
    assert all(hot_route(*key.split()) for key in hot)
    assert {route.key for route in routes_of(DOCUMENT)} == there | hot


def test_every_route_has_a_summary_and_a_description() -> None:
    for operation in OPERATIONS:
        assert operation.summary, operation.key
        assert operation.description, operation.key
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))


def test_every_body_has_an_example_that_fits() -> None:
    for operation in OPERATIONS:
        if operation.body is not None:
            route = Route(operation.method, operation.path, DOCUMENT["paths"][operation.path][operation.method.lower()])
            assert route.examples, operation.key
            for example in route.examples:
                msgspec.json.decode(msgspec.json.encode(example), type=operation.body)


def test_there_is_a_send_of_every_type_and_each_passes() -> None:
    (send,) = (route for route in routes_of(DOCUMENT) if route.key == SEND.key)
    assert [example.get("type", "text") for example in send.examples] == list(TYPES)
    for example in send.examples:
        body = msgspec.json.decode(msgspec.json.encode(example), type=SendRequest)
        kind = "qr" if body.type == "poll" else "official"
        can = NETWORK_KINDS[kind].capabilities
        message = check_send(body, datetime(2026, 11, 15, tzinfo=UTC), can)
        assert message.type == body.type


def test_sends_of_every_type_and_their_answers_fit_the_schemas() -> None:
    (send,) = (route for route in routes_of(DOCUMENT) if route.key == SEND.key)
    now = datetime(2026, 11, 15, tzinfo=UTC)
    asked = _validator(send.spec["requestBody"]["content"]["application/json"]["schema"])
    answered = _validator(send.spec["responses"]["200"]["content"]["application/json"]["schema"])
    for type_ in TYPES:
        for fields in (SMALLEST[type_], FULLEST[type_]):
            request = {"phone": PHONE, "type": type_, "send_at": "2026-11-16T10:00:00Z", **fields}
            assert not list(asked.iter_errors(request)), request
            message = check_send(msgspec.convert(request, SendRequest), now)
            for name, kind in NETWORK_KINDS.items():
                if type_ in kind.capabilities.types:
                    answer = msgspec.json.decode(send_answer(name, message, ids.new_id(now), now))
                    assert not list(answered.iter_errors(answer)), answer
    bad: list[dict[str, Any]] = [{"media": {"id": 7}}, {"media": {}}, {"buttons": []}, {"header": {"type": "text"}}]
    for wrong in bad:
        assert list(asked.iter_errors({"phone": PHONE, **wrong})), wrong


def _validator(schema: Any) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"components": DOCUMENT["components"], **schema})


def test_every_answer_has_an_example_that_fits() -> None:
    checked = set()
    for route in routes_of(DOCUMENT):
        for status, answer in route.spec["responses"].items():
            for kind, content in _follow(answer).get("content", {}).items():
                assert "example" in content, (route.key, status, kind)
                if (encoded := msgspec.json.encode(content)) in checked:  # most routes share their errors
                    continue
                checked.add(encoded)
                assert not list(_validator(content["schema"]).iter_errors(content["example"])), (
                    route.key,
                    status,
                    kind,
                )


def _follow(answer: Any) -> Any:
    return DOCUMENT["components"]["responses"][answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer


def test_answers_name_their_headers() -> None:
    for route in routes_of(DOCUMENT):
        for status, answer in route.spec["responses"].items():
            headers = set(_follow(answer)["headers"])
            assert "X-Request-Id" in headers, (route.key, status)
            limited = {"RateLimit", "RateLimit-Policy"} <= headers
            assert limited == (status == "429" or (route.secured and int(status) < 400)), (route.key, status)
            assert ("Retry-After" in headers) == (status in ("429", "503") and "$ref" in answer), (route.key, status)


def test_every_parameter_is_described() -> None:
    for route in routes_of(DOCUMENT):
        for parameter in route.spec["parameters"]:
            assert parameter.get("description") or parameter["in"] == "path", (route.key, parameter)
            assert parameter["in"] != "path" or parameter.get("example"), (route.key, parameter)


def test_every_code_has_the_status_that_the_docs_say() -> None:
    seen = dict(re.findall(r"^## (\w+)\n\n\*\*(\d{3})", ERRORS.read_text(), re.MULTILINE))
    assert {code: int(status) for code, status in seen.items()} == STATUS
    assert set(STATUS.values()) == set(REASONS)


def test_nothing_is_left_without_a_reference() -> None:
    named = set(re.findall(r'"#/components/(\w+)/([\w.-]+)"', msgspec.json.encode(DOCUMENT).decode()))
    there = {(kind, name) for kind in ("schemas", "responses", "headers") for name in DOCUMENT["components"][kind]}
    assert named == there


async def test_it_is_served_to_anyone_and_stays_the_same(gateway: Gateway) -> None:
    assert await served(gateway) == DOCUMENT
    assert await served(gateway) == DOCUMENT


async def test_the_page_needs_nothing_from_elsewhere(gateway: Gateway) -> None:
    page = await gateway.call("GET", "/docs", key="")
    assert page.status == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    named: list[str] = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
    parts = [part for part in named if part != "data:,"]
    assert sorted(parts) == ["/docs/events", "/docs/page.css", "/docs/page.js", "/openapi.json"]
    for part in parts:
        answer = await gateway.call("GET", part, key="")
        assert answer.status == 200
        assert part.endswith(("json", "/events")) or b"://" not in answer.body
    for script in (b"<script>", b" onclick=", b" style="):
        assert script not in page.body
