"""What the network takes and refuses, at every limit: one under, at, over."""

import base64
import hmac
from typing import Any

import pytest

from tests.for_each import for_each

from .driver import NUMBER, PHONE, SECRET, TOKEN, Driver, text_payload


async def test_an_accepted_text_is_answered_in_the_networks_shape(sandbox: Driver) -> None:
    reply = await sandbox.text("+55 (11) 99999-0000", "hi")
    assert reply.status == 200
    assert reply.json == {
        "messaging_product": "whatsapp",
        "contacts": [{"input": "+55 (11) 99999-0000", "wa_id": "5511999990000"}],
        "messages": [{"id": reply.wamid}],
    }


async def test_a_wamid_has_the_networks_layout(sandbox: Driver) -> None:
    wamid = (await sandbox.text("5511999990000")).wamid
    raw = base64.b64decode(wamid.removeprefix("wamid."))
    assert raw[:3] == b"\x1c\x18\x0d"
    assert raw[3:16] == b"5511999990000"
    assert raw[16:22] == b"\x15\x02\x00\x11\x18\x12"
    assert raw[22:40].decode().isalnum()
    assert raw[22:40].upper() == raw[22:40]
    assert raw[40:] == b"\x00"


@pytest.mark.parametrize("path", ["/v17.0", "/v25.0", "/v26.0", ""])
async def test_any_version_or_none(sandbox: Driver, path: str) -> None:
    reply = await sandbox.call("POST", f"{path}/{NUMBER}/messages", text_payload("5511999990000", "hi"), TOKEN)
    assert reply.status == 200


@pytest.mark.parametrize("token", [None, "wrong"])
async def test_a_missing_or_wrong_token_is_190(sandbox: Driver, token: str | None) -> None:
    reply = await sandbox.post(text_payload("5511999990000", "hi"), token=token)
    assert (reply.status, reply.code) == (401, 190)
    assert reply.json["error"]["type"] == "OAuthException"
    assert reply.json["error"]["fbtrace_id"] == reply.trace_id


async def test_a_token_in_the_query_and_a_proof_of_the_app_secret(sandbox: Driver) -> None:
    path, payload = f"/v25.0/{NUMBER}/messages?access_token={TOKEN}", text_payload("5511999990000", "hi")
    proof = hmac.new(SECRET.encode(), TOKEN.encode(), "sha256").hexdigest()
    assert (await sandbox.call("POST", path, payload)).status == 200
    assert (await sandbox.call("POST", f"{path}&appsecret_proof={proof}", payload)).status == 200
    assert (await sandbox.call("POST", f"{path}&appsecret_proof=wrong", payload)).code == 100
    assert (await sandbox.call("POST", f"{path}x", payload)).code == 190
    for given, code in ((proof, None), ("wrong", 100)):
        reply = await sandbox.call("POST", f"/v25.0/{NUMBER}/messages?appsecret_proof={given}", payload, TOKEN)
        assert reply.json.get("error", {}).get("code") == code


async def test_an_unknown_number_is_100_subcode_33(sandbox: Driver) -> None:
    reply = await sandbox.post(text_payload("5511999990000", "hi"), number="999")
    error = reply.json["error"]
    assert (reply.status, error["code"], error["error_subcode"]) == (400, 100, 33)
    assert error["type"] == "GraphMethodException"
    assert "Object with ID '999' does not exist" in error["message"]


async def test_a_token_of_another_number_does_not_open_this_one(sandbox: Driver) -> None:
    await sandbox.register(phone_number_id="2002", phone="15550002222", token="other")
    reply = await sandbox.post(text_payload("5511999990000", "hi"), token="other")
    assert (reply.code, reply.json["error"]["error_subcode"]) == (100, 33)


async def test_an_unknown_operation_is_100(sandbox: Driver) -> None:
    reply = await sandbox.call("POST", f"/v25.0/{NUMBER}/nonsense", {}, TOKEN)
    assert (reply.status, reply.code) == (400, 100)


OK = text_payload("5511999990000", "hi")


def changed(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (OK | changes).items() if value is not ...}


REFUSED = {
    "malformed JSON": (b'{"messaging_product": "whatsapp",', 100),
    "not UTF-8": (b'{"messaging_product": "\xff"}', 100),
    "not an object": ([1], 100),
    "no product": (changed(messaging_product=...), 100),
    "another product": (changed(messaging_product="sms"), 100),
    "no recipient": (changed(to=...), 131008),
    "recipient not a string": (changed(to=5511999990000), 131009),
    "recipient with letters": (changed(to="55119999x0000"), 131009),
    "recipient with foreign digits": (changed(to="٥٥١١٩٩٩٩٩"), 131009),
    "recipient one digit short": (changed(to="123456"), 131009),
    "recipient one digit long": (changed(to="1234567890123456"), 131009),
    "recipient is the sender": (changed(to="+" + PHONE), 131021),
    "group": (changed(recipient_type="group"), 131009),
    "unknown type": (changed(type="carrier_pigeon"), 131051),
    "type not a string": (changed(type=["text"]), 131051),
    "no text": (changed(text=...), 131008),
    "text not an object": (changed(text="hi"), 100),
    "no body": (changed(text={}), 131008),
    "body not a string": (changed(text={"body": 1}), 100),
    "empty body": (changed(text={"body": ""}), 131009),
    "blank body": (changed(text={"body": " \n"}), 131009),
    "body one over": (changed(text={"body": "é" * 4097}), 100),
    "unexpected key": (changed(text={"body": "hi", "bold": True}), 100),
    "preview_url not a boolean": (changed(text={"body": "hi", "preview_url": "yes"}), 131009),
    "callback data one over": (changed(biz_opaque_callback_data="x" * 513), 100),
    "callback data not a string": (changed(biz_opaque_callback_data=1), 100),
    "context not an object": (changed(context="wamid.x"), 100),
    "context without id": (changed(context={}), 131008),
    "context with empty id": (changed(context={"message_id": ""}), 131009),
    "unknown status": ({"messaging_product": "whatsapp", "status": "seen", "message_id": "wamid.x"}, 131009),
    "read mark without id": ({"messaging_product": "whatsapp", "status": "read"}, 131008),
    "read mark with a number": ({"messaging_product": "whatsapp", "status": "read", "message_id": 5}, 131009),
}


@pytest.mark.parametrize(("payload", "code"), REFUSED.values())
async def test_refusals(sandbox: Driver, payload: Any, code: int) -> None:
    reply = await sandbox.post(payload)
    assert (reply.status, reply.code) == (400, code)
    error = reply.json["error"]
    assert error["message"].startswith(f"(#{code}) ")
    assert error["type"] == "OAuthException"
    assert ("error_data" in error) == (code != 100)
    assert await sandbox.counts() == {"refused": 1, f"refused.{code}": 1}


ACCEPTED = {
    "recipient of 7 digits": changed(to="1234567"),
    "recipient of 15 digits": changed(to="123456789012345"),
    "body at the limit": changed(text={"body": "é" * 4096}),
    "body one under": changed(text={"body": "é" * 4095}),
    "callback data at the limit": changed(biz_opaque_callback_data="x" * 512),
    "no type is text": changed(type=...),
    "individual": changed(recipient_type="individual"),
    "preview": changed(text={"body": "https://example.com", "preview_url": True}),
    "context": changed(context={"message_id": "wamid.x"}),
}


@for_each("payload", ACCEPTED.values())
async def test_accepted(sandbox: Driver, payload: Any) -> None:
    assert (await sandbox.post(payload)).status == 200


@pytest.mark.parametrize("more", [{}, {"typing_indicator": {"type": "text"}}])
async def test_marking_as_read(sandbox: Driver, more: dict[str, Any]) -> None:
    mark = {"messaging_product": "whatsapp", "status": "read", "message_id": "wamid.abc", **more}
    reply = await sandbox.post(mark)
    assert (reply.status, reply.json) == (200, {"success": True})
    [entry] = await sandbox.ledger(kind="read")
    assert (entry["message_id"], entry["typing"]) == ("wamid.abc", bool(more))


async def test_the_number_node(sandbox: Driver) -> None:
    node = (await sandbox.call("GET", f"/v25.0/{NUMBER}", token=TOKEN)).json
    assert node["id"] == NUMBER
    assert node["display_phone_number"] == f"+{PHONE}"
    assert node["verified_name"] == "Acme"
    assert (node["quality_rating"], node["status"], node["throughput"]) == ("GREEN", "CONNECTED", {"level": "STANDARD"})
    some = (await sandbox.call("GET", f"/v25.0/{NUMBER}?fields=status,quality_rating", token=TOKEN)).json
    assert some == {"id": NUMBER, "status": "CONNECTED", "quality_rating": "GREEN"}
