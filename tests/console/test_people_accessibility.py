"""The pages about contacts, templates and orders, for everyone: axe-core finds nothing, small screens are enough."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.console.visitor import Visitor, visiting
from tests.gateway.test_orders import order
from tests.house import House

PATHS = ("/contacts", "/contacts/labels", "/templates", "/templates/editor", "/orders")


@pytest.fixture
async def busy(house: House) -> House:
    """Return a gateway with a label, a contact and an order."""
    await house.call("POST", "/api/v1/labels", {"name": "VIP"})
    await house.call("POST", "/api/v1/contacts", {"phone": "5511999990001", "name": "Ana", "opted_out": True})
    await order(house)
    return house


async def walk(visitor: Visitor) -> AsyncIterator[str]:
    """Show every page and its dialogs, one after the other."""
    page = visitor.page
    await visitor.sign_in("/contacts")
    await page.get_by_role("listitem").filter(has_text="Opted out").get_by_role("button").click()
    await page.get_by_role("button", name="Add a field").click()
    yield "a contact"
    await visitor.open("/contacts")
    await visitor.choose("Import and export", "Import a table")
    await page.get_by_label("Table").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": b"phone\n12\n"}
    )
    await expect(page.get_by_role("cell").first).to_be_visible()
    yield "an import"
    await visitor.open("/contacts/labels")
    await page.get_by_role("button", name="Edit VIP").click()
    await expect(page.get_by_label("Colour")).to_be_visible()
    yield "a label"
    await visitor.open("/templates")
    await visitor.see("No templates yet")
    await page.get_by_role("button", name="Write a template").click()
    await page.get_by_label("Text", exact=True).fill("Hello {{1}}, and welcome to {{3}}.")
    await visitor.choose("Add a button", "Open a page")
    yield "a new template"
    await visitor.open("/orders")
    await page.get_by_role("row").nth(1).get_by_role("button").click()
    await expect(page.get_by_role("button", name="Mark as shipped")).to_be_visible()
    yield "an order"


@pytest.mark.parametrize(("colors", "rules"), [("light", []), ("dark", ["color-contrast"])], ids=["light", "dark"])
async def test_axe_finds_nothing(busy: House, colors: str, rules: list[str]) -> None:
    async with visiting(busy, colors=colors) as visitor:
        found = [problem async for _ in walk(visitor) for problem in await visitor.accessibility_problems(rules)]
        assert not found, "\n".join(found)


async def test_a_small_screen_does_not_scroll_sideways(busy: House) -> None:
    async with visiting(busy, width=360) as visitor:
        await visitor.open("/contacts")
        await visitor.fill_sign_in()
        await expect(visitor.page.get_by_role("heading", name="Contacts")).to_be_visible()
        for path in PATHS:
            await visitor.open(path)
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 360, path
