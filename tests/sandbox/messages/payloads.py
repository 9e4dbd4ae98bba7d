"""Messages of every kind in their smallest good form, to be bent by tests."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec

from gatepost_sandbox.errors import Refusal
from gatepost_sandbox.messages import MarkRead, Send, read_payload

ANA = "5511999990000"
LINK = "https://127.0.0.1/file"


def envelope(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"messaging_product": "whatsapp", "to": ANA, "type": kind, kind: content, **more}


def interactive(sort: str, action: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": sort, "body": {"text": "Choose"}, "action": action, **more}


def button(place: int = 0) -> dict[str, Any]:
    return {"type": "reply", "reply": {"id": f"b{place}", "title": f"Button {place}"}}


def row(place: int = 0) -> dict[str, Any]:
    return {"id": f"r{place}", "title": f"Row {place}", "description": "About it"}


def card(place: int) -> dict[str, Any]:
    return {
        "card_index": place,
        "type": "cta_url",
        "header": {"type": "image", "image": {"link": LINK}},
        "body": {"text": "A card"},
        "action": {"name": "cta_url", "parameters": {"display_text": "Open", "url": LINK}},
    }


def product(place: int = 0) -> dict[str, Any]:
    return {"product_retailer_id": f"sku{place}"}


CTA = {"name": "cta_url", "parameters": {"display_text": "Open", "url": LINK}}
FLOW = {"name": "flow", "parameters": {"flow_message_version": "3", "flow_id": "1", "flow_cta": "Book"}}
ADDRESS = {"name": "address_message", "parameters": {"country": "IN"}}
HEADER = {"type": "text", "text": "Title"}

INTERACTIVE: dict[str, dict[str, Any]] = {
    "button": interactive("button", {"buttons": [button()]}),
    "list": interactive("list", {"button": "Open", "sections": [{"title": "One", "rows": [row()]}]}),
    "cta_url": interactive("cta_url", CTA),
    "product": interactive("product", {"catalog_id": "1", "product_retailer_id": "sku"}),
    "product_list": interactive(
        "product_list",
        {"catalog_id": "1", "sections": [{"title": "One", "product_items": [product()]}]},
        header=HEADER,
    ),
    "catalog_message": interactive("catalog_message", {"name": "catalog_message"}),
    "flow": interactive("flow", FLOW),
    "location_request_message": interactive("location_request_message", {"name": "send_location"}),
    "address_message": interactive("address_message", ADDRESS),
    "carousel": interactive("carousel", {"cards": [card(0), card(1)]}),
    "voice_call": interactive("voice_call", {"name": "voice_call", "parameters": {"display_text": "Call"}}),
    "call_permission_request": interactive("call_permission_request", {"name": "call_permission_request"}),
    "request_contact_info": interactive("request_contact_info", {"name": "request_contact_info"}),
}

PLAIN: dict[str, Any] = {
    "text": {"body": "hello"},
    "image": {"link": LINK, "caption": "A picture"},
    "video": {"link": LINK, "caption": "A film"},
    "audio": {"link": LINK},
    "document": {"link": LINK, "caption": "A paper", "filename": "a.pdf"},
    "sticker": {"link": LINK},
    "location": {"latitude": 37.44, "longitude": "-122.16", "name": "Here", "address": "This street"},
    "contacts": [
        {
            "name": {"formatted_name": "Bea", "first_name": "Bea"},
            "phones": [{"phone": "+15550001111", "type": "Mobile", "wa_id": "15550001111"}],
            "emails": [{"email": "bea@example.com"}],
            "urls": [{"url": "https://example.com"}],
            "addresses": [{"street": "1 Road", "city": "Town"}],
            "org": {"company": "Acme"},
            "birthday": "1990-12-31",
        }
    ],
    "reaction": {"message_id": "wamid.x", "emoji": "👍"},
    "template": {"name": "hello_world", "language": {"code": "en_US"}},
}


def form(sort: str) -> dict[str, Any]:
    """A fresh interactive message of a sort."""
    return deepcopy(INTERACTIVE[sort])


def plain(kind: str) -> Any:
    """Fresh content of a kind."""
    return deepcopy(PLAIN[kind])


def read(payload: dict[str, Any]) -> Send | MarkRead | Refusal:
    return read_payload(msgspec.json.encode(payload))


def code_of(payload: dict[str, Any]) -> int:
    """The code a message is refused with; 0 when its form is good."""
    outcome = read(payload)
    return outcome.code if isinstance(outcome, Refusal) else 0


def bent(content: Any, bend: Callable[[Any], Any]) -> Any:
    """The same content after one change."""
    changed = deepcopy(content)
    bend(changed)
    return changed
