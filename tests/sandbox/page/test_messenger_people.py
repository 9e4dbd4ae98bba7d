"""The phones on the page: what a person changes about the phone, and chats with a phone linked by QR code."""

from playwright.async_api import Page, expect

from tests.sandbox.driver import NUMBER, Driver, Receiver
from tests.sandbox.incoming import news
from tests.sandbox.page.chatting import ANA, ANAS_CHAT, BRUNO, begin, bubble, received, write
from tests.sandbox.page.viewer import viewing
from tests.sandbox.qr.conftest import Dial, dial, link_up
from tests.sandbox.qr.peer import PHONE, Peer, hex_id

__all__ = ["dial"]  # a fixture of the QR network
NEW = "5511977776666"


async def menu(page: Page, name: str, item: str) -> None:
    await page.get_by_role("button", name=name).click()
    await page.get_by_role("menuitem", name=item, exact=True).click()


async def test_blocking_reporting_and_stopping_marketing(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(ANAS_CHAT)
        await viewer.see("No messages yet")
        await menu(page, "Chat menu", "Block")
        await viewer.see("You blocked this number")
        await expect(page.get_by_label("Message", exact=True)).to_have_count(0)
        await write(sandbox, "text", {"body": "Are you there?"})
        assert (await received(receiver, "failed"))["errors"][0]["code"] == 131026
        await page.get_by_role("button", name="Unblock").click()
        await write(sandbox, "text", {"body": "And now?"})
        await bubble(page, "And now?").wait_for()
        await menu(page, "Chat menu", "Stop marketing")
        await page.get_by_role("button", name="Chat menu").click()
        await page.get_by_role("menuitem", name="Resume marketing").wait_for()
        await page.keyboard.press("Escape")
        await menu(page, "Chat menu", "Report and block")
        await viewer.see("Acme was reported and blocked.")
    assert (await sandbox.control("GET", f"numbers/{NUMBER}"))["quality_rating"] == "YELLOW"
    assert "user_preferences" in [field for field, _ in news(receiver)]


async def test_offline_read_receipts_and_another_number(sandbox: Driver, receiver: Receiver) -> None:
    await begin(sandbox)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}")
        await viewer.see("No chats yet")
        await menu(page, "Menu of Ana Souza", "Be offline")
        await page.get_by_role("button", name="Until I end it").click()
        await expect(page.locator(".offline-bar")).to_contain_text("Offline")
        await write(sandbox, "text", {"body": "Later"})
        await received(receiver, "sent")
        await expect(page.locator(".chat-row")).not_to_contain_text("Later")
        assert "delivered" not in receiver.labels()
        await page.get_by_role("button", name="Go online").click()
        await expect(page.locator(".chat-row")).to_contain_text("Later")
        await received(receiver, "delivered")

        await menu(page, "Menu of Ana Souza", "Read receipts")
        receipts = page.get_by_role("dialog", name="Read receipts")
        await expect(receipts.get_by_role("radio", name="When the chat is open")).to_be_checked()
        async with page.expect_response(f"**/control/people/{ANA}") as saving:
            await receipts.get_by_role("radio", name="Never").check()
        assert (await saving.value).status == 200
        await page.keyboard.press("Escape")
        async with page.expect_response("**/read"):
            await page.locator(".chat-row").click()
        await page.get_by_label("Message", exact=True).fill("Hello")
        await page.keyboard.press("Enter")
        await received(receiver, "text")
        assert "read" not in receiver.labels()

        await page.get_by_role("button", name="Back to the chats").click()
        await menu(page, "Menu of Ana Souza", "Change number")
        change = page.get_by_role("dialog", name="Change number")
        await change.get_by_label("New number").fill(BRUNO)
        await change.get_by_role("button", name="Change number").click()
        await viewer.see("is the number of another person")
        await change.get_by_label("New number").fill(f"+{NEW}")
        await change.get_by_role("button", name="Change number").click()
        await page.get_by_role("heading", name="Ana Souza +55 11 97777 6666").wait_for()
        await expect(page.locator(".chat-row")).to_contain_text("Hello")
        assert page.url.endswith(f"#/{NEW}")
        assert (await received(receiver, "system"))["system"]["wa_id"] == NEW


async def test_a_person_without_a_profile_has_a_phone(sandbox: Driver, receiver: Receiver) -> None:
    await write(sandbox, "text", {"body": "Hello stranger"}, BRUNO)
    await sandbox.advance(2)
    async with viewing(sandbox.base) as viewer:
        page = viewer.page
        await viewer.open("#/")
        await page.get_by_role("link", name="no profile").click()
        await expect(page.locator(".chat-row")).to_contain_text("Hello stranger")
        await menu(page, "Menu of Person 7777", "Be offline")
        await viewer.button("For 10 minutes").click()
        await expect(page.locator(".offline-bar")).to_contain_text("Offline until")
        await page.locator(".chat-row").click()
        title = page.locator(".screen-title")
        await expect(title).to_contain_text("window closed")
        await expect(title).not_to_contain_text("online")  # the phone cannot know
        await viewer.button("Go online").click()
        await expect(page.locator(".offline-bar")).to_have_count(0)
        await expect(title).to_contain_text("online")
        await viewer.open("#/")
        await write(sandbox, "text", {"body": "Hello other"}, NEW)
        await expect(page.get_by_role("link", name="no profile")).to_have_count(2)
    assert await sandbox.control("GET", "people") == []


async def test_a_business_is_seen_online(sandbox: Driver) -> None:
    await begin(sandbox)
    await sandbox.control("POST", "clock", {"frozen": True})
    async with viewing(sandbox.base) as viewer:
        title = viewer.page.locator(".screen-title")
        await viewer.open(ANAS_CHAT)
        await viewer.see("No messages yet")
        await expect(title).not_to_contain_text("seen")
        await write(sandbox, "text", {"body": "Hello"})
        await expect(title).to_contain_text("online")
        await sandbox.advance(30)
        await expect(title).to_contain_text("last seen")


async def test_a_chat_with_a_phone_linked_by_qr_code(empty: Driver, dial: Dial) -> None:
    peer: Peer = await dial()
    await link_up(empty, peer)
    await begin(empty)
    async with viewing(empty.base) as viewer:
        page = viewer.page
        await viewer.open(f"#/{ANA}/{PHONE}")
        await viewer.see("No messages yet")
        await peer.send(1, ANA)
        await bubble(page, "Hello").wait_for()
        await peer.ask("typing", to={"phone": ANA}, on=True)
        await expect(page.locator(".screen-title")).to_contain_text("typing…")
        await peer.ask("typing", to={"phone": ANA}, on=False)
        await expect(page.locator(".screen-title")).to_contain_text("online")
        await empty.control("POST", f"phones/{PHONE}/drop", {"seconds": 3600})
        await expect(page.locator(".screen-title")).to_contain_text("last seen")
        await empty.advance(3600)
        await expect(page.locator(".screen-title")).to_contain_text("online")
        await peer.ask("edit", id=hex_id(1), to={"phone": ANA}, type="text", content={"body": "Better"})
        await expect(bubble(page, "Better")).to_contain_text("Edited")
        poll = {"question": "Which?", "options": ["a", "b", "c"]}
        await peer.send(2, ANA, type="poll", content={"poll": poll})
        async with page.expect_response("**/send"):
            await page.get_by_role("group", name="Which?").get_by_role("radio", name="b").check()
        votes = [event for event in await peer.take_numbered() if event.get("type") == "poll_vote"]
        assert [vote["content"]["poll"]["options"] for vote in votes] == [["b"]]
        await page.get_by_label("Message", exact=True).fill("My answer")
        await page.keyboard.press("Enter")
        await expect(bubble(page, "My answer")).to_contain_text("Delivered")
        texts = [event for event in await peer.take_numbered() if event.get("type") == "text"]
        assert [text["content"]["body"] for text in texts] == ["My answer"]
        await peer.ask("delete", id=hex_id(1), to={"phone": ANA})
        await viewer.see("This message was deleted")
