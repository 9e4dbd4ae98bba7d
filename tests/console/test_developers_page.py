"""The pages about the API, in a real browser: keys, code examples that run, the console, refused requests."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from playwright.async_api import expect

from scripts.dashboard import find_node
from tests.console.visitor import Visitor, add_person, visiting
from tests.gateway.checks import PERSON, until
from tests.patience import PATIENCE
from tests.running_gateway import Gateway

CHANNEL = "/api/v1/channel"
TICK_MS = 6_000  # the page notices that a key has ended
# The programs that run the code examples. The machine needs no PHP.
RUN_BY = {
    "curl": ("sh",),
    "Python": (sys.executable,),
    "Python client": (sys.executable,),
    "JavaScript": (str(find_node()), "--input-type=module"),
}


async def new_key(visitor: Visitor) -> str:
    """Return the key that a dialog shows once, and close the dialog."""
    shown = visitor.page.get_by_role("dialog").get_by_test_id("copy-value")
    await expect(shown).to_contain_text("gpk_")
    key = await shown.inner_text()
    await expect(visitor.button("Copy: API key")).to_be_focused()
    await visitor.page.keyboard.press("Escape")  # does not close what is shown only once
    await visitor.page.clock.fast_forward(TICK_MS)
    await visitor.page.get_by_role("button", name="I have copied it").click()
    await expect(visitor.page.get_by_role("dialog")).to_be_hidden()
    await expect(visitor.page.get_by_role("heading", level=1)).to_be_focused()
    return key


async def works(gateway: Gateway, key: str) -> bool:
    return (await gateway.call("GET", CHANNEL, key=key)).status == 200


async def example(visitor: Visitor, language: str) -> str:
    """Return the code example of a language."""
    await visitor.page.get_by_role("tab", name=language, exact=True).click()
    return await visitor.page.get_by_role("tabpanel", name=language, exact=True).get_by_role("group").inner_text()


async def run(command: Sequence[str], stdin: str) -> str:
    """Run a program with this input; return what it writes."""
    program = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    written, _ = await asyncio.wait_for(program.communicate(stdin.encode()), PATIENCE)
    assert program.returncode == 0, written.decode()
    return written.decode()


async def accepted(gateway: Gateway) -> list[Any]:
    """Return what the simulated network has received."""
    entries: list[Any] = (await gateway.sandbox("GET", "/control/ledger?kind=accepted"))["entries"]
    return entries


async def until_accepted(gateway: Gateway, count: int) -> None:
    """Wait until the simulated network has received a number of messages."""

    async def arrived() -> bool:
        return len(await accepted(gateway)) == count

    await until(arrived)


async def bodies(gateway: Gateway) -> list[str]:
    """Return the texts that the simulated network has received."""
    return [entry["content"]["body"] for entry in await accepted(gateway)]


async def test_a_key_is_created_used_rotated_and_revoked(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.clock.install()
        await gateway.call("POST", "/api/v1/contacts", {"phone": "5511999990001", "name": "Ana"})
        await visitor.sign_in("/developers")
        await expect(page.get_by_role("group", name="Base URL")).to_contain_text(f"{gateway.url}/api/v1")
        await page.get_by_role("button", name="Create a key").click()
        dialog = page.get_by_role("dialog", name="Create a key")
        await dialog.get_by_role("checkbox", name="Manage").uncheck()
        await dialog.get_by_label("Name").fill("<b>Shop</b>")
        await dialog.get_by_role("button", name="Create").click()
        key = await new_key(visitor)
        assert await works(gateway, key)
        row = page.get_by_role("row", name="<b>Shop</b>")
        await expect(row).to_contain_text("send")
        await expect(row).not_to_contain_text("manage")

        await page.get_by_role("tab", name="Code examples").click()
        for number, (language, command) in enumerate(RUN_BY.items(), 1):
            code = await example(visitor, language)
            assert key in code
            shown = await run(command, code)
            await until_accepted(gateway, number)
            message = (await gateway.call("GET", "/api/v1/messages?limit=1")).json()["data"][0]
            assert message["key"]["id"] in shown, language
        assert await bodies(gateway) == ["Hello from Gatepost"] * len(RUN_BY)
        assert {entry["to"] for entry in await accepted(gateway)} == {"5511999990001"}
        php = await example(visitor, "PHP")  # that it can be parsed is tested in dashboard/
        assert all(value in php for value in (key, gateway.url, "5511999990001"))
        await gateway.call("POST", "/api/v1/labels", {"name": "VIP"}, key=key)
        await page.get_by_role("tab", name="Keys").click()
        await visitor.choose("Actions for <b>Shop</b>", "Refused requests")
        await page.get_by_role("row", name="/api/v1/labels").get_by_role("button").click()
        details = page.get_by_role("dialog", name="Refused request")
        await expect(details).to_contain_text("missing_scope")
        await expect(details).to_contain_text("<b>Shop</b>")
        await details.get_by_role("link", name="Open in the console").click()
        await expect(page.get_by_role("combobox", name="Operation")).to_have_value(
            "Create a label · POST /api/v1/labels"
        )

        await page.get_by_role("tab", name="Keys").click()
        await visitor.choose("Actions for <b>Shop</b>", "Rotate")
        await page.get_by_role("button", name="Create the new key").click()
        rotated = await new_key(visitor)
        assert await works(gateway, key)
        assert await works(gateway, rotated)
        await expect(row).to_have_count(2)
        await row.filter(has_text="Active").get_by_role("button").click()
        await page.get_by_role("menuitem", name="Revoke").click()
        await page.get_by_role("button", name="Revoke", exact=True).click()
        await expect(row).to_have_count(1)

        async def ended() -> bool:
            return (await gateway.call("GET", CHANNEL, key=rotated)).status == 401

        await until(ended)
        assert await works(gateway, key)
        await page.get_by_role("switch", name="Show revoked and expired keys (1)").check()
        await row.filter(has_text="Revoked").wait_for()
        await page.get_by_role("switch", name="Show revoked and expired keys (1)").uncheck()
        await row.get_by_role("button").click()
        await page.get_by_role("menuitem", name="Rotate").click()
        await page.get_by_role("combobox", name="The old key").click()
        await page.get_by_role("option", name="Stops at once").click()
        await page.get_by_role("button", name="Create the new key").click()
        assert await works(gateway, await new_key(visitor))  # the row of the old key is gone by then
        await expect(row).to_have_count(1)


async def test_the_console_sends_and_shows_the_answer(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in("/developers/console")
        await page.get_by_role("textbox", name="Body").fill('{"phone": "12"}')
        answer = page.get_by_role("region", name="Response")
        await page.get_by_role("button", name="Send the request").click()
        await expect(answer.get_by_role("status")).to_contain_text("422")
        await expect(answer.get_by_role("group", name="Response body")).to_contain_text("invalid_phone")
        await expect(answer.get_by_role("group", name="Response headers")).to_contain_text("x-request-id: req_")
        await page.get_by_role("textbox", name="Body").fill(f'{{"phone": "{PERSON}", "body": "From the console"}}')
        await page.get_by_role("button", name="Send the request").click()
        await expect(answer.get_by_role("status")).to_contain_text("200")

        async def arrived() -> bool:
            return "From the console" in await bodies(gateway)

        await until(arrived)
        await page.get_by_role("combobox", name="Operation").fill("Get a contact")
        await page.get_by_role("option", name="Get a contact ·").click()
        await page.get_by_role("button", name="Send the request").click()
        await expect(page.get_by_label("contact_id")).to_be_focused()
        await page.get_by_label("contact_id").fill("../session")
        await page.get_by_role("button", name="Send the request").click()
        await expect(answer.get_by_role("status")).to_contain_text("404")


async def test_a_reader_sees_keys_and_is_offered_no_change(gateway: Gateway) -> None:
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.sign_in("/developers", "rita@example.com")
        await visitor.see("Only owners create, rotate and revoke keys.")
        await expect(page.get_by_role("button", name="Create a key")).to_be_hidden()
        await page.get_by_role("button", name="Actions for").click()
        await page.get_by_role("menuitem", name="Refused requests").wait_for()
        await expect(page.get_by_role("menuitem", name="Revoke")).to_be_hidden()
        await visitor.open("/developers/console?operation=POST%20/api/v1/message/send")
        await visitor.see("Your role may not send POST /api/v1/message/send.")


async def test_the_reference_says_who_may_call_a_route(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        page = visitor.page
        await visitor.open("/docs")
        for summary, access in (
            ("Invite a user", "session, owner"),
            ("List the users of the account", "session"),
            ("Get the channel", "scope read"),
            ("Sign in", "no key"),
        ):
            route = page.locator("summary").filter(has=page.get_by_text(summary, exact=True))
            await expect(route.locator(".tag")).to_have_text(access)
        await visitor.open("/docs#account_users_invite_account_user")
        invite = page.locator("details[open]")
        await expect(invite).to_contain_text('-H "Gatepost-CSRF: $CSRF"')
        await expect(invite).to_contain_text("Keys are refused.")
        await expect(invite.get_by_role("button", name="Send it")).to_have_count(0)
        await visitor.open("/docs#channel_show_channel")
        await page.get_by_label("Your key").fill(gateway.key)
        await page.get_by_role("button", name="Send it").click()
        await visitor.see("200 OK")
