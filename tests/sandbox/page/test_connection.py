"""The page while the sandbox is away: it says so, and is current again when the sandbox is back."""

from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import expect
from pyreqwest.client import Client

from gatepost_sandbox import SandboxSettings
from tests.sandbox.conftest import running
from tests.sandbox.driver import Driver
from tests.sandbox.page.chatting import ANA, ANAS_CHAT, begin, write
from tests.sandbox.page.viewer import Viewer, viewing


async def test_a_restart_is_survived(client: Client, tmp_path: Path) -> None:
    settings = SandboxSettings(seed=7)
    async with AsyncExitStack() as stack:
        with running(settings, tmp_path) as port:
            sandbox = Driver(client, port)
            await sandbox.control("PUT", "people/5511999990000", {"name": "Ana"})
            viewer = await stack.enter_async_context(viewing(sandbox.base))
            await viewer.open("#/panel/people")
            await viewer.page.get_by_role("heading", name="Ana").wait_for()
        await viewer.see("Connection lost.")
        with running(settings, tmp_path, port):
            await expect(viewer.page.get_by_text("Connection lost.")).to_have_count(0)
            await viewer.page.get_by_role("heading", name="Ana").wait_for()
            await sandbox.control("PUT", "people/5511999991111", {"name": "Ben"})
            await viewer.page.get_by_role("heading", name="Ben").wait_for()


async def test_a_chat_that_cannot_be_read_is_tried_again_and_one_that_is_gone_is_empty(
    viewer: Viewer, sandbox: Driver
) -> None:
    await begin(sandbox)
    await write(sandbox, "text", {"body": "Your order is ready"})
    page, reads = viewer.page, f"**/control/chats/{ANA}/*"
    await page.route(reads, lambda route: route.fulfill(status=500, json={"error": "out of order"}))
    await viewer.open(ANAS_CHAT)
    await viewer.see("out of order")
    await expect(page.get_by_role("button", name="Create an official number")).to_have_count(0)
    await page.unroute(reads)
    await viewer.button("Try again").click()
    await viewer.see("Your order is ready")
    await sandbox.control("POST", "reset", {})
    await begin(sandbox)  # the same person, without the number
    await page.get_by_role("button", name="Create an official number").wait_for()
    await expect(page.get_by_text("Your order is ready")).to_have_count(0)


async def test_people_that_cannot_be_read_are_tried_again(viewer: Viewer, sandbox: Driver) -> None:
    await begin(sandbox)
    people = "**/control/people"
    await viewer.page.route(people, lambda route: route.fulfill(status=500, json={"error": "out of order"}))
    await viewer.open(f"#/{ANA}")
    await viewer.see("out of order")
    await viewer.page.unroute(people)
    await viewer.button("Try again").click()
    await viewer.see("No chats yet")
