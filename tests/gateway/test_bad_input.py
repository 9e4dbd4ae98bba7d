"""Whatever is wrong with a send: the right status, code and field, and nothing written."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tests.gateway.checks import PERSON, SEND, TEXT, check_refused, written
from tests.running_gateway import Gateway, running_gateway

UNKNOWN_ID = "0" * 32


async def check_all(gateway: Gateway, cases: list[tuple[Any, str, str]]) -> None:
    """Each body is refused with 422, with its code and field, and leaves nothing behind."""
    before = await written(gateway)
    for body, code, field in cases:
        error = check_refused(await gateway.call("POST", SEND, body), 422, code, field, about=body)
        assert error["retryable"] is False
    assert await written(gateway) == before


async def check_taken(gateway: Gateway, cases: list[dict[str, Any]]) -> None:
    """Each of these is on the right side of its limit."""
    for extra in cases:
        answer = await gateway.call("POST", SEND, TEXT | extra)
        assert answer.status == 200, (extra, answer.body)


async def test_bytes_that_are_no_json(gateway: Gateway) -> None:
    before = await written(gateway)
    broken = [b"", b"{", b"nonsense", b'{"phone": "5511999998888", "body": "Hello",}', b"{'phone': 1}", b"\xff\xfe"]
    broken += [b'{"phone": "5511999998888", "body": "\xe9"}', b'{"phone":"5511999998888","body":"x"} {}']
    broken += [b'{"phone": "5511999998888", "body": "tab\there"}', b'{"phone": "5511999998888", "body": "\\x41"}']
    for raw in broken:
        check_refused(await gateway.call("POST", SEND, raw=raw), 400, "malformed_json", about=raw[:60])
    assert await written(gateway) == before


async def test_wrong_types_and_names(gateway: Gateway) -> None:
    cases = [
        ([], "invalid_field", "body"),
        ("text", "invalid_field", "body"),
        ({"phone": PERSON}, "invalid_field", "body"),
        ({"body": "Hello"}, "invalid_field", "phone"),
        ({"phone": 5511999998888, "body": "Hello"}, "invalid_field", "phone"),
        ({"phone": None, "body": "Hello"}, "invalid_field", "phone"),
        ({"phone": [PERSON], "body": "Hello"}, "invalid_field", "phone"),
        (TEXT | {"body": 7}, "invalid_field", "body"),
        (TEXT | {"body": {"text": "Hello"}}, "invalid_field", "body"),
        (TEXT | {"colour": "red"}, "invalid_field", "colour"),
        (TEXT | {"Phone": PERSON}, "invalid_field", "Phone"),
        (TEXT | {"preview_url": "yes"}, "invalid_field", "preview_url"),
        (TEXT | {"type": "carrier-pigeon"}, "invalid_field", "type"),
        (TEXT | {"priority": "urgent"}, "invalid_field", "priority"),
        (TEXT | {"on_unknown": "panic"}, "invalid_field", "on_unknown"),
        (TEXT | {"ttl": "60"}, "invalid_field", "ttl"),
        (TEXT | {"ttl": 1.5}, "invalid_field", "ttl"),
        (TEXT | {"ttl": None}, "invalid_field", "ttl"),
        (TEXT | {"ttl": 10**30}, "invalid_field", "ttl"),
        (TEXT | {"client_ref": 7}, "invalid_field", "client_ref"),
        (TEXT | {"send_at": 1_800_000_000}, "invalid_field", "send_at"),
        (TEXT | {"send_at": "tomorrow"}, "invalid_field", "send_at"),
    ]
    before = await written(gateway)
    for raw in (b"null", b"7", b'"text"'):
        check_refused(await gateway.call("POST", SEND, raw=raw), 422, "invalid_field", "body")
    for raw in (b"[" * 100_000, b'{"phone": 1, "body": nonsense}'):
        check_refused(await gateway.call("POST", SEND, raw=raw), 400, "malformed_json")
    await check_all(gateway, cases)
    assert await written(gateway) == before


async def test_phones(gateway: Gateway) -> None:
    bad = ["", " ", "+5511999998888", "55 11 99999 8888", "55-11-99999-8888", "(55)11999998888", "55119999X8888"]
    bad += [
        "123456",
        "1234567890123456",
        "0511999998888",
        "٥٥١١٩٩٩٩٩٨٨٨٨",
        "５５１１９９９９９８８８８",
        "5511999998888\n",
    ]
    bad += ["5511999998888\x00", "55119999.98888", "1e12", "²²²²²²²²", "5511999998888@s.whatsapp.net", "9" * 5000]
    await check_all(gateway, [({"phone": phone, "body": "Hello"}, "invalid_phone", "phone") for phone in bad])
    plus = await gateway.call("POST", SEND, TEXT | {"phone": "+5511999998888"})
    assert "without +" in plus.json()["message"]
    await check_taken(gateway, [{"phone": "1234567"}, {"phone": "123456789012345"}])


async def test_texts(gateway: Gateway) -> None:
    bad = ["", " ", " \n\t ", "\u2003", "x" * 4097, "😀" * 4097, "before\x00after", "\x00"]
    await check_all(gateway, [(TEXT | {"body": body}, "invalid_field", "body") for body in bad])
    await check_taken(gateway, [{"body": "x" * 4096}, {"body": "😀" * 4096}, {"body": "a\u202eb\u0301\ufffd"}])


async def test_half_a_surrogate_pair(gateway: Gateway) -> None:
    before = await written(gateway)
    for raw in (b'"\\ud83d"', b'"\\ude00"', b'"x\\ud83dy"', b'"\\ude00\\ud83d"'):
        for field in ("body", "client_ref"):
            body = msgspec.json.encode(TEXT | {field: msgspec.Raw(raw)})
            answer = await gateway.call("POST", SEND, raw=body)
            assert answer.status in (400, 422), (raw, answer.body)
            assert answer.json()["error"]["code"] in ("malformed_json", "invalid_field")
    assert await written(gateway) == before
    whole = await gateway.call("POST", SEND, raw=msgspec.json.encode(TEXT | {"body": msgspec.Raw(b'"\\ud83d\\ude00"')}))
    shown = await gateway.call("GET", f"/api/v1/messages/{whole.json()['data']['key']['id']}")
    assert shown.json()["data"]["content"]["body"] == "😀"


async def test_client_ref_and_ttl(gateway: Gateway) -> None:
    bad: list[tuple[str, Any]] = [("client_ref", value) for value in ("", "r" * 257, "é" * 257, "a\x00b")]
    bad += [("ttl", value) for value in (0, -1, 2_592_001, 2**63)]
    await check_all(gateway, [(TEXT | {field: value}, "invalid_field", field) for field, value in bad])
    await check_taken(gateway, [{"client_ref": "r"}, {"client_ref": "é" * 256}, {"ttl": 1}, {"ttl": 2_592_000}])


async def test_send_at(gateway: Gateway) -> None:
    now = datetime.now(UTC)
    late = now + timedelta(days=30, minutes=1)
    bad = ["2026-11-15T10:00:00", "2026-11-15", "10:00", "", late.isoformat(), "9999-12-31T23:59:59Z"]
    await check_all(gateway, [(TEXT | {"send_at": at}, "invalid_field", "send_at") for at in bad])
    ahead = (now + timedelta(days=30, seconds=-5)).isoformat()
    scheduled = await gateway.call("POST", SEND, TEXT | {"send_at": ahead})
    assert scheduled.json()["data"]["status"] == "SCHEDULED"
    for past in ("2001-01-01T00:00:00Z", (now - timedelta(seconds=1)).isoformat(), "2001-01-01T00:00:00+05:30"):
        sent = await gateway.call("POST", SEND, TEXT | {"send_at": past})
        assert sent.json()["data"]["status"] == "PENDING"
        await gateway.until_status(sent.json()["data"]["key"]["id"], "READ")


async def test_reply_to(gateway: Gateway) -> None:
    stranger = await gateway.new_stranger()
    other = await gateway.call("POST", SEND, TEXT, key=stranger)
    bad = ["", "x", UNKNOWN_ID, UNKNOWN_ID[1:], "G" * 32, other.json()["data"]["key"]["id"]]
    await check_all(gateway, [(TEXT | {"reply_to": id_}, "invalid_field", "reply_to") for id_ in bad])


async def test_body_sizes(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, server__body_limit=8192) as gateway:
        spare = 8192 - len(msgspec.json.encode(TEXT))
        exact = msgspec.json.encode(TEXT) + b" " * spare
        assert (await gateway.call("POST", SEND, raw=exact)).status == 200
        before = await written(gateway)
        check_refused(await gateway.call("POST", SEND, raw=exact + b" "), 413, "body_too_large")
        check_refused(await gateway.call("POST", "/api/v1/webhooks", raw=exact + b" "), 413, "body_too_large")
        assert await written(gateway) == before


async def test_a_body_without_a_length_is_measured_too(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, server__body_limit=8192) as gateway:
        before = await written(gateway)
        check_refused(await gateway.call_in_pieces("POST", SEND, [b" " * 5000] * 2), 413, "body_too_large")
        assert await written(gateway) == before
        pieces = [msgspec.json.encode(TEXT)[:9], msgspec.json.encode(TEXT)[9:]]
        assert (await gateway.call_in_pieces("POST", SEND, pieces)).status == 200


async def test_content_types(gateway: Gateway) -> None:
    before = await written(gateway)
    for kind in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"):
        answer = await gateway.call("POST", SEND, TEXT, headers={"content-type": kind})
        check_refused(answer, 415, "unsupported_media_type", about=kind)
    assert await written(gateway) == before
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/json ;charset=utf-8"):
        assert (await gateway.call("POST", SEND, TEXT, headers={"content-type": kind})).status == 200
