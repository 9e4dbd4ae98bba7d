"""The pages about team, plan and log, in a real browser: an invitation is taken in a second one; the log shows it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import expect

from gatepost.admin import accounts
from gatepost.model import ids
from gatepost.model.account import API_ACCESS
from tests.console.visitor import PASSWORD, Visitor, add_person, visiting
from tests.running_gateway import Gateway

BEN = "ben@example.com"
EVIL = "<img src=x onerror=alert(1)>"


@asynccontextmanager
async def second_browser(visitor: Visitor) -> AsyncIterator[Visitor]:
    """Yield another person at the same gateway, with cookies of their own."""
    browser = visitor.page.context.browser
    assert browser is not None
    context = await browser.new_context(reduced_motion="reduce", locale="en-GB")
    other = Visitor(await context.new_page(), visitor.gateway)
    yield other
    assert other.problems == []
    await context.close()


async def invite(visitor: Visitor) -> str:
    """Invite Ben as an agent; return the link."""
    page = visitor.page
    await page.get_by_role("button", name="Invite", exact=True).click()
    dialog = page.get_by_role("dialog", name="Invite a person")
    await dialog.get_by_label("E-mail address").fill(BEN)
    await dialog.get_by_label("Name").fill(EVIL)
    await expect(dialog.get_by_role("radio", name="Agent")).to_be_checked()
    await dialog.get_by_role("button", name="Create the link").click()
    link = await page.get_by_test_id("copy-value").text_content()
    await page.get_by_role("button", name="I have copied it").click()
    assert link
    return link


async def change_role(visitor: Visitor, email: str, role: str) -> None:
    """Choose another role of a person, and save it."""
    await visitor.choose(f"Actions for {email}", "Change the role")
    await visitor.page.get_by_role("radio", name=role).check()
    await visitor.page.get_by_role("button", name="Save").click()


async def test_invited_joined_changed_and_removed(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor, second_browser(visitor) as ben:
        await visitor.sign_in("/account")
        page = visitor.page
        await expect(page.get_by_role("row")).to_have_count(2)
        link = await invite(visitor)
        row = page.get_by_role("row", name=BEN)
        await expect(row).to_contain_text("Invited")
        await expect(row).to_contain_text(EVIL)

        await ben.page.goto(link)
        await ben.see("You were invited as agent.")
        await ben.page.get_by_label("Your name").fill("Ben")
        await ben.page.get_by_label("New password").fill(PASSWORD)
        await ben.page.get_by_role("button", name="Join").click()
        await ben.page.get_by_role("button", name="Your menu: Ben Test").wait_for()
        await ben.open("/account/log")
        await ben.see("Only owners see the log")
        await ben.open("/account")
        await ben.page.get_by_role("row", name=BEN).wait_for()
        await expect(ben.page.get_by_role("button", name="Invite", exact=True)).to_be_hidden()
        await expect(ben.page.get_by_role("button", name="Actions for")).to_have_count(0)

        await expect(row).to_contain_text("Off")  # no two-factor authentication
        await change_role(visitor, BEN, "Reader")
        await expect(row).to_contain_text("Reader")
        await expect(ben.page.get_by_role("row", name=BEN)).to_contain_text("Reader")  # without asking
        await change_role(visitor, "ana@example.com", "Agent")
        await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("last owner")
        await page.keyboard.press("Escape")
        await visitor.choose("Actions for ana@example.com", "Remove")
        await page.get_by_role("button", name="Remove", exact=True).click()
        await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("last owner")
        await page.keyboard.press("Escape")
        await visitor.choose(f"Actions for {BEN}", "Reset the password")
        await visitor.see("Reset link created")
        await page.get_by_role("button", name="I have copied it").click()
        await visitor.choose(f"Actions for {BEN}", "Remove")
        await page.get_by_role("button", name="Remove", exact=True).click()
        await expect(row).to_have_count(0)
        await ben.page.reload()
        await ben.see("Forgot your password?")
        await read_log(visitor)


async def read_log(visitor: Visitor) -> None:
    """The log shows all of it; filters are in the address."""
    page = visitor.page
    await page.get_by_role("tab", name="Log").click()
    for words in ("Invited a user", "Accepted an invitation", "Changed a role", "Removed a user"):
        await expect(page.get_by_role("row", name=words)).to_have_count(1)
    await expect(page.get_by_role("row", name="Changed a role")).to_contain_text("agent → reader")
    await page.get_by_role("combobox", name="Person").click()
    await page.get_by_role("option", name="ana@example.com").click()
    await expect(page.get_by_role("row", name="Accepted an invitation")).to_have_count(0)
    await page.get_by_role("combobox", name="Action").click()
    await page.get_by_role("option", name="Removed a user").click()
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.reload()
    await expect(page.get_by_role("row")).to_have_count(2)
    assert "action=user_deleted" in page.url
    await page.get_by_role("button", name="Clear", exact=True).click()
    await expect(page.get_by_role("row", name="Accepted an invitation")).to_have_count(1)


async def test_the_plan_and_how_it_is_changed(gateway: Gateway) -> None:
    await accounts.change_plan(gateway.db, gateway.account_id, "starter", plans=gateway.settings.plans)
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/account/plan", "rita@example.com")
        page = visitor.page
        await expect(page.get_by_role("region", name="Plan Starter")).to_contain_text("0 of 12,000")
        trial = page.get_by_role("region", name="Trial and add-ons")
        await expect(trial).to_contain_text("Without the add-on API Access nothing is sent after it")
        account = ids.format_id("acc", gateway.account_id)
        await visitor.see(f"gatepost account plan {account} PLAN")
        await visitor.see(f'gatepost account addon add {account} "API Access"')
        await gateway.send(phone="5511999998888", body="Hello")
        await accounts.add_addon(gateway.db, gateway.account_id, API_ACCESS, gateway.clock.now())
        await expect(trial).to_contain_text("lets keys and people send")
        await visitor.see("1 of 12,000")
