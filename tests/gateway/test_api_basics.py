"""Basics of the API: unknown addresses, wrong methods, internal errors, health, rate limits, and network callbacks."""

import asyncio
import hashlib
import hmac

from gatepost.admin import channels
from gatepost.model import ids
from tests.gateway.checks import SEND, TEXT, check_refused, written
from tests.house import House, running_house


async def test_unknown_addresses_and_methods(house: House) -> None:
    for path in ("/nothing", "/api/v1", "/api/v1/nothing", "/api/v2/message/send", SEND + "/more", "/api/v1/message"):
        check_refused(await house.call("GET", path), 404, "not_found", about=path)
    for method, path in (("GET", SEND), ("PUT", SEND), ("DELETE", SEND), ("POST", "/api/v1/events")):
        check_refused(await house.call(method, path), 405, "method_not_allowed", about=(method, path))
    for path in ("/api/v1/webhooks/%00", "/api/v1/messages/..%2f", "/api/v1/messages/%F0%9F%98%80/trace"):
        check_refused(await house.call("GET", path), 404, "not_found", about=path)


async def test_our_own_mistake_is_told_as_such(house: House) -> None:
    """Somebody renames a table under the running gateway."""
    async with house.db.connection() as conn:
        await conn.execute("ALTER TABLE events RENAME TO events_away")
    error = check_refused(await house.call("GET", "/api/v1/events"), 500, "internal_error")
    assert error["retryable"] is False
    async with house.db.connection() as conn:
        await conn.execute("ALTER TABLE events_away RENAME TO events")
    assert (await house.call("GET", "/api/v1/events")).status == 200


async def test_health_needs_no_key(house: House) -> None:
    alive = await house.call("GET", "/healthz", key="")
    assert (alive.status, alive.json()["data"]) == (200, {"alive": True})
    ready = await house.call("GET", "/readyz", key="")
    passed = {"database": True, "writes": True, "migrations": True, "owner": True}
    assert (ready.status, ready.json()["success"], ready.json()["data"]) == (200, True, passed)
    for answer in (alive, ready):
        assert answer.headers["x-request-id"].startswith("req_")


async def test_request_ids_differ(house: House) -> None:
    answers = await asyncio.gather(*(house.call("GET", "/healthz") for _ in range(20)))
    assert len({answer.headers["x-request-id"] for answer in answers}) == 20


async def test_too_many_requests_with_one_key(parted_database_url: str) -> None:
    async with running_house(parted_database_url, api__rate=0.1, api__burst=5) as house:
        stranger = await house.new_stranger()
        for _ in range(5):
            assert (await house.call("GET", "/api/v1/channel")).status == 200
        before = await written(house)
        answer = await house.call("POST", SEND, TEXT)
        error = check_refused(answer, 429, "rate_limited")
        assert error["retryable"] is True
        assert 1 <= int(answer.headers["retry-after"]) <= 10
        assert answer.headers["ratelimit-policy"] == '"api";q=5;w=50'
        assert answer.headers["ratelimit"].startswith('"api";r=0;t=')
        assert await written(house) == before
        assert (await house.call("GET", "/api/v1/channel", key=stranger)).status == 200
        assert (await house.call("GET", "/healthz")).status == 200


async def test_waiting_as_told_gets_through(parted_database_url: str) -> None:
    async with running_house(parted_database_url, api__rate=2, api__burst=1) as house:
        answers = await asyncio.gather(*(house.call("POST", SEND, TEXT) for _ in range(2)))
        taken, refused = sorted(answers, key=lambda answer: answer.status)
        assert taken.status == 200
        check_refused(refused, 429, "rate_limited")
        await asyncio.sleep(int(refused.headers["retry-after"]))
        assert (await house.call("POST", SEND, TEXT)).status == 200


async def test_the_networks_handshake(house: House) -> None:
    address = f"/callbacks/cloud/{house.channel}?hub.mode=subscribe&hub.challenge=42"
    right = await house.call("GET", address + "&hub.verify_token=verify", key="")
    assert (right.status, right.body) == (200, b"42")
    for wrong in ("", "&hub.verify_token=", "&hub.verify_token=Verify", "&hub.verify_token=%F0%9F%98%80"):
        check_refused(await house.call("GET", address + wrong, key=""), 401, "invalid_signature", about=wrong)
    no_mode = f"/callbacks/cloud/{house.channel}?hub.challenge=42&hub.verify_token=verify"
    check_refused(await house.call("GET", no_mode, key=""), 401, "invalid_signature")


async def test_callbacks_of_nobody(house: House) -> None:
    qr = await house.new_qr_channel(house.account_id)
    for channel in ("", "x", "ch_", f"ch_{'0' * 32}", f"ch_{qr.id.hex}", house.channel + "0", house.channel + "/more"):
        for method in ("GET", "POST"):
            answer = await house.call(method, f"/callbacks/cloud/{channel}", key="")
            check_refused(answer, 404, "not_found", about=(method, channel))
    check_refused(await house.call("PUT", f"/callbacks/cloud/{house.channel}"), 405, "method_not_allowed")


async def test_unsigned_and_senseless_callbacks(house: House) -> None:
    before = await written(house)
    address = f"/callbacks/cloud/{house.channel}"
    for signature in ("", "sha256=", "sha256=" + "0" * 64, "sha1=" + _sign(b"{}")):
        answer = await house.call("POST", address, raw=b"{}", key="", headers={"x-hub-signature-256": signature})
        check_refused(answer, 401, "invalid_signature", about=signature)
    for raw in (b"", b"{", b"[]", b"{}", b'{"entry": 7}'):
        signed = {"x-hub-signature-256": f"sha256={_sign(raw)}"}
        check_refused(await house.call("POST", address, raw=raw, key="", headers=signed), 400, "malformed_json")
    empty = b'{"object": "whatsapp_business_account", "entry": []}'
    signed = {"x-hub-signature-256": f"sha256={_sign(empty)}"}
    assert (await house.call("POST", address, raw=empty, key="", headers=signed)).status == 200
    assert await written(house) == before


async def test_a_callback_may_be_large_but_not_endless(parted_database_url: str) -> None:
    async with running_house(parted_database_url, server__callback_limit=4096, server__body_limit=1024) as house:
        address = f"/callbacks/cloud/{house.channel}"
        large = b'{"entry": []}'.ljust(4096)
        signed = {"x-hub-signature-256": f"sha256={_sign(large)}"}
        assert (await house.call("POST", address, raw=large, key="", headers=signed)).status == 200
        signed = {"x-hub-signature-256": f"sha256={_sign(large + b' ')}"}
        answer = await house.call("POST", address, raw=large + b" ", key="", headers=signed)
        check_refused(answer, 413, "body_too_large")


def _sign(body: bytes) -> str:
    return hmac.new(b"app-secret", body, hashlib.sha256).hexdigest()


async def test_more_than_can_be_written_is_refused_and_not_lost(parted_database_url: str) -> None:
    async with running_house(parted_database_url, api__queue=2) as house:
        answers = await asyncio.gather(*(house.call("POST", SEND, TEXT) for _ in range(60)))
        taken = [answer for answer in answers if answer.status == 200]
        refused = [answer for answer in answers if answer.status != 200]
        assert taken
        assert refused
        for answer in refused:
            error = check_refused(answer, 503, "overloaded")
            assert error["retryable"] is True
            assert answer.headers["retry-after"] == "1"
        assert (await written(house))["messages"] == len(taken)
        assert len({answer.json()["data"]["key"]["id"] for answer in taken}) == len(taken)


async def test_a_channel_deleted_under_its_caller(house: House) -> None:
    """For a moment the key is still trusted; nothing may break over it."""
    message_id = await house.send(**TEXT)
    channel_id = ids.parse_id("ch", house.channel)
    assert channel_id
    await channels.delete_channel(house.db, house.account_id, channel_id, now=house.clock.now())
    for method, path, body in (
        ("POST", SEND, TEXT),
        ("POST", f"/api/v1/messages/{message_id}/cancel", None),
        ("GET", f"/api/v1/messages/{message_id}/trace", None),
        ("GET", "/api/v1/channel", None),
        ("GET", "/api/v1/events", None),
        ("POST", "/api/v1/webhooks", {"url": "http://127.0.0.1:54321/"}),
    ):
        assert (await house.call(method, path, body)).status in (200, 401, 404), (method, path)
    address = f"/callbacks/cloud/{house.channel}?hub.mode=subscribe&hub.verify_token=verify"
    assert (await house.call("GET", address, key="")).status in (200, 404)
