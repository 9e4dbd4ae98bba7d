"""The page about usage, in a real browser: the plot grows, failures are explained, the plan is the limit."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Locator, expect

from gatepost.admin import accounts
from tests.console.visitor import Visitor, add_person, visiting
from tests.console.watched_page import SMALLEST
from tests.gateway.checks import PERSON
from tests.patience import patience
from tests.running_gateway import Gateway

FAILING = "5511999990001"


async def bars(plot: Locator) -> list[int]:
    """Return the numbers of a plot's bars."""
    found = plot.locator("[data-bar]")
    return [int(await found.nth(i).get_attribute("data-bar") or 0) for i in range(await found.count())]


async def send_and_fail(gateway: Gateway) -> None:
    """Send two messages that arrive, and two that fail."""
    await gateway.sandbox("POST", "/control/faults", {"fault": "refuse", "code": 131026, "to": FAILING})
    for phone, status in ((PERSON, "READ"), (PERSON, "READ"), (FAILING, "FAILED"), (FAILING, "FAILED")):
        await gateway.until_status(await gateway.send(phone=phone, body="Hello"), status)


async def see_later(part: Locator, text: str) -> None:
    """Wait until a part shows a text. The page loads the numbers again every ten seconds, of its own clock."""
    found = part.filter(has_text=text)
    async with patience(lambda: f"the page does not show {text}"):
        while not await found.count():
            await part.page.clock.fast_forward(10_000)
            await asyncio.sleep(0.1)


async def test_the_plot_grows_and_failures_are_explained_to_a_reader(gateway: Gateway) -> None:
    await add_person(gateway, "reader", "rita@example.com")
    await accounts.change_plan(gateway.db, gateway.account_id, "starter", plans=gateway.settings.plans)
    async with visiting(gateway) as visitor:
        page = visitor.page
        await page.clock.install(time=datetime.now(UTC) - timedelta(days=3))  # is wrong
        await visitor.sign_in("/usage", "rita@example.com")
        await visitor.see("No messages on these days.")
        await visitor.see("No message failed on these days.")
        await page.set_viewport_size({"width": SMALLEST, "height": 740})
        box = await page.locator("label", has_text="Month").bounding_box()
        assert box
        assert box["x"] + box["width"] <= SMALLEST
        await page.set_viewport_size({"width": 1280, "height": 800})
        messages = page.get_by_role("region", name="Messages")
        await send_and_fail(gateway)
        plot = messages.get_by_role("img", name="Messages of each day")
        await see_later(messages, "Sent 2")
        assert await bars(plot) == [2, 2]  # sent and failed, on top of one another
        await gateway.send(phone=PERSON, type="location", location={"latitude": 1, "longitude": 2})
        await see_later(messages, "Sent 3")
        await plot.locator("[data-bar='3']").wait_for()
        plan = page.get_by_role("region", name="Plan Starter")
        await expect(plan).to_contain_text("5 of 12,000")
        await expect(plan.get_by_role("img")).to_have_accessible_name(
            "Messages sent since the start of the month: 5 of 12,000."
        )
        text = {"content-type": "text/plain"}
        assert (await gateway.call("POST", "/api/v1/media", raw=b"x" * 1536, headers=text)).status == 201
        await see_later(plan, "1.5 KiB of 2 GiB")
        failures = page.get_by_role("region", name="Failures")
        await expect(failures).to_contain_text("131026")
        await expect(failures).to_contain_text("2 messages")
        await look_closer(visitor, messages)
        await failures.get_by_role("link", name="Show the last message with the error 131026").click()
        assert "trace=" in page.url


async def look_closer(visitor: Visitor, messages: Locator) -> None:
    """Group by type, show the table, choose other days, and save the numbers."""
    page = visitor.page
    await messages.get_by_text("By type").click()
    await expect(messages).to_contain_text("Location 1")
    await messages.get_by_role("button", name="Show as a table").click()
    await expect(messages.get_by_role("row").nth(1)).to_contain_text("41")  # 4 texts, 1 location
    await page.get_by_text("7 days", exact=True).click()
    await expect(messages.get_by_role("row")).to_have_count(8)
    await page.get_by_text("Month", exact=True).click()
    await page.reload()
    await page.get_by_role("combobox", name="Month").wait_for()
    await expect(messages).to_contain_text("Location 1")
    assert "by=type" in page.url
    async with page.expect_download() as downloading:
        await page.get_by_role("button", name="Download CSV").click()
    lines = Path(await (await downloading.value).path()).read_text().splitlines()
    assert lines[0] == "date,direction,type,messages"
    assert [line.split(",", 1)[1] for line in lines[1:]] == ["out,location,1", "out,text,4", "failed,,2"]
