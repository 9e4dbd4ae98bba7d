"""What strangers write is shown on every page as text, and never runs. The visitor checks console, policy and hosts."""

import base64
from typing import Any

from playwright.async_api import Page, expect

from tests.conftest import Answer, Receiver
from tests.console.conftest import NUMBER
from tests.console.views import Step, click, open_row
from tests.console.visitor import visiting
from tests.gateway.checks import PERSON, until
from tests.gateway.people import new_person
from tests.running_gateway import Gateway

EVIL = "<img src=x onerror=ran=1><script>ran=1</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8" onload="ran=1"><script>ran=1</script></svg>'
ITEM = {"product_retailer_id": EVIL, "quantity": 1, "item_price": 1.5, "currency": "EUR"}
# Where it is seen: the path, and what is opened there.
PLACES: list[tuple[str, list[Step]]] = [
    ("/inbox", [open_row("onerror"), click("button", "Details")]),
    ("/contacts", [open_row("onerror")]),
    ("/contacts/labels", []),
    ("/templates", [open_row("evil_one")]),
    ("/orders", [open_row("onerror")]),
    ("/webhooks/log", [open_row("New message")]),
    ("/usage", []),
    ("/developers", []),
]


async def write_everywhere(gateway: Gateway, receiver: Receiver) -> None:
    """Put markup into every text that another person, a customer's server or a colleague can set."""
    receiver.answer = Answer(200, {"content-type": "text/html", "x-said": EVIL}, EVIL.encode())
    await create(gateway, "/webhooks", url=f"{receiver.url}/hooks")
    file = {"content": base64.b64encode(SVG).decode(), "mime_type": "image/svg+xml"}
    for type_, content in (
        ("text", {"body": EVIL}),
        ("document", file | {"filename": f"{EVIL}.svg"}),
        ("image", file | {"caption": EVIL}),
        ("order", {"catalog_id": EVIL, "text": EVIL, "product_items": [ITEM]}),
    ):
        body = {"from": PERSON, "name": EVIL, "type": type_, type_: content}
        await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", body)
    label = await create(gateway, "/labels", name=EVIL)
    contact = await until(lambda: _first(gateway, "/contacts"))
    await gateway.call("PUT", f"/api/v1/contacts/{contact['id']}/labels/{label['id']}")
    await gateway.call("PATCH", f"/api/v1/contacts/{contact['id']}", {"custom": {EVIL: EVIL}})
    await create(gateway, f"/conversations/{contact['conversation']['id']}/notes", text=EVIL)
    component = {"type": "BODY", "text": f"Hello, here is {EVIL} for you today."}
    await create(gateway, "/templates", name="evil_one", language="en_US", category="UTILITY", components=[component])
    await until(lambda: _first(gateway, "/orders"))
    owner = await new_person(gateway)
    renamed = await owner.call("PATCH", f"/api/v1/account/channels/{gateway.channel}", {"name": EVIL})
    assert renamed.status == 200, renamed.body


async def create(gateway: Gateway, path: str, **fields: Any) -> Any:
    made = await gateway.call("POST", f"/api/v1{path}", fields)
    assert made.status == 201, made.body
    return made.json()["data"]


async def _first(gateway: Gateway, path: str) -> Any:
    rows = (await gateway.call("GET", f"/api/v1{path}")).json()["data"]
    return rows[0] if rows else None


async def check_text(page: Page, path: str) -> None:
    """Check that the markup is on the page, as text only."""
    await expect(page.get_by_text(EVIL).first).to_be_visible()
    assert await page.evaluate("typeof ran") == "undefined", path
    assert await page.locator("img[src=x], a[href^=javascript]").count() == 0, path


async def test_markup_is_text_on_every_page(official: Gateway, receiver: Receiver) -> None:
    await write_everywhere(official, receiver)
    async with visiting(official) as visitor:
        await visitor.sign_in()
        page = visitor.page
        for path, steps in PLACES:
            await visitor.open(f"{path}?channel={official.channel}")
            for step in steps:
                await step(page)
            await check_text(page, path)
        await visitor.open(f"/inbox?channel={official.channel}")
        await open_row("onerror")(page)
        picture = page.get_by_role("region", name="Messages").locator("img[src*='/media/']")
        await expect(picture).to_have_js_property("complete", True)  # a drawing with a script is a picture, without it
        assert await page.evaluate("typeof ran") == "undefined"
        address = await picture.get_attribute("src") or ""
        file = await page.request.get(official.url + address)
        assert (file.status, file.headers["content-security-policy"]) == (200, "sandbox")
        assert file.headers["content-disposition"].startswith("attachment")
