"""Every type of message in the form that the Cloud API takes."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gatepost.model import ids
from gatepost.networks.base import CannotCompose, Outgoing, QuotedRef
from gatepost.networks.cloud.compose import request_body
from gatepost.networks.kinds import CLOUD
from tests.for_each import for_each

ID = ids.derived_id(datetime(2026, 11, 15, tzinfo=UTC), "wamid")
FILES = {"med_1": "900", "med_2": "901"}
HEADER = {"type": "text", "text": "Top"}
PICTURE = {"type": "image", "media": {"link": "https://x.example/i.png"}}
CARD = {
    "name": {"formatted_name": "Ana Lima", "first_name": "Ana"},
    "phones": [{"phone": "+5511999998888", "type": "CELL", "wa_id": "5511999998888"}],
    "emails": [{"email": "ana@example.com", "type": "WORK"}],
    "org": {"company": "Acme"},
    "birthday": "1990-01-02",
}
ROWS = [{"id": "a", "title": "A", "description": "the first"}, {"id": "b", "title": "B"}]
SECTIONS = [{"title": "One", "rows": ROWS}, {"title": "Two", "rows": [{"id": "c", "title": "C"}]}]


def outgoing(type_: str, content: Any, **changes: Any) -> Outgoing:
    message = Outgoing(ID, 2, "5511999998888", type_, msgspec.json.encode(content).decode(), media=FILES)
    return msgspec.structs.replace(message, **changes)


def wire(message: Outgoing) -> Any:
    return msgspec.json.decode(msgspec.json.encode(request_body(message)))


def interactive(type_: str, action: Any, **parts: Any) -> dict[str, Any]:
    return {"type": type_, "action": action} | parts


CASES: list[tuple[str, Any, str, Any]] = [
    ("text", {"body": "Hé", "preview_url": True}, "text", {"body": "Hé", "preview_url": True}),
    ("image", {"media": {"id": "med_1"}, "caption": "Look"}, "image", {"id": "900", "caption": "Look"}),
    ("image", {"media": {"link": "https://x.example/i.jpg"}}, "image", {"link": "https://x.example/i.jpg"}),
    ("video", {"media": {"id": "med_2"}, "caption": "Look"}, "video", {"id": "901", "caption": "Look"}),
    ("audio", {"media": {"id": "med_1"}, "voice": True}, "audio", {"id": "900", "voice": True}),
    (
        "document",
        {"media": {"link": "https://x.example/a.pdf"}, "filename": "a.pdf", "caption": "Read"},
        "document",
        {"link": "https://x.example/a.pdf", "filename": "a.pdf", "caption": "Read"},
    ),
    ("sticker", {"media": {"id": "med_1"}}, "sticker", {"id": "900"}),
    (
        "location",
        {"location": {"latitude": -23.5, "longitude": -46.6, "name": "Here", "address": "A street"}},
        "location",
        {"latitude": -23.5, "longitude": -46.6, "name": "Here", "address": "A street"},
    ),
    ("location", {"location": {"latitude": 0, "longitude": 0}}, "location", {"latitude": 0, "longitude": 0}),
    ("contacts", {"contacts": [CARD]}, "contacts", [CARD]),
    (
        "buttons",
        {"body": "Choose", "buttons": [{"id": "y", "title": "Yes"}], "header": HEADER, "footer": "Foot"},
        "interactive",
        interactive(
            "button",
            {"buttons": [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]},
            header=HEADER,
            body={"text": "Choose"},
            footer={"text": "Foot"},
        ),
    ),
    (
        "buttons",
        {
            "body": "Choose",
            "buttons": [{"id": "y", "title": "Yes"}],
            "header": {"type": "document", "media": {"id": "med_2"}, "filename": "a.pdf"},
        },
        "interactive",
        interactive(
            "button",
            {"buttons": [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]},
            header={"type": "document", "document": {"id": "901", "filename": "a.pdf"}},
            body={"text": "Choose"},
        ),
    ),
    (
        "list",
        {
            "body": "Choose",
            "button": "Open",
            "sections": SECTIONS,
        },
        "interactive",
        interactive(
            "list",
            {"button": "Open", "sections": SECTIONS},
            body={"text": "Choose"},
        ),
    ),
    (
        "list",
        {"body": "Choose", "button": "Open", "sections": [{"rows": ROWS}], "header": HEADER},
        "interactive",
        interactive("list", {"button": "Open", "sections": [{"rows": ROWS}]}, header=HEADER, body={"text": "Choose"}),
    ),
    (
        "cta_url",
        {"body": "Go", "cta": {"text": "Open", "url": "https://x.example"}, "header": PICTURE},
        "interactive",
        interactive(
            "cta_url",
            {"name": "cta_url", "parameters": {"display_text": "Open", "url": "https://x.example"}},
            header={"type": "image", "image": {"link": "https://x.example/i.png"}},
            body={"text": "Go"},
        ),
    ),
    (
        "product",
        {"product": {"catalog_id": "7", "retailer_id": "sku"}},
        "interactive",
        interactive("product", {"catalog_id": "7", "product_retailer_id": "sku"}),
    ),
    (
        "product_list",
        {
            "body": "Ours",
            "catalog_id": "7",
            "sections": [{"title": "Best", "products": ["a", "b"]}],
            "header": HEADER,
        },
        "interactive",
        interactive(
            "product_list",
            {
                "catalog_id": "7",
                "sections": [
                    {"title": "Best", "product_items": [{"product_retailer_id": "a"}, {"product_retailer_id": "b"}]}
                ],
            },
            header=HEADER,
            body={"text": "Ours"},
        ),
    ),
    (
        "catalog",
        {"body": "Ours", "thumbnail": "sku", "footer": "Foot"},
        "interactive",
        interactive(
            "catalog_message",
            {"name": "catalog_message", "parameters": {"thumbnail_product_retailer_id": "sku"}},
            body={"text": "Ours"},
            footer={"text": "Foot"},
        ),
    ),
    (
        "catalog",
        {"body": "Ours"},
        "interactive",
        interactive("catalog_message", {"name": "catalog_message"}, body={"text": "Ours"}),
    ),
]


@for_each(("type_", "content", "wire_type", "part"), CASES)
def test_each_type_has_the_form_of_the_cloud_api(type_: str, content: Any, wire_type: str, part: Any) -> None:
    assert wire(outgoing(type_, content)) == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+5511999998888",
        "type": wire_type,
        wire_type: part,
        "biz_opaque_callback_data": f"gp1:{ID.hex}:2",
    }


def test_every_type_that_official_channels_promise_is_covered() -> None:
    assert {type_ for type_, *_ in CASES} | {"template", "reaction"} == CLOUD.capabilities.types


@pytest.mark.parametrize("address", ["US.1349", "user:US.1349"])
def test_a_user_id_is_addressed_as_it_is(address: str) -> None:
    assert wire(outgoing("text", {"body": "x"}, phone=address))["to"] == "US.1349"


def test_an_answer_names_what_it_answers() -> None:
    quote = QuotedRef("wamid.1", from_me=False)
    assert wire(outgoing("text", {"body": "x"}, reply_to=quote))["context"] == {"message_id": "wamid.1"}
    assert wire(outgoing("image", {"media": {"id": "med_1"}}, reply_to=quote))["context"] == {"message_id": "wamid.1"}


@pytest.mark.parametrize("emoji", ["👍", ""])
def test_a_reaction_names_its_target_and_quotes_nothing(emoji: str) -> None:
    content = {"reaction": {"message_id": "0" * 32, "emoji": emoji}}
    quote = QuotedRef("wamid.9", from_me=False)
    found = wire(outgoing("reaction", content, target=quote, reply_to=quote))
    assert found["reaction"] == {"message_id": "wamid.9", "emoji": emoji}
    assert "context" not in found


@for_each(
    "message",
    [
        outgoing("poll", {"poll": {}}),
        outgoing("reaction", {"reaction": {"emoji": "x"}}),
        outgoing("image", {"media": {"id": "med_unknown"}}),
        outgoing("image", {"media": {}}),
        outgoing("image", {}),
        outgoing("location", {"location": None}),
        outgoing("list", {"body": "x", "button": "b", "sections": [{}]}),
        outgoing("template", {"template": {"name": "x"}}),
        outgoing("buttons", []),
    ],
)
def test_what_cannot_be_written_says_so(message: Outgoing) -> None:
    with pytest.raises(CannotCompose):
        request_body(message)


# -- templates --------------------------------------------------------------------------------------------------------


def template(**fields: Any) -> Any:
    content = {"template": {"name": "order_ok", "language": "en_US"} | fields}
    found = wire(outgoing("template", content))["template"]
    assert (found.pop("name"), found.pop("language")) == ("order_ok", {"code": "en_US"})
    return found


def text(value: str, name: str | None = None) -> dict[str, str]:
    return {"type": "text", "text": value} | ({"parameter_name": name} if name else {})


@pytest.mark.parametrize("nothing", [{}, {"variables": []}, {"variables": {}, "buttons": []}, {"header": None}])
def test_a_template_without_variables_has_no_components(nothing: Any) -> None:
    assert template(**nothing) == {}


def test_variables_go_by_place_or_by_name() -> None:
    by_place = {"type": "body", "parameters": [text("Ana"), text("12")]}
    assert template(variables=["Ana", "12"]) == {"components": [by_place]}
    by_name = {"type": "body", "parameters": [text("Ana", "name"), text("12", "count")]}
    assert template(variables={"name": "Ana", "count": "12"}) == {"components": [by_name]}


PLACE = {"latitude": 1.5, "longitude": 2.5, "name": "Here", "address": "A street"}


@for_each(
    ("header", "parameter"),
    [
        ("Ana", text("Ana")),
        (["Ana"], text("Ana")),
        ({"name": "Ana"}, text("Ana", "name")),
        ({"type": "text", "text": "Ana"}, text("Ana")),
        ({"type": "image", "media": {"id": "med_1"}}, {"type": "image", "image": {"id": "900"}}),
        ({"type": "video", "media": {"link": "l"}}, {"type": "video", "video": {"link": "l"}}),
        (
            {"type": "document", "media": {"id": "med_2"}, "filename": "a.pdf"},
            {"type": "document", "document": {"id": "901", "filename": "a.pdf"}},
        ),
        ({"type": "location", "location": PLACE}, {"type": "location", "location": PLACE}),
        (
            {"type": "product", "product": {"catalog_id": "7", "retailer_id": "sku"}},
            {"type": "product", "product": {"catalog_id": "7", "product_retailer_id": "sku"}},
        ),
        ({"type": "Ana"}, text("Ana", "type")),
    ],
)
def test_a_header_has_its_one_parameter(header: Any, parameter: Any) -> None:
    assert template(header=header) == {"components": [{"type": "header", "parameters": [parameter]}]}


@pytest.mark.parametrize(
    ("given", "sub_type", "parameter"),
    [
        ({"payload": "yes"}, "quick_reply", {"type": "payload", "payload": "yes"}),
        ({"text": "/order/1"}, "url", {"type": "text", "text": "/order/1"}),
        ({"code": "25OFF"}, "copy_code", {"type": "coupon_code", "coupon_code": "25OFF"}),
        ({"flow_token": "t"}, "flow", {"type": "action", "action": {"flow_token": "t"}}),
    ],
)
def test_a_button_has_its_parameter(given: Any, sub_type: str, parameter: Any) -> None:
    button = {"type": "button", "sub_type": sub_type, "index": "1", "parameters": [parameter]}
    assert template(buttons=[{"index": 1} | given]) == {"components": [button]}


def test_header_body_and_buttons_come_in_this_order() -> None:
    found = template(buttons=[{"index": 0, "text": "1"}, {"index": 1, "text": "2"}], variables=["x"], header="y")
    assert [part["type"] for part in found["components"]] == ["header", "body", "button", "button"]


def test_components_of_ones_own_go_as_they_are() -> None:
    own = [{"type": "carousel", "cards": [{"card_index": 0, "components": []}]}]
    assert template(components=own, variables=["ignored"]) == {"components": own}


def test_our_files_in_components_of_ones_own_get_the_names_of_the_network() -> None:
    def header(file: Any) -> list[Any]:
        return [{"type": "header", "parameters": [{"type": "document", "document": file}]}]

    own = header({"id": "med_2", "filename": "a.pdf"})
    assert template(components=own) == {"components": header({"id": "901", "filename": "a.pdf"})}
    for other in ({"id": "777"}, {"link": "https://x"}, {"id": 5}):
        assert template(components=header(other)) == {"components": header(other)}
