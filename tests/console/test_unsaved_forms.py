"""What was written in a form is not lost by leaving the page, nor by the late answer of another form."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, Route, expect

from tests.console.test_contacts_page import create
from tests.console.visitor import Visitor, visiting
from tests.running_gateway import Gateway

QUESTION = "Leave without saving?"


@asynccontextmanager
async def answers_late(page: Page, method: str, address: str) -> AsyncIterator[None]:
    """Hold the answer to one request until the end; it has arrived by then."""
    late = asyncio.Event()

    async def hold(route: Route) -> None:
        if route.request.method != method:
            await route.fallback()
            return
        answer = await route.fetch()
        await late.wait()
        await route.fulfill(response=answer)

    await page.route(address, hold)
    async with page.expect_response(lambda answer: answer.request.method == method):
        yield
        late.set()


async def stay(visitor: Visitor) -> None:
    """Stay, when the page asks."""
    question = visitor.page.get_by_role("dialog", name=QUESTION)
    await question.get_by_role("button", name="Cancel").click()
    await question.wait_for(state="hidden")


async def test_leaving_a_form_that_is_not_saved_is_asked_first(official: Gateway) -> None:
    async with visiting(official) as visitor:
        page = visitor.page
        await visitor.sign_in(f"/templates?channel={official.channel}")
        await page.get_by_role("button", name="Write a template").click()
        await page.get_by_role("heading", name="Write a template").wait_for()
        text = page.get_by_label("Text", exact=True)
        await text.fill("Hello, your order is ready.")
        await page.get_by_role("link", name="Orders").click()
        await stay(visitor)
        await page.evaluate("history.back()")
        await stay(visitor)
        await expect(text).to_have_value("Hello, your order is ready.")
        await page.evaluate("location.reload()")  # as closing the tab
        await text.wait_for()
        assert visitor.asked == 1
        await text.fill("Hello")
        await page.get_by_role("link", name="Webhooks").click()
        await page.get_by_role("dialog", name=QUESTION).get_by_role("button", name="Leave").click()
        await page.get_by_role("heading", level=1, name="Webhooks").wait_for()
        await page.get_by_role("button", name="Add an endpoint").click()
        await page.get_by_label("Address").fill("https://shop.example/hooks")
        await page.evaluate("history.back()")
        await stay(visitor)
        await expect(page.get_by_label("Address")).to_have_value("https://shop.example/hooks")
        await page.get_by_role("dialog", name="Add an endpoint").get_by_role("button", name="Close").click()
        await page.get_by_role("link", name="Orders").click()  # nothing is lost: no question
        await page.get_by_role("heading", level=1, name="Orders").wait_for()


async def test_a_late_answer_does_not_close_what_was_opened_since(gateway: Gateway) -> None:
    ana = await create(gateway, "contacts", phone="5511999990001", name="Ana")
    await create(gateway, "contacts", phone="5511999990002", name="Ben")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in(f"/contacts?contact={ana}")
        panel = page.get_by_role("dialog", name="Contact", exact=True)
        name = panel.get_by_label("Name", exact=True)
        await visitor.choose("Actions for this contact", "Delete")
        async with answers_late(page, "DELETE", "**/api/v1/contacts/*"):
            question = page.get_by_role("dialog", name="Delete the contact")
            await question.get_by_role("button", name="Delete").click()
            await question.get_by_role("button", name="Cancel").click()
            await question.wait_for(state="hidden")
            await page.keyboard.press("Escape")
            await panel.wait_for(state="hidden")
            await page.get_by_role("listitem").filter(has_text="Ben").click()
            await name.fill("Benjamin")
        await visitor.see("The contact is deleted.")
        await expect(name).to_have_value("Benjamin")
        await panel.get_by_role("button", name="Save").click()
        await visitor.see("The contact is changed.")
        await page.keyboard.press("Escape")
        form = page.get_by_role("dialog", name="Add a contact")
        phone = form.get_by_label("Phone number")
        await page.get_by_role("button", name="Add a contact").click()
        await phone.fill("5511999990003")
        async with answers_late(page, "POST", "**/api/v1/contacts"):
            await form.get_by_role("button", name="Add", exact=True).click()
            await form.get_by_role("button", name="Close").click()
            await form.wait_for(state="hidden")
            await page.get_by_role("button", name="Add a contact").click()
            await phone.fill("5511999990004")
        await visitor.see("The contact is added.")
        await expect(phone).to_have_value("5511999990004")
        await form.get_by_role("button", name="Add", exact=True).click()
        await panel.get_by_text("+5511999990004").first.wait_for()
