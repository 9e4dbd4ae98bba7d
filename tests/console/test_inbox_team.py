"""Several people and several channels in one inbox."""

from typing import Any

from playwright.async_api import Locator, expect

from gatepost_sandbox import SandboxSettings
from tests.console.test_inbox_page import NUMBER, message_of, open_first, say, write
from tests.console.visitor import Visitor, add_person, visiting
from tests.gateway.checks import PERSON
from tests.running_gateway import Gateway, running_gateway, running_sandbox

BEN = "ben@example.com"
SECOND = "100000000000002"


def row_of(visitor: Visitor, text: str) -> Locator:
    """Return the row of the list with a text."""
    rows = visitor.page.get_by_role("region", name="Conversations").get_by_role("listitem")
    return rows.filter(has_text=text)


async def test_two_people_share_a_conversation(gateway: Gateway) -> None:
    await add_person(gateway, "agent", BEN)
    await say(gateway, "Who helps me?")
    async with visiting(gateway) as ana, visiting(gateway) as ben:
        await ana.sign_in("/inbox")
        await ben.sign_in("/inbox", BEN)
        seen_by_ana, seen_by_ben = await open_first(ana), await open_first(ben)
        await ana.page.get_by_text(f"{BEN} is looking at this conversation.").wait_for()
        await ben.page.get_by_text("ana@example.com is looking at this conversation.").wait_for()
        await ben.page.get_by_role("textbox", name="Message").press_sequentially("I")
        await ana.page.get_by_text(f"{BEN} is typing.").wait_for()
        await write(ben, "I do.")
        answer = message_of(seen_by_ana, "I do.")
        await answer.get_by_text(BEN).wait_for()
        await message_of(seen_by_ben, "I do.").get_by_role("img", name="Read").wait_for()
        await expect(message_of(seen_by_ben, "I do.").get_by_text(BEN)).to_have_count(0)

        for visitor in (ana, ben):
            await visitor.page.get_by_role("button", name="Details").click()
        await expect(ana.page.get_by_role("link", name="Open the phone of this person")).to_have_count(0)
        await ana.page.get_by_role("combobox", name="Assigned to").click()
        await ana.page.get_by_role("option", name=BEN).click()
        await ben.page.get_by_text("Assigned to You").wait_for()
        await ben.page.get_by_role("button", name="Mine 1").click()
        await row_of(ben, "I do.").wait_for()

        await ben.page.get_by_role("textbox", name="New note").fill("Wants it on Friday")
        await ben.page.get_by_role("button", name="Add the note").click()
        notes = ana.page.get_by_role("region", name="Notes")
        await notes.get_by_text("Wants it on Friday").wait_for()
        await notes.get_by_text(BEN).wait_for()

        await ben.page.get_by_role("button", name="Close", exact=True).click()
        await ana.page.get_by_role("button", name="Open again").wait_for()
        await ana.page.get_by_text(f"{BEN} is looking at this conversation.").wait_for()
        await ben.page.get_by_role("link", name="Contacts").click()
        await expect(ana.page.get_by_text(BEN + " is ")).to_have_count(0)
        await expect(row_of(ana, "I do.")).to_have_count(0)
        await ana.page.get_by_role("button", name="Closed").click()
        await row_of(ana, "I do.").wait_for()
        await ana.page.get_by_role("button", name="Saved views").click()
        await ana.page.get_by_role("textbox", name="Save this view as").fill("Done <b>")
        await ana.page.get_by_role("button", name="Save", exact=True).click()
        await ana.page.get_by_role("button", name="Done <b>", exact=True).wait_for()
        async with gateway.db.connection() as conn:  # as another browser of hers
            await conn.execute("""UPDATE users SET saved_views = saved_views || '{"name": "Elsewhere"}'
                                  WHERE saved_views IS NOT NULL""")
        await ana.page.get_by_role("button", name="Elsewhere", exact=True).wait_for()
        await ana.open("/inbox")
        await ana.page.get_by_text("No open conversation").wait_for()
        await ana.page.get_by_role("button", name="Saved views").click()
        await ana.page.get_by_role("button", name="Done <b>", exact=True).click()
        await row_of(ana, "I do.").wait_for()


async def test_the_phone_of_a_person_is_linked_at_a_sandbox(parted_database_url: str) -> None:
    async with running_sandbox(SandboxSettings()) as url:
        networks: Any = {"cloud__base_url": url, "qr__link_url": f"ws{url.removeprefix('http')}/qr/link"}
        async with running_gateway(parted_database_url, clock__follow=url, **networks) as gateway:
            await add_person(gateway)
            await say(gateway, "Hello")
            async with visiting(gateway) as visitor:
                await visitor.sign_in("/inbox")
                await open_first(visitor)
                await visitor.page.get_by_role("button", name="Details").click()
                link = visitor.page.get_by_role("link", name="Open the phone of this person")
                await expect(link).to_have_attribute("href", f"{url}/#/{PERSON}/{NUMBER}")
                await expect(link).to_have_attribute("rel", "noopener noreferrer")
                await expect(link).to_have_attribute("target", "_blank")


async def test_all_channels_in_one_list(gateway: Gateway) -> None:
    await gateway.new_channel(gateway.account_id, "15550002222", SECOND)
    await say(gateway, "To the first number")
    await say(gateway, "To the second number", number=SECOND)
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        await page.get_by_role("button", name="All channels").wait_for()
        await row_of(visitor, "To the first number").wait_for()
        await page.get_by_role("button", name="Unread 2").wait_for()
        await row_of(visitor, "To the second number").click()
        messages = page.get_by_role("region", name="Messages")
        await message_of(messages, "To the second number").wait_for()
        await write(visitor, "From the second")
        await message_of(messages, "From the second").get_by_role("img", name="Read").wait_for()
        accepted = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
        assert [entry["phone_number_id"] for entry in accepted] == [SECOND]
        await row_of(visitor, "From the second").wait_for()
        await say(gateway, "Another for the first")
        await row_of(visitor, "Another for the first").wait_for()
        await page.get_by_role("button", name="All channels").click()
        await page.get_by_role("menuitem", name="+15550002222").click()
        await row_of(visitor, "From the second").wait_for()
        await expect(row_of(visitor, "Another for the first")).to_have_count(0)
        await page.get_by_role("searchbox", name="Search conversations").fill("second")
        await row_of(visitor, "From the second").wait_for()
        await page.get_by_role("searchbox", name="Search conversations").fill("first")
        await page.get_by_text("Nothing fits").wait_for()
