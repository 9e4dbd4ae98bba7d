"""Notifications for operators: shown once on any page, with a link, and a lasting sign until the problem is over."""

from playwright.async_api import expect

from tests.conftest import Answer, Receiver
from tests.console.conftest import NUMBER
from tests.console.visitor import Visitor, visiting
from tests.gateway.checks import TEXT, until
from tests.gateway.failing_webhooks import create_webhook
from tests.gateway.test_system_notifications import create_template, decide, news
from tests.running_gateway import Gateway

CONTROL = f"/control/numbers/{NUMBER}"


async def sign_in(visitor: Visitor, path: str) -> None:
    """Open a page, and wait for its stream: only what happens from then on is news."""
    async with visitor.page.expect_response(lambda answer: "/account/stream" in answer.url):
        await visitor.sign_in(path)


async def test_notifications_are_shown_with_a_link_to_their_subject(official: Gateway, receiver: Receiver) -> None:
    await official.sandbox("PATCH", CONTROL, {"quality_rating": "GREEN"})
    assert (await official.call("GET", "/api/v1/channel/health")).status == 200
    template = await create_template(official)
    await create_webhook(official, f"{receiver.url}/hooks")
    async with visiting(official) as visitor:
        await sign_in(visitor, f"/webhooks?channel={official.channel}")
        page, notices, pages = visitor.page, visitor.page.get_by_role("alert"), visitor.page.get_by_label("Pages")
        card = page.get_by_label(f"Endpoint {receiver.url}/hooks")

        # The seventh switch is off until a person switches it on.
        switch = card.get_by_role("switch", name="System")
        await expect(switch).not_to_be_checked()
        async with page.expect_response(lambda answer: answer.request.method == "PATCH") as answered:
            await switch.check()
        assert (await answered.value).status == 200

        # A decision of the network is shown where the person is, and opened from there.
        await decide(official, template, "reject")
        rejected = notices.filter(has_text="The template order_sent (en_US) was rejected.")
        await rejected.get_by_role("button", name="Show").click()
        await expect(page.get_by_role("dialog", name="Template", exact=True)).to_contain_text("Rejected")
        await expect(rejected).to_have_count(0)
        await page.keyboard.press("Escape")
        await expect(pages.get_by_role("link", name="Templates")).to_have_accessible_name("Templates 1 needs attention")
        while "template_rejected" not in [request.json()["action"] for request in receiver.requests]:
            await receiver.wait_for(len(receiver.requests) + 1)

        # Low quality is a notification, and a line on every page.
        await official.sandbox("POST", f"{CONTROL}/quality", {"rating": "RED"})
        await expect(notices.filter(has_text="The quality of the number is low (before: high).")).to_have_count(1)
        attention = page.get_by_label("Needs attention", exact=True)
        await expect(attention).to_contain_text("rates the quality of this number as low")

        # An endpoint that the gateway turns off is both too; what the person turns on here is no news here.
        receiver.answer = Answer(410)
        await official.send(**TEXT)
        await expect(notices.filter(has_text="was turned off.")).to_have_count(1)
        await expect(attention).to_contain_text("A webhook endpoint gets no events")
        receiver.answer = Answer()
        await attention.get_by_role("link", name="See why").click()
        await visitor.choose("Actions for", "Turn on")

        async def enabled() -> bool:
            return "endpoint_enabled" in [action for action, _ in await news(official)]

        await until(enabled)
        await expect(attention).not_to_contain_text("webhook endpoint")
        await official.sandbox("POST", f"{CONTROL}/quality", {"rating": "GREEN"})
        await expect(notices.filter(has_text="The quality of the number is high (before: low).")).to_have_count(1)
        await expect(notices.filter(has_text="was turned on")).to_have_count(0)
        await expect(attention).to_have_count(0)


async def test_many_updates_at_once_are_one_notification(official: Gateway) -> None:
    templates = [
        await create_template(official, name=f"order_{number}", components=[{"type": "BODY", "text": text}])
        for number, text in enumerate(("Your order is on its way.", "Your order is packed.", "Paid.", "It is here."))
    ]
    await official.sandbox("PATCH", CONTROL, {"callback_url": None})
    for template in templates:
        await decide(official, template, "approve")
    async with visiting(official) as visitor:
        await sign_in(visitor, f"/usage?channel={official.channel}")
        await visitor.page.get_by_role("heading", name="Usage", exact=True).wait_for()
        assert (await official.call("POST", "/api/v1/templates/sync")).status == 200  # finds all of them at once
        notices = visitor.page.get_by_role("alert").filter(has_text="approved")
        await expect(notices).to_have_text(["4 templates approved. Show"])
