"""The pages about channels, and the first steps of an account, in a real browser with the real sandbox."""

import re
from typing import Any

from playwright.async_api import Locator, expect

from gatepost.model import ids
from tests.console.test_inbox_page import message_of, open_first
from tests.console.visitor import Visitor, add_person, visiting
from tests.console.watched_page import SMALL
from tests.gateway.checks import PERSON, SEND, TEXT
from tests.gateway.failing_webhooks import create_webhook
from tests.running_gateway import Gateway

NUMBER = {"phone_number_id": "100000000000007", "phone": "15550007777", "waba_id": "200000000000007"}
SECRETS = {"token": "right-token", "app_secret": "right-secret", "name": "Bakery Ltd"}
EVIL = '<img src=x onerror="document.title=1">'


async def fill(visitor: Visitor, **fields: str) -> None:
    """Fill in the form of an official number, and test it."""
    page = visitor.page
    await page.get_by_label("Phone number id").fill(NUMBER["phone_number_id"])
    await page.get_by_label("WhatsApp Business account id").fill(NUMBER["waba_id"])
    for label, value in fields.items():
        await page.get_by_label(label.replace("_", " ").capitalize(), exact=True).fill(value)
    await page.get_by_role("button", name="Test", exact=True).click()


async def control(gateway: Gateway, phone: str, **body: Any) -> None:
    """Link the phone of the one session that waits, at the sandbox."""
    await gateway.sandbox("POST", f"/control/phones/{phone}/scan", body)


def card(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("article", name=f"Channel {name}")


async def edit_and_delete_a_text(visitor: Visitor, channel: str) -> None:
    """Send a text over a linked phone, edit it in the inbox, and delete it."""
    gateway, page = visitor.gateway, visitor.page
    channel_id = ids.parse_id("ch", channel)
    assert channel_id
    body = {"phone": PERSON, "body": "First words"}
    assert (await gateway.call("POST", SEND, body, key=await gateway.new_key(channel_id))).status == 200
    await visitor.open(f"/inbox?channel={channel}")
    messages = await open_first(visitor)
    message = message_of(messages, "First words")
    await message.get_by_role("img", name="Read").wait_for()
    await message.hover()
    await message.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Edit the message")
    await dialog.get_by_label("Text").fill("Second words")
    assert not await visitor.accessibility_problems("editing")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    sent = message_of(messages, "Second words")
    await sent.hover()
    await sent.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Delete for everyone").click()
    question = page.get_by_role("dialog", name="Delete the message for everyone")
    await question.get_by_role("button", name="Delete", exact=True).click()
    await expect(question).to_have_count(0)
    await expect(sent).to_have_count(0)


async def test_a_qr_channel_is_added_linked_and_logged_out(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/channels")
        page = visitor.page
        await page.get_by_role("link", name="Add a channel").click()
        await page.get_by_role("button", name="Phone by QR code").click()
        await page.get_by_label("Name").fill(EVIL)
        await page.get_by_label("Phone number").fill("12")
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_label("Phone number")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Phone number").fill("+1 555 000-3333")
        await page.get_by_role("button", name="Continue").click()
        code = page.get_by_role("img", name="QR code to link the phone").locator("path")
        await code.wait_for()
        first = await code.get_attribute("d")
        await gateway.sandbox("POST", "/control/clock", {"advance": 61})  # the first code expires at the network
        await expect(code).not_to_have_attribute("d", first or "")
        await page.get_by_role("button", name="Use a pairing code instead").click()
        await page.get_by_role("button", name="Get a code").click()
        await expect(page.get_by_test_id("copy-value")).to_have_text(re.compile("[A-Z0-9]{4}-?[A-Z0-9]{4}"))
        assert not await visitor.accessibility_problems("linking")
        session = page.url.rpartition("/")[2].partition("?")[0]
        await control(gateway, "15550003333", session=session)
        await visitor.see("The phone +15550003333 is linked")
        await expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)
        await edit_and_delete_a_text(visitor, session)
        await visitor.open(f"/channels/{session}")
        await page.get_by_role("button", name="Log out").click()
        await page.get_by_role("dialog").get_by_role("button", name="Log out").click()
        await page.get_by_role("button", name="Link a phone").wait_for()
        await page.get_by_role("button", name="Delete", exact=True).click()
        await page.get_by_label("Number", exact=True).fill("1")
        await page.get_by_role("button", name="Delete the channel").click()
        await visitor.see("This is not the number of the channel.")
        await page.get_by_label("Number", exact=True).fill("15550003333")
        await page.get_by_role("button", name="Delete the channel").click()
        await card(visitor, "Test").wait_for()
        await expect(card(visitor, EVIL)).to_have_count(0)


async def test_an_official_number_with_a_wrong_token_then_the_right_one(gateway: Gateway) -> None:
    await gateway.sandbox("POST", "/control/numbers", NUMBER | SECRETS)
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/channels/new")
        page = visitor.page
        await page.get_by_role("button", name="Official number").click()
        await fill(visitor, access_token="wrong-token", app_secret="right-secret")
        checks = page.get_by_role("list", name="Checks").get_by_role("listitem")
        await checks.filter(has_text="The network rejects the access token").wait_for()
        await expect(page.get_by_role("button", name="Add the number")).to_have_count(0)
        await page.get_by_role("button", name="Change the credentials").click()
        await fill(visitor, access_token="right-token")
        await expect(checks.get_by_role("img", name="Passed")).to_have_count(6)
        await page.get_by_role("button", name="Add the number").click()
        values = page.get_by_test_id("copy-value")
        await expect(values).to_have_count(2)
        callback, verify = await values.all_inner_texts()
        where = {"callback_url": callback, "verify_token": verify}
        await gateway.sandbox("POST", "/control/numbers", NUMBER | SECRETS | where)  # verifies the address
        await page.get_by_role("button", name="Done").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Bakery Ltd")
        await page.get_by_text("AVAILABLE").wait_for()
        await page.get_by_label("About").fill("Open until six")
        await page.get_by_role("button", name="Save the profile").click()
        await visitor.see("The profile is changed.")
        await page.get_by_role("textbox", name="Messages per second").fill("20")
        await page.get_by_role("button", name="Save the limits").click()
        await expect(page.get_by_label("Messages per second: 0 of 20")).to_be_attached()
        await page.get_by_label("Name of the channel").fill("Sales")
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sales")
        assert "right-token" not in await page.content()


async def test_a_dead_token_turns_red_and_a_new_one_green(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/channels")
        page = visitor.page
        await expect(card(visitor, "Test")).to_contain_text("Connected")
        await gateway.sandbox("PATCH", "/control/numbers/100000000000001", {"token": "new-token"})
        message = await gateway.send(**TEXT)
        await expect(card(visitor, "Test")).to_contain_text("Access token rejected")
        assert not await visitor.accessibility_problems("the list")
        await visitor.open("/contacts")
        notice = page.get_by_role("alert", name="Channels with problems")
        await notice.get_by_role("link").click()
        await page.get_by_role("button", name="Set a new token").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Access token").fill("guess")
        await dialog.get_by_role("button", name="Test and save").click()
        await dialog.get_by_text("The network rejects the access token").wait_for()
        await dialog.get_by_label("Access token").fill("new-token")
        await dialog.get_by_role("button", name="Test and save").click()
        await visitor.see("The new token works.")
        await page.get_by_role("main").get_by_text("Connected", exact=True).wait_for()
        await expect(notice).to_have_count(0)
        await gateway.until_status(message, "READ")


async def test_the_first_steps_tick_themselves_off(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in()
        page = visitor.page
        steps = page.get_by_role("region", name="First steps")
        ticks = steps.get_by_role("img", name="Done")
        await expect(ticks).to_have_count(1)
        assert not await visitor.accessibility_problems("first steps")
        await gateway.send(**TEXT)
        await expect(ticks).to_have_count(2)
        await create_webhook(gateway, "http://127.0.0.1:8999/hooks")
        await expect(ticks).to_have_count(3)
        await visitor.see("You are all set")
        await page.reload()
        await page.get_by_role("button", name="Your menu").wait_for()
        await expect(steps).to_have_count(0)


async def test_the_first_steps_can_be_hidden_and_readers_change_no_channel(gateway: Gateway) -> None:
    await add_person(gateway, "reader", "rita@example.com")
    await gateway.send(**TEXT)
    async with visiting(gateway) as visitor:
        await visitor.sign_in()
        page = visitor.page
        await open_first(visitor)
        await page.get_by_role("region", name="First steps").wait_for()
        await page.set_viewport_size({"width": SMALL, "height": 740})
        await expect(page.get_by_role("region", name="First steps")).to_be_hidden()  # the thread has the screen
        await page.get_by_role("button", name="Back to the list").click()
        await page.get_by_role("button", name="Hide the first steps").click()
        await page.reload()
        await page.get_by_role("button", name="Menu", exact=True).click()
        await page.get_by_role("button", name="Your menu").wait_for()
        await expect(page.get_by_role("region", name="First steps")).to_have_count(0)
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/channels", "rita@example.com")
        await card(visitor, "Test").get_by_role("link").click()
        page = visitor.page
        await visitor.see("Only owners change channels.")
        await expect(page.get_by_role("button", name="Delete")).to_have_count(0)
        await expect(page.get_by_text("Verify token")).to_have_count(0)
        await visitor.open("/channels/new")
        await visitor.see("Only owners add channels")
