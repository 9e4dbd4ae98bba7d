"""New templates that pass, to be spoilt one way at a time; and approved ones to be used."""

from typing import Any

import msgspec
import pytest

from gatepost.model.errors import Invalid
from gatepost.model.template import NewTemplate, Template, check_new_template

BODY = {"type": "BODY", "text": "Your order is on its way to you"}
FILLED = {
    "type": "BODY",
    "text": "Hello {{1}}, your order {{2}} is on its way",
    "example": {"body_text": [["Anna", "1001"]]},
}
NAMED = {
    "type": "BODY",
    "text": "Hello {{first_name}}, your order {{order}} is on its way",
    "example": {
        "body_text_named_params": [
            {"param_name": "first_name", "example": "Anna"},
            {"param_name": "order", "example": "1001"},
        ]
    },
}
PICTURE = {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": ["4::aW"]}}
REPLY = {"type": "QUICK_REPLY", "text": "Yes"}
URL = {"type": "URL", "text": "Track", "url": "https://example.com/{{1}}", "example": ["https://example.com/1001"]}
PHONE = {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+15550001111"}
COPY = {"type": "COPY_CODE", "example": "25OFF"}
OTP = {"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy"}
CODE = [{"type": "BODY"}, {"type": "BUTTONS", "buttons": [OTP]}]
OFFER = {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Ends soon", "has_expiration": True}}
CARD = {"components": [PICTURE, {"type": "BODY", "text": "A card"}, {"type": "BUTTONS", "buttons": [REPLY]}]}


def buttons(*row: dict[str, Any]) -> dict[str, Any]:
    return {"type": "BUTTONS", "buttons": list(row)}


def carousel(*cards: dict[str, Any]) -> list[dict[str, Any]]:
    return [BODY, {"type": "CAROUSEL", "cards": list(cards)}]


def new(components: Any, category: str = "MARKETING", **more: Any) -> Template:
    """Check a new template."""
    fields = {"name": "order_ok", "language": "en_US", "category": category, "components": components} | more
    return check_new_template(NewTemplate(**fields))


def refused(components: Any, category: str = "MARKETING", **more: Any) -> Invalid:
    with pytest.raises(Invalid) as caught:
        new(components, category, **more)
    assert caught.value.code == "invalid_field"
    assert caught.value.fields
    msgspec.json.encode(caught.value.message)
    return caught.value


def approved(components: Any, category: str = "MARKETING", **more: Any) -> Template:
    return msgspec.structs.replace(new(components, category, **more), status="APPROVED")
