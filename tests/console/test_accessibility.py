"""Every view for everyone: axe-core finds nothing, small screens do not scroll sideways, the keyboard is enough."""

from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import expect

from gatepost.admin.users import create_user
from gatepost.model import ids
from gatepost.store.channels import list_channels
from tests.conftest import Answer, Receiver
from tests.console.conftest import NUMBER, SHOP_PHONE
from tests.console.shop import REFUSED, open_shop
from tests.console.views import VIEWS
from tests.console.visitor import EMAIL, PASSWORD, visiting
from tests.console.watched_page import COLORS, SMALL
from tests.gateway.checks import SEND
from tests.running_gateway import Gateway
from tests.thorough import DAY, choose, rotated

THOROUGH = "inbox-thread"  # the view with most kinds of elements


@pytest.fixture
async def shop(official: Gateway, receiver: Receiver) -> tuple[str, str]:
    """Fill a channel of a gateway; return its id, and the id of an empty one."""
    receiver.answer = lambda request: Answer(500 if request.path == "/crm" else 200)

    async def call(method: str, path: str, body: Any) -> Any:
        answer = await official.call(method, f"/api/v1{path}", body)
        assert answer.status < 300, answer.body
        return answer.json().get("data")

    await open_shop(call, official.sandbox, NUMBER, receiver.url)
    await official.call("POST", SEND, REFUSED)
    await official.new_key(UUID(hex=official.channel[3:]), scopes=("mcp",))
    (empty,) = [one for one in await list_channels(official.db, official.account_id) if one.phone != SHOP_PHONE]
    return official.channel, ids.format_id("ch", empty.id)


EVERY = 7  # days until all views were checked by `make test`
VIEWED = rotated(VIEWS, EVERY)
PARTS = choose(4, 1)


@pytest.mark.parametrize("part", range(PARTS))
async def test_every_view_is_accessible(official: Gateway, shop: tuple[str, str], part: int) -> None:
    """Each view is opened and checked; in `make test` a seventh of them, in light or dark."""
    found = []
    async with visiting(official) as visitor:
        page = visitor.page
        signed_in = False
        for number, view in enumerate(VIEWED[part::PARTS], DAY // EVERY):
            if not (view.public or signed_in):
                await visitor.sign_in()
                signed_in = True
            await view.show(page, official.url, shop)
            colors = choose(COLORS, [COLORS[number % 2]])
            thorough = view.name == THOROUGH
            found += await visitor.accessibility_problems(view.name, colors=colors, thorough=thorough, days=1)
    assert not found, "\n".join(found)


async def test_a_page_of_an_account_without_channels_has_a_heading(gateway: Gateway) -> None:
    account, now = await gateway.new_account(), gateway.clock.now()
    await create_user(gateway.db, account, "new@example.com", password=PASSWORD, now=now)
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/contacts", email="new@example.com")
        heading = visitor.page.get_by_role("heading", level=1, name="No channel yet")
        await heading.wait_for()
        await expect(visitor.page).to_have_title("No channel yet – Gatepost")
        await visitor.page.get_by_role("link", name="Webhooks").click()
        await expect(heading).to_be_focused()


async def test_the_keyboard_is_enough(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/profile")
        page = visitor.page
        await page.reload()
        await page.get_by_role("heading", level=1).wait_for()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("main")).to_be_focused()
        await page.get_by_role("link", name="Webhooks").focus()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1, name="Webhooks")).to_be_focused()
        await page.get_by_role("link", name="Account").focus()
        await page.keyboard.press("Enter")
        menu, role = page.get_by_role("button", name=f"Actions for {EMAIL}"), page.get_by_role("dialog", name="Role of")
        await menu.focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("menuitem", name="Change the role").press("Enter")
        await role.wait_for()
        await page.keyboard.press("Escape")
        await expect(menu).to_be_focused()
        await page.get_by_role("tab", name="Team").focus()
        await page.keyboard.press("ArrowRight")
        await visitor.see("Change the plan")
        await expect(page.get_by_role("tab", name="Plan")).to_be_focused()
        await page.set_viewport_size({"width": SMALL, "height": 640})
        await expect(page.get_by_role("button", name="Your menu")).to_have_count(0)  # behind the menu button
