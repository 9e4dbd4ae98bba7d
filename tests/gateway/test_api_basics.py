"""Basics of the API: unknown addresses, wrong methods, internal errors, health, rate limits, and network callbacks."""

import asyncio
import hashlib
import hmac

from gatepost.admin import channels
from gatepost.model import ids
from tests.gateway.checks import SEND, TEXT, check_refused, written
from tests.running_gateway import Gateway, running_gateway


async def test_unknown_addresses_and_methods(gateway: Gateway) -> None:
    for path in ("/nothing", "/api/v1", "/api/v1/nothing", "/api/v2/message/send", SEND + "/more", "/api/v1/message"):
        check_refused(await gateway.call("GET", path), 404, "not_found", about=path)
    for method, path in (("GET", SEND), ("PUT", SEND), ("DELETE", SEND), ("POST", "/api/v1/events")):
        check_refused(await gateway.call(method, path), 405, "method_not_allowed", about=(method, path))
    for path in ("/api/v1/webhooks/%00", "/api/v1/messages/..%2f", "/api/v1/messages/%F0%9F%98%80/trace"):
        check_refused(await gateway.call("GET", path), 404, "not_found", about=path)


async def test_an_internal_error_is_reported_as_500(gateway: Gateway) -> None:
    """Somebody renames a table under the running gateway."""
    async with gateway.db.connection() as conn:
        await conn.execute("ALTER TABLE events RENAME TO events_away")
    error = check_refused(await gateway.call("GET", "/api/v1/events"), 500, "internal_error")
    assert error["retryable"] is False
    async with gateway.db.connection() as conn:
        await conn.execute("ALTER TABLE events_away RENAME TO events")
    assert (await gateway.call("GET", "/api/v1/events")).status == 200


async def test_health_needs_no_key(gateway: Gateway) -> None:
    alive = await gateway.call("GET", "/healthz", key="")
    assert (alive.status, alive.json()["data"]) == (200, {"alive": True})
    ready = await gateway.call("GET", "/readyz", key="")
    passed = {"database": True, "writes": True, "migrations": True, "owner": True}
    assert (ready.status, ready.json()["success"], ready.json()["data"]) == (200, True, passed)
    for answer in (alive, ready):
        assert answer.headers["x-request-id"].startswith("req_")


async def test_request_ids_differ(gateway: Gateway) -> None:
    answers = await asyncio.gather(*(gateway.call("GET", "/healthz") for _ in range(20)))
    assert len({answer.headers["x-request-id"] for answer in answers}) == 20


async def test_a_body_with_only_optional_fields_can_be_left_out(gateway: Gateway) -> None:
    hook = (await gateway.call("POST", "/api/v1/webhooks", {"url": "https://example.com/hooks"})).json()["data"]["id"]
    text = {"message": TEXT}
    drafts = [(await gateway.call("POST", "/api/v1/drafts", text)).json()["data"]["id"] for _ in range(3)]
    rotate, approve = f"/api/v1/webhooks/{hook}/rotate-secret", f"/api/v1/drafts/{drafts[0]}/approve"
    for path in (rotate, approve, f"/api/v1/drafts/{drafts[1]}/refuse"):
        answer = await gateway.call("POST", path)
        assert answer.status == 200, answer.body
    answer = await gateway.call("POST", f"/api/v1/drafts/{drafts[2]}/refuse", raw=b"")
    assert answer.status == 200, answer.body
    before = await written(gateway)
    plain = {"content-type": "text/plain"}
    check_refused(await gateway.call("POST", rotate, {}, headers=plain), 415, "unsupported_media_type")
    check_refused(await gateway.call("POST", rotate, raw=b" "), 400, "malformed_json")
    check_refused(await gateway.call("POST", "/api/v1/labels"), 415, "unsupported_media_type")
    check_refused(await gateway.call("POST", SEND), 415, "unsupported_media_type")
    assert await written(gateway) == before


async def test_too_many_requests_with_one_key(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__rate=0.1, api__burst=5) as gateway:
        stranger = await gateway.new_stranger()
        for _ in range(5):
            assert (await gateway.call("GET", "/api/v1/channel")).status == 200
        before = await written(gateway)
        answer = await gateway.call("POST", SEND, TEXT)
        error = check_refused(answer, 429, "rate_limited")
        assert error["retryable"] is True
        assert 1 <= int(answer.headers["retry-after"]) <= 10
        assert answer.headers["ratelimit-policy"] == '"api";q=5;w=50'
        assert answer.headers["ratelimit"].startswith('"api";r=0;t=')
        assert await written(gateway) == before
        assert (await gateway.call("GET", "/api/v1/channel", key=stranger)).status == 200
        assert (await gateway.call("GET", "/healthz")).status == 200


async def test_waiting_as_retry_after_says_succeeds(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__rate=2, api__burst=1) as gateway:
        answers = await asyncio.gather(*(gateway.call("POST", SEND, TEXT) for _ in range(2)))
        taken, refused = sorted(answers, key=lambda answer: answer.status)
        assert taken.status == 200
        check_refused(refused, 429, "rate_limited")
        await asyncio.sleep(int(refused.headers["retry-after"]))
        assert (await gateway.call("POST", SEND, TEXT)).status == 200


async def test_the_networks_handshake(gateway: Gateway) -> None:
    address = f"/callbacks/cloud/{gateway.channel}?hub.mode=subscribe&hub.challenge=42"
    right = await gateway.call("GET", address + "&hub.verify_token=verify", key="")
    assert (right.status, right.body) == (200, b"42")
    for wrong in ("", "&hub.verify_token=", "&hub.verify_token=Verify", "&hub.verify_token=%F0%9F%98%80"):
        check_refused(await gateway.call("GET", address + wrong, key=""), 401, "invalid_signature", about=wrong)
    no_mode = f"/callbacks/cloud/{gateway.channel}?hub.challenge=42&hub.verify_token=verify"
    check_refused(await gateway.call("GET", no_mode, key=""), 401, "invalid_signature")


async def test_callbacks_of_nobody(gateway: Gateway) -> None:
    qr = await gateway.new_qr_channel(gateway.account_id)
    for channel in (
        "",
        "x",
        "ch_",
        f"ch_{'0' * 32}",
        f"ch_{qr.id.hex}",
        gateway.channel + "0",
        gateway.channel + "/more",
    ):
        for method in ("GET", "POST"):
            answer = await gateway.call(method, f"/callbacks/cloud/{channel}", key="")
            check_refused(answer, 404, "not_found", about=(method, channel))
    check_refused(await gateway.call("PUT", f"/callbacks/cloud/{gateway.channel}"), 405, "method_not_allowed")


async def test_unsigned_and_invalid_callbacks(gateway: Gateway) -> None:
    before = await written(gateway)
    address = f"/callbacks/cloud/{gateway.channel}"
    for signature in ("", "sha256=", "sha256=" + "0" * 64, "sha1=" + _sign(b"{}")):
        answer = await gateway.call("POST", address, raw=b"{}", key="", headers={"x-hub-signature-256": signature})
        check_refused(answer, 401, "invalid_signature", about=signature)
    for raw in (b"", b"{", b"[]", b"{}", b'{"entry": 7}'):
        signed = {"x-hub-signature-256": f"sha256={_sign(raw)}"}
        check_refused(await gateway.call("POST", address, raw=raw, key="", headers=signed), 400, "malformed_json")
    empty = b'{"object": "whatsapp_business_account", "entry": []}'
    signed = {"x-hub-signature-256": f"sha256={_sign(empty)}"}
    assert (await gateway.call("POST", address, raw=empty, key="", headers=signed)).status == 200
    assert await written(gateway) == before


async def test_a_callback_may_be_large_but_not_endless(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, server__callback_limit=4096, server__body_limit=1024) as gateway:
        address = f"/callbacks/cloud/{gateway.channel}"
        large = b'{"entry": []}'.ljust(4096)
        signed = {"x-hub-signature-256": f"sha256={_sign(large)}"}
        assert (await gateway.call("POST", address, raw=large, key="", headers=signed)).status == 200
        signed = {"x-hub-signature-256": f"sha256={_sign(large + b' ')}"}
        answer = await gateway.call("POST", address, raw=large + b" ", key="", headers=signed)
        check_refused(answer, 413, "body_too_large")


def _sign(body: bytes) -> str:
    return hmac.new(b"app-secret", body, hashlib.sha256).hexdigest()


async def test_more_than_can_be_written_is_refused_and_not_lost(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__queue=2) as gateway:
        answers = await asyncio.gather(*(gateway.call("POST", SEND, TEXT) for _ in range(60)))
        taken = [answer for answer in answers if answer.status == 200]
        refused = [answer for answer in answers if answer.status != 200]
        assert taken
        assert refused
        for answer in refused:
            error = check_refused(answer, 503, "overloaded")
            assert error["retryable"] is True
            assert answer.headers["retry-after"] == "1"
        assert (await written(gateway))["messages"] == len(taken)
        assert len({answer.json()["data"]["key"]["id"] for answer in taken}) == len(taken)


async def test_a_channel_deleted_under_its_caller(gateway: Gateway) -> None:
    """For a moment the key is still trusted; nothing may break over it."""
    message_id = await gateway.send(**TEXT)
    channel_id = ids.parse_id("ch", gateway.channel)
    assert channel_id
    await channels.delete_channel(gateway.db, gateway.account_id, channel_id, now=gateway.clock.now())
    for method, path, body in (
        ("POST", SEND, TEXT),
        ("POST", f"/api/v1/messages/{message_id}/cancel", None),
        ("GET", f"/api/v1/messages/{message_id}/trace", None),
        ("GET", "/api/v1/channel", None),
        ("GET", "/api/v1/events", None),
        ("POST", "/api/v1/webhooks", {"url": "http://127.0.0.1:54321/"}),
    ):
        assert (await gateway.call(method, path, body)).status in (200, 401, 404), (method, path)
    address = f"/callbacks/cloud/{gateway.channel}?hub.mode=subscribe&hub.verify_token=verify"
    assert (await gateway.call("GET", address, key="")).status in (200, 404)
