"""The phones on the page: what strangers write never runs, and everything can be used by everyone."""

import base64
from typing import Any

from playwright.async_api import Page, expect

from tests.console.test_stored_scripts import BUTTON, SVG, evil
from tests.sandbox.driver import NUMBER, Driver
from tests.sandbox.page.chatting import (
    ANA,
    ANAS_CHAT,
    BRUNO,
    begin,
    bubble,
    list_message,
    png,
    products,
    reply_buttons,
    write,
)
from tests.sandbox.page.viewer import viewing
from tests.sandbox.templates import approved, body, buttons, draft, quick

TEXTS = ["text", "person's text", "header", "footer", "question", "button", "row", "product", "place", "address"]
FILES = ["file", "caption", "picture's caption"]
OTHERS = ["contact", "company", "reply", "template", "order", "quoted"]
LINKS = "javascript:ran=1 data:text/html,<script>ran=1</script> vbscript:ran=1 *<b onclick=ran=1>* `<script>ran=1`"


async def person_sends(sandbox: Driver, **send: Any) -> Any:
    return await sandbox.control("POST", f"chats/{ANA}/{NUMBER}/send", send)


async def write_everywhere(sandbox: Driver) -> None:
    """Put markup into every text of a chat."""
    await sandbox.control("POST", "clock", {"frozen": False})
    await sandbox.control("PATCH", f"numbers/{NUMBER}", {"name": evil("number")})
    await sandbox.control("PUT", f"people/{ANA}", {"name": evil("name"), "reads": "when_open"})
    await write(sandbox, "text", {"body": f"{evil('text')} {LINKS}"})
    header = {"type": "text", "text": evil("header")[:60]}
    question = reply_buttons(BUTTON[:20], body=evil("question"), header=header, footer={"text": evil("footer")[:60]})
    await write(sandbox, "interactive", question)
    await write(sandbox, "interactive", list_message(evil("list"), BUTTON[:20], BUTTON[:24]))
    await write(sandbox, "interactive", products(evil("product")))
    await write(sandbox, "location", {"latitude": 1, "longitude": 2, "name": evil("place"), "address": evil("address")})
    name = {"formatted_name": evil("contact"), "first_name": "x"}
    await write(sandbox, "contacts", [{"name": name, "org": {"company": evil("company")}}])
    await write(sandbox, "image", {"link": "https://example.com/<script>ran=1</script>", "caption": evil("link")})
    await approved(sandbox, draft(body(f"Hello {{{{1}}}}, {evil('template')} for you.", "Ana"), buttons(quick(BUTTON))))
    parameters = [{"type": "body", "parameters": [{"type": "text", "text": evil("value")}]}]
    await write(sandbox, "template", {"name": "parcel", "language": {"code": "en_US"}, "components": parameters})
    data = base64.b64encode(SVG).decode()
    svg = {"data": data, "mime_type": "image/svg+xml", "type": "media"}
    await person_sends(sandbox, **svg, kind="document", filename=f"{evil('file')}.svg", caption=evil("caption"))
    await person_sends(sandbox, **svg, kind="image", caption=evil("drawing"))
    picture = base64.b64encode(png()).decode()
    file = {"type": "media", "kind": "image", "data": picture, "mime_type": "image/png"}
    await person_sends(sandbox, **file, caption=evil("picture"))
    item = {"id": evil("item"), "quantity": 1, "price": 1, "currency": "EUR"}
    await person_sends(sandbox, type="order", catalog_id="c", items=[item], text=evil("order"), target=None)
    own = await person_sends(sandbox, type="text", text=evil("own"))
    await person_sends(sandbox, type="text", text="answer", quote=own["id"])


async def check_nothing_ran(page: Page, place: str) -> None:
    assert await page.evaluate("typeof ran") == "undefined", place
    assert await page.locator("img[src=x], a[href^=javascript], a[href^=data], a[href^=vbscript]").count() == 0, place


async def test_markup_is_text_on_every_screen(sandbox: Driver) -> None:
    await write_everywhere(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}")
        await page.get_by_role("heading", name=evil("name")).wait_for()
        await expect(page.locator(".chat-name")).to_have_text(evil("number"))
        await check_nothing_ran(page, "list")
        await page.locator(".chat-row").click()
        shown = ["text", "question", "list", "product", "place", "address", "contact", "company", "link", "template"]
        for origin in [*shown, "file", "caption", "drawing", "picture", "item", "order"]:
            await page.locator(".messages").get_by_text(evil(origin)).first.wait_for()
        await expect(bubble(page, "answer").locator("blockquote")).to_contain_text(evil("own"))
        await expect(page.locator(".bubble-header").first).to_contain_text("header <img src=x")
        await expect(page.locator(".bubble-footer").first).to_contain_text("footer <img src=x")
        await check_nothing_ran(page, "thread")
        await page.get_by_role("button", name=BUTTON[:20]).nth(1).click()
        await page.get_by_role("dialog").get_by_role("radio", name=BUTTON[:24]).wait_for()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="View and order").click()
        await expect(page.get_by_role("dialog").locator(".cart-name")).to_have_text(evil("product"))
        await page.keyboard.press("Escape")
        await bubble(page, "question").click(button="right", position={"x": 8, "y": 8})
        await expect(page.get_by_role("dialog").locator(".quoted-line")).to_contain_text("question <img")
        await check_nothing_ran(page, "sheets")
        assert await page.locator(".messages img").count() == 1  # a drawing with a script is a file, not a picture


async def test_a_message_of_any_form_does_not_end_the_page(sandbox: Driver) -> None:
    await begin(sandbox)
    for kind, content in {
        "contacts": [{"name": {"formatted_name": {"a": 1}}}],
        "image": {"id": "1", "caption": {"a": [1]}},
        "order": {"product_items": [{"product_retailer_id": [], "quantity": {}, "item_price": [], "currency": {}}]},
    }.items():
        said = {"from": ANA, "type": "raw", "raw": {"type": kind, kind: content}}
        await sandbox.control("POST", f"numbers/{NUMBER}/incoming", said)
    async with viewing(sandbox.base) as viewer:
        await viewer.open(f"#/{ANA}")
        await viewer.page.locator(".chat-row").click()
        await expect(viewer.page.get_by_role("article")).to_have_count(3)
        await viewer.see("This phone cannot show this message.")
        await person_sends(sandbox, type="text", text="Still here")
        await viewer.see("Still here")


async def fill_chat(sandbox: Driver) -> None:
    """Send one of everything."""
    await begin(sandbox)
    await write(sandbox, "text", {"body": "Hello *Ana*, see https://example.com and `code`"})
    header = {"type": "text", "text": "Header"}
    await write(sandbox, "interactive", reply_buttons("Yes", "No", header=header, footer={"text": "Footer"}))
    await write(sandbox, "interactive", list_message())
    await write(sandbox, "interactive", products("beans-1", "beans-2"))
    await write(sandbox, "location", {"latitude": 1, "longitude": 2, "name": "Shop"})
    await write(sandbox, "contacts", [{"name": {"formatted_name": "Maria", "first_name": "Maria"}}])
    await write(sandbox, "image", {"link": "https://example.com/a.png", "caption": "A picture elsewhere"})
    data = base64.b64encode(png()).decode()
    await person_sends(sandbox, type="media", kind="image", data=data, mime_type="image/png", caption="Cup")
    await person_sends(sandbox, type="media", kind="document", data=data, mime_type="image/png", filename="a.pdf")
    own = await person_sends(sandbox, type="text", text="Mine")
    await person_sends(sandbox, type="text", text="An answer", quote=own["id"])
    await person_sends(sandbox, type="reaction", target=own["id"], emoji="👍")
    gone = await person_sends(sandbox, type="text", text="Gone")
    await person_sends(sandbox, type="delete", target=gone["id"])


SHEETS = {
    "Choose a time": "Choose a time",
    "View and order": "Cart",
    "Open Photo: Cup": "Photo",
    "Send something else": "Send",
    "Record a voice message": "No recording",
}


async def test_everything_can_be_used_by_everyone(sandbox: Driver) -> None:
    await fill_chat(sandbox)
    async with viewing(sandbox.base) as viewer:
        page, found = viewer.page, []

        async def check(view: str) -> None:
            found.extend(await viewer.accessibility_problems(view))

        await viewer.open(f"#/{ANA}+{BRUNO}")
        await viewer.see("This message was deleted")
        await check("lists")
        await page.get_by_role("button", name="Menu of Ana Souza").click()
        await check("person menu")
        await page.keyboard.press("Escape")
        await viewer.open(ANAS_CHAT)
        await viewer.see("An answer")
        await check("thread")
        for button, sheet in SHEETS.items():
            await page.get_by_role("button", name=button).click()
            await page.get_by_role("dialog", name=sheet).wait_for()
            await check(sheet)
            await page.keyboard.press("Escape")
            await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.get_by_role("button", name="Message actions").last.focus()
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Enter")
        await page.get_by_role("dialog", name="Message").wait_for()
        await check("message")
        await page.get_by_role("button", name="Reply").click()
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await check("reply")
        for path, heading in {f"#/{ANA}/999": "No chat", "#/49151123456": "Nobody has", "#/": "Whose phone?"}.items():
            await viewer.open(path)
            await page.get_by_role("heading", name=heading).wait_for()
            await check(path)
        assert found == [], "\n".join(found)
