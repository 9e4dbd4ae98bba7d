"""The page while the sandbox is away: it says so, and is current again when the sandbox is back."""

from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import expect
from pyreqwest.client import Client

from gatepost_sandbox import SandboxSettings
from tests.sandbox.conftest import running
from tests.sandbox.driver import Driver
from tests.sandbox.page.viewer import viewing


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
