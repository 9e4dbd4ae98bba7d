"""Templates in a chat: filled in, with everything that the person sees."""

from typing import Any

import pytest

from tests.sandbox.driver import Driver, Receiver
from tests.sandbox.messages.payloads import LINK, envelope
from tests.sandbox.templates import approved, body, buttons, draft, link, quick

from .phone import PersonPhone
from .test_official import arrived

HANDLE = {"header_handle": ["4::aW"]}


@pytest.fixture
def ana(sandbox: Driver) -> PersonPhone:
    return PersonPhone(sandbox)


async def view(sandbox: Driver, ana: PersonPhone, template: dict[str, Any], *components: dict[str, Any]) -> Any:
    """Send a template, and return what the person sees."""
    await approved(sandbox, template)
    language = {"code": template["language"]}
    sent = envelope("template", {"name": template["name"], "language": language, "components": list(components)})
    reply = await sandbox.post(sent)
    assert reply.status == 200, reply.raw
    await sandbox.advance(2)
    message = await ana.last()
    assert message["type"] == "template"
    return message["view"]


def texts(kind: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "parameters": [{"type": "text", "text": value} for value in values], **more}


async def test_texts_are_filled_in(sandbox: Driver, ana: PersonPhone) -> None:
    header = {"type": "HEADER", "format": "TEXT", "text": "Hi {{1}}", "example": {"header_text": ["Ana"]}}
    parts = (header, body(), {"type": "FOOTER", "text": "Reply STOP"})
    seen = await view(sandbox, ana, draft(*parts), texts("header", "Bea"), texts("body", "Bea", "<b>17</b>"))
    assert seen == {
        "header": {"text": "Hi Bea"},
        "text": "Hello Bea, your parcel <b>17</b> is on its way to you.",
        "footer": "Reply STOP",
    }


async def test_a_template_keeps_the_text_with_which_it_was_sent(sandbox: Driver, ana: PersonPhone) -> None:
    before = await view(sandbox, ana, draft(body("The shop is open")))
    [template] = [one for one in await sandbox.control("GET", "templates") if one["name"] == "parcel"]
    edit = {"components": [body("The shop is closed")]}
    assert (await sandbox.call("POST", f"/v25.0/{template['id']}", edit, "EAAtoken")).status == 200
    assert (await ana.last())["view"] == before == {"text": "The shop is open"}


async def test_a_header_with_a_file(sandbox: Driver, ana: PersonPhone) -> None:
    header = {"type": "HEADER", "format": "IMAGE", "example": HANDLE}
    picture = {"type": "header", "parameters": [{"type": "image", "image": {"link": LINK}}]}
    seen = await view(sandbox, ana, draft(header, body("Look")), picture)
    assert (seen["header"]["media"]["kind"], seen["header"]["media"]["link"]) == ("image", LINK)


async def test_a_header_with_a_place(sandbox: Driver, ana: PersonPhone) -> None:
    place = {"latitude": "1.5", "longitude": "2", "name": "Shop", "address": "1 Road"}
    given = {"type": "header", "parameters": [{"type": "location", "location": place}]}
    seen = await view(sandbox, ana, draft({"type": "HEADER", "format": "LOCATION"}, body("Here")), given)
    assert seen["location"] == {"latitude": 1.5, "longitude": 2, "name": "Shop", "address": "1 Road"}


async def test_buttons_of_every_kind(sandbox: Driver, ana: PersonPhone, receiver: Receiver) -> None:
    url = link("https://example.com/{{1}}", example=["https://example.com/a"])
    call = {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+15550001111"}
    copy = {"type": "COPY_CODE", "example": "SAVE"}
    template = draft(body("Choose"), buttons(quick("Yes"), quick("No"), url, call, copy), category="MARKETING")
    given: list[dict[str, Any]] = [
        {"type": "button", "sub_type": "quick_reply", "index": 0, "parameters": [{"type": "payload", "payload": "y"}]},
        {"type": "button", "sub_type": "url", "index": "2", "parameters": [{"type": "text", "text": "shoes"}]},
        {
            "type": "button",
            "sub_type": "copy_code",
            "index": 4,
            "parameters": [{"type": "coupon_code", "coupon_code": "TEN"}],
        },
    ]
    seen = await view(sandbox, ana, template, *given)
    assert seen["buttons"] == [
        {"id": "y", "title": "Yes", "kind": "quick_reply"},
        {"id": "No", "title": "No", "kind": "quick_reply"},
        {"id": "2", "title": "Look", "kind": "url", "value": "https://example.com/shoes"},
        {"id": "3", "title": "Call", "kind": "call", "value": "+15550001111"},
        {"id": "4", "title": "Copy code", "kind": "copy_code", "value": "TEN"},
    ]
    target = (await ana.last())["id"]
    await ana.send("button", target=target, button="y")
    await sandbox.advance(0)
    came = arrived(receiver)
    assert (came["type"], came["button"]) == ("button", {"payload": "y", "text": "Yes"})
    assert came["context"]["id"] == target
    assert (await ana.try_send("button", target=target, button="2")).status == 409  # a link is not answered


async def test_a_one_time_code(sandbox: Driver, ana: PersonPhone) -> None:
    parts: list[dict[str, Any]] = [
        {"type": "BODY", "add_security_recommendation": True},
        {"type": "FOOTER", "code_expiration_minutes": 5},
        {"type": "BUTTONS", "buttons": [{"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy"}]},
    ]
    code = {"type": "button", "sub_type": "url", "index": 0, "parameters": [{"type": "text", "text": "4711"}]}
    seen = await view(sandbox, ana, draft(*parts, category="AUTHENTICATION"), texts("body", "4711"), code)
    assert seen == {
        "text": "*4711* is your verification code. Keep it to yourself.",
        "footer": "Good for 5 minutes.",
        "buttons": [{"id": "0", "title": "Copy", "kind": "copy_code", "value": "4711"}],
    }


async def test_an_offer_that_ends(sandbox: Driver, ana: PersonPhone) -> None:
    offer = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Only today", "has_expiration": True}}
    copy = {"type": "COPY_CODE", "example": "SAVE"}
    template = draft(offer, body("Shoes"), buttons(copy, link()), category="MARKETING")
    ends = {"type": "limited_time_offer", "limited_time_offer": {"expiration_time_ms": 1_700_000_900_500}}
    code = {"type": "coupon_code", "coupon_code": "TEN"}
    given: list[dict[str, Any]] = [
        {"type": "limited_time_offer", "parameters": [ends]},
        {"type": "button", "sub_type": "copy_code", "index": 0, "parameters": [code]},
    ]
    assert (await view(sandbox, ana, template, *given))["offer"] == {"text": "Only today", "expires_at": 1_700_000_900}


async def test_a_carousel(sandbox: Driver, ana: PersonPhone, receiver: Receiver) -> None:
    header = {"type": "HEADER", "format": "IMAGE", "example": HANDLE}
    card = {"components": [header, body("Shoe {{1}} for you", "red"), buttons(quick("Buy"))]}
    template = draft(body("Look"), {"type": "CAROUSEL", "cards": [card, card]}, category="MARKETING")
    cards = [
        {
            "card_index": place,
            "components": [
                {"type": "header", "parameters": [{"type": "image", "image": {"link": f"{LINK}{place}"}}]},
                texts("body", colour),
                {
                    "type": "button",
                    "sub_type": "quick_reply",
                    "index": 0,
                    "parameters": [{"type": "payload", "payload": f"buy-{colour}"}],
                },
            ],
        }
        for place, colour in enumerate(("red", "blue"))
    ]
    seen = await view(sandbox, ana, template, {"type": "carousel", "cards": cards})
    assert [one["text"] for one in seen["cards"]] == ["Shoe red for you", "Shoe blue for you"]
    assert [one["header"]["media"]["link"] for one in seen["cards"]] == [f"{LINK}0", f"{LINK}1"]
    await ana.send("button", target=(await ana.last())["id"], button="buy-blue")
    await sandbox.advance(0)
    assert arrived(receiver)["button"] == {"payload": "buy-blue", "text": "Buy"}


async def test_a_list_of_products(sandbox: Driver, ana: PersonPhone) -> None:
    template = draft(body("Choose"), buttons({"type": "MPM", "text": "View items"}), category="MARKETING")
    sections = [{"title": "Shoes", "product_items": [{"product_retailer_id": "sku1"}]}]
    action = {"type": "action", "action": {"thumbnail_product_retailer_id": "sku1", "sections": sections}}
    seen = await view(sandbox, ana, template, {"type": "button", "sub_type": "mpm", "index": 0, "parameters": [action]})
    assert seen["products"]["sections"] == [{"title": "Shoes", "items": [{"id": "sku1"}]}]
