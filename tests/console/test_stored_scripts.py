"""What strangers and colleagues write is shown on every page as text, and never runs.

Each text begins with where it was written, so that a page that does not show it fails. The visitor checks console,
policy and hosts.
"""

import base64
from typing import Any, NamedTuple

from playwright.async_api import Page, expect

from tests.conftest import Answer, Receiver
from tests.console.conftest import NUMBER
from tests.console.views import Step, click, fill, open_row, see
from tests.console.visitor import visiting
from tests.gateway.checks import PERSON, until
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway
from tests.thorough import rotated

BUTTON = "<img src=x onerror=ran=1>"  # as long as the text of a button may be
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8" onload="ran=1"><script>ran=1</script></svg>'
MAIN, DIALOG, DETAILS = "main", "[role=dialog]", "aside"  # parts of a page
THREAD = "section[aria-label=Messages]"
PREVIEW = "section[aria-label=Preview]"
DRAFTS = "section[aria-label='Drafts of this conversation']"


def evil(origin: str) -> str:
    """Return markup that says where it was written."""
    return f"{origin} {BUTTON}<script>ran=1</script>"


class Place(NamedTuple):
    """Where markup is seen: a part of a page, what is opened there, and the origins of the texts."""

    path: str
    part: str
    origins: tuple[str, ...]
    steps: tuple[Step, ...] = ()


TEMPLATE = ("header", "template", "footer")
CHAT = open_row(BUTTON)
CHOOSE = (click("button", "Send something else"), click("menuitem", "Template"), click("combobox", "Template"))
PLACES = [
    Place("/inbox", MAIN, ("person", "label")),
    Place("/inbox", THREAD, ("text", "file", "caption", "order", "product", *TEMPLATE, "value", "key"), (CHAT,)),
    Place("/inbox", DETAILS, ("person", "label", "note"), (CHAT, click("button", "Details"))),
    Place("/inbox", DIALOG, ("view",), (see("person"), click("button", "Saved views"))),
    Place("/inbox", PREVIEW, TEMPLATE, (CHAT, *CHOOSE, click("option", "evil_one"), fill("Value 1", "Ana"))),
    Place("/inbox", DRAFTS, ("draft", "why", "key"), (CHAT,)),
    Place("/inbox?drafts=waiting", MAIN, ("draft",)),
    Place("/contacts", MAIN, ("person", "label")),
    Place("/contacts", DIALOG, ("person", "label"), (CHAT,)),
    Place("/contacts/labels", MAIN, ("label",)),
    Place("/templates", DIALOG, TEMPLATE, (open_row("evil_one"),)),
    Place("/orders", MAIN, ("person",)),
    Place("/orders", DIALOG, ("person", "product", "order"), (CHAT,)),
    Place("/channels", MAIN, ("channel",)),
    Place("/channels/{channel}", MAIN, ("channel",)),
    Place("/messages/{message}", MAIN, ("sent", "key")),
    Place("/webhooks/log", DIALOG, ("answer", "said"), (open_row("New message"),)),
    Place("/usage", MAIN, ("channel",)),
    Place("/developers", MAIN, ("key",)),
    Place(
        "/developers/console?operation=GET%20/api/v1/labels", MAIN, ("label",), (click("button", "Send the request"),)
    ),
    Place("/developers/refused", DIALOG, ("key",), (open_row("/api/v1/labels"),)),
    Place("/account", MAIN, ("user", "colleague")),
    Place("/account/log", MAIN, ("key", "channel")),
]


async def write_everywhere(gateway: Gateway, receiver: Receiver) -> tuple[Person, str]:
    """Put markup into every text that others can set. Return the owner, and the id of a message."""
    receiver.answer = Answer(200, {"content-type": "text/html", "x-said": evil("said")}, evil("answer").encode())
    owner = await new_person(gateway, name=evil("user"))
    path = f"/account/channels/{gateway.channel}"
    await done(owner, "PATCH", path, {"name": evil("channel")})
    gateway.key = (
        await done(owner, "POST", f"{path}/keys", {"name": evil("key"), "scopes": ["send", "read", "manage"]})
    )["key"]
    await done(owner, "PUT", "/session/views", {"views": [{"name": evil("view")}]})
    await done(owner, "POST", "/webhooks", {"url": f"{receiver.url}/hooks"})
    await done(owner, "POST", "/labels", {"name": evil("label")})
    await receive_everything(gateway)
    await add_details(gateway, owner)
    await add_template(gateway, owner)
    assert (await gateway.call("POST", "/api/v1/labels", {})).status == 422  # a refused request of the key
    message = await gateway.send(phone=PERSON, body=evil("sent"))
    await gateway.until_status(message, "READ")
    return owner, message


async def receive_everything(gateway: Gateway) -> None:
    """Send a text, files and an order as a person."""
    file = {"content": base64.b64encode(SVG).decode(), "mime_type": "image/svg+xml"}
    item = {"product_retailer_id": evil("product"), "quantity": 1, "item_price": 1.5, "currency": "EUR"}
    for type_, content in (
        ("text", {"body": evil("text")}),
        ("document", file | {"filename": f"{evil('file')}.svg"}),
        ("image", file | {"caption": evil("caption")}),
        ("order", {"catalog_id": evil("catalog"), "text": evil("order"), "product_items": [item]}),
    ):
        body = {"from": PERSON, "name": evil("person"), "type": type_, type_: content}
        await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", body)
    await until(lambda: first(gateway, "/orders"))


async def add_details(gateway: Gateway, owner: Person) -> None:
    """Give the person a label, a field, a note and an assignee."""
    colleague = await new_person(gateway, "agent", name=evil("colleague"))
    contact, label = await first(gateway, "/contacts"), await first(gateway, "/labels")
    conversation = f"/conversations/{contact['conversation']['id']}"
    await done(owner, "PUT", f"/contacts/{contact['id']}/labels/{label['id']}")
    await done(owner, "PUT", f"{conversation}/labels/{label['id']}")
    await done(owner, "PATCH", f"/contacts/{contact['id']}", {"custom": {evil("field"): evil("field")}})
    await done(colleague, "POST", f"{conversation}/notes", {"text": evil("note")})
    draft = {"message": {"phone": PERSON, "body": evil("draft")}, "comment": evil("why")}
    assert (await gateway.call("POST", "/api/v1/drafts", draft)).status == 201
    await done(owner, "PATCH", conversation, {"assignee": f"usr_{colleague.user.id.hex}"})


async def add_template(gateway: Gateway, owner: Person) -> None:
    """Let the network approve a template, and send it."""
    example = {"body_text": [["Ana"]]}
    components = [
        {"type": "HEADER", "format": "TEXT", "text": evil("header")},
        {"type": "BODY", "text": f"Hello {{{{1}}}}, here is {evil('template')} for you today.", "example": example},
        {"type": "FOOTER", "text": evil("footer")},
        {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": BUTTON}]},
    ]
    new = {"name": "evil_one", "language": "en_US", "category": "UTILITY", "components": components}
    made = await done(owner, "POST", "/templates", new)
    await gateway.sandbox("POST", f"/control/templates/{made['network_id']}/review", {"decision": "approve"})
    await until(lambda: first(gateway, "/templates?status=APPROVED"))
    use = {"name": "evil_one", "language": "en_US", "variables": [evil("value")]}
    await gateway.send(phone=PERSON, type="template", template=use)


async def done(owner: Person, method: str, path: str, body: Any = None) -> Any:
    """Send a request that must be accepted; return its data."""
    answer = await owner.call(method, f"/api/v1{path}", body)
    assert answer.status < 300, (path, answer.body)
    return answer.json()["data"]


async def first(gateway: Gateway, path: str) -> Any:
    rows = (await gateway.call("GET", f"/api/v1{path}")).json()["data"]
    return rows[0] if rows else None


async def check_nothing_ran(page: Page, path: str) -> None:
    assert await page.evaluate("typeof ran") == "undefined", path
    assert await page.locator("img[src=x], a[href^=javascript]").count() == 0, path


async def test_markup_is_text_on_every_page(official: Gateway, receiver: Receiver) -> None:
    owner, message = await write_everywhere(official, receiver)
    async with visiting(official) as visitor:
        page = visitor.page
        await visitor.sign_in("/", owner.user.email)
        await page.get_by_role("button", name=f"Your menu: {evil('user')}").wait_for()
        for place in rotated(PLACES, 7):
            path = place.path.replace("{channel}", official.channel).replace("{message}", message)
            await visitor.open(f"{path}{'&' if '?' in path else '?'}channel={official.channel}")
            for step in place.steps:
                await step(page)
            for origin in place.origins:
                await page.locator(place.part).get_by_text(evil(origin)).first.wait_for()
            if "template" in place.origins and place.part != MAIN:
                await page.locator(place.part).get_by_text(BUTTON, exact=True).wait_for()
            await check_nothing_ran(page, path)
        await check_picture(page, official)


async def check_picture(page: Page, official: Gateway) -> None:
    """A drawing with a script is a picture, without the script; as a file it is sandboxed."""
    await page.goto(f"{official.url}/inbox?channel={official.channel}")
    await CHAT(page)
    picture = page.get_by_role("region", name="Messages").locator("img[src*='/media/']")
    await expect(picture).to_have_js_property("complete", True)
    await check_nothing_ran(page, "picture")
    address = await picture.get_attribute("src") or ""
    file = await page.request.get(official.url + address)
    assert (file.status, file.headers["content-security-policy"]) == (200, "sandbox")
    assert file.headers["content-disposition"].startswith("attachment")
