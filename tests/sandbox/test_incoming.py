"""Everything people can send, in the network's own JSON."""

import base64
import hashlib
import json
from typing import Any

import pytest

from tests.for_each import for_each

from .driver import NUMBER, PHONE, START, TOKEN, WABA, Driver, Receiver
from .incoming import ANA, changes, news, send_in

STAMP = str(int(START))


async def arrived(sandbox: Driver, receiver: Receiver, kind: str, content: Any = None, **more: Any) -> dict[str, Any]:
    """Send something and return the message of the callback."""
    wamid = await send_in(sandbox, kind, content, **more)
    await sandbox.advance(0)
    message = receiver.updates()[-1]
    assert (message.pop("id"), message.pop("timestamp")) == (wamid, STAMP)
    assert message.pop("from") == ANA
    return message


CARD = {"name": {"formatted_name": "Bea"}, "phones": [{"phone": "+1 555", "wa_id": "1555"}]}
ORDER = {
    "catalog_id": "1",
    "text": "",
    "product_items": [{"product_retailer_id": "a", "quantity": 2, "item_price": 7.99, "currency": "USD"}],
}
AS_IT_IS: dict[str, Any] = {
    "text": {"body": "hello"},
    "location": {"latitude": 1.5, "longitude": -2, "name": "Here", "address": "There", "url": "https://127.0.0.1"},
    "contacts": [CARD],
    "reaction": {"message_id": "wamid.x", "emoji": "👍"},
    "button": {"payload": "yes", "text": "Yes"},
    "order": ORDER,
    "edit": {"original_message_id": "wamid.x", "message": {"type": "text", "text": {"body": "new"}}},
    "revoke": {"original_message_id": "wamid.x"},
    "interactive": {"type": "button_reply", "button_reply": {"id": "1", "title": "One"}},
}


@pytest.mark.parametrize("kind", AS_IT_IS)
async def test_content_goes_out_as_it_is(sandbox: Driver, receiver: Receiver, kind: str) -> None:
    assert await arrived(sandbox, receiver, kind, AS_IT_IS[kind]) == {"type": kind, kind: AS_IT_IS[kind]}
    [entry] = await sandbox.ledger(kind="incoming")
    assert (entry["type"], entry["content"], entry["from"], entry["to"]) == (kind, AS_IT_IS[kind], ANA, PHONE)


async def test_a_text_may_be_written_short(sandbox: Driver, receiver: Receiver) -> None:
    assert await arrived(sandbox, receiver, "text", "hi") == {"type": "text", "text": {"body": "hi"}}


async def test_a_reaction_taken_away_has_no_emoji(sandbox: Driver, receiver: Receiver) -> None:
    taken = await arrived(sandbox, receiver, "reaction", {"message_id": "wamid.x", "emoji": ""})
    assert taken["reaction"] == {"message_id": "wamid.x"}


@pytest.mark.parametrize(
    ("kind", "mime_type", "more"),
    [
        ("image", "image/png", {"caption": "Look"}),
        ("video", "video/mp4", {"caption": "Look"}),
        ("document", "application/pdf", {"filename": "bill.pdf", "caption": "Pay"}),
        ("sticker", "image/webp", {"animated": True}),
        ("audio", "audio/mpeg", {"voice": False}),
    ],
)
async def test_files_are_kept_and_can_be_fetched(
    sandbox: Driver, receiver: Receiver, kind: str, mime_type: str, more: dict[str, Any]
) -> None:
    content = {"content": base64.b64encode(b"some bytes").decode(), **more}
    message = await arrived(sandbox, receiver, kind, content)
    shown = message[kind]
    digest = hashlib.sha256(b"some bytes").hexdigest()
    assert message["type"] == kind
    assert shown == {"mime_type": mime_type, "sha256": digest, "id": shown["id"], "url": shown["url"], **more}
    node = (await sandbox.call("GET", f"/v25.0/{shown['id']}", token=TOKEN)).json
    assert (node["mime_type"], node["sha256"]) == (mime_type, digest)


async def test_a_voice_message_is_audio(sandbox: Driver, receiver: Receiver) -> None:
    message = await arrived(sandbox, receiver, "voice")
    assert message["type"] == "audio"
    assert (message["audio"]["voice"], message["audio"]["mime_type"]) == (True, "audio/ogg; codecs=opus")


@pytest.mark.parametrize("kind", ["button_reply", "list_reply"])
async def test_replies_by_their_own_names(sandbox: Driver, receiver: Receiver, kind: str) -> None:
    message = await arrived(sandbox, receiver, kind, {"id": "1", "title": "One"}, reply_to="wamid.q")
    assert message["interactive"] == {"type": kind, kind: {"id": "1", "title": "One"}}
    assert message["context"] == {"from": PHONE, "id": "wamid.q"}


async def test_a_filled_in_form_is_json_in_json(sandbox: Driver, receiver: Receiver) -> None:
    message = await arrived(sandbox, receiver, "nfm_reply", {"response_json": {"day": "é"}})
    reply = message["interactive"]["nfm_reply"]
    assert (reply["name"], reply["body"], json.loads(reply["response_json"])) == ("flow", "Sent", {"day": "é"})


@pytest.mark.parametrize(
    "context",
    [
        {"forwarded": True},
        {"frequently_forwarded": True},
        {"from": PHONE, "id": "wamid.q", "referred_product": {"catalog_id": "1", "product_retailer_id": "2"}},
    ],
)
async def test_contexts(sandbox: Driver, receiver: Receiver, context: dict[str, Any]) -> None:
    assert (await arrived(sandbox, receiver, "text", "hi", context=context))["context"] == context


async def test_somebody_who_came_by_an_advertisement(sandbox: Driver, receiver: Receiver) -> None:
    referral = {"source_url": "https://127.0.0.1", "source_id": "1", "source_type": "ad", "ctwa_clid": "x"}
    assert (await arrived(sandbox, receiver, "text", "hi", referral=referral))["referral"] == referral


def last_value(receiver: Receiver) -> dict[str, Any]:
    value: dict[str, Any] = changes(receiver)[-1]["value"]
    return value


async def test_a_new_number_and_a_new_user_id(sandbox: Driver, receiver: Receiver) -> None:
    moved = {"type": "user_changed_number", "wa_id": "5511999991111"}
    message = await arrived(sandbox, receiver, "system", moved, name="Ana")
    body = f"User Ana changed from {ANA} to 5511999991111"
    assert message == {"type": "system", "system": {"body": body, **moved}}
    assert "contacts" not in last_value(receiver)
    message = await arrived(sandbox, receiver, "system", {"type": "user_changed_user_id", "user_id": "US.2"})
    assert message["system"]["user_id"] == "US.2"


async def test_a_new_identity(sandbox: Driver, receiver: Receiver) -> None:
    changed = {"type": "customer_identity_changed", "identity": {"hash": "abc"}}
    message = await arrived(sandbox, receiver, "system", changed)
    assert message["identity"] == {"acknowledged": False, "created_timestamp": int(START), "hash": "abc"}
    assert message["system"]["type"] == "customer_identity_changed"


async def test_what_the_network_does_not_carry(sandbox: Driver, receiver: Receiver) -> None:
    message = await arrived(sandbox, receiver, "unsupported", {"type": "poll"})
    assert (message["type"], message["unsupported"]) == ("unsupported", {"type": "poll"})
    [error] = message["errors"]
    assert (error["code"], "href" in error) == (131051, False)
    lost = [{"code": 131052, "title": "Media download error"}]
    assert (await arrived(sandbox, receiver, "unsupported", errors=lost))["errors"] == lost


async def test_a_first_opening(sandbox: Driver, receiver: Receiver) -> None:
    assert await arrived(sandbox, receiver, "request_welcome") == {"type": "request_welcome"}


async def test_anything_at_all(sandbox: Driver, receiver: Receiver) -> None:
    message = await arrived(sandbox, receiver, "raw", {"type": "hologram", "hologram": {"depth": 3}})
    assert message == {"type": "hologram", "hologram": {"depth": 3}}


async def test_errors_of_no_message(sandbox: Driver, receiver: Receiver) -> None:
    assert await send_in(sandbox, "errors", [{"code": 130429, "title": "Rate limit hit"}]) == ""
    await sandbox.advance(0)
    [change] = changes(receiver)
    assert change["value"] == {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": PHONE, "phone_number_id": NUMBER},
        "errors": [{"code": 130429, "title": "Rate limit hit"}],
    }


async def test_a_preference_about_marketing(sandbox: Driver, receiver: Receiver) -> None:
    await send_in(sandbox, "user_preferences", {"value": "stop"}, name="Ana")
    await sandbox.advance(0)
    body = json.loads(receiver.bodies[0])
    [change] = body["entry"][0]["changes"]
    assert (body["entry"][0]["id"], body["entry"][0]["time"], change["field"]) == (WABA, int(START), "user_preferences")
    [option] = change["value"]["user_preferences"]
    assert (option["wa_id"], option["value"], option["category"]) == (ANA, "stop", "marketing_messages")
    assert option["timestamp"] == int(START)
    assert change["value"]["contacts"] == [{"profile": {"name": "Ana"}, "wa_id": ANA}]


async def test_what_the_business_wrote_on_its_phone(sandbox: Driver, receiver: Receiver) -> None:
    wamid = await send_in(sandbox, "echo", {"type": "text", "text": {"body": "by hand"}})
    await sandbox.advance(0)
    [(field, value)] = news(receiver)
    assert field == "smb_message_echoes"
    head = {"from": PHONE, "to": ANA, "id": wamid, "timestamp": STAMP}
    assert value["message_echoes"] == [{**head, "type": "text", "text": {"body": "by hand"}}]


async def test_somebody_known_by_a_user_id_alone(sandbox: Driver, receiver: Receiver) -> None:
    person = {"name": "Ana", "user_id": "US.1349", "username": "ana", "phone_hidden": True}
    await sandbox.control("PUT", f"people/{ANA}", person)
    await send_in(sandbox, "text", "hi")
    await sandbox.advance(0)
    value = last_value(receiver)
    profile = {"name": "Ana", "username": "ana"}
    assert value["contacts"] == [{"profile": profile, "wa_id": "", "user_id": "US.1349"}]
    [message] = value["messages"]
    assert (message["from"], message["from_user_id"]) == ("", "US.1349")


async def test_a_user_id_for_this_message_alone(sandbox: Driver, receiver: Receiver) -> None:
    await send_in(sandbox, "text", "hi", user_id="US.7", identity_key_hash="abc")
    await sandbox.advance(0)
    [contact] = last_value(receiver)["contacts"]
    assert (contact["wa_id"], contact["user_id"], contact["identity_key_hash"]) == (ANA, "US.7", "abc")


@for_each(
    "body",
    [
        {"from": ANA, "type": "smoke"},
        {"from": "12", "type": "text", "text": "hi"},
        {"from": ANA, "type": "text"},
        {"from": ANA, "type": "text", "text": {}},
        {"from": ANA, "type": "location", "location": {"latitude": 1}},
        {"from": ANA, "type": "contacts", "contacts": {}},
        {"from": ANA, "type": "image", "image": {"content": "not base64!"}},
        {"from": ANA, "type": "image", "image": {"mime_type": 5}},
        {"from": ANA, "type": "text", "text": "hi", "mood": "good"},
        {"type": "text", "text": "hi"},
    ],
)
async def test_what_nobody_can_send(sandbox: Driver, body: dict[str, Any]) -> None:
    reply = await sandbox.call("POST", f"/control/numbers/{NUMBER}/incoming", body)
    assert reply.status == 400
    assert reply.json["error"]


async def test_only_messages_open_the_window(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PATCH", "settings", {"limits": {"window": "sync"}})
    await send_in(sandbox, "system", {"type": "user_changed_number", "wa_id": "1234567"})
    await send_in(sandbox, "user_preferences", {"value": "stop"})
    await send_in(sandbox, "echo", {"type": "text", "text": {"body": "x"}})
    assert (await sandbox.text()).code == 131047
    await send_in(sandbox, "reaction", {"message_id": "wamid.x", "emoji": "👍"})
    assert (await sandbox.text()).status == 200
