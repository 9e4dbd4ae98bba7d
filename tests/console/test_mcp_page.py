"""The pages about assistants, in a real browser: the rules of a key, the stop, hand-overs and the log of calls."""

from typing import Any
from uuid import UUID

from playwright.async_api import Locator, expect

from gatepost.model import ids
from gatepost.model.mcp_call import CallOutcome, CallResult, McpCall, short_arguments
from gatepost.store.mcp.calls import CallRecord, insert_calls
from gatepost.store.mcp.conversations import insert_handover
from tests.console.test_developers_page import new_key
from tests.console.test_inbox_page import received, say
from tests.console.visitor import EMAIL, Visitor, add_person, visiting
from tests.gateway.checks import until
from tests.gateway.people import Person, new_person
from tests.running_gateway import Gateway

EVIL = "<img src=x onerror=ran=1><script>ran=1</script>"
ACCESS = "/api/v1/account/mcp"


async def create_key(visitor: Visitor, name: str) -> None:
    """Create a key for an assistant; its rules are shown afterwards."""
    page = visitor.page
    await page.get_by_role("button", name="Create a key").click()
    dialog = page.get_by_role("dialog", name="Create a key")
    await expect(dialog.get_by_role("checkbox", name="MCP")).to_be_checked()
    await dialog.get_by_label("Name").fill(name)
    await dialog.get_by_role("button", name="Create").click()
    await new_key(visitor)
    await page.get_by_role("heading", name=f"Rules of “{name}”").wait_for()


async def key_of(gateway: Gateway, owner: Person) -> str:
    """Return the id of the key for an assistant."""
    keys = (await owner.call("GET", f"/api/v1/account/channels/{gateway.channel}/keys")).json()["data"]
    (key,) = [key["id"] for key in keys if key["scopes"] == ["mcp"]]
    return str(key)


async def record(
    gateway: Gateway, key: str, tool: str, outcome: CallOutcome, arguments: Any = None, **more: Any
) -> None:
    """Record a call of an assistant, as the MCP server does."""
    now, key_id = gateway.clock.now(), UUID(hex=key[4:])
    text = short_arguments(arguments or {})
    call = McpCall(ids.new_id(now), key_id, now, f"Client {EVIL}", "http", tool, text)
    async with gateway.db.transaction() as conn:
        await insert_calls(conn, UUID(hex=gateway.channel[3:]), [CallRecord(call, CallResult(outcome, **more))])


async def save(visitor: Visitor) -> None:
    """Save the rules."""
    await visitor.page.get_by_role("button", name="Save the rules").click()


def row_of(visitor: Visitor, text: str) -> Locator:
    """Return the rows of the log with a text."""
    return visitor.page.get_by_role("table", name="Calls").get_by_role("row").filter(has_text=text)


async def test_the_rules_of_an_assistant_the_stop_the_log_and_a_hand_over(gateway: Gateway) -> None:
    await say(gateway, "Is my order ready?")
    await until(lambda: received(gateway))
    owner = await new_person(gateway)
    problems: list[str] = []
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in(f"/developers/mcp?channel={gateway.channel}")
        await visitor.see("No assistant yet")
        await expect(page.get_by_role("group", name="Address")).to_contain_text(f"{gateway.url}/mcp")
        await create_key(visitor, f"Helper {EVIL}")
        key = await key_of(gateway, owner)
        await check_rules(gateway, visitor, owner, key)
        problems += await visitor.accessibility_problems("rules")
        problems += await check_log(gateway, visitor, key)
        problems += await check_stop(visitor, owner)
        problems += await check_hand_over(gateway, visitor, owner, key)
        assert await page.evaluate("typeof ran") == "undefined"
    assert not problems, "\n".join(problems)


async def check_rules(gateway: Gateway, visitor: Visitor, owner: Person, key: str) -> None:
    """Rules are saved and put into words; a wrong number is named beside its field, and changes nothing."""
    page = visitor.page
    path = f"/api/v1/account/channels/{gateway.channel}/keys/{key}/policy"
    rules = page.get_by_role("region", name="Rules of")
    await rules.get_by_text("A person approves each message.").wait_for()
    await page.get_by_role("radio", name="Send", exact=True).check()
    await page.get_by_role("radio", name="None", exact=True).check()
    await page.get_by_label("These numbers").fill("12")
    await page.get_by_role("link", name="All assistants").click()
    await page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Cancel").click()
    await save(visitor)
    await page.get_by_text("The rules are not saved.").wait_for()
    await expect(page.get_by_label("These numbers")).to_have_attribute("aria-invalid", "true")
    assert (await owner.call("GET", path)).json()["data"]["mode"] == "draft"

    await page.get_by_label("These numbers").fill("+55 (11) 99999-0009")
    await page.get_by_label("Messages per hour").fill("7")
    await page.get_by_role("switch", name="Quiet hours").check()
    await page.get_by_label("From", exact=True).fill("21:30")
    await page.get_by_label("To", exact=True).fill("06:15")
    await save(visitor)
    await rules.get_by_text("The assistant may send messages.").wait_for()
    await rules.get_by_text("No links.").wait_for()
    await rules.get_by_text(f"Saved by {EMAIL}").wait_for()
    saved = (await owner.call("GET", path)).json()["data"]
    assert (saved["mode"], saved["link_hosts"], saved["sends_per_hour"]) == ("send", [], 7)
    assert saved["recipients"] == {
        "anyone": False,
        "wrote_within_days": 30,
        "labels": [],
        "phones": ["5511999990009"],
    }
    assert (saved["quiet_hours"]["start"], saved["quiet_hours"]["end"]) == ("21:30", "06:15")
    await page.reload()
    await expect(page.get_by_role("radio", name="Send", exact=True)).to_be_checked()
    await expect(page.get_by_label("These numbers")).to_have_value("5511999990009")
    answer = await owner.call("PUT", path, {"mode": "read"})  # in another browser
    assert answer.status == 200, answer.body
    await rules.get_by_text("The assistant may read.").wait_for()


async def check_log(gateway: Gateway, visitor: Visitor, key: str) -> list[str]:
    """The log gets new calls while it is open; arguments are text; filters and links work."""
    page = visitor.page
    message = (await gateway.call("GET", "/api/v1/messages")).json()["data"][0]
    await record(gateway, key, "send_text", "sent", {"text": "Hello"}, ids=(message["key"]["id"],))
    await page.get_by_role("link", name="All assistants").click()
    await page.get_by_role("region", name="Helper").get_by_role("link", name="Calls").click()
    await expect(row_of(visitor, "send_text")).to_have_count(1)
    await record(gateway, key, "read_conversation", "done")
    await row_of(visitor, "read_conversation").wait_for()
    await record(gateway, key, "send_text", "refused", {"text": EVIL}, rule="link_hosts", code="policy_refused")
    await expect(row_of(visitor, "link_hosts")).to_contain_text(f"Client {EVIL}")
    problems = await visitor.accessibility_problems("calls")
    await page.get_by_role("combobox", name="Outcome").click()
    await page.get_by_role("option", name="Refused").click()
    await expect(row_of(visitor, "read_conversation")).to_have_count(0)
    await row_of(visitor, "link_hosts").get_by_role("button").click()
    details = page.get_by_role("dialog", name="Call")
    await expect(details.get_by_role("group", name="Arguments")).to_contain_text(EVIL)
    await expect(details).to_contain_text(f"Helper {EVIL}")
    problems += await visitor.accessibility_problems("call")
    await page.keyboard.press("Escape")
    await expect(details).to_have_count(0)
    await page.get_by_role("button", name="Clear", exact=True).click()
    await row_of(visitor, "Sent").get_by_role("button").click()
    await details.get_by_role("link", name=message["key"]["id"]).click()
    await visitor.see("Time line")
    return problems


async def check_stop(visitor: Visitor, owner: Person) -> list[str]:
    """One switch stops all assistants, and lets them work again."""
    page = visitor.page
    await page.get_by_role("link", name="API", exact=True).click()
    await page.get_by_role("tab", name="MCP").click()
    await page.get_by_role("button", name="Stop all assistants").click()
    problems = await visitor.accessibility_problems("stop")
    await page.get_by_role("dialog").get_by_role("button", name="Stop all").click()
    await page.get_by_text(f"{EMAIL} stopped them on").wait_for()
    problems += await visitor.accessibility_problems("stopped")
    assert (await owner.call("GET", ACCESS)).json()["data"]["stopped_by"] == EMAIL
    await page.get_by_role("button", name="Let them work again").click()
    await page.get_by_role("button", name="Stop all assistants").wait_for()
    assert (await owner.call("GET", ACCESS)).json()["data"]["stopped_at"] is None
    assert (await owner.call("PUT", ACCESS, {"stopped": True})).status == 200  # in another browser
    await visitor.see("All assistants are stopped")
    return problems


async def check_hand_over(gateway: Gateway, visitor: Visitor, owner: Person, key: str) -> list[str]:
    """A conversation that was handed over says so, and a person gives it back."""
    page = visitor.page
    conversation = (await gateway.call("GET", "/api/v1/conversations")).json()["data"][0]["id"]
    await visitor.open(f"/inbox?channel={gateway.channel}&conversation={conversation}")
    await page.get_by_role("region", name="Messages").wait_for()
    channel, contact = UUID(hex=gateway.channel[3:]), UUID(hex=conversation[3:])
    async with gateway.db.transaction() as conn:
        await insert_handover(conn, channel, contact, UUID(hex=key[4:]), f"A refund {EVIL}", gateway.clock.now())
    await visitor.see(f"A refund {EVIL}")
    await page.get_by_text(f"Helper {EVIL}").wait_for()
    problems = await visitor.accessibility_problems("handed over")
    await page.get_by_role("button", name="Give back to the assistant").click()
    await expect(page.get_by_text("A refund")).to_have_count(0)
    owner.channel = gateway.channel
    answer = await owner.call("GET", f"/api/v1/conversations/{conversation}/hand-over")
    assert answer.json()["data"]["handed_over"] == []
    return problems


async def test_a_reader_sees_the_rules_and_is_offered_no_change(gateway: Gateway) -> None:
    await gateway.new_key(UUID(hex=gateway.channel[3:]), scopes=("mcp", "send"))
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.open(f"/developers/mcp?channel={gateway.channel}")
        await visitor.fill_sign_in("rita@example.com")
        await visitor.see("Besides mcp, this key has send.")
        await page.get_by_role("link", name="Rules", exact=True).click()
        await visitor.see("Only owners change the rules.")
        await expect(page.get_by_role("button", name="Save the rules")).to_have_count(0)
        await page.get_by_role("link", name="All assistants").click()
        await visitor.see("A person approves each message.")
        await expect(page.get_by_role("button", name="Stop all assistants")).to_have_count(0)
        await expect(page.get_by_role("button", name="Create a key")).to_have_count(0)
