"""A smallest and a fullest request of every type, and short ways to check one."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from gatepost.model.errors import Invalid
from gatepost.model.message import CheckedMessage, check_send
from gatepost.model.send_request import SendRequest

NOW = datetime(2026, 11, 15, 10, 0, tzinfo=UTC)
PHONE = "5511999998888"
MEDIA = {"id": "med_" + "a" * 32}
LINK = {"link": "https://files.example.com/a.pdf"}
TEXT_HEADER = {"type": "text", "text": "Hello"}
ROW = {"id": "r1", "title": "One"}
CARD = {"name": {"formatted_name": "Anna Lee", "first_name": "Anna"}, "phones": [{"phone": "+15550001111"}]}
USE = {"name": "order_ok", "language": "en_US"}

SMALLEST: dict[str, dict[str, Any]] = {
    "text": {"body": "Hello"},
    "image": {"media": MEDIA},
    "video": {"media": LINK},
    "audio": {"media": MEDIA},
    "document": {"media": LINK},
    "sticker": {"media": MEDIA},
    "location": {"location": {"latitude": 0, "longitude": 0.5}},
    "contacts": {"contacts": [CARD]},
    "buttons": {"body": "Well?", "buttons": [{"id": "y", "title": "Yes"}]},
    "list": {"body": "Well?", "button": "Choose", "sections": [{"rows": [ROW]}]},
    "cta_url": {"body": "Look", "cta": {"text": "Open", "url": "https://shop.example.com"}},
    "product": {"product": {"catalog_id": "c1", "retailer_id": "p1"}},
    "product_list": {
        "body": "Goods",
        "header": TEXT_HEADER,
        "catalog_id": "c1",
        "sections": [{"title": "New", "products": ["p1"]}],
    },
    "catalog": {"body": "All we have"},
    "template": {"template": USE},
    "reaction": {"reaction": {"message_id": "A" * 32, "emoji": "👍"}},
    "poll": {"poll": {"question": "When?", "options": ["Now", "Later"], "multiple": False}},
}

FULL_CARD = {
    "name": {
        "formatted_name": "Dr Anna M Lee Jr",
        "first_name": "Anna",
        "last_name": "Lee",
        "middle_name": "M",
        "prefix": "Dr",
        "suffix": "Jr",
    },
    "phones": [{"phone": "+1 555 000", "type": "Mobile", "wa_id": "1555000"}, {"phone": "1"}],
    "emails": [{"email": "a@example.com", "type": "Work"}],
    "urls": [{"url": "https://example.com", "type": "Work"}],
    "addresses": [
        {
            "street": "Main St 1",
            "city": "Town",
            "state": "CA",
            "zip": "94000",
            "country": "United States",
            "country_code": "us",
            "type": "Home",
        }
    ],
    "org": {"company": "Shop", "department": "Sales", "title": "Head"},
    "birthday": "1990-12-31",
}
FULLEST: dict[str, dict[str, Any]] = {
    "text": {"body": "Hello", "preview_url": True},
    "image": {"media": LINK, "caption": "Look"},
    "video": {"media": MEDIA, "caption": "Look"},
    "audio": {"media": MEDIA, "voice": True},
    "document": {"media": MEDIA, "caption": "Look", "filename": "bill.pdf"},
    "sticker": {"media": LINK},
    "location": {"location": {"latitude": -12.5, "longitude": 179, "name": "Shop", "address": "Main St 1"}},
    "contacts": {"contacts": [FULL_CARD, CARD]},
    "buttons": {
        "body": "Well?",
        "buttons": [{"id": "y", "title": "Yes"}, {"id": "n", "title": "No"}],
        "header": {"type": "document", "media": MEDIA, "filename": "terms.pdf"},
        "footer": "Thanks",
    },
    "list": {
        "body": "Well?",
        "button": "Choose",
        "sections": [
            {"title": "Hot", "rows": [ROW | {"description": "the first"}]},
            {"title": "Cold", "rows": [{"id": "r2", "title": "One"}]},
        ],
        "header": TEXT_HEADER,
        "footer": "Thanks",
    },
    "cta_url": {
        "body": "Look",
        "cta": {"text": "Open", "url": "http://shop.example.com/a?b=c#d"},
        "header": {"type": "image", "media": LINK},
        "footer": "Thanks",
    },
    "product": {"product": {"catalog_id": "c1", "retailer_id": "p1"}, "body": "This one", "footer": "Thanks"},
    "product_list": {
        "body": "Goods",
        "header": TEXT_HEADER,
        "catalog_id": "c1",
        "sections": [{"title": "New", "products": ["p1", "p2"]}, {"title": "Old", "products": ["p3"]}],
        "footer": "Thanks",
    },
    "catalog": {"body": "All we have", "thumbnail": "p1", "footer": "Thanks"},
    "template": {
        "template": USE
        | {
            "variables": {"first_name": "Anna"},
            "header": {"type": "document", "media": MEDIA, "filename": "bill.pdf"},
            "buttons": [
                {"index": 0, "payload": "yes"},
                {"index": 1, "text": "1001"},
                {"index": 2, "code": "25OFF"},
                {"index": 3, "flow_token": "t"},
            ],
        }
    },
    "reaction": {"reaction": {"message_id": "0" * 32, "emoji": ""}},
    "poll": {"poll": {"question": "When?", "options": ["Now", "Later", "Never"], "multiple": True}},
}


def check(type_: str, fields: dict[str, Any], **more: Any) -> CheckedMessage:
    """Read as the API reads it, and check."""
    raw = msgspec.json.encode({"phone": PHONE, "type": type_} | fields)
    return check_send(msgspec.json.decode(raw, type=SendRequest), NOW, **more)


def content(type_: str, fields: dict[str, Any], **more: Any) -> Any:
    return msgspec.json.decode(check(type_, fields, **more).content)


def refusal(type_: str, fields: dict[str, Any], **more: Any) -> Invalid:
    """The one thing that is wrong with it; handed over as Python values, so that anything can be tried."""
    with pytest.raises(Invalid) as refused:
        check_send(SendRequest(phone=PHONE, type=type_, **fields), NOW, **more)
    (problem,) = refused.value.fields
    assert refused.value.message == f"{problem.field}: {problem.message}"
    msgspec.json.encode(refused.value.message)  # an answer can be written of it
    return refused.value
