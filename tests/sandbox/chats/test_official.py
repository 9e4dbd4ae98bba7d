"""Chats with official numbers: what the person sees of each message, and what the person does arrives as usual."""

import json
from base64 import b64encode
from typing import Any

import pytest

from tests.for_each import for_each
from tests.sandbox.driver import NUMBER, PHONE, Driver, Receiver
from tests.sandbox.messages.payloads import INTERACTIVE, PLAIN, envelope, form

from .phone import ANA, PersonPhone

PNG = b"\x89PNG" + bytes(64)


@pytest.fixture
async def ana(sandbox: Driver) -> PersonPhone:
    return PersonPhone(sandbox)


async def test_a_message_appears_with_each_status_when_the_phone_has_it(sandbox: Driver, ana: PersonPhone) -> None:
    """The number has no callback address here: statuses do not depend on callbacks."""
    await sandbox.register(None)
    wamid = (await sandbox.text(ANA, "hello")).wamid
    seen = []
    for seconds in (0, 0.2, 0.2, 0.2, 0.5):
        await sandbox.advance(seconds)
        seen.append(((await ana.last())["status"], (await ana.chat())["unread"]))
    assert seen == [("accepted", 0), ("sent", 0), ("delivered", 1), ("delivered", 1), ("read", 0)]
    message = await ana.last()
    assert message == {
        "id": wamid,
        "seq": 1,
        "from": "business",
        "at": 1_700_000_000,
        "type": "text",
        "view": {"text": "hello"},
        "status": "read",
        "error": None,
        "quote": None,
        "reactions": [],
        "edited": False,
        "deleted": False,
        "forwarded": False,
    }
    assert await ana.chat() == {
        "person": ANA,
        "name": "Person 0000",
        "number": {"id": NUMBER, "network": "official", "phone": PHONE, "name": "Acme"},
        "unread": 0,
        "last": message,
        "typing": False,
        "presence": {"online": True, "until": 1_700_000_030, "last_seen": 1_700_000_000},
        "blocked": False,
        "marketing_stopped": False,
        "window_ends_at": None,
    }


async def test_a_failed_message_shows_its_error_and_is_not_the_last(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"character": "absent"})
    await sandbox.text(ANA)
    await sandbox.advance(1)
    message, chat = await ana.last(), await ana.chat()
    assert (message["status"], message["error"]["code"]) == ("failed", 131026)
    assert (chat["last"], chat["unread"]) == (None, 0)


async def test_chats_are_listed_with_the_latest_first(sandbox: Driver) -> None:
    for person in ("5511999990001", "5511999990002", "5511999990001"):
        await sandbox.text(person)
    listed = (await sandbox.control("GET", "chats"))["chats"]
    assert [chat["person"] for chat in listed] == ["5511999990001", "5511999990002"]
    [one] = (await sandbox.control("GET", "chats?person=5511999990002"))["chats"]
    assert one["person"] == "5511999990002"
    assert len((await sandbox.control("GET", "chats?limit=1"))["chats"]) == 1


async def test_messages_come_in_pages(sandbox: Driver, ana: PersonPhone) -> None:
    for number in range(7):
        await ana.send("text", text=f"text {number}")
    newest = await ana.show("?limit=3")
    assert [message["view"]["text"] for message in newest["messages"]] == ["text 4", "text 5", "text 6"]
    assert newest["more"]
    before = await ana.show(f"?limit=4&before={newest['messages'][0]['seq']}")
    assert [message["seq"] for message in before["messages"]] == [1, 2, 3, 4]
    assert not before["more"]
    assert (await ana.show("?before=1"))["messages"] == []


@for_each("path", [f"chats/12/{NUMBER}", f"chats/55119999900001234/{NUMBER}", f"chats/abcdefgh/{NUMBER}"])
async def test_a_bad_person_is_refused(sandbox: Driver, path: str) -> None:
    assert (await sandbox.call("GET", f"/control/{path}")).status == 400
    assert (await sandbox.call("POST", f"/control/{path}/read", {})).status == 400


async def test_an_unknown_number_is_not_found(sandbox: Driver) -> None:
    assert (await sandbox.call("GET", f"/control/chats/{ANA}/404")).status == 404
    assert (await sandbox.call("POST", f"/control/chats/{ANA}/404/send", {"type": "text", "text": "x"})).status == 404


async def test_a_chat_without_messages_can_be_shown_and_is_not_listed(sandbox: Driver, ana: PersonPhone) -> None:
    shown = await ana.show()
    assert (shown["messages"], shown["more"], shown["chat"]["last"]) == ([], False, None)
    assert (await sandbox.control("GET", "chats"))["chats"] == []


async def test_both_forms_of_a_number_are_one_chat(sandbox: Driver) -> None:
    await sandbox.text("551199990000")  # without the 9 that the network adds
    await sandbox.text(ANA)
    assert [chat["person"] for chat in (await sandbox.control("GET", "chats"))["chats"]] == [ANA]
    found = await sandbox.control("GET", "chats?person=551199990000")
    assert (found["person"], len(found["chats"])) == (ANA, 1)


VIEWS: dict[str, dict[str, Any]] = {
    "text": {"text": "hello"},
    "image": {
        "text": "A picture",
        "media": {
            "kind": "image",
            "url": None,
            "link": "https://127.0.0.1/file",
            "mime_type": None,
            "filename": None,
            "size": None,
            "voice": False,
        },
    },
    "location": {
        "location": {"latitude": 37.44, "longitude": -122.16, "name": "Here", "address": "This street"},
    },
    "contacts": {
        "contacts": [{"name": "Bea", "phones": ["+15550001111"], "emails": ["bea@example.com"], "organization": "Acme"}]
    },
}


@for_each("kind", list(VIEWS))
async def test_what_the_person_sees_of_plain_messages(sandbox: Driver, ana: PersonPhone, kind: str) -> None:
    assert (await sandbox.post(envelope(kind, PLAIN[kind]))).status == 200
    message = await ana.last()
    assert (message["type"], message["view"]) == (kind, VIEWS[kind])


CHOICES: dict[str, dict[str, Any]] = {
    "button": {"buttons": [{"id": "b0", "title": "Button 0", "kind": "reply"}]},
    "list": {
        "list": {
            "button": "Open",
            "sections": [{"title": "One", "rows": [{"id": "r0", "title": "Row 0", "description": "About it"}]}],
        }
    },
    "cta_url": {"buttons": [{"id": "cta_url", "title": "Open", "kind": "url", "value": "https://127.0.0.1/file"}]},
    "product": {"products": {"catalog_id": "1", "sections": [{"title": "", "items": [{"id": "sku"}]}]}},
    "product_list": {
        "header": {"text": "Title"},
        "products": {"catalog_id": "1", "sections": [{"title": "One", "items": [{"id": "sku0"}]}]},
    },
    "catalog_message": {"buttons": [{"id": "catalog_message", "title": "View catalog", "kind": "catalog"}]},
    "flow": {"buttons": [{"id": "flow", "title": "Book", "kind": "flow", "value": "1"}]},
    "location_request_message": {
        "buttons": [{"id": "location_request_message", "title": "Send location", "kind": "request_location"}]
    },
    "address_message": {"buttons": [{"id": "address_message", "title": "Provide address", "kind": "address"}]},
    "voice_call": {"buttons": [{"id": "voice_call", "title": "Call", "kind": "call"}]},
    "call_permission_request": {"buttons": [{"id": "call_permission_request", "title": "Continue", "kind": "other"}]},
    "request_contact_info": {
        "buttons": [{"id": "request_contact_info", "title": "Share contact", "kind": "request_contact"}]
    },
}


@for_each("sort", list(CHOICES))
async def test_what_the_person_sees_of_interactive_messages(sandbox: Driver, ana: PersonPhone, sort: str) -> None:
    assert (await sandbox.post(envelope("interactive", form(sort)))).status == 200
    assert (await ana.last())["view"] == {"text": "Choose", **CHOICES[sort]}


async def test_the_cards_of_a_carousel_are_views_too(sandbox: Driver, ana: PersonPhone) -> None:
    assert set(CHOICES) | {"carousel"} == set(INTERACTIVE)
    assert (await sandbox.post(envelope("interactive", form("carousel")))).status == 200
    view = (await ana.last())["view"]
    assert [card["text"] for card in view["cards"]] == ["A card", "A card"]
    assert view["cards"][0]["header"]["media"]["link"] == "https://127.0.0.1/file"
    assert view["cards"][0]["buttons"][0]["kind"] == "url"


async def test_header_and_footer_of_an_interactive_message(sandbox: Driver, ana: PersonPhone) -> None:
    sent = form("button") | {"header": {"type": "text", "text": "Title"}, "footer": {"text": "Small"}}
    await sandbox.post(envelope("interactive", sent))
    view = (await ana.last())["view"]
    assert (view["header"], view["footer"]) == ({"text": "Title"}, "Small")


def arrived(receiver: Receiver) -> dict[str, Any]:
    """The last message that the business received."""
    messages: list[dict[str, Any]] = [one for one in receiver.updates() if "from" in one]
    return messages[-1]


PERSON_SENDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": ({"text": "hi"}, {"type": "text", "text": {"body": "hi"}}),
    "location": (
        {"latitude": 1.5, "longitude": -2, "name": "Home"},
        {"type": "location", "location": {"latitude": 1.5, "longitude": -2, "name": "Home"}},
    ),
    "contact": (
        {"name": "Bea", "phone": "+1 555 000 1111"},
        {
            "type": "contacts",
            "contacts": [
                {
                    "name": {"formatted_name": "Bea", "first_name": "Bea"},
                    "phones": [{"phone": "+1 555 000 1111", "wa_id": "15550001111", "type": "CELL"}],
                }
            ],
        },
    ),
    "order": (
        {"catalog_id": "7", "items": [{"id": "sku", "quantity": 2, "price": 9.5, "currency": "EUR"}], "text": "fast"},
        {
            "type": "order",
            "order": {
                "catalog_id": "7",
                "text": "fast",
                "product_items": [{"product_retailer_id": "sku", "quantity": 2, "item_price": 9.5, "currency": "EUR"}],
            },
        },
    ),
}


@for_each("kind", list(PERSON_SENDS))
async def test_what_a_person_sends_arrives(sandbox: Driver, receiver: Receiver, ana: PersonPhone, kind: str) -> None:
    fields, expected = PERSON_SENDS[kind]
    message = await ana.send(kind, **fields)
    await sandbox.advance(0)
    came = arrived(receiver)
    assert {name: came[name] for name in expected} == expected
    assert (came["id"], came["from"]) == (message["id"], ANA)
    assert (message["from"], message["status"]) == ("person", "delivered")
    assert await ana.last() == message


async def test_views_of_what_a_person_sends(ana: PersonPhone) -> None:
    assert (await ana.send("text", text="hi"))["view"] == {"text": "hi"}
    order = (await ana.send("order", catalog_id="7", items=[{"id": "sku"}]))["view"]["order"]
    line = {"id": "sku", "quantity": 1, "price": 10, "currency": "USD"}
    assert order == {"catalog_id": "7", "text": "", "items": [line]}
    assert (await ana.send("contact", name="Bea", phone="5550001"))["view"]["contacts"][0]["name"] == "Bea"


async def test_a_button_a_row_and_a_form_are_answered(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    targets = {
        sort: (await sandbox.post(envelope("interactive", form(sort)))).wamid for sort in ("button", "list", "flow")
    }
    await sandbox.advance(2)
    tapped = await ana.send("button", target=targets["button"], button="b0")
    assert (tapped["view"]["reply"], tapped["quote"]["id"]) == ({"id": "b0", "title": "Button 0"}, targets["button"])
    assert tapped["quote"] == {"id": targets["button"], "from": "business", "text": "Choose", "type": "interactive"}
    await sandbox.advance(0)
    came = arrived(receiver)
    assert came["interactive"] == {"type": "button_reply", "button_reply": {"id": "b0", "title": "Button 0"}}
    assert came["context"] == {"from": PHONE, "id": targets["button"]}

    await ana.send("row", target=targets["list"], row="r0")
    await sandbox.advance(0)
    assert arrived(receiver)["interactive"]["list_reply"] == {"id": "r0", "title": "Row 0", "description": "About it"}

    sent = await ana.send("form", target=targets["flow"], answers={"day": "Monday"})
    assert sent["view"]["form"] == {"day": "Monday"}
    await sandbox.advance(0)
    reply = arrived(receiver)["interactive"]["nfm_reply"]
    assert (reply["name"], json.loads(reply["response_json"])) == ("flow", {"day": "Monday"})


async def test_what_is_not_in_the_message_cannot_be_chosen(sandbox: Driver, ana: PersonPhone) -> None:
    target = (await sandbox.post(envelope("interactive", form("button")))).wamid
    await sandbox.advance(2)
    refused: dict[str, dict[str, Any]] = {
        "button": {"button": "b9"},
        "row": {"row": "b0"},
        "form": {"answers": {}},
        "vote": {"options": ["b0"]},
        "edit": {"text": "x"},
        "delete": {},
    }
    for kind, fields in refused.items():
        assert (await ana.try_send(kind, target=target, **fields)).status == 409, kind
    assert (await ana.try_send("reaction", target="wamid.unknown", emoji="👍")).status == 409
    assert (await ana.try_send("text", text="x", quote="wamid.unknown")).status == 409


async def test_a_message_that_has_not_arrived_cannot_be_answered(sandbox: Driver, ana: PersonPhone) -> None:
    target = (await sandbox.text(ANA)).wamid
    assert (await ana.try_send("reaction", target=target, emoji="👍")).status == 409
    await sandbox.advance(2)
    assert (await ana.try_send("reaction", target=target, emoji="👍")).status == 200


async def test_reactions_of_both_sides(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    target = (await sandbox.text(ANA)).wamid
    await sandbox.advance(2)
    shown = await ana.send("reaction", target=target, emoji="👍")
    assert shown["reactions"] == [{"from": "person", "emoji": "👍"}]
    await sandbox.advance(0)
    assert arrived(receiver)["reaction"] == {"message_id": target, "emoji": "👍"}
    await sandbox.post(envelope("reaction", {"message_id": target, "emoji": "🎉"}))
    await sandbox.advance(2)
    assert (await ana.last())["reactions"] == [{"from": "person", "emoji": "👍"}, {"from": "business", "emoji": "🎉"}]
    await ana.send("reaction", target=target, emoji="")
    await sandbox.post(envelope("reaction", {"message_id": target, "emoji": ""}))
    await sandbox.advance(2)
    assert (await ana.last())["reactions"] == []
    assert len(await ana.messages()) == 1


async def test_a_person_edits_and_deletes_own_texts(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    said = await ana.send("text", text="first")
    edited = await ana.send("edit", target=said["id"], text="second")
    assert (edited["view"], edited["edited"], edited["id"]) == ({"text": "second"}, True, said["id"])
    await sandbox.advance(0)
    assert arrived(receiver)["edit"]["original_message_id"] == said["id"]
    deleted = await ana.send("delete", target=said["id"])
    assert (deleted["view"], deleted["deleted"]) == ({}, True)
    await sandbox.advance(0)
    assert arrived(receiver)["revoke"] == {"original_message_id": said["id"]}
    assert (await ana.try_send("edit", target=said["id"], text="third")).status == 409


async def test_quotes_of_both_sides(sandbox: Driver, receiver: Receiver, ana: PersonPhone) -> None:
    said = await ana.send("text", text="question")
    again = await ana.send("text", text="and?", quote=said["id"])
    assert again["quote"] == {"id": said["id"], "from": "person", "text": "question", "type": "text"}
    await sandbox.advance(0)
    assert arrived(receiver)["context"] == {"from": ANA, "id": said["id"]}
    await sandbox.text(ANA, "answer", context={"message_id": said["id"]})
    assert (await ana.last())["quote"]["text"] == "question"


async def test_a_quoted_text_is_cut(ana: PersonPhone) -> None:
    said = await ana.send("text", text="x" * 1000)
    assert (await ana.send("text", text="and?", quote=said["id"]))["quote"]["text"] == "x" * 300


async def test_the_same_requests_make_the_same_chats(empty: Driver) -> None:
    runs = []
    for _ in range(2):
        await empty.control("POST", "reset", {"seed": 3, "start": 1_700_000_000, "frozen": True})
        await empty.register(None)
        await empty.control("PUT", f"people/{ANA}", {"name": "Ana", "replies": [{"text": "re: {text}"}]})
        ana = PersonPhone(empty)
        await empty.text(ANA)
        await empty.control("POST", f"people/{ANA}/offline", {"seconds": 10})
        await empty.advance(60)
        said = await ana.send("media", kind="image", data="aGk=", mime_type="image/png")
        await ana.send("reaction", target=said["id"], emoji="👍")
        runs.append((await ana.show(), await empty.control("GET", "chats")))
    assert runs[0] == runs[1]
    assert len(runs[0][0]["messages"]) == 3


async def test_read_marks_and_typing_of_the_business(sandbox: Driver, ana: PersonPhone) -> None:
    first, second, third = [await ana.send("text", text=text) for text in ("one", "two", "three")]
    mark = {"messaging_product": "whatsapp", "status": "read", "message_id": second["id"]}
    await sandbox.post(mark | {"typing_indicator": {"type": "text"}})
    assert [message["status"] for message in await ana.messages()] == ["read", "read", "delivered"]
    assert (await ana.chat())["typing"]
    await sandbox.text(ANA)
    assert not (await ana.chat())["typing"]
    await sandbox.post(mark | {"message_id": third["id"], "typing_indicator": {"type": "text"}})
    await sandbox.advance(24)
    assert (await ana.chat())["typing"]
    await sandbox.advance(2)
    assert not (await ana.chat())["typing"]
    assert first["status"] == "delivered"


async def test_the_window_is_shown(sandbox: Driver, ana: PersonPhone) -> None:
    await ana.send("text", text="hi")
    assert (await ana.chat())["window_ends_at"] == 1_700_000_000 + 86_400
    await sandbox.advance(86_400)
    assert (await ana.chat())["window_ends_at"] is None


async def test_messages_of_the_other_control_routes_are_in_the_chat(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": ANA, "text": "hello", "name": "Ana"})
    for kind, content in {
        "unsupported": {},
        "raw": {"type": "mystery", "mystery": [1]},
        "image": {"content": b64encode(PNG).decode(), "caption": "look"},
        "echo": {"type": "text", "text": {"body": "written on the business's phone"}},
        "system": {"type": "user_changed_user_id"},
        "request_welcome": {},
    }.items():
        await sandbox.control("POST", f"numbers/{NUMBER}/incoming", {"from": ANA, "type": kind, kind: content})
    shown = [(message["from"], message["type"]) for message in await ana.messages()]
    assert shown == [
        ("person", "text"),
        ("person", "unsupported"),
        ("person", "mystery"),
        ("person", "image"),
        ("business", "text"),
    ]
    views = [message["view"] for message in await ana.messages()]
    assert views[1] == views[2] == {"unsupported": True}
    assert (views[3]["text"], views[3]["media"]["size"]) == ("look", len(PNG))
    assert (await ana.chat())["name"] == "Ana"
    await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana Maria"})
    assert (await ana.chat())["name"] == "Ana Maria"


@for_each(
    "content",
    [{"type": "text"}, {"type": "text", "text": "no object"}, {"type": "contacts", "contacts": [{"name": 1}]}, {}],
)
async def test_a_raw_message_without_form_breaks_nothing(
    sandbox: Driver, ana: PersonPhone, content: dict[str, Any]
) -> None:
    await sandbox.control(
        "POST", f"numbers/{NUMBER}/incoming", {"from": ANA, "type": "raw", "raw": content | {"context": "odd"}}
    )
    assert (await ana.last())["view"] == {"unsupported": True}
    assert len((await sandbox.control("GET", "chats"))["chats"]) == 1


async def test_a_name_is_cut(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.control("PUT", f"people/{ANA}", {"name": "A" * 1000})
    await sandbox.text(ANA)
    assert (await ana.chat())["name"] == "A" * 256


async def test_a_removed_number_takes_its_chats_along(sandbox: Driver) -> None:
    await sandbox.text(ANA)
    await sandbox.control("DELETE", f"numbers/{NUMBER}")
    assert (await sandbox.control("GET", "chats"))["chats"] == []


async def test_a_chat_keeps_its_newest_500_messages(sandbox: Driver, ana: PersonPhone) -> None:
    await sandbox.register(None, limits={"throughput": None})
    for number in range(503):
        await sandbox.control("POST", "say", {"phone_number_id": NUMBER, "from": ANA, "text": str(number)})
    page = await ana.show("?limit=200")
    while page["more"]:
        first = page["messages"][0]["seq"]
        page = await ana.show(f"?limit=200&before={first}")
    assert (page["messages"][0]["seq"], page["messages"][0]["view"]["text"]) == (4, "3")
