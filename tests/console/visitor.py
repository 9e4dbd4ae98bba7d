"""A person at the dashboard."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from playwright.async_api import Page

from gatepost.admin.users import create_user
from gatepost.model.totp import STEP, totp_code
from tests.console.watched_page import WatchedPage, watching
from tests.running_gateway import Gateway

EMAIL, PASSWORD = "ana@example.com", "correct horse battery"


class Visitor(WatchedPage):
    """A page of the browser at the dashboard of a gateway."""

    def __init__(self, page: Page, gateway: Gateway) -> None:
        super().__init__(page, gateway.url)
        self.gateway = gateway

    async def open(self, path: str = "/") -> None:
        """Open a page of the dashboard."""
        await self.page.goto(self.gateway.url + path)

    async def fill_sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> None:
        """Send the form with e-mail address and password."""
        await self.page.get_by_label("E-mail address").fill(email)
        await self.page.get_by_role("textbox", name="Password").fill(password)
        await self.page.get_by_role("button", name="Sign in").click()

    async def sign_in(self, path: str = "/", email: str = EMAIL) -> None:
        """Open a page as a person who has signed in. The form, which takes a second, has tests of its own."""
        answer = await self.page.request.post(
            f"{self.gateway.url}/api/v1/session",
            data={"email": email, "password": PASSWORD},
            headers={"origin": self.gateway.url},
        )
        assert answer.status == 201, await answer.text()
        await self.open(path)
        await self.page.get_by_role("button", name="Your menu").wait_for()

    async def choose(self, menu: str, item: str) -> None:
        """Open a menu and choose an item."""
        await self.page.get_by_role("button", name=menu).click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def check_colors(self, colors: str) -> None:
        """Check that Mantine has the colors that the browser asks for."""
        assert await self.page.evaluate("document.documentElement.dataset.mantineColorScheme") == colors


@asynccontextmanager
async def visiting(gateway: Gateway, *, width: int = 1280, colors: Any = "light") -> AsyncIterator[Visitor]:
    """Yield a visitor of a gateway; afterwards, nothing may have gone wrong on the page."""
    async with watching(lambda page: Visitor(page, gateway), width=width, colors=colors) as visitor:
        yield visitor


async def add_person(gateway: Gateway, role: str = "owner", email: str = EMAIL) -> None:
    """Create a user of the gateway's account."""
    await create_user(gateway.db, gateway.account_id, email, role=role, password=PASSWORD, now=gateway.clock.now())


def code_of(key: str, now: datetime) -> str:
    """Return the code that an authenticator app shows."""
    return totp_code(base64.b32decode(key), int(now.timestamp()) // STEP)
