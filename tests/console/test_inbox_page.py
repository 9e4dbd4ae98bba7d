"""The inbox in a real browser: a chat with a person of the simulated network, live."""

import asyncio
import base64
from typing import Any

from playwright.async_api import Locator, Page, Route, expect

from gatepost.model.session import IDLE
from tests.console.visitor import PASSWORD, Visitor, visiting
from tests.gateway.checks import PERSON, until
from tests.movable_clock import MovableClock
from tests.patience import patience
from tests.running_gateway import FAST_NETWORK, Gateway

NUMBER = "100000000000001"
DAY_MS = 24 * 60 * 60 * 1000
EVIL = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>document.title=1</script></svg>'
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


async def say(gateway: Gateway, text: str, name: str = "Ana Souza", number: str = NUMBER) -> None:
    """Write a text as the person."""
    fields = {"phone_number_id": number, "from": PERSON, "text": text, "name": name}
    await gateway.sandbox("POST", "/control/say", fields)


async def received(gateway: Gateway) -> bool:
    """Whether the gateway has a message."""
    return bool((await gateway.call("GET", "/api/v1/messages")).json()["data"])


async def incoming(gateway: Gateway, type_: str, content: Any, **fields: Any) -> str:
    """Send anything as the person; return the network's id of it."""
    body = {"from": PERSON, "type": type_, type_: content, **fields}
    wamid: str = (await gateway.sandbox("POST", f"/control/numbers/{NUMBER}/incoming", body))["wamid"]
    return wamid


async def open_first(visitor: Visitor) -> Locator:
    """Open the first conversation of the list; return its messages."""
    await visitor.page.get_by_role("region", name="Conversations").get_by_role("listitem").first.click()
    messages = visitor.page.get_by_role("region", name="Messages")
    await messages.wait_for()
    return messages


def message_of(messages: Locator, text: str) -> Locator:
    """Return the message with a text."""
    return messages.get_by_role("article").filter(has_text=text)


async def write(visitor: Visitor, text: str) -> None:
    """Write a message and send it."""
    field = visitor.page.get_by_role("textbox", name="Message")
    await field.fill(text)
    await field.press("Enter")


async def test_a_chat_both_ways(gateway: Gateway) -> None:
    await say(gateway, "Is my order ready?")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        await page.get_by_text("1 unread", exact=True).wait_for()
        messages = await open_first(visitor)
        await message_of(messages, "Is my order ready?").wait_for()
        await expect(page.get_by_text("1 unread", exact=True)).to_have_count(0)  # it was marked as read
        await write(visitor, "Yes, it is on its way: https://example.com/track")
        sent = message_of(messages, "on its way")
        await sent.get_by_role("img", name="Read").wait_for()
        await expect(sent.get_by_role("link")).to_have_attribute("rel", "noopener noreferrer")
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("")
        await say(gateway, "Thank you!")
        await message_of(messages, "Thank you!").wait_for()
        await incoming(gateway, "image", {"content": PICTURE, "mime_type": "image/png", "caption": "See?"})
        picture = message_of(messages, "See?").get_by_role("img", name="Picture")
        await picture.wait_for()
        await expect(picture).to_have_js_property("complete", value=True)
        assert await picture.evaluate("one => one.naturalWidth") == 1
        await sent.get_by_role("button", name="Actions").focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("menu").wait_for()
        await page.keyboard.press("e")  # no shortcut of the inbox there
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Close", exact=True).wait_for()
        await page.keyboard.press("e")
        await page.get_by_role("button", name="Open again").wait_for()


async def test_what_strangers_write_is_shown_and_never_run(gateway: Gateway) -> None:
    await say(gateway, EVIL, name=EVIL)
    document = {"content": base64.b64encode(b"x").decode(), "mime_type": "text/plain", "filename": f"{EVIL[:40]}.txt"}
    await incoming(gateway, "document", document, name=EVIL)
    picture = {"content": base64.b64encode(SVG.encode()).decode(), "mime_type": "image/svg+xml", "filename": "x.svg"}
    await incoming(gateway, "document", picture, name=EVIL)
    await incoming(gateway, "text", {"body": "javascript:document.title=1"}, name=EVIL)
    card = {"name": {"formatted_name": EVIL}, "urls": [{"url": "javascript:alert(1)"}]}
    await incoming(gateway, "contacts", [card], name=EVIL)
    await incoming(gateway, "raw", {"type": "hologram", "hologram": {"depth": EVIL}}, name=EVIL)
    label = (await gateway.call("POST", "/api/v1/labels", {"name": EVIL[:60]})).json()["data"]["id"]
    async with patience(lambda: "a conversation is listed"):
        while not (listed := (await gateway.call("GET", "/api/v1/conversations")).json()["data"]):
            await asyncio.sleep(0.05)
    await gateway.call("PUT", f"/api/v1/conversations/{listed[0]['id']}/labels/{label}")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        messages = await open_first(visitor)
        await messages.get_by_text(EVIL).first.wait_for()
        await messages.get_by_text(EVIL[:20]).nth(1).wait_for()
        await visitor.page.get_by_role("button", name="Details").click()
        await expect(visitor.page.get_by_role("complementary", name="Details")).to_contain_text(EVIL[:60])
        await expect(visitor.page.get_by_role("heading", level=2).last).to_have_text(EVIL)
        assert await visitor.page.locator("a[href^='javascript']").count() == 0
        file = await messages.get_by_role("link", name="x.svg").get_attribute("href")
        answer = await visitor.page.request.get(gateway.url + str(file))
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "Inbox" in await visitor.page.title()


async def refuse(route: Route) -> None:
    """Answer as a gateway that has too much to do."""
    await route.fulfill(status=429, json={"message": "Too many requests.", "error": {"code": "rate_limited"}})


async def try_again(page: Page, path: str) -> None:
    """Ask again for what was refused, also if the page has just asked by itself after an event, and was refused."""
    button, answers = page.get_by_role("button", name="Try again"), [False]
    await button.wait_for()
    await page.unroute(f"**/api/v1/{path}")
    page.on("response", lambda one: answers.append(one.ok and one.url.endswith(f"/api/v1/{path}")))

    async def answered() -> bool:
        await button.evaluate_all("(buttons) => buttons.forEach((one) => one.click())")
        return any(answers)

    await until(answered)
    await expect(button).to_have_count(0)


async def test_a_failed_send_keeps_its_text_and_is_sent_once(gateway: Gateway) -> None:
    await say(gateway, "Hello?")
    async with visiting(gateway) as visitor:
        page = visitor.page
        for path in ("labels", "channel"):
            await page.route(f"**/api/v1/{path}", refuse)
        await visitor.sign_in("/inbox?label=VIP")
        await try_again(page, "labels")
        await page.get_by_role("button", name="Show all open ones").click()
        messages = await open_first(visitor)
        await try_again(page, "channel")

        async def lose_the_answer(route: Any) -> None:
            await route.fetch()
            await route.abort()

        await page.route("**/api/v1/message/send", lose_the_answer, times=1)
        await write(visitor, "Only once")
        form = page.get_by_role("form", name="Message")
        await page.get_by_role("alert").filter(has_text="does not answer").wait_for()
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("Only once")
        await page.reload()  # the draft and its key are kept
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("Only once")
        await form.get_by_role("button", name="Send", exact=True).click()
        await expect(page.get_by_role("textbox", name="Message")).to_have_value("")
        await message_of(messages, "Only once").get_by_role("img", name="Read").wait_for()
        ledger = await gateway.sandbox("GET", "/control/ledger?kind=accepted")
        assert len(ledger["entries"]) == 1
        await gateway.sandbox("POST", "/control/faults", {"fault": "fail", "code": 131026})
        await write(visitor, "Refused")
        await message_of(messages, "Refused").get_by_role("button", name="What happened").click()
        trace = page.get_by_role("dialog", name="Trace of a message")
        await trace.get_by_text("Accepted by the gateway").wait_for()
        await trace.get_by_text("Failed", exact=True).first.wait_for()


async def test_a_lost_stream_catches_up(gateway: Gateway) -> None:
    await say(gateway, "First")
    cut, tries = False, 0

    async def end_soon(route: Any) -> None:
        """Let the first stream end after a second, and none begin while the connection is cut."""
        nonlocal tries
        if cut:
            tries += 1
            await route.abort()
        else:
            joint = "&" if "?" in route.request.url else "?"
            await route.continue_(url=f"{route.request.url}{joint}seconds=1")

    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.clock.install()
        await page.route("**/api/v1/account/stream*", end_soon)
        await visitor.sign_in("/inbox")
        messages = await open_first(visitor)
        await message_of(messages, "First").wait_for()
        cut = True
        await page.get_by_text("Connection lost").wait_for()
        for number in range(20):
            await say(gateway, f"Number {number} was missed")
        for _ in range(4):  # a minute of the page's clock
            before = tries
            await page.clock.fast_forward(15_000)
            async with patience(lambda: "the page tries to connect"):
                while tries == before:
                    await asyncio.sleep(0.02)
        await page.get_by_text("Connection lost").wait_for()
        await expect(message_of(messages, "was missed")).to_have_count(0)
        await page.unroute("**/api/v1/account/stream*")
        await page.clock.fast_forward(15_000)
        await page.get_by_text("Reconnected.").wait_for()
        await message_of(messages, "Number 19 was missed").wait_for()
        for number in range(10, 20):
            await expect(message_of(messages, f"Number {number} was missed")).to_have_count(1)


CARD = {
    "components": [
        {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": ["4::abc:def"]}},
        {"type": "BODY", "text": "Only for {{1}}, today.", "example": {"body_text": [["Ana"]]}},
        {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": "I want it"}]},
    ]
}
CAROUSEL = {
    "name": "cakes",
    "language": "en_US",
    "category": "MARKETING",
    "components": [
        {"type": "BODY", "text": "Have a look at our cakes."},
        {"type": "CAROUSEL", "cards": [CARD, CARD]},
    ],
}


async def send_carousel(visitor: Visitor) -> None:
    """Fill in the cards of the carousel in the open dialog, and send it."""
    page = visitor.page
    dialog = page.get_by_role("dialog", name="Send a template")
    await dialog.get_by_role("combobox", name="Template").click()
    await page.get_by_role("option", name="cakes (en_US)").click()
    send = dialog.get_by_role("button", name="Send", exact=True)
    for number, name in enumerate(("Ana", "<b>Eva</b>"), 1):
        await expect(send).to_be_disabled()
        card = dialog.get_by_role("group", name=f"Card {number}")
        picture = {"name": f"{number}.png", "mimeType": "image/png", "buffer": base64.b64decode(PICTURE)}
        await card.locator("input[type=file]").set_input_files(picture)  # type: ignore[arg-type]
        await card.get_by_label("Value 1").fill(name)
    preview = dialog.get_by_role("region", name="Preview")
    await expect(preview).to_contain_text("Only for <b>Eva</b>, today.")
    assert not await visitor.accessibility_problems("carousel")
    await send.click()
    await expect(dialog).to_have_count(0)


async def test_only_a_template_is_sent_in_a_closed_window(gateway: Gateway) -> None:
    limits = FAST_NETWORK | {"window": 1}
    number, waba = "100000000000007", "200000000000001"
    channel = await gateway.new_channel(gateway.account_id, "15550007777", number, limits=limits, waba_id=waba)
    gateway.key = await gateway.new_key(channel.id)
    body = {
        "type": "BODY",
        "text": "Hello {{1}}, your order {{2}} has left our house today.",
        "example": {"body_text": [["Ana", "4711"]]},
    }
    template = {"name": "order_sent", "language": "en_US", "category": "UTILITY", "components": [body]}
    made = await gateway.call("POST", "/api/v1/templates", template)
    assert made.status == 201, made.body
    made = await gateway.call("POST", "/api/v1/templates", CAROUSEL)
    assert made.status == 201, made.body
    await gateway.sandbox("POST", "/control/clock", {"advance": 7200})
    async with visiting(gateway) as visitor:
        await gateway.call("POST", "/api/v1/templates/sync", {})
        await visitor.page.clock.install()
        first = {"name": "order_sent", "language": "en_US", "variables": ["Ana", "1"]}
        await gateway.send(phone=PERSON, type="template", template=first)
        await visitor.sign_in(f"/inbox?channel=ch_{channel.id.hex}")
        messages = await open_first(visitor)
        page = visitor.page
        await message_of(messages, "Hello Ana, your order 1 has left").wait_for()
        await page.get_by_text("This person has not written yet").wait_for()
        await page.get_by_role("button", name="Send a template").click()
        dialog = page.get_by_role("dialog", name="Send a template")
        await dialog.get_by_role("combobox", name="Template").click()
        await page.get_by_role("option", name="order_sent (en_US)").click()
        await dialog.get_by_label("Value 1").fill("<b>Bia</b>")
        await dialog.get_by_label("Value 2").fill("4712")
        await expect(dialog.get_by_role("region", name="Preview")).to_have_text(
            "Hello <b>Bia</b>, your order 4712 has left our house today."
        )
        await dialog.get_by_role("button", name="Send", exact=True).click()
        await expect(dialog).to_have_count(0)
        await message_of(messages, "order 4712").get_by_role("img", name="Read").wait_for()
        await page.get_by_role("button", name="Send a template").click()
        await send_carousel(visitor)
        sent = message_of(messages, "Only for Ana, today.")
        await expect(sent).to_contain_text("Only for <b>Eva</b>, today.")
        await expect(sent.get_by_role("img", name="Picture")).to_have_count(2)
        await sent.get_by_role("img", name="Read").wait_for()
        await page.get_by_role("button", name="Send a template").click()
        await dialog.get_by_role("combobox", name="Template").click()
        await page.get_by_role("option", name="order_sent (en_US)").click()
        await dialog.get_by_label("Value 1").fill("Cleo")
        await say(gateway, "Thanks", number=number)
        await page.get_by_text("Free text is possible for another 2").wait_for()
        await expect(dialog.get_by_label("Value 1")).to_have_value("Cleo")
        await page.keyboard.press("Escape")
        await page.get_by_role("textbox", name="Message").fill("You are welcome")
        await page.clock.fast_forward(2 * DAY_MS)
        await page.get_by_text("Not sent, and kept until the person writes: You are welcome").wait_for()


async def test_an_expired_session_keeps_what_was_written(frozen: Gateway, clock: MovableClock) -> None:
    async with visiting(frozen) as visitor:
        await visitor.open("/inbox")
        await visitor.fill_sign_in()
        page = visitor.page
        await say(frozen, "Are you there?")
        messages = await open_first(visitor)
        field = page.get_by_role("textbox", name="Message")
        await field.fill("I am.")
        clock.advance(IDLE.total_seconds())
        again = page.get_by_role("dialog", name="Your session has ended")
        await again.wait_for()
        await again.get_by_role("textbox", name="Password").fill(PASSWORD)
        await again.get_by_role("button", name="Sign in").click()
        await expect(again).to_be_hidden()
        await expect(field).to_have_value("I am.")
        await field.press("Enter")
        await message_of(messages, "I am.").wait_for()
        await expect(field).to_have_value("")


async def test_a_message_arrives_while_the_list_is_loading(gateway: Gateway) -> None:
    read, release = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        answer = await route.fetch()
        read.set()
        await release.wait()
        await route.fulfill(response=answer)

    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.route("**/api/v1/conversations?*", hold, times=1)
        await visitor.sign_in("/inbox")
        await read.wait()  # the list was empty
        await say(gateway, "Are you there?")
        await expect(page).to_have_title("(1) Inbox – Gatepost")  # the event has arrived
        release.set()
        await message_of(await open_first(visitor), "Are you there?").wait_for()


async def test_a_message_arrives_long_before_the_stream_begins(frozen: Gateway, clock: MovableClock) -> None:
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    async with visiting(frozen) as visitor:
        page = visitor.page
        await page.clock.install()
        await page.route("**/api/v1/account/stream*", hold, times=1)
        await visitor.sign_in("/inbox")
        await visitor.see("No open conversation")
        await say(frozen, "Are you there?")
        await until(lambda: received(frozen))
        clock.advance(20)
        await page.clock.fast_forward(20_000)
        release.set()
        await message_of(await open_first(visitor), "Are you there?").wait_for()
