"""A small bakery with customers, messages, templates, orders and webhooks: what the tests and the screenshots show."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from gatepost.model.event import TYPES as EVENT_TYPES
from tests.patience import patience

Call = Callable[[str, str, Any], Awaitable[Any]]  # method, path and body; the data of the answer

LABELS = {"VIP": "#7048e8", "Waiting for payment": "#e67700", "Newsletter": "#1971c2"}
PEOPLE = {
    "447700900101": ("Olivia Bennett", "Leeds", ["VIP", "Newsletter"]),
    "447700900102": ("Harry Collins", "York", ["Waiting for payment"]),
    "447700900103": ("Amelia Wright", "Leeds", []),
    "447700900104": ("George Patel", "Bradford", ["Newsletter"]),
    "447700900105": ("Isla Murphy", "Leeds", []),
    "447700900106": ("Noah Fisher", "Harrogate", ["VIP"]),
}
OPTED_OUT = "447700900104"
ASKED, DRAFT = "Amelia Wright", {"phone": "447700900103", "body": "Shall we put a buckwheat loaf aside for you?"}
# Who writes what, and the answer.
MESSAGES = [
    ("447700900103", "Hi, do you have gluten-free bread today?", "We do: the buckwheat loaf, fresh until 5 pm."),
    ("447700900105", "Can I collect my cake on Saturday morning?", "Of course. We open at 7 am on Saturdays."),
    ("447700900106", "The cinnamon buns were wonderful, thank you!", None),
    ("447700900102", "I have just paid for order 1042.", "Thank you, Harry. It will be ready at noon."),
    ("447700900101", "Could you add two rye breads to my order?", "Done! That is four loaves for tomorrow."),
    ("447700900101", "Perfect, see you tomorrow.", None),
]
TEMPLATES = [
    ("order_ready", "UTILITY", "Hello {{1}}, your order {{2}} is ready. You can collect it until 6 pm today.", None),
    ("payment_reminder", "UTILITY", "Hello {{1}}, we are still waiting for the payment of order {{2}}.", None),
    (
        "easter_offer",
        "MARKETING",
        "Hello {{1}}, order your Easter cake by {{2}} and get a free coffee.",
        "INVALID_FORMAT",
    ),
]
ORDERS = [
    ("447700900102", [("sourdough-loaf", 1, 4.2), ("cinnamon-bun", 6, 1.9)], ["confirmed"]),
    ("447700900106", [("birthday-cake", 1, 32.0)], ["confirmed", "shipped"]),
    ("447700900101", [("rye-bread", 4, 3.8), ("butter-croissant", 8, 1.6)], []),
]

REFUSED = {"phone": "44770", "body": "Your order is ready."}  # a message that the gateway does not take


ONLY_ORDERS = dict.fromkeys(EVENT_TYPES, False) | {"order_notifications": True}  # few enough not to pause the endpoint


async def open_shop(call: Call, sandbox: Call, number: str, customer: str) -> None:
    """Fill a channel. `number` is its id at the sandbox; `customer` is a server that answers 500 at /crm."""
    await _add_people(call)
    for name, category, body, rejected in TEMPLATES:
        await _add_template(call, sandbox, name, category, body, rejected)
    await call("POST", "/webhooks", {"url": f"{customer}/shop"})
    await call("POST", "/webhooks", {"url": f"{customer}/crm", "events": ONLY_ORDERS})
    incoming = f"/control/numbers/{number}/incoming"
    for phone, items, statuses in ORDERS:
        products = [
            {"product_retailer_id": product, "quantity": quantity, "item_price": price, "currency": "GBP"}
            for product, quantity, price in items
        ]
        order = {"catalog_id": "bakery", "text": "For tomorrow at 9, please.", "product_items": products}
        await sandbox("POST", incoming, {"from": phone, "type": "order", "order": order})
        await _move_order(call, phone, statuses)
    for phone, text, answer in MESSAGES:
        await sandbox("POST", incoming, {"from": phone, "type": "text", "text": text})
        await _until(call, f"/messages?phone={phone}", partial(_has_text, text))
        if answer:
            await call("POST", "/message/send", {"phone": phone, "body": answer})
    await call("POST", "/drafts", {"message": DRAFT})


async def _add_people(call: Call) -> None:
    labels = {}
    for name, color in LABELS.items():
        labels[name] = (await call("POST", "/labels", {"name": name, "color": color}))["id"]
    for phone, (name, city, names) in PEOPLE.items():
        person = {"phone": phone, "name": name, "custom": {"city": city}, "opted_out": phone == OPTED_OUT}
        id_ = (await call("POST", "/contacts", person))["id"]
        for label in names:
            await call("PUT", f"/contacts/{id_}/labels/{labels[label]}", None)


async def _add_template(call: Call, sandbox: Call, name: str, category: str, text: str, rejected: str | None) -> None:
    body = {"type": "BODY", "text": text, "example": {"body_text": [["Olivia", "1042"]]}}
    footer = {"type": "FOOTER", "text": "Corner Bakery, 12 High Street"}
    template = {"name": name, "language": "en_GB", "category": category, "components": [body, footer]}
    made = await call("POST", "/templates", template)
    decision = {"decision": "reject", "reason": rejected} if rejected else {"decision": "approve"}
    await sandbox("POST", f"/control/templates/{made['network_id']}/review", decision)


async def _move_order(call: Call, phone: str, statuses: list[str]) -> None:
    order = (await _until(call, f"/orders?phone={phone}", bool))[0]
    for status in statuses:
        await call("PATCH", f"/orders/{order['id']}", {"status": status})


def _has_text(text: str, rows: Any) -> bool:
    return any(row["content"].get("body") == text for row in rows)


async def _until(call: Call, path: str, there: Callable[[Any], bool]) -> Any:
    """Wait until the gateway has what the sandbox sent."""
    async with patience(lambda: f"{path} does not have it"):
        while not there(rows := await call("GET", path, None)):
            await asyncio.sleep(0.05)
    return rows
