"""Signing in at the dashboard, in a real browser: passwords, codes, sessions that end, links, and lost connections."""

from playwright.async_api import expect

from gatepost.admin.one_time_links import create_reset_link, invite_user
from gatepost.admin.users import create_user
from gatepost.model.account_log import OPERATOR
from gatepost.store.users import get_user_by_email
from tests.console.visitor import EMAIL, PASSWORD, Visitor, code_of, visiting
from tests.movable_clock import MovableClock
from tests.running_gateway import Gateway

IDLE = 13 * 3600.0  # seconds: longer than a session lives unused


async def test_a_wrong_password_is_refused_and_a_right_one_opens_the_requested_page(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.open("/webhooks/log?status=%5B%22pending%22%5D")
        await visitor.fill_sign_in(password="wrong wrong wrong")
        await visitor.see("The e-mail address or the password is wrong.")
        await visitor.fill_sign_in()
        await visitor.see("Nothing fits these filters")
        assert "/webhooks/log?status=" in visitor.page.url
        await visitor.choose("Your menu", "Sign out")
        await visitor.see("Forgot your password?")
        await visitor.open("/profile")
        await visitor.see("Forgot your password?")


async def test_a_code_is_set_up_and_asked_for(frozen: Gateway, clock: MovableClock) -> None:
    async with visiting(frozen) as visitor:
        await visitor.sign_in("/profile")
        key, recovery_codes = await set_up_code(visitor, clock)
        assert len(set(recovery_codes)) == 10
        await visitor.choose("Your menu", "Sign out")
        await visitor.fill_sign_in()
        field, sign_in = visitor.page.get_by_label("Code"), visitor.page.get_by_role("button", name="Sign in")
        await field.fill("000000")
        await sign_in.click()
        await visitor.see("This code is not valid.")
        clock.advance(60)  # a code works once, and one was used to turn this on
        await field.fill(code_of(key, clock.now()))
        await sign_in.click()
        await visitor.page.get_by_role("heading", name="Your profile").wait_for()
        await visitor.choose("Your menu", "Sign out")
        await visitor.fill_sign_in()
        await field.fill(recovery_codes[0])
        await sign_in.click()
        await visitor.page.get_by_role("heading", name="Your profile").wait_for()


async def set_up_code(visitor: Visitor, clock: MovableClock) -> tuple[str, list[str]]:
    """Set up the code on the profile; return the key of the app and the recovery codes."""
    page = visitor.page
    await page.get_by_role("button", name="Set up").click()
    await page.get_by_label("Your password").fill(PASSWORD)
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("img", name="QR code for your authenticator app").wait_for()
    key = await page.get_by_test_id("copy-value").text_content() or ""
    await page.get_by_label("Code that the app shows").fill(code_of(key, clock.now()))
    await page.get_by_role("button", name="Turn on").click()
    codes = page.get_by_role("list", name="Recovery codes").get_by_role("listitem")
    await expect(codes).to_have_count(10)
    texts = await codes.all_text_contents()
    await page.get_by_role("button", name="I have saved them").click()
    await page.get_by_text("On", exact=True).wait_for()
    return key, texts


async def test_a_session_that_ends_loses_nothing_that_was_typed(frozen: Gateway, clock: MovableClock) -> None:
    async with visiting(frozen) as visitor:
        await visitor.sign_in("/webhooks")
        page = visitor.page
        await page.get_by_role("button", name="Add an endpoint").click()
        await page.get_by_label("Address").fill("https://shop.example.com/hooks")
        clock.advance(IDLE)
        again = page.get_by_role("dialog", name="Your session has ended")
        await again.wait_for()
        await again.get_by_role("textbox", name="Password").fill(PASSWORD)
        await again.get_by_role("button", name="Sign in").click()
        await expect(again).to_be_hidden()
        await expect(page.get_by_label("Address")).to_have_value("https://shop.example.com/hooks")


async def test_all_tabs_follow_who_signs_out_and_in(gateway: Gateway) -> None:
    """What one person has loaded is not there for the next one, in none of the tabs."""
    account_id, ben = await gateway.new_account(), "ben@example.com"
    await create_user(gateway.db, account_id, ben, password=PASSWORD, now=gateway.clock.now())
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/account")
        own = visitor.page.get_by_role("cell").get_by_text(EMAIL)
        await own.wait_for()
        other = Visitor(await visitor.page.context.new_page(), gateway)
        await other.open("/profile")
        await other.choose("Your menu", "Sign out")
        await visitor.see("Forgot your password?")
        await other.fill_sign_in(ben)
        await visitor.page.get_by_role("button", name=f"Your menu: {ben}").wait_for()
        await visitor.page.get_by_role("cell").get_by_text(ben).wait_for()
        await expect(own).to_have_count(0)
        assert other.problems == []


async def test_an_invitation_sets_a_password_and_signs_in_once(gateway: Gateway) -> None:
    link = await invite_user(
        gateway.db, gateway.account_id, "ben@example.com", role="reader", actor=OPERATOR, now=gateway.clock.now()
    )
    async with visiting(gateway) as visitor:
        await visitor.open(f"/link/{link.token}")
        await visitor.see("You were invited as reader.")
        await visitor.page.get_by_label("Your name").fill("Ben")
        await visitor.page.get_by_label("New password").fill("short")
        await visitor.page.get_by_role("button", name="Join").click()
        await visitor.see("Use at least 10 characters.")
        await visitor.page.get_by_label("New password").fill(PASSWORD)
        await visitor.page.get_by_role("button", name="Join").click()
        await visitor.page.get_by_role("button", name="Your menu: Ben Test").wait_for()
        await visitor.open(f"/link/{link.token}")
        await visitor.see("This link does not work any more")


async def test_a_reset_link_sets_a_new_password(gateway: Gateway) -> None:
    user = await get_user_by_email(gateway.db, EMAIL)
    assert user is not None
    link = await create_reset_link(gateway.db, gateway.account_id, user.id, now=gateway.clock.now())
    async with visiting(gateway) as visitor:
        await visitor.open(f"/link/{link.token}")
        await visitor.page.get_by_label("New password").fill("another long password")
        await visitor.page.get_by_role("button", name="Set the password").click()
        await visitor.choose("Your menu", "Sign out everywhere")
        await visitor.fill_sign_in()
        await visitor.see("The e-mail address or the password is wrong.")
        await visitor.fill_sign_in(password="another long password")
        await visitor.page.get_by_role("button", name="Your menu").wait_for()


async def test_a_changed_password_keeps_this_session(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/profile")
        page = visitor.page
        change = page.get_by_role("button", name="Change the password")
        await page.get_by_label("Current password").fill("not this one at all")
        await page.get_by_label("New password").fill("another long password")
        await change.click()
        await visitor.see("This is not your current password.")
        await page.get_by_label("Current password").fill(PASSWORD)
        await change.click()
        await visitor.see("Your password is changed.")
        await page.get_by_label("Current password").fill("another long password")
        await page.get_by_label("New password").fill(PASSWORD)
        await change.click()
        await expect(page.get_by_label("Current password")).to_have_value("")


async def test_a_lost_connection_is_shown_and_restored(gateway: Gateway) -> None:
    lost, gone = "Connection lost. Trying again…", "The gateway does not answer. Trying again…"
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/webhooks")
        page = visitor.page
        await page.get_by_text("No endpoint yet").wait_for()
        await page.context.set_offline(True)
        await expect(page.get_by_text("Trying again…")).to_have_text(lost)
        await page.context.set_offline(False)
        await visitor.see("Reconnected. Nothing happened while you were away.")
        await expect(page.get_by_text("Trying again…")).to_have_count(0)
        await page.context.set_offline(True)
        await page.get_by_role("tab", name="Log").click()  # needs the gateway at once
        await expect(page.get_by_text("Trying again…")).to_have_text(gone)
        await page.context.set_offline(False)
        await visitor.see("No deliveries yet")
        await expect(page.get_by_text("Trying again…")).to_have_count(0)
