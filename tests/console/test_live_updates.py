"""Live updates in a real browser: nothing is missing after a cut, and all tabs share one connection."""

import asyncio

from playwright.async_api import Page, Route, expect

from tests.console.visitor import PASSWORD, Visitor, add_person, visiting
from tests.gateway.checks import until
from tests.patience import patience
from tests.running_gateway import Gateway, running_gateway

STREAM = "**/api/v1/account/stream*"


class Cable:
    """The connection between a page and the gateway's stream, which a test can cut."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cut = False
        self._refused = asyncio.Event()
        self._begun = 0  # streams

    async def plug(self) -> None:
        await self.page.route(STREAM, self._handle)

    async def _handle(self, route: Route) -> None:
        """Let a stream end after a second, and none begin while it is cut."""
        if self.cut:
            self._refused.set()
            await route.abort()
        else:
            self._begun += 1
            joint = "&" if "?" in route.request.url else "?"
            await route.continue_(url=f"{route.request.url}{joint}seconds=1")

    async def until_begun_again(self) -> None:
        """Wait until two more streams have begun: then the updates until now have come, however they were shown."""
        before = self._begun
        async with patience(lambda: f"{self._begun - before} streams have begun"):
            while self._begun < before + 2:
                await asyncio.sleep(0.05)

    async def until_refused(self) -> None:
        """Wait until a stream was refused: none of those that began before the cut is open any more."""
        async with patience(lambda: "no stream was asked for"):
            await self._refused.wait()


async def add_contact(gateway: Gateway, number: int) -> None:
    made = await gateway.call("POST", "/api/v1/contacts", {"phone": f"55119999{number:05}", "name": f"Person {number}"})
    assert made.status == 201, made.body


async def seen(visitor: Visitor, name: str) -> None:
    await visitor.page.get_by_text(name, exact=True).wait_for()


async def test_nothing_is_missing_after_a_cut(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        cable = Cable(visitor.page)
        await cable.plug()
        await visitor.sign_in("/contacts")
        await add_contact(gateway, 1)
        await seen(visitor, "Person 1")
        await cable.until_begun_again()
        cable.cut = True
        await cable.until_refused()
        await visitor.see("Connection lost. Trying again…")
        for number in range(2, 7):
            await add_contact(gateway, number)
        cable.cut = False
        await visitor.see("Reconnected. 10 updates while you were away.")  # a contact and a conversation each
        for number in range(1, 7):
            await seen(visitor, f"Person {number}")
        await expect(visitor.page.get_by_text("Connection lost")).to_have_count(0)
        await visitor.page.unroute(STREAM)


async def until_opened(opened: list[str], count: int) -> None:
    """Wait until the pages have opened as many streams, and no more."""

    async def enough() -> bool:
        return len(opened) >= count

    await until(enough)
    assert len(opened) == count


async def test_two_tabs_have_one_connection_and_the_second_goes_on_alone(gateway: Gateway) -> None:
    async with visiting(gateway) as visitor:
        opened: list[str] = []
        context = visitor.page.context
        context.on("request", lambda request: opened.append(request.url) if "/account/stream" in request.url else None)
        await visitor.sign_in("/contacts")
        await until_opened(opened, 1)  # by the first tab
        async with visitor.page.expect_popup() as popup:
            await visitor.page.evaluate("void window.open('/contacts')")
        page = await popup.value
        other = Visitor(page, gateway)
        await page.get_by_role("button", name="Your menu").wait_for()
        await add_contact(gateway, 1)
        await seen(visitor, "Person 1")
        await seen(other, "Person 1")
        assert len(opened) == 1
        await visitor.open("/healthz")  # the first tab leaves
        await add_contact(gateway, 2)  # before, while or after the second tab takes over
        await seen(other, "Person 2")
        await until_opened(opened, 2)  # the browser reports its requests later than it shows their answers
        assert other.problems == []
        visitor.problems = [one for one in visitor.problems if not one.startswith("a window was opened")]


async def test_a_revoked_session_asks_to_sign_in(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url, api__heartbeat=0.2) as gateway, visiting(gateway) as visitor:
        await add_person(gateway)
        await visitor.sign_in("/contacts")
        async with gateway.db.connection() as conn:
            await conn.execute("DELETE FROM sessions")
        again = visitor.page.get_by_role("dialog", name="Your session has ended")
        await again.wait_for()  # the stream was ended, without an event that makes the page ask
        await add_contact(gateway, 1)
        await again.get_by_role("textbox", name="Password").fill(PASSWORD)
        await again.get_by_role("button", name="Sign in").click()
        await expect(again).to_be_hidden()
        await seen(visitor, "Person 1")
        await add_contact(gateway, 2)
        await seen(visitor, "Person 2")
