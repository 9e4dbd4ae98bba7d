"""The pages about webhooks, in a real browser, with a real receiver."""

import asyncio
import re
from typing import Any

from playwright.async_api import Locator, Route, expect

from gatepost.store.accounts import get_account
from tests.conftest import Answer, Receiver
from tests.console.visitor import Visitor, add_person, visiting
from tests.console.watched_page import SMALLEST
from tests.gateway.checks import TEXT
from tests.gateway.failing_webhooks import create_webhook
from tests.running_gateway import Gateway

EVIL = '<img src=x onerror="document.title=1"><script>alert(1)</script>'


async def add_endpoint(visitor: Visitor, url: str) -> Locator:
    """Add an endpoint on the page, with a click that counts twice; return its card."""
    page = visitor.page
    await page.get_by_role("button", name="Add an endpoint").click()
    await page.get_by_label("Address").fill(url)
    await page.get_by_role("button", name="Add", exact=True).evaluate("(add) => { add.click(); add.click(); }")
    await expect(page.get_by_test_id("copy-value")).to_contain_text("whsec_")
    await page.get_by_role("button", name="I have copied it").click()
    card = page.get_by_label(f"Endpoint {url}")
    await card.wait_for()
    return card


async def received_types(gateway: Gateway, receiver: Receiver) -> set[str]:
    """Send a message; return the types of its events, which have arrived once it was read."""
    message = await gateway.send(**TEXT)
    while "READ" not in [data.get("status") for data in _about(receiver, message, "ack_notification")]:
        await receiver.wait_for(len(receiver.requests) + 1)
    return {type_ for type_ in ("message_notification", "ack_notification") if _about(receiver, message, type_)}


def _about(receiver: Receiver, message: str, type_: str) -> list[Any]:
    events = [request.json() for request in receiver.requests]
    return [
        event["data"]
        for event in events
        if event["type"] == type_ and event["data"].get("key", {}).get("id") == message
    ]


async def test_an_event_type_is_switched_off_and_on(gateway: Gateway, receiver: Receiver) -> None:
    both = {"message_notification", "ack_notification"}
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/webhooks")
        card = await add_endpoint(visitor, f"{receiver.url}/hooks")
        assert await received_types(gateway, receiver) == both
        switch = card.get_by_role("switch", name="Messages")
        for on, expected in ((False, {"ack_notification"}), (True, both)):
            async with visitor.page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
                await switch.set_checked(on)
            assert (await answered.value).status == 200
            await expect(switch).to_be_checked(checked=on)
            assert await received_types(gateway, receiver) == expected


async def test_a_failing_webhook_is_found_fixed_retried_and_recovered(frozen: Gateway, receiver: Receiver) -> None:
    """The clock stands, so that nothing is retried unless a person asks for it."""
    receiver.answer = Answer(500, {"content-type": "text/html"}, EVIL.encode())
    await create_webhook(frozen, f"{receiver.url}/hooks")
    async with visiting(frozen) as visitor:
        await frozen.send(**TEXT)
        await frozen.send(**TEXT)
        await visitor.sign_in("/webhooks")
        page = visitor.page
        await visitor.see("Failing")
        await page.get_by_role("img", name=re.compile("^0 % of . attempts delivered")).wait_for()
        await page.get_by_role("link", name="Deliveries").click()
        await expect(page.get_by_role("row", name="Retrying")).to_have_count(2)
        await page.get_by_role("combobox", name="Answer").click()
        await page.get_by_role("option", name="2xx").click()
        await visitor.see("Nothing fits these filters")
        assert "2xx" in page.url
        await page.get_by_role("option", name="5xx").click()
        await page.keyboard.press("Escape")
        await page.get_by_role("row", name="Retrying").first.get_by_role("button", name="New message").click()
        details = page.get_by_role("dialog", name="Delivery")
        answer = details.get_by_role("group", name="Answer", exact=True).first
        await expect(answer).to_have_text(EVIL)
        await details.get_by_role("button", name="500 Attempt").first.wait_for()
        assert "delivery=" in page.url
        receiver.answer = Answer(200, {}, b"thank you")
        await details.get_by_role("button", name="Try again").click()
        await details.get_by_text("Delivered", exact=True).wait_for()
        await details.get_by_text("thank you").wait_for()
        await details.get_by_role("button", name="Verify the signature").first.click()
        dialog = page.get_by_role("dialog", name="Verify a payload")
        await dialog.get_by_role("button", name="Verify", exact=True).click()
        await expect(dialog.get_by_role("status")).to_contain_text("Genuine")
        await dialog.get_by_label("Body").fill("{}")
        await dialog.get_by_role("button", name="Verify", exact=True).click()
        await expect(dialog.get_by_role("status")).to_contain_text("Not genuine")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Escape")
        await page.get_by_role("tab", name="Endpoints").click()
        await visitor.choose("Actions for", "Recover missed events")
        await page.get_by_role("button", name="Recover", exact=True).click()
        await visitor.see("Done: 1 event, since")
        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="Deliveries").click()
        await expect(page.get_by_role("row", name="Delivered")).to_have_count(2)
        assert len(receiver.requests) == 4  # two failed, one was retried, one recovered
        assert await page.title() == "Webhooks – Gatepost"


async def test_a_selection_is_retried_and_filters_are_in_the_address(frozen: Gateway, receiver: Receiver) -> None:
    """The clock stands, so that nothing is retried unless a person asks for it."""
    receiver.answer = Answer(500)
    await create_webhook(frozen, f"{receiver.url}/hooks")
    await frozen.send(**TEXT)
    await frozen.send(**TEXT)
    async with visiting(frozen) as visitor:
        await visitor.sign_in("/webhooks/log")
        page = visitor.page
        await expect(page.get_by_role("row", name="Retrying")).to_have_count(2)
        await page.get_by_role("checkbox", name="Select all").check()
        receiver.answer = Answer()
        again = page.get_by_role("region", name="Selected deliveries").get_by_role("button", name="Try again")
        await page.set_viewport_size({"width": SMALLEST, "height": 740})
        await expect(again).to_be_in_viewport(ratio=1)
        await page.set_viewport_size({"width": 1280, "height": 800})
        await again.click()
        await expect(page.get_by_role("row", name="Delivered")).to_have_count(2)
        late, failed = asyncio.Event(), re.compile(r"/api/v1/deliveries\?.*exhausted")

        async def answer_late(route: Route) -> None:
            await late.wait()
            await route.continue_()

        await page.route(failed, answer_late)
        await page.get_by_role("combobox", name="Status").click()
        await page.get_by_role("option", name="Failed").click()
        await page.locator("[inert]").get_by_text("Delivered").first.wait_for()  # rows of the filter before: not usable
        late.set()
        await visitor.see("Nothing fits these filters")
        assert "exhausted" in page.url
        await page.reload()
        await visitor.see("Nothing fits these filters")
        await page.get_by_role("button", name="Clear", exact=True).click()
        await expect(page.get_by_role("row", name="Delivered")).to_have_count(2)


async def test_a_test_event_a_new_secret_and_the_end_of_an_endpoint(gateway: Gateway, receiver: Receiver) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/webhooks")
        page = visitor.page
        card = await add_endpoint(visitor, f"{receiver.url}/hooks")
        await card.get_by_role("button", name="Send a test event").click()
        await page.get_by_role("button", name="Send", exact=True).click()
        await visitor.see("Status 200")
        assert receiver.requests[0].json()["test"] is True
        await page.keyboard.press("Escape")
        await visitor.choose("Actions for", "New signing secret")
        await page.get_by_role("button", name="Make a new secret").click()
        await expect(page.get_by_test_id("copy-value")).to_contain_text("whsec_")
        await page.get_by_role("button", name="I have copied it").click()
        await visitor.choose("Actions for", "Edit")
        await page.get_by_label("Address").fill("http://169.254.169.254/")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Address").fill(f"{receiver.url}/moved")
        more, headers = page.get_by_role("button", name="More settings"), page.get_by_label("Headers")
        await more.click()
        await headers.fill("Authorization")
        await more.click()
        await page.get_by_role("button", name="Save").click()
        await expect(more).to_have_attribute("aria-expanded", "true")
        await visitor.see("“Authorization” is not a header.")
        await headers.fill("")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_label(f"Endpoint {receiver.url}/moved").wait_for()
        await visitor.choose("Actions for", "Delete")
        await page.get_by_role("button", name="Delete", exact=True).click()
        await visitor.see("No endpoint yet")


async def test_a_reader_sees_endpoints_and_changes_none(gateway: Gateway, receiver: Receiver) -> None:
    await create_webhook(gateway, f"{receiver.url}/hooks")
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/webhooks", "rita@example.com")
        await expect(visitor.page.get_by_role("switch", name="Messages")).to_be_disabled()
        await expect(visitor.page.get_by_role("button", name="Add an endpoint")).to_be_hidden()


async def test_a_channel_of_another_account_is_not_shown(gateway: Gateway) -> None:
    stranger = await gateway.new_channel(await gateway.new_account(), "15550009999", "100000000000009")
    assert await get_account(gateway.db, stranger.account_id)
    second = await gateway.new_channel(gateway.account_id, "15550002222", "100000000000002")
    async with visiting(gateway) as visitor:
        await visitor.sign_in(f"/webhooks?channel=ch_{stranger.id.hex}")
        await visitor.see("This channel is not yours")
        await visitor.page.get_by_role("button", name="Channel: Choose a channel").click()
        await visitor.page.get_by_role("menuitem").filter(has_text="+15550001111").click()
        await visitor.see("No endpoint yet")
        await visitor.open(f"/channels/{gateway.channel}")
        await visitor.page.get_by_role("main").get_by_text("+15550001111").wait_for()
        await visitor.page.get_by_role("button", name="Channel:").click()
        await visitor.page.get_by_role("menuitem").filter(has_text="+15550002222").click()
        await visitor.page.get_by_role("main").get_by_text("+15550002222").first.wait_for()  # not that of the first one
        assert f"/channels/ch_{second.id.hex}" in visitor.page.url
