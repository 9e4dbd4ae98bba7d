"""Every page for everyone: axe-core finds nothing, small screens do not scroll sideways, the keyboard is enough."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.conftest import Answer, Receiver
from tests.console.visitor import Visitor, visiting
from tests.gateway.checks import TEXT
from tests.gateway.failing_webhooks import create_webhook
from tests.house import House


@pytest.fixture
async def busy(house: House, receiver: Receiver) -> House:
    """Return a gateway with an endpoint that works and one that fails."""
    receiver.answer = lambda request: Answer(500 if request.path == "/broken" else 200)
    await create_webhook(house, f"{receiver.url}/hooks")
    await create_webhook(house, f"{receiver.url}/broken")
    await house.send(**TEXT)
    await receiver.wait_for(2)
    return house


async def walk(visitor: Visitor) -> AsyncIterator[str]:
    """Show every page and every dialog, one after the other."""
    page = visitor.page
    await visitor.open("/link/nothing")
    await visitor.see("This link does not work any more")
    yield "a link that does not work"
    await visitor.open()
    await visitor.fill_sign_in(password="wrong wrong wrong")
    await expect(page.get_by_role("alert")).to_be_visible()
    yield "sign-in"
    await visitor.sign_in("/webhooks")
    await expect(page.get_by_role("switch", name="Messages")).to_have_count(2)
    yield "endpoints"
    await page.get_by_role("button", name="Add an endpoint").click()
    await page.get_by_role("button", name="More settings").click()
    await expect(page.get_by_label("Headers")).to_be_visible()
    yield "a new endpoint"
    for item in ("New signing secret", "Recover missed events", "Delete"):
        await visitor.open("/webhooks")
        await page.get_by_role("button", name="Actions for").first.click()
        await page.get_by_role("menuitem", name=item).click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        yield item
    await visitor.open("/webhooks/log")
    await page.get_by_role("row").nth(1).get_by_role("checkbox").check()
    await expect(page.get_by_role("region", name="Selected deliveries")).to_be_visible()
    yield "the log"
    await page.get_by_role("row").nth(1).get_by_role("button").click()
    await expect(page.get_by_role("button", name="Attempt 1")).to_be_visible()
    yield "a delivery"
    await visitor.open("/inbox")
    await page.get_by_role("region", name="Conversations").get_by_role("listitem").first.click()
    await expect(page.get_by_role("article").first).to_be_visible()
    await page.get_by_role("button", name="Details").click()
    await expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    yield "the inbox"
    await page.get_by_role("button", name="Actions").first.click()
    await page.get_by_role("menuitem", name="Trace").click()
    await expect(page.get_by_text("Accepted by the gateway")).to_be_visible()
    yield "a trace"
    await visitor.open("/inbox")
    await expect(page.get_by_role("listitem").first).to_be_visible()
    await page.keyboard.press("Shift+?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    yield "the shortcuts"
    await visitor.open("/profile")
    await page.get_by_role("button", name="Set up").click()
    await expect(page.get_by_label("Your password")).to_be_visible()
    yield "the profile"
    await visitor.open("/nothing")
    await visitor.see("There is no such page")
    yield "no page"


@pytest.mark.parametrize(("colors", "rules"), [("light", []), ("dark", ["color-contrast"])], ids=["light", "dark"])
async def test_axe_finds_nothing(busy: House, colors: str, rules: list[str]) -> None:
    async with visiting(busy, colors=colors) as visitor:
        found = [problem async for _ in walk(visitor) for problem in await visitor.accessibility_problems(rules)]
        assert not found, "\n".join(found)


async def test_a_small_screen_does_not_scroll_sideways(busy: House) -> None:
    async with visiting(busy, width=360) as visitor:
        # On a small screen the navigation is behind a button, so that signing in is seen by the page's title.
        await visitor.open("/webhooks")
        await visitor.fill_sign_in()
        await expect(visitor.page.get_by_role("heading", name="Webhooks")).to_be_visible()
        for path in ("/inbox", "/webhooks", "/webhooks/log", "/profile", "/nothing"):
            await visitor.open(path)
            await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
            assert await visitor.page.evaluate("document.documentElement.scrollWidth") == 360, path


async def test_the_keyboard_is_enough(busy: House) -> None:
    async with visiting(busy) as visitor:
        await visitor.sign_in("/profile")
        page = visitor.page
        await page.reload()
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("main")).to_be_focused()
        await page.get_by_role("link", name="Webhooks").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1, name="Webhooks")).to_be_focused()
