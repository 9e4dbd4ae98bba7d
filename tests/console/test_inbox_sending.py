"""What the composer of the inbox sends besides text: files, buttons, lists and special templates."""

import asyncio
import base64
from copy import copy

from playwright.async_api import Locator, Page, Route, expect

from tests.console.test_inbox_page import DAY_MS, PICTURE, incoming, message_of, open_first, say, write
from tests.console.visitor import Visitor, visiting
from tests.console.watched_page import watching
from tests.gateway.checks import PERSON, until
from tests.running_gateway import Gateway

MB = 1_048_576
OTHER_NUMBER = "100000000000007"
FILE = """([name, type, content, size]) => {
    const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes, new Uint8Array(size)], name, {type}));
    return data;
}"""


async def drop(page: Page, form: Locator, name: str, type_: str, content: str = "", more: int = 0) -> None:
    """Drop a file on the composer: these bytes, and as many zeros."""
    data = await page.evaluate_handle(FILE, [name, type_, content, more])
    await form.dispatch_event("dragover", {"dataTransfer": data})
    await expect(form).to_have_attribute("data-over", "true")
    await form.dispatch_event("drop", {"dataTransfer": data})
    await expect(form).not_to_have_attribute("data-over", "true")


async def stray(page: Page, place: Locator) -> dict[str, str]:
    """Drop a file where nothing takes it; return what the page allows. The browser opens a file that is not refused."""
    data = await page.evaluate_handle(FILE, ["stray.png", "image/png", PICTURE, 0])
    found: dict[str, str] = await place.evaluate(
        """(element, dataTransfer) => Object.fromEntries(["dragover", "drop"].map((type) => {
            const event = new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true});
            return [type, element.dispatchEvent(event) ? "opens the file" : event.dataTransfer.dropEffect];
        }))""",
        data,
    )
    return found


async def test_files_are_dropped_refused_and_sent(gateway: Gateway) -> None:
    await say(gateway, "Show me the menu, please.")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        uploads: list[str] = []
        page.on("request", lambda request: uploads.append(request.url) if "/api/v1/media" in request.url else None)
        messages = await open_first(visitor)
        form = page.get_by_role("form", name="Message")
        await form.wait_for()
        alert = page.get_by_role("alert")
        for name, type_, limit in (("large.png", "image/png", 5), ("large.mp4", "video/mp4", 16)):
            await drop(page, form, name, type_, more=limit * MB + 1)
            await expect(alert).to_contain_text(
                f"“{name}” is too large: the network takes a file of this type up to {limit} MB."
            )
        await drop(page, form, "empty.pdf", "application/pdf")
        await expect(alert).to_contain_text("“empty.pdf” is empty.")
        await expect(form.get_by_role("button", name="Remove")).to_have_count(0)
        await expect(form.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        assert uploads == []
        for place in (messages, page.get_by_role("searchbox", name="Search conversations")):
            assert await stray(page, place) == {"dragover": "none", "drop": "none"}

        await drop(page, form, "menu.png", "image/png", PICTURE)
        await expect(alert).to_have_count(0)
        await drop(page, form, "prices.pdf", "application/pdf", base64.b64encode(b"%PDF-1.4").decode())
        await form.get_by_text("menu.png · ").wait_for()
        await form.get_by_role("button", name="Remove prices.pdf").click()
        await expect(form.get_by_text("prices.pdf")).to_have_count(0)
        await page.get_by_role("textbox", name="Message").fill("Here it is")
        await form.get_by_role("button", name="Send", exact=True).click()
        sent = message_of(messages, "Here it is")
        await sent.get_by_role("img", name="Read").wait_for()
        picture = sent.get_by_role("img", name="Picture")
        await expect(picture).to_have_js_property("naturalWidth", 1)
        await expect(form.get_by_text("menu.png")).to_have_count(0)
        (entry,) = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        assert (entry["type"], entry["content"]["caption"]) == ("image", "Here it is")


async def test_a_person_whose_number_is_hidden_gets_messages(gateway: Gateway) -> None:
    await incoming(gateway, "text", {"body": "Who am I?"}, user_id="BR.1349", phone_hidden=True, name="Eva")
    async with visiting(gateway) as visitor:
        await visitor.page.clock.install()
        await visitor.sign_in("/inbox")
        messages = await open_first(visitor)
        await write(visitor, "You are Eva.")
        await message_of(messages, "You are Eva.").get_by_role("img", name="Read").wait_for()
        question = message_of(messages, "Who am I?")
        await question.hover()
        await question.get_by_role("button", name="Actions").click()
        await visitor.page.get_by_role("menuitem", name="React 👍").click()
        await expect(question).to_contain_text("👍")

        async def reacted() -> list[str]:
            entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
            return [entry["to"] for entry in entries if entry["type"] == "reaction"]

        assert await until(reacted) == [PERSON]
        await messages.get_by_text("Today").wait_for()
        await visitor.page.clock.fast_forward(DAY_MS)  # the page stays open overnight
        await messages.get_by_text("Yesterday").wait_for()


async def test_what_is_typed_while_a_message_is_sent_stays(gateway: Gateway) -> None:
    await say(gateway, "Are you open?")
    arrived = asyncio.Event()

    async def hold(route: Route) -> None:
        await arrived.wait()
        await route.continue_()

    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        messages, field = await open_first(visitor), page.get_by_role("textbox", name="Message")
        await page.route("**/api/v1/message/send", hold, times=1)
        await field.fill("Yes.")
        await field.press("Enter")
        await field.press_sequentially(" Until six.")
        await field.press("Enter")  # nothing is sent before the first message is
        arrived.set()
        await message_of(messages, "Yes.").wait_for()
        await expect(field).to_have_value("Until six.")
        await field.press("Enter")
        await message_of(messages, "Until six.").wait_for()
        await expect(field).to_have_value("")


async def test_what_was_not_sent_stays_in_its_conversation_and_is_sent_by_one_tab(gateway: Gateway) -> None:
    await say(gateway, "Show me the menu, please.")
    left = asyncio.Event()

    async def refuse(route: Route) -> None:
        await left.wait()
        await route.fulfill(status=507, json={"message": "No space left", "error": {"code": "quota"}})

    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        messages, field = await open_first(visitor), page.get_by_role("textbox", name="Message")
        form = page.get_by_role("form", name="Message")
        question = message_of(messages, "Show me the menu, please.")
        await question.hover()
        await question.get_by_role("button", name="Actions").click()
        await page.get_by_role("menuitem", name="Reply").click()
        await expect(field).to_be_focused()
        await drop(page, form, "menu.png", "image/png", PICTURE)
        await page.get_by_role("button", name="Details").click()
        await page.get_by_label("New note").fill("Asks for the menu")
        await page.route("**/api/v1/media", refuse, times=1)
        await field.fill("Here it is")
        await field.press("Enter")
        await page.get_by_role("link", name="Contacts").click()
        await page.get_by_role("heading", name="Contacts").wait_for()
        left.set()
        await visitor.see("was not sent. No space left")
        await page.go_back()
        await form.get_by_text("menu.png · ").wait_for()
        await expect(field).to_have_value("Here it is")
        await form.get_by_text("Reply to Ana Souza: Show me the menu, please.").wait_for()
        await expect(field).not_to_be_focused()
        await page.get_by_role("button", name="Details").click()
        await expect(page.get_by_label("New note")).to_have_value("Asks for the menu")
        await page.get_by_role("button", name="Add the note").click()
        await page.get_by_role("region", name="Notes").get_by_text("Asks for the menu").wait_for()
        await expect(page.get_by_label("New note")).to_have_value("")
        second = await page.context.new_page()
        await second.goto(page.url)
        same = second.get_by_role("textbox", name="Message")
        await expect(same).to_have_value("Here it is")
        await field.press("Enter")
        await message_of(messages, "Here it is").wait_for()
        await expect(same).to_have_value("")  # it would be sent twice
        await message_of(messages, "Here it is").get_by_role("button", name="Show me the menu").wait_for()
        await expect(form.get_by_text("Reply to")).to_have_count(0)


async def test_a_page_without_https_sends_notes_and_copies(gateway: Gateway) -> None:
    """Of an address in the local network, browsers keep back what they give pages with https, and localhost."""
    await say(gateway, "Are you open?")
    elsewhere = copy(gateway)
    elsewhere.url = gateway.url.replace("127.0.0.1", "gateway.test")
    flags = ("--host-resolver-rules=MAP gateway.test 127.0.0.1",)
    async with watching(lambda page: Visitor(page, elsewhere), flags=flags) as visitor:
        page = visitor.page
        await visitor.open("/inbox")
        assert not await page.evaluate("isSecureContext")
        await visitor.fill_sign_in()
        messages = await open_first(visitor)
        await write(visitor, "Yes, until six.")
        answer = message_of(messages, "Yes, until six.")
        await answer.wait_for()
        await page.get_by_role("button", name="Details").click()
        await page.get_by_label("New note").fill("Asks for our hours")
        await page.get_by_role("button", name="Add the note").click()
        await page.get_by_role("region", name="Notes").get_by_text("Asks for our hours").wait_for()
        await answer.hover()
        await answer.get_by_role("button", name="Actions").click()
        await page.get_by_role("menuitem", name="Copy the text").click()
        await visitor.see("Copied.")
        visitor.problems = [one for one in visitor.problems if "Cross-Origin-Opener-Policy" not in one]  # needs https


async def test_buttons_and_a_list_are_sent(gateway: Gateway) -> None:
    await say(gateway, "What do you have?")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        messages = await open_first(visitor)
        dialog = page.get_by_role("dialog")
        send = dialog.get_by_role("button", name="Send", exact=True)
        await visitor.choose("Send something else", "Buttons")
        await dialog.get_by_label("Text").fill("Coffee or tea?")
        await expect(send).to_be_disabled()
        for number, title in ((1, "Tea"), (2, "Tea")):
            await dialog.get_by_role("textbox", name=f"Button {number}").fill(title)
        await expect(dialog.get_by_role("alert")).to_contain_text("Two buttons have the same text.")
        await expect(send).to_be_disabled()
        await dialog.get_by_role("textbox", name="Button 2").fill("Coffee")
        await dialog.get_by_role("button", name="Add a button").click()
        await dialog.get_by_role("textbox", name="Button 3").fill("Milk")
        await expect(dialog.get_by_role("button", name="Add a button")).to_have_count(0)
        await dialog.get_by_role("button", name="Remove button 1").click()
        await page.mouse.click(5, 5)  # outside of the dialog, which keeps what was written
        await page.keyboard.press("Escape")
        await send.click()
        await expect(dialog).to_have_count(0)
        buttons = message_of(messages, "Coffee or tea?")
        await buttons.get_by_role("img", name="Read").wait_for()
        await expect(buttons).to_contain_text("Milk")

        await visitor.choose("Send something else", "List")
        await dialog.get_by_label("Text").fill("Our bread")
        await dialog.get_by_role("textbox", name="Row 1").fill("Rye")
        await dialog.get_by_label("Description").first.fill("Dark")
        await dialog.get_by_role("textbox", name="Row 2").fill("Wheat")
        await send.click()
        await message_of(messages, "Our bread").get_by_role("img", name="Read").wait_for()
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        replies, listed = [entry["content"]["action"] for entry in entries]
        assert [one["reply"]["title"] for one in replies["buttons"]] == ["Coffee", "Milk"]
        assert listed["button"] == "Choose"
        assert listed["sections"][0]["rows"] == [
            {"id": "row_1", "title": "Rye", "description": "Dark"},
            {"id": "row_2", "title": "Wheat"},
        ]


OFFER = {
    "name": "easter",
    "language": "en_US",
    "category": "MARKETING",
    "components": [
        {"type": "LIMITED_TIME_OFFER", "limited_time_offer": {"text": "Easter cakes", "has_expiration": True}},
        {"type": "BODY", "text": "Only this week: all cakes at half price."},
        {"type": "BUTTONS", "buttons": [{"type": "COPY_CODE", "example": "EGG25"}]},
    ],
}
PRODUCTS = {
    "name": "breads",
    "language": "en_US",
    "category": "MARKETING",
    "components": [
        {"type": "BODY", "text": "Choose your bread for tomorrow."},
        {"type": "BUTTONS", "buttons": [{"type": "MPM", "text": "View items"}]},
    ],
}


async def choose_template(visitor: Visitor, name: str) -> Locator:
    """Choose a template in the dialog of the composer; return the dialog."""
    page = visitor.page
    await visitor.choose("Send something else", "Template")
    dialog = page.get_by_role("dialog", name="Send a template")
    await dialog.get_by_role("combobox", name="Template").click()
    await page.get_by_role("option", name=f"{name} (en_US)").click()
    return dialog


async def test_an_offer_and_products_are_sent_and_drawn_as_in_the_preview(gateway: Gateway) -> None:
    channel = await gateway.new_channel(gateway.account_id, "15550007777", OTHER_NUMBER, waba_id="200000000000001")
    gateway.key = await gateway.new_key(channel.id)
    for template in (OFFER, PRODUCTS):
        made = await gateway.call("POST", "/api/v1/templates", template)
        assert made.status == 201, made.body
    await gateway.sandbox("POST", "/control/clock", {"advance": 7200})
    await gateway.call("POST", "/api/v1/templates/sync", {})
    await say(gateway, "What is new?", number=OTHER_NUMBER)
    async with visiting(gateway) as visitor:
        await visitor.sign_in(f"/inbox?channel=ch_{channel.id.hex}")
        messages = await open_first(visitor)
        dialog = await choose_template(visitor, "easter")
        send = dialog.get_by_role("button", name="Send", exact=True)
        preview = dialog.get_by_role("region", name="Preview")
        await dialog.get_by_label("Code to copy").fill("EGG25")
        await expect(preview).to_contain_text("Easter cakes")
        await expect(send).to_be_disabled()  # the end is missing
        await dialog.get_by_label("End of the offer").fill("2099-04-12T18:00")
        await expect(preview).to_contain_text("Easter cakes · until 12 Apr 2099, 18:00:00")
        await send.click()
        await expect(dialog).to_have_count(0)
        offer = message_of(messages, "all cakes at half price")
        await offer.get_by_role("img", name="Read").wait_for()
        await expect(offer).to_contain_text("Easter cakes · until 12 Apr 2099, 18:00:00")

        dialog = await choose_template(visitor, "breads")
        lists = dialog.get_by_role("group")
        await lists.get_by_label("Ids of products").fill("rye\n<b>wheat</b>\n")
        await dialog.get_by_role("button", name="Add a section").click()
        await lists.nth(1).get_by_label("Ids of products").fill("apple-cake")
        await expect(send).to_be_disabled()  # several sections have titles
        for number, title in enumerate(("Bread", "Cake")):
            await lists.nth(number).get_by_label("Title").fill(title)
        await expect(preview).to_contain_text("Breadrye<b>wheat</b>Cakeapple-cake")
        assert not await visitor.accessibility_problems("products of a template")
        await send.click()
        await expect(dialog).to_have_count(0)
        products = message_of(messages, "Choose your bread")
        await products.get_by_role("img", name="Read").wait_for()
        await expect(products).to_contain_text("Breadrye<b>wheat</b>Cakeapple-cake")
        assert not await visitor.accessibility_problems("messages with an offer and products")
        entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        assert [entry["content"]["name"] for entry in entries] == ["easter", "breads"]
