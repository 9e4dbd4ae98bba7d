"""Bad days at the dashboard, in a real browser: trial over, suspended, not allowed, locked out, and outages."""

import asyncio
import copy
import re
import socket
import sys
from asyncio.subprocess import Process

from playwright.async_api import expect

from gatepost.access.sign_in_throttle import PER_EMAIL_MINUTE
from gatepost.admin import accounts
from gatepost.model.account import API_ACCESS
from tests.conftest import PostgresServer, administer
from tests.console.test_inbox_page import message_of, open_first, say, write
from tests.console.visitor import EMAIL, Visitor, add_person, visiting
from tests.movable_clock import MovableClock
from tests.patience import patience
from tests.running_gateway import Gateway

HELLO = {"phone": "5511999998888", "body": "Hello"}
LOADED_MS = 1_500  # until a page that was waited for is loaded again
WRITTEN = "Hello {{1}}, your order is ready."
GONE = "The gateway does not answer. Trying again…"
SEND = """async ([channel, body]) => {
    const session = await (await fetch("/api/v1/session")).json();
    const answer = await fetch("/api/v1/message/send", {
        method: "POST",
        headers: {"Content-Type": "application/json", "Gatepost-Channel": channel,
                  "Gatepost-CSRF": session.data.csrf_token},
        body: JSON.stringify(body),
    });
    return [answer.status, (await answer.json()).error.code];
}"""


async def until_sending_is(visitor: Visitor, status: int, code: str) -> None:
    """Wait until what the operator changed is known: a session is read again within a second."""
    answer: list[object] = []
    async with patience(lambda: f"sending is {answer}"):
        while (answer := await visitor.page.evaluate(SEND, [visitor.gateway.channel, {}])) != [status, code]:
            await asyncio.sleep(0.05)


async def test_a_trial_that_is_over_and_a_suspension(gateway: Gateway) -> None:
    await say(gateway, "Is my order ready?")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox")
        page = visitor.page
        messages, field = await open_first(visitor), page.get_by_role("textbox", name="Message")
        await accounts.end_trial(gateway.db, gateway.account_id, gateway.clock.now())
        await until_sending_is(visitor, 402, "api_access_required")
        await write(visitor, "Yes, it is.")
        await visitor.see("API Access")
        await expect(field).to_have_value("Yes, it is.")  # nothing that was written is lost
        await page.reload()
        await visitor.see("The trial is over. Everything can be read, but nothing new can be sent")
        await message_of(messages, "Is my order ready?").wait_for()
        for path, text in (("/webhooks", "No endpoint yet"), ("/usage", "Received 1"), ("/account/plan", "Trial over")):
            await visitor.open(path)
            await visitor.see(text)
        await accounts.add_addon(gateway.db, gateway.account_id, API_ACCESS, gateway.clock.now())
        await until_sending_is(visitor, 422, "invalid_field")
        await visitor.open("/inbox")
        await open_first(visitor)
        await expect(field).to_have_value("Yes, it is.")
        await field.press("Enter")
        await message_of(messages, "Yes, it is.").wait_for()
        await accounts.set_suspended(gateway.db, gateway.account_id, True)
        await until_sending_is(visitor, 402, "account_suspended")
        await visitor.open("/account/plan")
        await visitor.see(
            "This account is suspended. Until the operator of the gateway ends that, nothing new can be sent"
        )
        await visitor.see("Suspended")
        await visitor.open("/usage")
        await page.get_by_role("button", name="Try again").wait_for()
        await accounts.set_suspended(gateway.db, gateway.account_id, False)
        await until_sending_is(visitor, 422, "invalid_field")
        await page.get_by_role("button", name="Try again").click()
        await visitor.see("Received 1")


async def test_a_reader_is_not_offered_to_send_and_cannot(gateway: Gateway) -> None:
    await say(gateway, "Is my order ready?")
    await add_person(gateway, "reader", "rita@example.com")
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/inbox", "rita@example.com")
        await open_first(visitor)
        await visitor.see("Your role allows you to read, but not to send.")
        await expect(visitor.page.get_by_role("textbox", name="Message")).to_have_count(0)
        assert await visitor.page.evaluate(SEND, [gateway.channel, HELLO]) == [403, "missing_scope"]


async def test_the_sixth_password_has_to_wait_even_if_it_is_right(frozen: Gateway, clock: MovableClock) -> None:
    async with visiting(frozen) as visitor:
        await visitor.open()
        page, button = visitor.page, visitor.page.get_by_role("button", name="Sign in")
        for number in range(PER_EMAIL_MINUTE):
            async with page.expect_response("**/api/v1/session") as answered:
                await visitor.fill_sign_in(password=f"wrong wrong {number}")
            assert (await answered.value).status == 401
            await expect(button).not_to_have_attribute("data-loading", "true")
        await visitor.see("The e-mail address or the password is wrong.")
        async with page.expect_response("**/api/v1/session") as answered:
            await visitor.fill_sign_in()
        assert (await answered.value).status == 429
        await visitor.see("Too many attempts. You can try again in")
        await expect(button).to_be_disabled()
        await page.reload()
        clock.advance(61)
        await visitor.fill_sign_in()
        await page.get_by_role("button", name="Your menu").wait_for()


async def start_node(gateway: Gateway, url: str, port: int) -> Process:
    """Start another node of the gateway, in a process of its own; return it when it answers."""
    words = ["serve", "--role", "api", "--port", str(port), "--database-url", url, "--data", str(gateway.settings.data)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gatepost.cli",
        *words,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with patience(lambda: "the node does not answer"):
        while True:
            try:
                if (await gateway.call("GET", f"http://127.0.0.1:{port}/readyz", key="")).status == 200:
                    return process
            except Exception:
                await asyncio.sleep(0.1)


async def stop(process: Process) -> None:
    """End a node as a power cut does."""
    if process.returncode is None:
        process.kill()
        await process.wait()


async def test_a_gateway_that_ends_and_starts_again(gateway: Gateway, parted_database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    node = copy.copy(gateway)
    node.url = f"http://127.0.0.1:{port}"
    process = await start_node(gateway, parted_database_url, port)
    try:
        async with visiting(node) as visitor:
            await visitor.sign_in("/account")
            row = visitor.page.get_by_role("row", name=EMAIL)
            await row.wait_for()
            other = await visitor.page.context.new_page()
            await other.goto(f"{node.url}/templates/editor")
            await other.get_by_label("Text", exact=True).fill(WRITTEN)
            await stop(process)
            await other.get_by_role("link", name="Usage").hover()  # loads it in advance
            await other.get_by_text(GONE).wait_for()
            await visitor.page.get_by_role("tab", name="Plan").click()
            await visitor.see(GONE)
            await row.wait_for()  # the page stays as it is, until the next one can be loaded
            process = await start_node(gateway, parted_database_url, port)
            await visitor.see("Change the plan")
            await expect(visitor.page.get_by_text(GONE)).to_be_hidden()
            await other.wait_for_timeout(LOADED_MS)
            await expect(other.get_by_label("Text", exact=True)).to_have_value(WRITTEN)  # nothing was loaded again
            await other.get_by_role("link", name="Usage").click()
            await other.get_by_role("button", name="Leave").click()
            await other.get_by_text("What each channel sent").wait_for()
    finally:
        await stop(process)


async def test_a_database_that_is_gone_for_a_while(
    gateway: Gateway, parted_database_url: str, postgres_server: PostgresServer
) -> None:
    (name,) = re.findall(r"/(test_\w+)\?", parted_database_url)
    async with visiting(gateway) as visitor:
        await visitor.sign_in("/account")
        await visitor.page.get_by_role("row", name=EMAIL).wait_for()
        await administer(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            await administer(
                postgres_server, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )
            await visitor.page.get_by_role("tab", name="Plan").click()
            await visitor.see(GONE)
        finally:
            await administer(postgres_server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        await expect(visitor.page.get_by_text(GONE)).to_be_hidden()
        await visitor.see("Change the plan")
