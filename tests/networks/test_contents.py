"""What people send, in the shapes that both kinds of channel share."""

import base64
import hashlib
from typing import Any

import pytest

from gatepost.networks.base import Incoming, RemoteMedia
from gatepost.networks.cloud.callback import parse_updates
from tests.for_each import for_each
from tests.networks.callbacks import NUMBER, callback, incoming, message, read, said, value

SHA = hashlib.sha256(b"x").hexdigest()
FILE = {"id": "900", "mime_type": "image/jpeg", "sha256": SHA, "url": "https://files.example/1"}
CARD = {
    "name": {"formatted_name": "Ana Lima", "first_name": "Ana"},
    "phones": [{"phone": "+55 11", "type": "CELL", "wa_id": "5511"}],
    "emails": [{"email": "ana@example.com", "type": "WORK"}],
    "urls": [{"url": "https://x", "type": "WORK"}],
    "addresses": [{"street": "A", "city": "B", "country_code": "br"}],
    "org": {"company": "Acme", "title": "CEO"},
    "birthday": "1990-01-02",
}


def unsupported(type_: str, original: Any = None) -> dict[str, Any]:
    came = {"original": original} if original else {}
    return {"unsupported": {"type": type_, "title": "The message could not be read"} | came}


# -- files ------------------------------------------------------------------------------------------------------------


@for_each(
    ("type_", "more", "shown"),
    [
        ("image", {"caption": "Look"}, {"caption": "Look"}),
        ("video", {}, {}),
        ("audio", {"voice": True}, {"voice": True}),
        ("audio", {"voice": False}, {}),
        ("document", {"filename": "a.pdf", "caption": "Read"}, {"filename": "a.pdf", "caption": "Read"}),
        ("sticker", {"animated": True}, {"animated": True}),
    ],
)
def test_a_file_is_described_and_can_be_fetched(type_: str, more: Any, shown: Any) -> None:
    found = incoming(type_, FILE | more)
    assert found.type == type_
    assert said(found) == {"media": {"mime_type": "image/jpeg", "sha256": SHA}} | shown
    expected = RemoteMedia("900", "image/jpeg", SHA, filename=more.get("filename"), url="https://files.example/1")
    assert found.media == expected


@for_each(
    ("written", "meant"),
    [
        (SHA.upper(), SHA),
        (base64.b64encode(bytes.fromhex(SHA)).decode(), SHA),
        ("abc", None),
        (base64.b64encode(b"short").decode(), None),
        ("é" * 44, None),
        (5, None),
        (None, None),
    ],
)
def test_a_checksum_comes_in_hex_or_in_base64(written: Any, meant: str | None) -> None:
    found = incoming("image", FILE | {"sha256": written})
    assert found.media is not None
    assert found.media.sha256 == meant
    assert ("sha256" in said(found)["media"]) is (meant is not None)


@for_each("odd", [{}, {"id": None}, {"id": ""}, {"id": "9" * 257}, None, [], "x"])
def test_a_file_that_cannot_be_fetched_could_not_be_read(odd: Any) -> None:
    found = incoming("image", odd)
    assert (found.type, found.media, said(found)) == ("unsupported", None, unsupported("image", odd))


# -- places, cards, answers -------------------------------------------------------------------------------------------


def test_a_place() -> None:
    place = {"latitude": -23.55, "longitude": 46, "name": "Here", "address": "A street", "url": "https://x"}
    assert said(incoming("location", place | {"more": 1})) == {"location": place}
    assert said(incoming("location", {"latitude": "1.5", "longitude": "2"})) == {
        "location": {"latitude": 1.5, "longitude": 2.0}
    }
    assert said(incoming("location", {"latitude": "north"})) == unsupported("location", {"latitude": "north"})


def test_cards() -> None:
    assert said(incoming("contacts", [CARD])) == {"contacts": [CARD]}
    bare = {"name": {"first_name": "Ana", "last_name": "Lima"}, "phones": [5, {}]}
    assert said(incoming("contacts", [bare, "odd"])) == {
        "contacts": [{"name": {"first_name": "Ana", "last_name": "Lima", "formatted_name": "Ana Lima"}, "phones": []}]
    }
    assert said(incoming("contacts", [])) == unsupported("contacts")


@pytest.mark.parametrize(("sent", "emoji"), [({"emoji": "👍"}, "👍"), ({"emoji": ""}, ""), ({}, "")])
def test_a_reaction_has_a_target(sent: Any, emoji: str) -> None:
    found = incoming("reaction", {"message_id": "wamid.0"} | sent)
    assert (found.target, said(found)) == ("wamid.0", {"reaction": {"emoji": emoji}})
    assert incoming("reaction", sent).type == "unsupported"


def test_a_quick_reply_of_a_template_is_a_button_reply() -> None:
    found = incoming("button", {"payload": "yes", "text": "Yes"})
    assert (found.type, said(found)) == ("button_reply", {"reply": {"id": "yes", "title": "Yes"}})


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("button_reply", {"id": "y", "title": "Yes"}),
        ("list_reply", {"id": "a", "title": "A", "description": "the first"}),
        ("list_reply", {"id": "a", "title": "A"}),
    ],
)
def test_an_answer_to_a_choice(kind: str, answer: Any) -> None:
    found = incoming("interactive", {"type": kind, kind: answer})
    assert (found.type, said(found)) == (kind, {"reply": answer})
    assert incoming("interactive", {"type": kind}).type == "unsupported"


@for_each(
    ("written", "read_as"),
    [
        ('{"a": [1, 2.5, "x"]}', {"a": [1, 2.5, "x"]}),
        ("not json", "not json"),
        (r'{"a": "\u0000 \ud800"}', {"a": "\ufffd \ufffd"}),
        ("[" * 2000 + "]" * 2000, "[" * 2000 + "]" * 2000),
        ('{"a": 1e999}', {"a": "1e999"}),
        (None, None),
    ],
)
def test_the_answer_of_a_flow_is_opened(written: Any, read_as: Any) -> None:
    reply = {"name": "flow", "body": "Sent", "response_json": written}
    found = incoming("interactive", {"type": "nfm_reply", "nfm_reply": reply})
    assert found.type == "flow_reply"
    assert said(found) == {"reply": {"name": "flow", "body": "Sent", "response": read_as}}


def test_an_answer_of_a_new_kind_is_kept_as_it_came() -> None:
    new = {"type": "call_permission_reply", "call_permission_reply": {"response": "accept"}}
    found = incoming("interactive", new)
    assert (found.type, said(found)) == ("interactive", new)


# -- orders -----------------------------------------------------------------------------------------------------------


def ordered(price: bytes, quantity: bytes = b"2") -> Any:
    line = {"product_retailer_id": "sku", "quantity": "Q", "item_price": "P", "currency": "USD"}
    order = {"catalog_id": "7", "text": "", "product_items": [line]}
    body = callback(value(messages=[message(type="order", order=order)]))
    (found,), _ = parse_updates(body.replace(b'"P"', price).replace(b'"Q"', quantity), NUMBER)
    assert isinstance(found, Incoming)
    return said(found)


@for_each(
    ("came", "kept"),
    [
        (b"30", "30"),
        (b"30.00", "30.00"),
        (b"7.990", "7.990"),
        (b'"12.50"', "12.50"),
        (b"0.1", "0.1"),
        (b"123456789012.123456789", "123456789012.123456789"),
        (b"1.5e2", "150"),
        (b"0", "0"),
    ],
)
def test_a_price_stays_exact(came: bytes, kept: str) -> None:
    line = {"retailer_id": "sku", "quantity": 2, "price": kept, "currency": "USD"}
    assert ordered(came) == {"order": {"catalog_id": "7", "text": "", "items": [line]}}


@for_each(
    ("price", "quantity"),
    [
        (b"1e999999", b"1"),
        (b"1" * 40, b"1"),
        (b'"free"', b"1"),
        (b"null", b"1"),
        (b'"NaN"', b"1"),
        (b"1", b"2.5"),
        (b"1", b"-1"),
        (b"1", b"9999999999"),
        (b"1", b"null"),
    ],
)
def test_half_an_order_is_none_and_what_came_is_kept(price: bytes, quantity: bytes) -> None:
    found = ordered(price, quantity)["unsupported"]
    original = found.pop("original")
    assert {"unsupported": found} == unsupported("order")
    assert (original["catalog_id"], original["product_items"][0]["product_retailer_id"]) == ("7", "sku")


def test_the_largest_quantity() -> None:
    assert ordered(b"1", b"999999999")["order"]["items"][0]["quantity"] == 999_999_999


# -- what happens to messages -----------------------------------------------------------------------------------------


def test_an_edit_has_a_target_and_the_new_content() -> None:
    found = incoming("edit", {"original_message_id": "wamid.0", "message": {"type": "text", "text": {"body": "New"}}})
    assert (found.type, found.target) == ("edit", "wamid.0")
    assert said(found) == {"edit": {"type": "text", "content": {"body": "New"}}}
    file = incoming("edit", {"original_message_id": "wamid.0", "message": {"type": "image", "image": FILE}})
    assert file.media is not None
    assert said(file)["edit"]["content"]["media"] == {"mime_type": "image/jpeg", "sha256": SHA}


@pytest.mark.parametrize(
    "odd", [{}, {"original_message_id": "w"}, {"original_message_id": "w", "message": {}}, {"message": {"type": "x"}}]
)
def test_half_an_edit_is_none(odd: Any) -> None:
    assert said(incoming("edit", odd)) == unsupported("edit", odd)


def test_a_revoke_has_a_target_and_says_nothing() -> None:
    found = incoming("revoke", {"original_message_id": "wamid.0"})
    assert (found.type, found.target, found.content) == ("revoke", "wamid.0", "{}")
    assert incoming("revoke", {}).type == "unsupported"


@pytest.mark.parametrize("type_", ["unsupported", "unknown"])
def test_what_the_network_cannot_pass_on_says_why(type_: str) -> None:
    errors = [{"code": 131051, "title": "Message type unknown", "error_data": {"details": "Not supported"}}]
    (found,), _ = read(value(messages=[message(type=type_, unsupported={"type": "poll"}, errors=errors)]))
    assert isinstance(found, Incoming)
    about = {"type": "poll", "code": 131051, "title": "Message type unknown", "details": "Not supported"}
    assert (found.type, said(found)) == ("unsupported", {"unsupported": about})


@pytest.mark.parametrize(
    ("type_", "kept"), [("something_new", "something_new"), ("t" * 64, "t" * 64), ("t" * 65, "t" * 64)]
)
def test_a_new_type_is_kept_as_it_came(type_: str, kept: str) -> None:
    content = {"anything": ["at", {"all": 1.5}]}
    found = incoming(type_, content)
    assert (found.type, said(found)) == (kept, content)


def test_a_new_type_without_content_is_kept_too() -> None:
    (found,), _ = read(value(messages=[message(type="request_welcome")]))
    assert isinstance(found, Incoming)
    assert (found.type, found.content) == ("request_welcome", "{}")


@pytest.mark.parametrize("odd", [["a", {"b": 1}], "words", 7, True])
def test_a_new_type_that_is_no_object_loses_nothing(odd: Any) -> None:
    assert said(incoming("something_new", odd)) == {"something_new": odd}


def test_a_new_type_that_speaks_under_another_name_loses_nothing() -> None:
    came = message(type="something_new", gift={"coins": 3}, referral={"source_id": "1"}, context={"id": "wamid.1"})
    (found,), _ = read(value(messages=[came]))
    assert isinstance(found, Incoming)
    assert (found.type, said(found), found.reply_to) == ("something_new", {"gift": {"coins": 3}}, "wamid.1")


@pytest.mark.parametrize("length", [65_536, 65_537])
def test_text_longer_than_any_is_cut(length: int) -> None:
    assert len(said(incoming("text", {"body": "x" * length}))["body"]) == 65_536


@pytest.mark.parametrize("odd", [{}, {"body": 5}, {"body": None}, "x", None])
def test_a_text_without_text_could_not_be_read(odd: Any) -> None:
    assert said(incoming("text", odd)) == unsupported("text", odd)


# -- context ----------------------------------------------------------------------------------------------------------


@for_each(
    ("context", "reply_to", "kept"),
    [
        ({"from": "1555", "id": "wamid.0"}, "wamid.0", None),
        ({"forwarded": True}, None, {"forwarded": True}),
        ({"frequently_forwarded": True, "forwarded": False}, None, {"frequently_forwarded": True}),
        (
            {"id": "wamid.0", "referred_product": {"catalog_id": "7", "product_retailer_id": "sku"}},
            "wamid.0",
            {"referred_product": {"catalog_id": "7", "retailer_id": "sku"}},
        ),
        ({"id": "w" * 257}, None, None),
        ("odd", None, None),
        (None, None, None),
    ],
)
def test_the_context_of_a_message(context: Any, reply_to: str | None, kept: Any) -> None:
    found = incoming("text", {"body": "x"}, context=context)
    assert (found.reply_to, found.context) == (reply_to, kept)


def test_where_somebody_came_from() -> None:
    referral = {"source_type": "ad", "source_id": "1", "ctwa_clid": "c", "welcome_message": {"text": "Hi"}}
    assert incoming("text", {"body": "x"}, referral=referral).context == {"referral": referral}
    assert incoming("text", {"body": "x"}, referral="odd").context is None
