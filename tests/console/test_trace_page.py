"""The page that traces a message, in a real browser: a delivered message whose webhook fails, and one that waits."""

import re
from datetime import timedelta

from playwright.async_api import expect

from gatepost.model import times
from tests.conftest import Answer, Receiver
from tests.console.visitor import visiting
from tests.gateway.checks import PERSON, TEXT
from tests.gateway.failing_webhooks import create_webhook
from tests.running_gateway import Gateway

EVIL = '<img src=x onerror="document.title=1">'


async def test_a_delivered_message_with_a_failing_webhook(gateway: Gateway, receiver: Receiver) -> None:
    receiver.answer = Answer(500, {"content-type": "text/html"}, EVIL.encode())
    await create_webhook(gateway, f"{receiver.url}/hooks")
    message = await gateway.send(phone=PERSON, body=EVIL)
    await gateway.until_status(message, "READ")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in(f"/messages/{message}")
        line = page.get_by_role("region", name="Time line")
        for step in ("Accepted by the gateway", "Handed to the network", "Sent", "Delivered", "Read"):
            await line.get_by_text(step, exact=True).first.wait_for()
        await expect(page.get_by_role("region", name="Message")).to_contain_text(EVIL)
        await expect(page.get_by_role("region", name="Message")).to_contain_text("By the API key “test”")
        await line.get_by_text("Webhook failed").first.wait_for()
        await line.get_by_text("Webhook is tried again").first.wait_for()
        receiver.answer = Answer()
        await line.get_by_role("link", name="Show the delivery").first.click()
        details = page.get_by_role("dialog", name="Delivery")
        await details.get_by_role("button", name="Try again").click()
        await details.get_by_text("Delivered", exact=True).wait_for()
        await details.get_by_role("link", name="Trace of the message").click()
        await line.get_by_text("Webhook delivered").first.wait_for()  # live, without a reload
        await page.get_by_role("link", name="Open the conversation").click()
        await expect(page).to_have_url(re.compile(r"/inbox\?.*conversation=cv_"))
        assert await page.title() != "1"


async def test_a_message_that_waits_says_why_and_is_followed(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        page = visitor.page
        message = await gateway.send(**TEXT, send_at=times.format_time(gateway.clock.now() + timedelta(days=20)))
        await visitor.sign_in(f"/messages/{message}")
        line = page.get_by_role("region", name="Time line")
        await expect(line).to_contain_text("It is scheduled")
        await expect(line).to_contain_text("Expected in 20 days")
        await gateway.call("POST", f"/api/v1/messages/{message}/cancel")
        await line.get_by_text("Canceled", exact=True).wait_for()
        await expect(line).not_to_contain_text("It is scheduled")
        await visitor.open(f"/messages/{'0' * 32}")
        await visitor.see("There is no such message")
        await page.get_by_role("button", name="Try again").wait_for()
