"""Errors that help: all wrong fields at once, in JSON's words; the choices, the byte, the route that was meant."""

from typing import Any

from tests.for_each import for_each
from tests.gateway.checks import PERSON, SEND, TEXT, check_refused, written
from tests.gateway.reference import routes_of, served
from tests.running_gateway import Answer, Gateway

_LAST_DAYS = (
    "9999-12-31",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59.999999999Z",
    "0001-01-01",
    "0001-01-01T00:00:00+14:00",
)


def fields(answer: Answer) -> dict[str, str]:
    return {one["field"]: one["message"] for one in answer.json()["error"]["fields"]}


async def test_all_wrong_fields_of_a_send_are_named_at_once(gateway: Gateway) -> None:
    before = await written(gateway)
    types = await gateway.call(
        "POST", SEND, {"to": PERSON, "ttl": "60", "priority": "now", "preview_url": 1, "body": 7}
    )
    assert types.status == 422
    assert set(fields(types)) == {"to", "ttl", "priority", "preview_url", "body"}
    assert set(fields(await gateway.call("POST", SEND, {}))) == {"phone", "body"}
    rules = await gateway.call("POST", SEND, {"phone": "+55", "body": " ", "ttl": 0, "client_ref": "", "reply_to": "x"})
    assert set(fields(rules)) == {"phone", "body", "ttl", "client_ref", "reply_to"}
    assert rules.json()["error"]["code"] == "invalid_phone"
    rows = [{"id": "", "title": "x" * 25}, {"title": 7, "colour": "red"}]
    inner = await gateway.call("POST", SEND, {"phone": PERSON, "type": "buttons", "body": "", "buttons": rows})
    assert set(fields(inner)) == {"body", "buttons[0].id", "buttons[0].title", "buttons[1].colour", "buttons[1].id"}
    assert await written(gateway) == before


async def test_other_bodies_name_all_their_wrong_fields_too(gateway: Gateway) -> None:
    switches = {"message_notification": 1}
    bodies: list[tuple[str, Any, set[str]]] = [
        (
            "/api/v1/webhooks",
            {"uri": 1, "batch": {"most": "a", "x": 1}, "events": switches},
            {"uri", "url", "batch.most", "batch.x", "events.message_notification"},
        ),
        ("/api/v1/contacts", {"phone": "+1", "name": " "}, {"phone", "name"}),
        ("/api/v1/labels", {"name": "", "color": "red"}, {"name", "color"}),
    ]
    for path, body, named in bodies:
        assert set(fields(await gateway.call("POST", path, body))) == named, path
    url = "http://127.0.0.1:9999/hook"
    wrong = {"url": url, "headers": {"a b": "x"}, "batch": {"most": 0, "wait": 9}, "rate_limit": 0}
    many = await gateway.call("POST", "/api/v1/webhooks", wrong)
    assert set(fields(many)) == {"headers", "batch.most", "batch.wait", "rate_limit"}


async def test_errors_use_the_terms_of_json(gateway: Gateway) -> None:
    wrong = {"phone": 55, "body": "x", "type": "pigeon", "preview_url": "yes", "buttons": {}, "send_at": "soon"}
    named = fields(await gateway.call("POST", SEND, wrong))
    assert named["phone"] == "must be a string, not an integer"
    assert named["type"].startswith("must be one of text, image, ")
    assert named["preview_url"] == "must be true or false, not a string"
    assert named["buttons"] == "must be an array, not an object"
    assert named["send_at"] == "must be a time such as 2026-11-15T10:00:00Z"
    whole = await gateway.call("POST", SEND, [])
    assert fields(whole) == {"body": "must be an object, not an array"}


async def test_a_field_of_another_api_is_translated(gateway: Gateway) -> None:
    named = fields(await gateway.call("POST", SEND, {"to": PERSON, "text": "Hello", "clientref": "x"}))
    assert named["to"] == "is not a field of this request; did you mean 'phone'?"
    assert named["text"] == "is not a field of this request; did you mean 'body'?"
    assert named["clientref"].endswith("did you mean 'client_ref'?")


async def test_an_error_names_fifty_problems_at_most(gateway: Gateway) -> None:
    for count in (49, 50, 51, 5000):
        unknown = {f"colour{number}": 1 for number in range(count)}
        assert len(fields(await gateway.call("POST", SEND, TEXT | unknown))) == min(50, count)


@for_each(
    ("raw", "where"),
    [
        (b'{"phone": "1",\n "body": oops}', "at byte 24 (line 2, column 10)"),
        (b'{"phone": "1", "body"', "at byte 21 (line 1, column 22)"),
        (b'{"phone": "1", "body": "\xe9"}', "it must be UTF-8 at byte 24"),
        (b"", "at byte 0 (line 1, column 1)"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
async def test_malformed_json_names_the_place(gateway: Gateway, raw: bytes, where: str) -> None:
    answer = await gateway.call("POST", SEND, raw=raw)
    check_refused(answer, 400, "malformed_json")
    assert where in answer.json()["message"], answer.body


@for_each(
    ("method", "path", "meant"),
    [
        ("POST", "/api/v1/messages/send", "POST /api/v1/message/send"),
        ("POST", "/message/send", "POST /api/v1/message/send"),
        ("POST", "/v1/message/send", "POST /api/v1/message/send"),
        ("POST", "/api/v2/message/send", "POST /api/v1/message/send"),
        ("GET", "/contacts", "GET /api/v1/contacts"),
        ("GET", "/api/v1/webhook", "GET /api/v1/webhooks"),
        ("GET", "/api/v1/messages/" + "0" * 32 + "/traces", "GET /api/v1/messages/{message_id}/trace"),
    ],
)
async def test_a_wrong_address_points_to_the_right_one(gateway: Gateway, method: str, path: str, meant: str) -> None:
    answer = await gateway.call(method, path, {} if method == "POST" else None)
    assert answer.status in (404, 405)
    assert answer.json()["message"].endswith(f"Did you mean {meant}?")


@for_each("path", ["/wp-login.php", "/api/v1/" + "contacts" * 1000, "/favicon.ico"])
async def test_nothing_near_is_suggested_for_nothing_near(gateway: Gateway, path: str) -> None:
    answer = await gateway.call("GET", path)
    assert answer.status == 404
    assert "Did you mean" not in answer.json()["message"]


async def test_the_last_days_of_the_calendar_are_no_error_of_ours(gateway: Gateway) -> None:
    dated = [
        (route.path, name)
        for route in routes_of(await served(gateway))
        for name in route.query
        if name in ("from", "to", "since", "until") and route.method == "GET" and not route.ids and route.scope
    ]
    assert len(dated) > 8, dated
    for path, name in dated:
        for day in _LAST_DAYS:
            for more in ("", "&tz=Pacific/Kiritimati", "&tz=Etc/GMT%2B12"):
                answer = await gateway.call("GET", f"{path}?{name}={day.replace('+', '%2B')}{more}")
                assert answer.status in (200, 422), (path, name, day, answer.body)
    for day in _LAST_DAYS:
        sent = await gateway.call("POST", SEND, TEXT | {"send_at": day})
        assert sent.status in (200, 422), (day, sent.body)
        since = await gateway.call("POST", "/api/v1/deliveries/retry", {"since": day, "until": day})
        assert since.status in (200, 404, 422), (day, since.body)


async def test_the_answer_of_a_fallback_shows_the_text_that_is_sent(gateway: Gateway) -> None:
    channel = await gateway.new_qr_channel(gateway.account_id)
    body = {
        "phone": PERSON,
        "type": "buttons",
        "body": "Shall we bring it?",
        "buttons": [{"id": "y", "title": "Yes"}, {"id": "n", "title": "No"}],
        "footer": "Open until six",
        "fallback": "text",
    }
    answer = await gateway.call("POST", SEND, body, key=await gateway.new_key(channel.id))
    data = answer.json()["data"]
    assert data["messageType"] == "conversation"
    assert data["message"] == {"conversation": "Shall we bring it?\n\n1. Yes\n2. No\n\n_Open until six_"}
