"""Linking a program from the phone itself: by a screenshot, a picture, a text or a pairing code."""

import io
from typing import Any

import segno
from playwright.async_api import Locator, expect

from tests.sandbox.driver import Driver
from tests.sandbox.page.chatting import paste
from tests.sandbox.page.test_messenger_people import menu
from tests.sandbox.page.viewer import Viewer
from tests.sandbox.qr.conftest import Dial, dial
from tests.sandbox.qr.peer import PHONE

__all__ = ["dial"]  # a fixture of the QR network


def drawn(code: str) -> bytes:
    """Return a picture of a QR code."""
    file = io.BytesIO()
    segno.make(code).save(file, kind="png", scale=5)
    return file.getvalue()


async def code_of(sandbox: Driver, session: str) -> str:
    sessions = await sandbox.control("GET", "sessions")
    return str(next(one["code"] for one in sessions if one["session"] == session))


async def check_linked(sandbox: Driver, sheet: Locator, session: str) -> None:
    await sheet.get_by_role("listitem").filter(has_text=session).wait_for()
    await sandbox.advance(1)
    await expect(sheet.get_by_role("listitem").filter(has_text=session)).to_contain_text("connected")
    await expect(sheet.get_by_label("Code", exact=True)).to_have_value("")


async def test_a_phone_links_programs_itself(viewer: Viewer, empty: Driver, dial: Dial) -> None:
    peer, page = await dial(), viewer.page
    for session in ("ch_1", "ch_2", "ch_3"):
        await peer.open(session, PHONE)
    await viewer.open("#/")
    await page.get_by_role("link", name="links by QR code").click()
    await viewer.see("Programs that are linked to this phone")
    await menu(page, "Menu of", "Linked devices")
    sheet = page.get_by_role("dialog", name="Linked devices")
    await expect(sheet).to_contain_text("No program is linked")
    assert await viewer.accessibility_problems("linked devices") == []

    await sheet.get_by_label("Code", exact=True).wait_for()
    await page.keyboard.press("Shift+Tab")  # the focus stays in the sheet, and reaches its last part
    await expect(sheet.get_by_text("Type a pairing code instead")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(sheet.get_by_role("button", name="Close")).to_be_focused()

    code = await code_of(empty, "ch_1")
    await paste(page, "Code", drawn(code))
    await expect(sheet.get_by_label("Code", exact=True)).to_have_value(code)
    await viewer.button("Scan").click()
    await viewer.see("The device was linked.")
    await check_linked(empty, sheet, "ch_1")

    picture: Any = {"name": "code.png", "mimeType": "image/png", "buffer": drawn(await code_of(empty, "ch_2"))}
    await sheet.get_by_label("Choose a picture").set_input_files(picture)
    await expect(sheet.get_by_label("Code", exact=True)).not_to_have_value("")
    await viewer.button("Scan").click()
    await check_linked(empty, sheet, "ch_2")

    pairing = (await peer.ask("pair", session="ch_3", phone=PHONE))["code"]
    await sheet.get_by_text("Type a pairing code instead").click()
    await sheet.get_by_label("Pairing code").fill("WRONG-01")
    await viewer.button("Link").click()
    await sheet.get_by_role("alert").filter(has_text="code").wait_for()
    await sheet.get_by_label("Pairing code").fill(pairing)
    await viewer.button("Link").click()
    await check_linked(empty, sheet, "ch_3")

    await viewer.button("Log out").click()
    await viewer.button("Log out all devices?").click()
    await expect(sheet).to_contain_text("No program is linked")
    assert {one["state"] for one in await empty.control("GET", "sessions")} == {"logged_out"}
    await viewer.open(f"#/{PHONE}/999")
    await viewer.see("No chat with 999")
    await expect(sheet).to_have_count(0)  # another screen does not have the sheet of the one before
