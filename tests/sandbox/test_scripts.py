"""People who tap, pick, react, order, fill in and send back, and that a seed makes it all happen again to the byte."""

import json
from typing import Any

import pytest

from .driver import NUMBER, PHONE, TOKEN, WABA, Driver, Receiver
from .incoming import ANA, send_in
from .messages.payloads import button, envelope, form, plain, row


async def answer_to(sandbox: Driver, receiver: Receiver, kind: str, content: Any, *script: Any) -> dict[str, Any]:
    """Send a message to somebody with a script and give what they send back, less id and time."""
    await sandbox.control("PUT", f"people/{ANA}", {"replies": script})
    sent = await sandbox.post(envelope(kind, content))
    await sandbox.advance(10)
    back = receiver.updates()[-1]
    assert back["from"] == ANA
    if "context" in back:
        assert back["context"] == {"from": PHONE, "id": sent.wamid}
    return {name: value for name, value in back.items() if name not in ("id", "from", "timestamp")}


def two_buttons() -> dict[str, Any]:
    return form("button") | {"action": {"buttons": [button(0), button(1)]}}


@pytest.mark.parametrize("tap", [1, "b1", "Button 1"])
async def test_tapping_a_button(sandbox: Driver, receiver: Receiver, tap: Any) -> None:
    back = await answer_to(sandbox, receiver, "interactive", two_buttons(), {"tap": tap})
    reply = {"id": "b1", "title": "Button 1"}
    assert back["interactive"] == {"type": "button_reply", "button_reply": reply}
    assert "context" in back


@pytest.mark.parametrize("tap", [2, -1, "b9"])
async def test_a_button_that_is_not_there_is_passed_over(sandbox: Driver, receiver: Receiver, tap: Any) -> None:
    back = await answer_to(sandbox, receiver, "interactive", two_buttons(), {"tap": tap}, {"text": "what button?"})
    assert back["text"] == {"body": "what button?"}


@pytest.mark.parametrize("pick", [0, "r0", "Row 0"])
async def test_picking_a_row(sandbox: Driver, receiver: Receiver, pick: Any) -> None:
    back = await answer_to(sandbox, receiver, "interactive", form("list"), {"pick": pick})
    assert back["interactive"] == {"type": "list_reply", "list_reply": row()}


async def test_reacting(sandbox: Driver, receiver: Receiver) -> None:
    back = await answer_to(sandbox, receiver, "image", plain("image"), {"on": "image", "react": "❤️"})
    assert back["type"] == "reaction"
    assert back["reaction"] == {"message_id": (await sandbox.ledger(kind="accepted"))[0]["wamid"], "emoji": "❤️"}
    assert "context" not in back


@pytest.mark.parametrize("sort", ["product", "product_list"])
async def test_ordering(sandbox: Driver, receiver: Receiver, sort: str) -> None:
    option = {"quantity": 3, "item_price": 7.99, "currency": "EUR", "text": "Soon, please"}
    back = await answer_to(sandbox, receiver, "interactive", form(sort), {"order": option})
    product = "sku" if sort == "product" else "sku0"
    item = {"product_retailer_id": product, "quantity": 3, "item_price": 7.99, "currency": "EUR"}
    assert back["order"] == {"catalog_id": "1", "text": "Soon, please", "product_items": [item]}


async def test_filling_in_a_form(sandbox: Driver, receiver: Receiver) -> None:
    back = await answer_to(sandbox, receiver, "interactive", form("flow"), {"submit": {"day": "Monday"}})
    assert json.loads(back["interactive"]["nfm_reply"]["response_json"]) == {"day": "Monday"}


async def test_sending_a_place_back(sandbox: Driver, receiver: Receiver) -> None:
    place = {"latitude": 1, "longitude": 2}
    script = {"on": "interactive.location_request_message", "send": {"type": "location", "location": place}}
    back = await answer_to(sandbox, receiver, "interactive", form("location_request_message"), script)
    assert (back["type"], back["location"]) == ("location", place)


async def test_sending_a_file_back(sandbox: Driver, receiver: Receiver) -> None:
    script = {"send": {"type": "document", "document": {"filename": "id.pdf"}}}
    back = await answer_to(sandbox, receiver, "text", {"body": "Your papers?"}, script)
    assert (back["type"], back["document"]["filename"]) == ("document", "id.pdf")


async def test_a_quick_reply_of_a_template(sandbox: Driver, receiver: Receiver) -> None:
    quick = {
        "type": "BUTTONS",
        "buttons": [{"type": "QUICK_REPLY", "text": "Yes"}, {"type": "QUICK_REPLY", "text": "No"}],
    }
    parts = [{"type": "BODY", "text": "Will you come to the party?"}, quick]
    body = {"name": "party", "language": "en_US", "category": "UTILITY", "components": parts}
    made = await sandbox.call("POST", f"/v25.0/{WABA}/message_templates", body, TOKEN)
    await sandbox.control("POST", f"templates/{made.json['id']}/review", {"decision": "approve"})
    payload = {"type": "payload", "payload": "no-42"}
    sent = [{"type": "button", "sub_type": "quick_reply", "index": "1", "parameters": [payload]}]
    content = {"name": "party", "language": {"code": "en_US"}, "components": sent}
    back = await answer_to(sandbox, receiver, "template", content, {"pattern": "party", "tap": "No"})
    assert (back["type"], back["button"]) == ("button", {"payload": "no-42", "text": "No"})
    back = await answer_to(sandbox, receiver, "template", content, {"on": "template", "tap": 0})
    assert back["button"] == {"payload": "Yes", "text": "Yes"}


async def test_a_line_is_for_a_type_of_message(sandbox: Driver, receiver: Receiver) -> None:
    script = [{"on": "image", "text": "a picture: {text}"}, {"on": "interactive", "text": "so many buttons"}]
    back = await answer_to(sandbox, receiver, "interactive", two_buttons(), *script)
    assert back["text"] == {"body": "so many buttons"}
    back = await answer_to(sandbox, receiver, "image", plain("image"), *script)
    assert back["text"] == {"body": "a picture: A picture"}


async def test_nobody_answers_a_reaction_unless_the_script_says_so(sandbox: Driver, receiver: Receiver) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"replies": [{"text": "hm?"}]})
    wamid = await send_in(sandbox, "text", "hi")
    await sandbox.post(envelope("reaction", {"message_id": wamid, "emoji": "👍"}))
    await sandbox.advance(10)
    assert receiver.labels() == ["text", "sent"]


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"text": "a", "tap": 0},
        {"send": {"type": "smoke"}},
        {"send": {"type": "location", "location": {}}},
        {"tap": 0, "pattern": "("},
    ],
)
async def test_impossible_lines(sandbox: Driver, line: dict[str, Any]) -> None:
    assert (await sandbox.call("PUT", f"/control/people/{ANA}", {"replies": [line]})).status == 400
    assert await sandbox.control("GET", "people") == []


async def play(sandbox: Driver, receiver: Receiver, seed: int) -> list[bytes]:
    """Reset with a seed, use every feature, and return the exact bytes of all callbacks."""
    await sandbox.control("POST", "reset", {"seed": seed})
    await sandbox.register(receiver.url, limits={"tier": 2}, callbacks={"version": "v23.0"})
    receiver.bodies.clear()
    await sandbox.control("PATCH", "settings", {"delays": {"skip_delivered": 0.5}})
    script = [{"on": "interactive", "tap": 0}, {"send": {"type": "image"}}]
    await sandbox.control("PUT", f"people/{ANA}", {"replies": script})
    await send_in(sandbox, "voice", {"content": "AAAA"})
    await send_in(sandbox, "text", "hi", **{"from": "5511999991111"})
    for payload in (
        envelope("interactive", two_buttons()),
        envelope("text", {"body": "é"}),
        envelope("image", plain("image")),
    ):
        assert (await sandbox.post(payload)).status == 200
        assert (await sandbox.text("5511999991111")).status == 200
        await sandbox.text("5511999992222")
        await sandbox.advance(20)
    await sandbox.advance(86_400)
    return list(receiver.bodies)


async def test_the_same_seed_gives_the_same_bytes(sandbox: Driver, receiver: Receiver) -> None:
    first = await play(sandbox, receiver, 11)
    again = await play(sandbox, receiver, 11)
    other = await play(sandbox, receiver, 12)
    assert len(first) > 20
    assert any(b'"audio"' in body for body in first)
    assert any(b"business_capability_update" in body for body in first)
    assert first == again
    assert first != other
    assert (await sandbox.control("GET", f"numbers/{NUMBER}"))["limits"][
        "tier"
    ] == 2000  # there is no tier of 1,000 any more
