"""What is sent: a file of each kind, and a full request of every outgoing type."""

from typing import Any

from gatepost_sandbox.incoming.samples import SAMPLES
from tests.conformance.line import File

FILES: dict[str, File] = {
    kind: File(sample.content + kind.encode(), sample.mime_type, "bill.pdf" if kind == "document" else None)
    for kind, sample in SAMPLES.items()
}
# How each file is sent: its type, and the fields beside the file.
FILE_SENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "image": ("image", {"caption": "Look at this"}),
    "video": ("video", {"caption": "Watch this"}),
    "audio": ("audio", {}),
    "voice": ("audio", {"voice": True}),
    "document": ("document", {"caption": "Read this", "filename": "bill.pdf"}),
    "sticker": ("sticker", {}),
}
CARD: dict[str, Any] = {
    "name": {"formatted_name": "Ana Lima", "first_name": "Ana", "last_name": "Lima"},
    "phones": [{"phone": "+55 11 99999-0000", "type": "WORK", "wa_id": "5511999990000"}],
    "emails": [{"email": "ana@example.com", "type": "WORK"}],
    "org": {"company": "Shop", "title": "Head"},
}
PLACE = {"latitude": -23.55, "longitude": -46.63, "name": "Shop", "address": "Main Street 1"}
PLAIN: dict[str, dict[str, Any]] = {
    "text": {"body": "Look: https://shop.example.com ✓", "preview_url": True},
    "location": {"location": PLACE},
    "contacts": {"contacts": [CARD]},
    "buttons": {
        "body": "Shall we?",
        "buttons": [{"id": "y", "title": "Yes"}, {"id": "n", "title": "No"}],
        "header": {"type": "text", "text": "A question"},
        "footer": "Thanks",
    },
    "list": {
        "body": "Which one?",
        "button": "Choose",
        "sections": [
            {"title": "Hot", "rows": [{"id": "t", "title": "Tea", "description": "green"}]},
            {"title": "Cold", "rows": [{"id": "w", "title": "Water"}]},
        ],
    },
    "cta_url": {"body": "Our shop", "cta": {"text": "Open", "url": "https://shop.example.com/a?b=c"}},
    "product": {"product": {"catalog_id": "c1", "retailer_id": "p1"}, "body": "This one", "footer": "Thanks"},
    "product_list": {
        "body": "Goods",
        "header": {"type": "text", "text": "All new"},
        "catalog_id": "c1",
        "sections": [{"title": "New", "products": ["p1", "p2"]}],
    },
    "catalog": {"body": "All we have", "thumbnail": "p1"},
    "template": {"template": {"name": "order_update", "language": "en_US", "variables": ["Ana", "4711"]}},
    "poll": {"poll": {"question": "When?", "options": ["Now", "Later"], "multiple": True}},
}
# What a list, buttons and a link button look like as text.
AS_TEXT = {
    "buttons": "*A question*\n\nShall we?\n\n1. Yes\n2. No\n\n_Thanks_",
    "list": "Which one?\n\n*Hot*\n1. Tea — green\n\n*Cold*\n2. Water",
    "cta_url": "Our shop\n\nOpen: https://shop.example.com/a?b=c",
}
