"""One example send of every type. It is valid when the {{names}} are replaced."""

from typing import Any

from gatepost.api.openapi.route_docs import Sample, WaitUntil
from gatepost.networks.kinds import NETWORK_KINDS

_TO: dict[str, Any] = {"phone": "{{phone}}"}
FILES = {  # type of message → MIME type and text of a file that the collection uploads for it
    "image": ("image/jpeg", "This would be a picture"),
    "video": ("video/mp4", "This would be a video"),
    "audio": ("audio/ogg", "This would be a voice message"),
    "document": ("application/pdf", "This would be a bill"),
    "sticker": ("image/webp", "This would be a sticker"),
}


def _file(type_: str) -> dict[str, str]:
    return {"id": "{{" + type_ + "_id}}"}


def _send(type_: str, **fields: Any) -> dict[str, Any]:
    return _TO | {"type": type_} | fields


SENDS: dict[str, dict[str, Any]] = {
    "text": _TO | {"body": "Hello from Gatepost", "client_ref": "order-1001"},
    "image": _send("image", media=_file("image"), caption="Fresh today"),
    "video": _send("video", media=_file("video"), caption="How it is baked"),
    "audio": _send("audio", media=_file("audio"), voice=True),
    "document": _send("document", media=_file("document"), caption="Your bill", filename="bill-1001.pdf"),
    "sticker": _send("sticker", media=_file("sticker")),
    "location": _send(
        "location",
        location={"latitude": 38.7223, "longitude": -9.1393, "name": "The bakery", "address": "Rua Augusta 1, Lisbon"},
    ),
    "contacts": _send(
        "contacts",
        contacts=[
            {
                "name": {"formatted_name": "Anna Lee", "first_name": "Anna", "last_name": "Lee"},
                "phones": [{"phone": "+15550001111", "type": "Work"}],
                "org": {"company": "The bakery"},
            }
        ],
    ),
    "buttons": _send(
        "buttons",
        body="Shall we bring it, or do you come by?",
        buttons=[{"id": "bring", "title": "Bring it"}, {"id": "fetch", "title": "I come by"}],
        footer="Open until six",
        fallback="text",
    ),
    "list": _send(
        "list",
        body="When shall we come?",
        button="Choose a time",
        sections=[
            {
                "title": "Tomorrow",
                "rows": [
                    {"id": "am", "title": "Morning", "description": "8 to 12"},
                    {"id": "pm", "title": "Afternoon", "description": "14 to 18"},
                ],
            }
        ],
        fallback="text",
    ),
    "cta_url": _send(
        "cta_url",
        body="Your parcel is on its way.",
        cta={"text": "Follow it", "url": "https://shop.example.com/parcels/1001"},
        fallback="text",
    ),
    "product": _send("product", product={"catalog_id": "194836987003835", "retailer_id": "rye"}, body="Still warm"),
    "product_list": _send(
        "product_list",
        body="What we baked today",
        header={"type": "text", "text": "Bread"},
        catalog_id="194836987003835",
        sections=[{"title": "Dark", "products": ["rye", "spelt"]}],
    ),
    "catalog": _send("catalog", body="All that we bake", thumbnail="rye"),
    "template": _send(
        "template", template={"name": "{{template_name}}", "language": "en_US", "variables": ["Anna", "1001"]}
    ),
    "reaction": _send("reaction", reaction={"message_id": "{{message_id}}", "emoji": "👍"}),
    "poll": _send(
        "poll", poll={"question": "Which day suits you?", "options": ["Friday", "Saturday"], "multiple": False}
    ),
}
TITLES = {
    "text": "A text",
    "image": "A picture that was uploaded",
    "video": "A video that was uploaded",
    "audio": "A voice message",
    "document": "A document with its name",
    "sticker": "A sticker",
    "location": "A place on the map",
    "contacts": "A contact card",
    "buttons": "Up to three buttons",
    "list": "A list to choose from",
    "cta_url": "A button that opens a page",
    "product": "A product of a catalogue",
    "product_list": "Several products",
    "catalog": "The whole catalogue",
    "template": "A template with its variables",
    "reaction": "An emoji on a message",
    "poll": "A poll; QR channels",
}


def _only(type_: str) -> str | None:
    """Return the only kind of channel that supports a type; None if several do."""
    can = {name: kind.capabilities for name, kind in NETWORK_KINDS.items()}
    kinds = [name for name in can if type_ in can[name].types | can[name].as_text]
    return kinds[0] if len(kinds) == 1 else None


_APPROVED = WaitUntil("/api/v1/templates/{{sent_template_id}}", 'data.status === "APPROVED"')
EVERY_TYPE = tuple(
    Sample(
        TITLES[type_],
        body,
        folder="message types",
        only=_only(type_),
        after=_APPROVED if type_ == "template" else None,
    )
    for type_, body in SENDS.items()
)
