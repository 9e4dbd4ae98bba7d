"""Drafts of an assistant in the Inbox, in a real browser: they appear live, and people send, edit or refuse them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.async_api import Locator, Route, expect

from tests.console.test_inbox_page import message_of, open_first, received, say
from tests.console.visitor import EMAIL, Visitor, add_person, visiting
from tests.gateway.checks import PERSON, until
from tests.gateway.people import new_person
from tests.mcp.assistant import assistant, mcp_key
from tests.running_gateway import Gateway

DRAFTS = "/api/v1/drafts"
STRANGER = "5511999990009"
EVIL = "<img src=x onerror=ran=1><script>ran=1</script>"


async def make_draft(gateway: Gateway, text: str, phone: str = PERSON) -> str:
    """Make a draft of a text as a program with a key does; return its id."""
    return await draft(gateway, {"phone": phone, "body": text})


async def draft(gateway: Gateway, message: Any) -> str:
    """Make a draft; return its id."""
    answer = await gateway.call("POST", DRAFTS, {"message": message})
    assert answer.status < 300, answer.body
    made: str = answer.json()["data"]["id"]
    return made


async def get_draft(gateway: Gateway, id_: str) -> Any:
    """Return a draft as the API shows it."""
    return (await gateway.call("GET", f"{DRAFTS}/{id_}")).json()["data"]


async def bodies(gateway: Gateway) -> list[str]:
    """Return the texts that the simulated network has received."""
    entries = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    return [entry["content"]["body"] for entry in entries]


def card_of(visitor: Visitor, text: str) -> Locator:
    """Return the card of the draft with a text."""
    return visitor.page.get_by_role("article", name="Draft of").filter(has_text=text)


async def open_inbox(gateway: Gateway, visitor: Visitor) -> Locator:
    """Sign in, and open the only conversation; return its messages."""
    await visitor.sign_in(f"/inbox?channel={gateway.channel}")
    return await open_first(visitor)


async def test_a_draft_is_edited_sent_refused_and_decided_by_somebody_else(gateway: Gateway) -> None:
    await say(gateway, "Is my order ready?")
    await until(lambda: received(gateway))
    problems: list[str] = []
    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.clock.install(time=datetime.now(UTC) + timedelta(days=3))  # is wrong; no draft has expired
        messages = await open_inbox(gateway, visitor)
        first = await make_draft(gateway, f"Yes, it is {EVIL}")
        card = card_of(visitor, f"Yes, it is {EVIL}")
        await card.get_by_text("Draft of test").wait_for()
        await page.get_by_label("1 draft waits").wait_for()
        await page.get_by_role("button", name="Drafts 1").wait_for()
        problems += await visitor.accessibility_problems("draft")

        await card.get_by_role("button", name="Edit").click()
        dialog = page.get_by_role("dialog", name="Edit the draft")
        problems += await visitor.accessibility_problems("edit")
        await dialog.get_by_label("Text").fill("Yes, come at six.")
        await dialog.get_by_role("button", name="Save").click()
        card = card_of(visitor, "Yes, come at six.")
        await card.get_by_text(f"Edited by {EMAIL}").wait_for()
        await card.get_by_role("button", name="Send").click()
        await message_of(messages, "Yes, come at six.").get_by_role("img", name="Read").wait_for()
        await expect(card).to_have_count(0)
        assert await bodies(gateway) == ["Yes, come at six."]
        assert (await get_draft(gateway, first))["state"] == "sent"

        second = await make_draft(gateway, "We are closed.")
        card = card_of(visitor, "We are closed.")
        await card.get_by_role("button", name="Refuse").click()
        await page.get_by_role("dialog").get_by_label("Comment").fill(f"We are open. {EVIL}")
        problems += await visitor.accessibility_problems("refuse")
        await page.get_by_role("dialog").get_by_role("button", name="Refuse").click()
        await expect(card).to_have_count(0)
        refused = await get_draft(gateway, second)
        assert (refused["state"], refused["comment"]) == ("refused", f"We are open. {EVIL}")

        await make_draft(gateway, "Until tomorrow!")
        card = card_of(visitor, "Until tomorrow!")
        await card.get_by_role("button", name="Send", exact=True).wait_for()
        await page.clock.fast_forward(5_000)  # the drafts are not asked for again because of those before
        await say(gateway, "Wait, I have a question.")
        await card.get_by_text("The person has written since.").wait_for()
        problems += await visitor.accessibility_problems("written since")
        await card.get_by_role("button", name="Send anyway").click()
        await message_of(messages, "Until tomorrow!").get_by_role("img", name="Read").wait_for()

        await check_draft_of_an_assistant(gateway, visitor, messages)
        await check_decided_elsewhere(gateway, visitor)
        problems += await visitor.accessibility_problems("decided elsewhere")
        assert await page.evaluate("typeof ran") == "undefined"
    assert not problems, "\n".join(problems)


async def check_draft_of_an_assistant(gateway: Gateway, visitor: Visitor, messages: Locator) -> None:
    """What an assistant writes by MCP waits with the reason, and a person sends it."""
    conversation = (await gateway.call("GET", "/api/v1/conversations")).json()["data"][0]["id"]
    async with assistant(gateway, await mcp_key(gateway)) as helper:
        await helper.ask("send_text", conversation=conversation, text="Which question?")
    card = card_of(visitor, "Which question?")
    await card.get_by_text("A person approves each message of this key.").wait_for()
    await card.get_by_role("button", name="Send", exact=True).click()
    await message_of(messages, "Which question?").get_by_role("img", name="Read").wait_for()
    await visitor.page.goto(f"{gateway.url}/developers/mcp/calls?channel={gateway.channel}")
    await expect(visitor.page.get_by_role("row").filter(has_text="send_text")).to_contain_text("Draft")
    await visitor.page.go_back()
    await message_of(messages, "Which question?").wait_for()


async def check_decided_elsewhere(gateway: Gateway, visitor: Visitor) -> None:
    """A draft that a colleague has refused, before the page knew it, is not sent; the card says who decided."""
    page = visitor.page
    asked = await make_draft(gateway, "Anything else?")
    card = card_of(visitor, "Anything else?")
    await card.wait_for()

    async def hide(route: Route) -> None:
        await route.abort()

    await page.route("**/api/v1/drafts?**", hide)
    colleague = await new_person(gateway, "agent", name="Ben")
    answer = await colleague.call("POST", f"{DRAFTS}/{asked}/refuse", {"comment": "Not now"})
    assert answer.status < 300, answer.body
    await card.get_by_role("button", name="Send", exact=True).click()
    await card.get_by_text("Ben refused it on").wait_for()
    await card.get_by_text("Comment: Not now").wait_for()
    await page.unroute("**/api/v1/drafts?**", hide)
    await card.get_by_role("button", name="Close").click()
    await expect(card).to_have_count(0)
    assert "Anything else?" not in await bodies(gateway)


async def check_count(gateway: Gateway, visitor: Visitor) -> None:
    """The numbers of drafts that wait are exact beyond the first page of the list, and follow each decision."""
    waiting = (await gateway.call("GET", f"{DRAFTS}/counts")).json()["data"]["waiting"]
    last = [await make_draft(gateway, f"Number {number}") for number in range(51 - waiting)][-1]
    await see_count(visitor, 51)
    assert (await gateway.call("POST", f"{DRAFTS}/{last}/refuse", {})).status == 200
    await see_count(visitor, 50)


async def see_count(visitor: Visitor, count: int) -> None:
    """Wait until the page says in both places how many drafts wait."""
    await visitor.page.get_by_role("button", name=f"Drafts {count}", exact=True).wait_for()
    await visitor.page.get_by_label(f"{count} drafts wait", exact=True).wait_for()


async def test_the_list_of_drafts_and_what_a_reader_sees(gateway: Gateway) -> None:
    await say(gateway, "Hello")
    await until(lambda: received(gateway))
    await add_person(gateway, "reader", "rita@example.com")
    refused = await make_draft(gateway, "An old one")
    assert (await gateway.call("POST", f"{DRAFTS}/{refused}/refuse", {"comment": "Too late"})).status < 300
    await make_draft(gateway, "To nobody yet", phone=STRANGER)
    await make_draft(gateway, "To the person")
    problems: list[str] = []
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in(f"/inbox?channel={gateway.channel}")
        await page.get_by_role("button", name="Drafts 2").click()
        rows = page.get_by_role("region", name="Drafts", exact=True).get_by_role("listitem")
        await expect(rows).to_have_count(2)
        await expect(rows.first).to_contain_text("To the person")
        problems += await visitor.accessibility_problems("list of drafts")

        await rows.filter(has_text=STRANGER).click()
        card = card_of(visitor, "To nobody yet")
        await page.get_by_text("There is no conversation with this person yet.").wait_for()
        await card.get_by_role("button", name="Send", exact=True).click()
        await card.get_by_text(f"{EMAIL} sent it on").wait_for()
        await card.get_by_role("link", name="Trace of the message").wait_for()
        await expect(rows).to_have_count(1)

        await rows.filter(has_text="To the person").click()
        await message_of(page.get_by_role("region", name="Messages"), "Hello").wait_for()
        await card_of(visitor, "To the person").wait_for()
        template = {"name": "gone", "language": "en_US"}
        await draft(gateway, {"phone": PERSON, "type": "template", "template": template})
        card = card_of(visitor, "Template gone")
        await card.get_by_role("button", name="Send", exact=True).click()
        await expect(card.get_by_role("alert")).to_contain_text("send another template")
        problems += await visitor.accessibility_problems("a draft that cannot be sent")
        await check_count(gateway, visitor)
        await page.get_by_role("button", name="Refused").click()
        await rows.filter(has_text="An old one").click()
        await page.get_by_text("Comment: Too late").wait_for()
        await page.get_by_role("link", name="Open the conversation").wait_for()

    async with visiting(gateway) as visitor:
        await visitor.open(f"/inbox?channel={gateway.channel}")
        await visitor.fill_sign_in("rita@example.com")
        conversations = visitor.page.get_by_role("region", name="Conversations").get_by_role("listitem")
        await conversations.filter(has_text="Ana Souza").click()
        card = card_of(visitor, "To the person")
        await card.get_by_text("Owners and agents send, edit or refuse drafts.").wait_for()
        await expect(card.get_by_role("button")).to_have_count(0)
    assert not problems, "\n".join(problems)
