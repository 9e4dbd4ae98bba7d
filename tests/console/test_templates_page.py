"""The pages about templates, in a real browser, with the sandbox as the network that reviews."""

from playwright.async_api import expect

from tests.console.visitor import add_person, visiting
from tests.gateway.test_templates import NEW, TEMPLATES
from tests.running_gateway import REVIEW, Gateway

EVIL = '<img src=x onerror="document.title=1">'


async def test_a_template_is_written_approved_edited_and_deleted(official: Gateway) -> None:
    async with visiting(official) as visitor:
        await visitor.sign_in(f"/templates?channel={official.channel}")
        page = visitor.page
        await page.get_by_role("button", name="Write a template").click()
        await page.get_by_label("Name").fill("Order sent")
        text = page.get_by_label("Text", exact=True)
        await text.fill("{{2}} hello")
        await visitor.see("without a gap")
        await text.fill(f"Hello {{{{1}}}}, your {EVIL} order is on its way to you.")
        await page.get_by_label("Footer").fill("x" * 70)
        await expect(page.get_by_label("Footer")).to_have_attribute("aria-invalid", "true")
        await page.get_by_role("button", name="Hand in for review").click()
        await expect(page.get_by_label("Example for {{1}}")).to_have_attribute("aria-invalid", "true")
        await page.get_by_label("Footer").fill("Thank you")
        await page.get_by_label("Example for {{1}}").fill("Ana")
        await expect(page.get_by_label("Footer")).not_to_have_attribute("aria-invalid", "true")
        preview = page.get_by_role("region", name="Preview")
        await expect(preview).to_contain_text(f"Hello Ana, your {EVIL} order is on its way to you.")
        await page.get_by_role("button", name="Hand in for review").click()
        panel = page.get_by_role("dialog", name="Template", exact=True)
        await expect(panel.get_by_text("In review")).to_be_visible()
        await official.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})
        await expect(panel.get_by_text("Approved")).to_be_visible()
        await panel.get_by_role("link", name="Edit").click()
        await page.get_by_label("Footer").fill("See you soon")
        await page.get_by_role("button", name="Hand in for review").click()
        await expect(panel.get_by_text("See you soon")).to_be_visible()
        await panel.get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog", name="Delete the template")
        await dialog.get_by_role("button", name="Delete", exact=True).click()
        await visitor.see("No templates yet")
        assert await page.title() == "Templates – Gatepost"


async def test_a_rejection_is_shown_with_its_reason_and_a_reader_changes_nothing(official: Gateway) -> None:
    body = {"type": "BODY", "text": "You have won the lottery of our shop, come and see."}
    made = await official.call("POST", TEMPLATES, NEW | {"components": [body]})
    assert made.status == 201, made.body
    await official.sandbox("POST", "/control/clock", {"advance": REVIEW + 1})
    await add_person(official, "reader", "rita@example.com")
    async with visiting(official) as visitor:
        await visitor.open(f"/templates?channel={official.channel}")
        await visitor.fill_sign_in("rita@example.com")
        page = visitor.page
        row = page.get_by_role("row").filter(has_text="order_sent")
        await expect(row).to_contain_text("Rejected")
        await row.get_by_role("button").click()
        panel = page.get_by_role("dialog", name="Template", exact=True)
        await expect(panel.get_by_role("alert")).to_contain_text("The network's reason")
        await expect(panel.get_by_role("button", name="Delete")).to_have_count(0)
        await expect(page.get_by_role("button", name="Write a template")).to_have_count(0)
