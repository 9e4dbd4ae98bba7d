"""The pages about templates, in a real browser, with the sandbox as the network that reviews."""

import time
from collections.abc import AsyncIterator

import msgspec
import pytest
from playwright.async_api import expect

from gatepost.model import ids
from gatepost_sandbox import SandboxSettings
from tests.console.conftest import NUMBER, SHOP_PHONE, WABA
from tests.console.test_inbox_page import message_of, open_first, say
from tests.console.test_mcp_drafts import card_of, get_draft, make_draft
from tests.console.visitor import Visitor, add_person, visiting
from tests.gateway.test_templates import NEW, TEMPLATES
from tests.running_gateway import FAST_NETWORK, REVIEW, Gateway, running_gateway

EVIL = '<img src=x onerror="document.title=1">'
HOUR = 3600.0


@pytest.fixture
async def late(parted_database_url: str) -> AsyncIterator[Gateway]:
    """Yield a gateway with a person whose last message is three days old, at a network that enforces the window."""
    network = {
        "start": time.time() - 72 * HOUR,
        "limits": {"window": "sync", "throughput": None, "pair_interval": None},
        "management": {"review_delay": REVIEW},
        "callbacks": {"connections": 1},
    }
    async with running_gateway(parted_database_url, sandbox=msgspec.convert(network, SandboxSettings)) as one:
        limits = FAST_NETWORK | {"window": 1}
        channel = await one.new_channel(one.account_id, SHOP_PHONE, NUMBER, limits=limits, waba_id=WABA)
        one.key, one.channel = await one.new_key(channel.id), ids.format_id("ch", channel.id)
        await add_person(one)
        await say(one, "Is my order ready?", number=NUMBER)
        await one.sandbox("POST", "/control/clock", {"advance": 25 * HOUR})
        yield one


async def write_template(visitor: Visitor) -> None:
    """Write a template with a header, a variable and a button; hand it in, and wait until the network approves it."""
    page = visitor.page
    await page.get_by_role("button", name="Write a template").click()
    await page.get_by_role("heading", name="Write a template").wait_for()  # the list has a field for names
    await page.get_by_label("Name").fill("order_ready")
    await page.get_by_label("Header", exact=True).fill("Order {{1}}")
    await page.get_by_label("Example for the header's variable").fill("4711")
    await page.get_by_label("Text", exact=True).fill("Hello {{1}}, your order is ready. Come and get it today.")
    await page.get_by_label("Example for {{1}}").fill("Ana")
    await page.get_by_role("button", name="Add a button").click()
    await page.get_by_role("menuitem", name="Quick reply").click()
    await page.get_by_label("Text on the button").fill("I am coming")
    await page.get_by_role("button", name="Submit for review").click()
    panel = page.get_by_role("dialog", name="Template", exact=True)
    await panel.get_by_text("In review").wait_for()
    await visitor.gateway.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})
    await panel.get_by_text("Approved").wait_for()


async def check_draft_in_a_closed_window(gateway: Gateway, visitor: Visitor) -> None:
    """A draft of free text is not sent: its card says why and what to do, and it waits until a person refuses it."""
    made = await make_draft(gateway, "Yes, it is.")
    card = card_of(visitor, "Yes, it is.")
    await card.get_by_role("button", name="Send", exact=True).click()
    problem = card.get_by_role("alert")
    await expect(problem).to_contain_text("The 24 hours after this person's last message end at")
    await expect(problem).to_contain_text("Refuse the draft, and send a template instead.")
    assert not await visitor.accessibility_problems("a draft in a closed window")
    assert (await get_draft(gateway, made))["state"] == "waiting"
    await card.get_by_role("button", name="Edit").click()  # another text does not help, and may be written nevertheless
    dialog = visitor.page.get_by_role("dialog", name="Edit the draft")
    await dialog.get_by_label("Text").fill("Yes, it is ready.")
    await dialog.get_by_role("button", name="Save").click()
    card = card_of(visitor, "Yes, it is ready.")
    await expect(card.get_by_role("alert")).to_have_count(0)
    await card.get_by_role("button", name="Refuse").click()
    await visitor.page.get_by_role("dialog").get_by_role("button", name="Refuse").click()
    await expect(card).to_have_count(0)
    assert (await get_draft(gateway, made))["state"] == "refused"


async def test_a_template_from_the_editor_to_a_person_whose_window_is_closed(late: Gateway) -> None:
    async with visiting(late) as visitor:
        await visitor.sign_in(f"/inbox?channel={late.channel}")
        page = visitor.page
        await open_first(visitor)
        await visitor.see("The 24-hour window is closed")
        await expect(page.get_by_role("textbox", name="Message")).to_have_count(0)
        refused = await late.call("POST", "/api/v1/message/send", {"phone": "5511999998888", "body": "Yes"})
        assert (refused.status, refused.json()["error"]["code"]) == (422, "window_closed")
        await check_draft_in_a_closed_window(late, visitor)
        await page.get_by_role("button", name="Send a template").click()
        await page.get_by_role("link", name="Open the page Templates").click()  # there is none yet
        await write_template(visitor)

        await page.keyboard.press("Escape")
        await page.get_by_role("link", name="Inbox").click()
        messages = await open_first(visitor)
        await page.get_by_role("button", name="Send a template").click()
        dialog = page.get_by_role("dialog", name="Send a template")
        await dialog.get_by_role("combobox", name="Template").click()
        await page.get_by_role("option", name="order_ready (en_US)").click()
        await dialog.get_by_label("Heading").fill("4712")
        await dialog.get_by_label("Value 1").fill("Bia")
        preview = dialog.get_by_role("region", name="Preview")
        text = "Hello Bia, your order is ready. Come and get it today."
        await expect(preview).to_have_text(f"Order 4712{text}I am coming")
        await dialog.get_by_role("button", name="Send", exact=True).click()
        await expect(dialog).to_have_count(0)
        sent = message_of(messages, text)
        await expect(sent).to_contain_text("Order 4712")
        await sent.get_by_role("img", name="Read").wait_for()
        (entry,) = (await late.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        assert (entry["type"], entry["content"]["name"]) == ("template", "order_ready")
        values = [part["parameters"][0]["text"] for part in entry["content"]["components"]]
        assert values == ["4712", "Bia"]


async def change_by_another(gateway: Gateway, body: str, footer: str) -> None:
    """Change the only template, as another person does. The next change is possible a day later."""
    (template,) = (await gateway.call("GET", TEMPLATES)).json()["data"]
    example = {"body_text": [["Ana"]]}
    parts = [{"type": "BODY", "text": body, "example": example}, {"type": "FOOTER", "text": footer}]
    changed = await gateway.call("PATCH", f"{TEMPLATES}/{template['id']}", {"components": parts})
    assert changed.status == 200, changed.body
    await gateway.sandbox("POST", "/control/clock", {"advance": 25 * HOUR})


async def test_a_template_is_written_approved_edited_and_deleted(official: Gateway) -> None:
    async with visiting(official) as visitor:
        await visitor.sign_in(f"/templates?channel={official.channel}")
        page = visitor.page
        await page.get_by_role("button", name="Write a template").click()
        await page.get_by_role("heading", name="Write a template").wait_for()
        await page.get_by_label("Name").fill("Order sent")
        text = page.get_by_label("Text", exact=True)
        await text.fill("{{2}} hello")
        await visitor.see("without a gap")
        await text.fill(f"Hello {{{{1}}}}, your {EVIL} order is on its way to you.")
        await page.get_by_label("Footer").fill("x" * 70)
        await expect(page.get_by_label("Footer")).to_have_attribute("aria-invalid", "true")
        await page.get_by_role("button", name="Submit for review").click()
        await expect(page.get_by_label("Example for {{1}}")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Footer").fill("Thank you")
        await page.get_by_label("Example for {{1}}").fill("Ana")
        await expect(page.get_by_label("Footer")).not_to_have_attribute("aria-invalid", "true")
        preview = page.get_by_role("region", name="Preview")
        await expect(preview).to_contain_text(f"Hello Ana, your {EVIL} order is on its way to you.")
        await page.get_by_role("button", name="Submit for review").click()
        panel = page.get_by_role("dialog", name="Template", exact=True)
        await panel.get_by_text("In review").wait_for()
        await official.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})
        await panel.get_by_text("Approved").wait_for()
        await panel.get_by_role("link", name="Edit").click()
        await page.get_by_label("Footer").fill("See you soon")
        await change_by_another(official, "Hello {{1}}, your parcel is on its way to you.", "Goodbye")
        await visitor.see("Somebody else has changed this meanwhile, to “Goodbye”. Saving replaces their change.")
        await expect(text).to_have_value("Hello {{1}}, your parcel is on its way to you.")  # was not edited here
        await page.get_by_role("button", name="Submit for review").click()
        await panel.get_by_text("See you soon").wait_for()
        await panel.get_by_text("your parcel is on its way to you").wait_for()
        await panel.get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog", name="Delete the template")
        await dialog.get_by_role("button", name="Delete", exact=True).click()
        await expect(page.get_by_role("row", name="order_sent")).to_have_count(0)
        assert await page.title() == "Templates – Gatepost"


async def test_a_rejection_is_shown_with_its_reason_and_a_reader_changes_nothing(official: Gateway) -> None:
    body = {"type": "BODY", "text": "You have won the lottery of our shop, come and see."}
    made = await official.call("POST", TEMPLATES, NEW | {"components": [body]})
    assert made.status == 201, made.body
    await official.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})
    await add_person(official, "reader", "rita@example.com")
    async with visiting(official) as visitor:
        await visitor.sign_in(f"/templates?channel={official.channel}", "rita@example.com")
        page = visitor.page
        row = page.get_by_role("row").filter(has_text="order_sent")
        await expect(row).to_contain_text("Rejected")
        await row.get_by_role("button").click()
        panel = page.get_by_role("dialog", name="Template", exact=True)
        await expect(panel.get_by_role("alert")).to_contain_text("The network's reason")
        await expect(panel.get_by_role("button", name="Delete")).to_have_count(0)
        await expect(page.get_by_role("button", name="Write a template")).to_have_count(0)
