"""The phones on the page: what a business sends is shown, and what the person does arrives at the business."""

import re
from pathlib import Path

from playwright.async_api import Page, expect
from pyreqwest.client import Client

from gatepost_sandbox import SandboxSettings
from tests.sandbox.conftest import running
from tests.sandbox.driver import NUMBER, Driver, Receiver
from tests.sandbox.page.chatting import (
    ANA,
    ANAS_CHAT,
    BRUNO,
    attach,
    begin,
    bubble,
    list_message,
    png,
    products,
    received,
    reply_buttons,
    sound,
    write,
)
from tests.sandbox.page.viewer import viewing


async def choose(page: Page, text: str, action: str) -> None:
    """Open the actions of a message with a right click, and choose one."""
    await bubble(page, text).click(button="right", position={"x": 8, "y": 8})
    await page.get_by_role("dialog", name="Message").get_by_role("button", name=action, exact=True).click()


async def test_a_message_is_shown_as_new_and_answered(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}")
        await viewer.see("No chats yet")
        await expect(page).to_have_title("Ana Souza – Gatepost phone")
        wamid = await write(sandbox, "text", {"body": "Your *parcel* is here: https://example.com/p_1_2"})
        await expect(page.locator(".banner")).to_contain_text("Your parcel is here")
        await expect(page).to_have_title("(1) Ana Souza – Gatepost phone")
        row = page.locator(".chat-row")
        await expect(row).to_contain_text("1 unread")
        await received(receiver, "delivered")
        assert "read" not in receiver.labels()  # the chat was not open

        await row.click()
        assert (await received(receiver, "read"))["id"] == wamid
        await page.locator("strong", has_text="parcel").wait_for()
        link = page.get_by_role("link", name="https://example.com/p_1_2")
        assert (await link.get_attribute("rel"), await link.get_attribute("target")) == (
            "noopener noreferrer",
            "_blank",
        )
        await expect(page).to_have_title("Ana Souza – Gatepost phone")

        message = page.get_by_label("Message", exact=True)
        await message.fill("Thank you,")
        await message.press("Shift+Enter")
        await message.press_sequentially("Ana")
        await message.press("Enter")
        assert (await received(receiver, "text"))["text"]["body"] == "Thank you,\nAna"
        await expect(bubble(page, "Thank you")).to_contain_text("Delivered")

        await message.fill("Where?")
        await choose(page, "Your parcel is here", "Reply")
        await expect(message).to_be_focused()
        await message.press("Escape")
        await expect(page.get_by_role("button", name="Cancel the reply")).to_have_count(0)
        await expect(message).to_have_value("Where?")
        await choose(page, "Your parcel is here", "Reply")
        await page.get_by_role("button", name="Send", exact=True).click()
        quoting = await received(receiver, "text", 2)
        assert (quoting["text"]["body"], quoting["context"]["id"]) == ("Where?", wamid)

        await choose(page, "Your parcel is here", "React with 👍")
        assert (await received(receiver, "reaction"))["reaction"] == {"message_id": wamid, "emoji": "👍"}
        await expect(page.get_by_label("Reactions")).to_have_text("👍")

        await choose(page, "Where?", "Edit")
        await message.fill("Where exactly?")
        await page.route("**/send", lambda route: route.fulfill(status=503, json={"error": "busy"}), times=1)
        await message.press("Enter")
        await expect(message).to_have_value("Where exactly?")  # still an edit, and no new message
        await message.press("Enter")
        await expect(bubble(page, "Where exactly?")).to_contain_text("Edited")
        await choose(page, "Where exactly?", "Delete for everyone")
        await viewer.see("This message was deleted")
        assert [one["type"] for one in receiver.updates() if "type" in one][-2:] == ["edit", "revoke"]


async def test_choices_of_a_message_arrive_as_the_network_reports_them(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(ANAS_CHAT)
        await viewer.see("No messages yet")
        asked = await write(sandbox, "interactive", reply_buttons("Yes", "No"))
        await page.get_by_role("button", name="No", exact=True).click()
        answer = await received(receiver, "interactive")
        assert answer["interactive"]["button_reply"] == {"id": "b1", "title": "No"}
        assert answer["context"]["id"] == asked

        await write(sandbox, "interactive", list_message())
        await page.get_by_role("button", name="Choose a time").click()
        sheet = page.get_by_role("dialog", name="Choose a time")
        await sheet.get_by_role("group", name="Today").get_by_text("At the shop").wait_for()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Choose a time")).to_be_focused()
        await page.keyboard.press("Enter")
        await sheet.get_by_role("radio", name="18:00").check()
        await sheet.get_by_role("button", name="Send").click()
        row = await received(receiver, "interactive", 2)
        assert row["interactive"]["list_reply"]["id"] == "r2"

        await write(sandbox, "interactive", products("beans-1", "beans-2"))
        await page.get_by_role("button", name="View and order").click()
        cart = page.get_by_role("dialog", name="Cart")
        await expect(cart.get_by_role("button", name="Send order")).to_be_disabled()
        await cart.get_by_role("button", name="More of beans-2").click()
        await cart.get_by_role("button", name="More of beans-2").click()
        await cart.get_by_label("Price of beans-2").fill("4.5")
        await cart.get_by_label("Currency").fill("brl")
        await expect(cart).to_contain_text(re.compile(r"R\$\s?9\.00"))
        await cart.get_by_role("button", name="Send order").click()
        order = (await received(receiver, "order"))["order"]
        assert order["catalog_id"] == "c1"
        assert order["product_items"] == [
            {"product_retailer_id": "beans-2", "quantity": 2, "item_price": 4.5, "currency": "BRL"}
        ]
        await bubble(page, "Order: 2 items").wait_for()


async def test_files_places_and_contacts(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(ANAS_CHAT)
        await attach(page, "Photo or video", "cup.png", "image/png", png())
        await page.get_by_label("Caption").fill("My cup")
        await page.get_by_role("button", name="Send", exact=True).click()
        image = (await received(receiver, "image"))["image"]
        assert (image["mime_type"], image["caption"]) == ("image/png", "My cup")
        await page.get_by_role("button", name="Open Photo: My cup").click()
        picture = page.get_by_role("dialog", name="Photo").get_by_role("img")
        await expect(picture).to_have_js_property("naturalWidth", 120)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Open Photo: My cup")).to_be_focused()

        await attach(page, "Voice message from a file", "hello.wav", "audio/wav", sound())
        await page.get_by_role("button", name="Send", exact=True).click()
        audio = (await received(receiver, "audio"))["audio"]
        assert (audio["mime_type"], audio["voice"]) == ("audio/wav", True)
        player = page.locator(".messages .audio-player")
        await player.get_by_text("0:01").wait_for()
        await player.get_by_role("button", name="Play voice message").click()
        await expect(player.locator("audio")).to_have_js_property("ended", value=True)

        await attach(page, "File", "menu.pdf", "application/pdf", b"%PDF-1.4")
        await page.get_by_role("button", name="Send", exact=True).click()
        assert (await received(receiver, "document"))["document"]["filename"] == "menu.pdf"
        async with page.expect_download() as downloading:
            await page.get_by_role("link", name="Download menu.pdf").click()
        assert (await (await downloading.value).path()).read_bytes() == b"%PDF-1.4"

        await page.get_by_role("button", name="Record a voice message").click()  # the test's browser has no microphone
        await page.get_by_role("dialog", name="No recording").get_by_role("alert").wait_for()
        await page.keyboard.press("Escape")

        await page.get_by_role("button", name="Send something else").click()
        await page.get_by_role("button", name="Location", exact=True).click()
        await page.get_by_label("Latitude").fill("52.52")
        await page.get_by_label("Longitude").fill("13.4")
        await page.get_by_role("button", name="Send location").click()
        place = (await received(receiver, "location"))["location"]
        assert (place["latitude"], place["longitude"]) == (52.52, 13.4)
        await viewer.see("52.52000, 13.40000")

        await page.get_by_role("button", name="Send something else").click()
        await page.get_by_role("button", name="Contact", exact=True).click()
        await page.get_by_role("button", name="Send contact").click()
        card = (await received(receiver, "contacts"))["contacts"][0]
        assert card["name"]["formatted_name"] == "Ana Souza"


async def test_two_phones_beside_each_other_and_in_two_tabs(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as both, viewing(sandbox.base, width=360) as bruno:
        await both.open(f"#/{ANA}/{NUMBER}+{BRUNO}")
        await bruno.open(f"#/{BRUNO}/{NUMBER}")
        await bruno.see("No messages yet")
        left, right = (both.page.get_by_role("region", name=f"Phone of {name}") for name in ("Ana Souza", "Bruno Lima"))
        await left.get_by_text("No messages yet").wait_for()
        await write(sandbox, "text", {"body": "for Ana"}, ANA)
        await write(sandbox, "text", {"body": "for Bruno"}, BRUNO)
        await expect(left.get_by_role("article")).to_contain_text("for Ana")
        await expect(right.locator(".chat-row")).to_contain_text("for Bruno")
        await bruno.see("for Bruno")
        await expect(left.get_by_text("for Bruno")).to_have_count(0)
        await bruno.page.get_by_label("Message", exact=True).fill("Thanks")
        await bruno.page.keyboard.press("Enter")
        assert (await received(receiver, "text"))["from"] == BRUNO
        await expect(right.locator(".chat-row")).to_contain_text("Thanks")
        await both.page.get_by_role("button", name="Remove the phone of Ana Souza").click()
        await expect(left).to_have_count(0)
        assert both.page.url.endswith(f"#/{BRUNO}")


async def test_reload_and_restart_keep_the_chat(client: Client, tmp_path: Path) -> None:
    settings = SandboxSettings(seed=1)
    with running(settings, tmp_path) as port:
        sandbox = Driver(client, port)
        await sandbox.register()
        await begin(sandbox)
        async with viewing(sandbox.base) as viewer:
            page = viewer.page
            await viewer.open(ANAS_CHAT)
            await write(sandbox, "text", {"body": "before the restart"})
            await viewer.see("before the restart")
            await attach(page, "Photo or video", "cup.png", "image/png", png())
            await page.get_by_role("button", name="Send", exact=True).click()
            await page.get_by_role("button", name="Open Photo").wait_for()
            await page.reload()
            await viewer.see("before the restart")
    async with viewing(f"http://127.0.0.1:{port}") as viewer:
        page = viewer.page
        with running(settings, tmp_path, port):
            await viewer.open(ANAS_CHAT)
            await viewer.see("before the restart")
            await expect(page.get_by_role("button", name="Open Photo").get_by_role("img")).to_have_js_property(
                "naturalWidth", 120
            )
        await viewer.see("Connection lost.")
        with running(settings, tmp_path, port):
            await expect(page.get_by_text("Connection lost.")).to_have_count(0)
            await write(sandbox, "text", {"body": "after the restart"})
            await viewer.see("after the restart")


async def test_people_and_numbers_that_are_missing_can_be_created(empty: Driver) -> None:
    await empty.control("POST", "clock", {"frozen": False})
    async with viewing(empty.base) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}")
        await viewer.see("Nobody has +55 11 99999 0000 yet")
        await page.get_by_label("Name").fill("Ana")
        await page.get_by_role("button", name="Create the person").click()
        await viewer.see("No number yet")
        command = await page.locator("pre").inner_text()
        assert f"curl -X POST {empty.base}/control/numbers" in command
        await empty.register()
        await viewer.see("No chats yet")
        await viewer.open(f"#/{ANA}/999")
        await viewer.see("No chat with 999")
        await page.get_by_role("button", name="Create an official number").click()
        await viewer.see("No messages yet")
        assert (await empty.control("GET", "numbers/999"))["token"] == "secret-token"
        await viewer.open(f"#/{ANA}/15550009999")
        await page.get_by_role("button", name="Create a phone for a QR code").click()
        await viewer.see("No messages yet")
        assert (await empty.control("GET", "phones/15550009999"))["sessions"] == []
        await viewer.open("#/")
        await page.get_by_role("link", name="Ana").click()
        await page.get_by_role("button", name="New chat").click()
        await page.get_by_role("button", name="Acme").click()
        await viewer.see("No messages yet")
    assert (await empty.control("GET", f"people/{ANA}"))["reads"] == "when_open"
