"""Requests that fail while a page is open, in a real browser: nothing is missing, and each can be tried again."""

import re

from playwright.async_api import Locator, Page, Request, Route, expect

from gatepost.model.session import IDLE
from tests.console.test_contacts_page import create
from tests.console.test_inbox_page import NUMBER, say
from tests.console.visitor import PASSWORD, Visitor, visiting
from tests.gateway.checks import until
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway

PAGE = 100  # contacts that are loaded at once
FIRST_CONTACTS = re.compile(r"/api/v1/contacts\?limit=\d+$")
NEXT_CONTACTS = re.compile(r"/api/v1/contacts\?.*cursor=")
LISTS = re.compile(r"/api/v1/conversations\?")
VIEWS = "**/api/v1/session/views"


async def fail(route: Route) -> None:
    """Answer as a gateway with a defect."""
    error = {"code": "internal_error", "request_id": "req_1"}
    await route.fulfill(status=500, json={"success": False, "message": "Something went wrong here.", "error": error})


def row(page: Page, name: str) -> Locator:
    """Return a conversation of the list."""
    return page.get_by_role("region", name="Conversations").get_by_role("listitem").filter(has_text=name)


async def write_as(gateway: Gateway, phone: str, name: str, text: str) -> None:
    """Write a message as another person, and wait until the gateway has it."""
    fields = {"phone_number_id": NUMBER, "from": phone, "text": text, "name": name}
    await gateway.sandbox("POST", "/control/say", fields)

    async def is_there() -> bool:
        found = (await gateway.call("GET", f"/api/v1/messages?phone={phone}")).json()["data"]
        return any(one["content"].get("body") == text for one in found)

    await until(is_there)


async def test_contacts_that_cannot_be_loaded_are_not_asked_for_again_and_again(gateway: Gateway) -> None:
    for number in range(PAGE + 5):
        await create(gateway, "contacts", phone=f"55119999{number:05}", name=f"Person {number:03}")
    loaded: list[str] = []
    asked: list[str] = []

    def count(request: Request) -> None:
        for found, pattern in ((loaded, FIRST_CONTACTS), (asked, NEXT_CONTACTS)):
            if pattern.search(request.url):
                found.append(request.url)

    async with visiting(gateway) as visitor:
        page = visitor.page
        page.on("request", count)
        await page.route(NEXT_CONTACTS, lambda route: route.abort())
        await visitor.sign_in("/contacts")
        await visitor.see("Person")
        again = visitor.button("Try again")
        await page.keyboard.press("End")
        await again.wait_for()
        await visitor.see("Loading more failed. The gateway does not answer.")
        # When the list changes, it is loaded again, and what follows it is asked for again, too, but only once.
        assert 1 <= len(asked) <= len(loaded), f"{len(asked)} requests after {len(loaded)} loads of the list"
        await page.unroute(NEXT_CONTACTS)
        async with page.expect_response(NEXT_CONTACTS) as answered:
            await again.click()
        assert (await answered.value).status == 200
        await expect(again).to_have_count(0)


async def test_a_list_whose_news_could_not_be_loaded_is_loaded_again(gateway: Gateway) -> None:
    await say(gateway, "Hello")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in("/inbox")
        await row(page, "Ana Souza").wait_for()
        await page.route(LISTS, fail)
        await write_as(gateway, "5511999990002", "Benjamin", "Are you there?")
        again = visitor.button("Loading failed. Try again")
        await again.wait_for()
        await page.unroute(LISTS)
        await again.click()
        await row(page, "Benjamin").wait_for()
        await expect(again).to_have_count(0)


async def test_saved_views_that_cannot_be_loaded(gateway: Gateway) -> None:
    await say(gateway, "Hello")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.route(VIEWS, fail)
        await visitor.sign_in("/inbox")
        await visitor.button("Saved views").click()
        await visitor.see("Your saved views cannot be shown. Something went wrong here.")
        await expect(page.get_by_text("No saved view yet")).to_have_count(0)
        await page.unroute(VIEWS)
        await visitor.button("Try again").click()
        await visitor.see("No saved view yet")


async def test_what_was_refused_is_shown_after_signing_in_in_another_tab(frozen: Gateway, clock: MovableClock) -> None:
    async with visiting(frozen) as visitor:
        await visitor.sign_in("/webhooks")
        await visitor.see("No endpoint yet")
        other = Visitor(await visitor.page.context.new_page(), frozen)
        await other.open("/webhooks")
        await other.see("No endpoint yet")
        clock.advance(IDLE.total_seconds())
        for one in (visitor, other):
            await one.page.get_by_role("dialog", name="Your session has ended").wait_for()
        await visitor.page.evaluate("history.pushState({}, '', '/usage'); dispatchEvent(new PopStateEvent('popstate'))")
        await visitor.see("This did not work")  # the page behind the question
        again = other.page.get_by_role("dialog", name="Your session has ended")
        await again.get_by_role("textbox", name="Password").fill(PASSWORD)
        await again.get_by_role("button", name="Sign in").click()
        await visitor.page.get_by_role("heading", name="Usage").wait_for()
        await expect(visitor.page.get_by_text("This did not work")).to_have_count(0)
        assert other.problems == []


async def test_what_somebody_else_deletes_while_it_is_open(gateway: Gateway) -> None:
    contact = await create(gateway, "contacts", phone="5511999990002", name="Benjamin")
    async with visiting(gateway) as visitor:
        await visitor.sign_in(f"/contacts?contact={contact}")
        panel = visitor.page.get_by_role("dialog", name="Contact", exact=True)
        name = panel.get_by_label("Name", exact=True)
        await name.fill("Benjamin Franklin")
        assert (await gateway.call("DELETE", f"/api/v1/contacts/{contact}")).status == 200
        await panel.get_by_text("This does not exist any more. Somebody else has deleted it").wait_for()
        await expect(name).to_have_value("Benjamin Franklin")
