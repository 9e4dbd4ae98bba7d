"""The QR phones of the control panel in a browser: scanned, paired, dropped, locked and banned."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
import segno
from playwright.async_api import expect
from websockets.asyncio.client import connect

from tests.sandbox.driver import Driver
from tests.sandbox.page.chatting import paste
from tests.sandbox.page.viewer import Viewer, viewing
from tests.sandbox.qr.conftest import link_up
from tests.sandbox.qr.peer import Peer

FAKE_CAMERA = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")


@pytest.mark.parametrize("way", ["text", "picture", "screenshot"])
async def test_a_qr_code_is_scanned(viewer: Viewer, empty: Driver, way: str) -> None:
    async with connect(f"{empty.base.replace('http', 'ws', 1)}/qr/link", proxy=None) as socket:
        await Peer(socket).open("ch_1", "15550002222")
        [session] = await empty.control("GET", "sessions")
        await viewer.open("#/panel/phones")
        await viewer.see("Codes that wait for a scan")
        await viewer.page.get_by_label("Phone that scans").fill("+1 555 000 2222")
        if way == "text":
            await viewer.page.get_by_label("Code", exact=True).fill(session["code"])
        else:
            drawn = io.BytesIO()
            segno.make(session["code"]).save(drawn, kind="png", scale=5)
            picture: Any = {"name": "code.png", "mimeType": "image/png", "buffer": drawn.getvalue()}
            if way == "picture":
                await viewer.page.get_by_label("Choose a picture").set_input_files(picture)
            else:
                await paste(viewer.page, "Code", drawn.getvalue())
            await expect(viewer.page.get_by_label("Code", exact=True)).to_have_value(session["code"])
        await viewer.button("Scan").click()
        await viewer.page.get_by_role("heading", name="Sandbox Phone").wait_for()
        await empty.advance(1)
        await viewer.see("connected")
        [session] = await empty.control("GET", "sessions")
        assert (session["phone"], session["state"]) == ("15550002222", "connected")
        await viewer.button("Log out").click()
        await viewer.button("Log out all?").click()
        await viewer.see("not linked")


def film(text: str, path: Path) -> Path:
    """Write a film of a QR code that a browser can show as its camera: two grey frames of 640 × 480."""
    scale, size = 5, (640, 480)
    rows = [list(row) for row in segno.make(text).matrix]
    left, top = (size[0] - len(rows) * scale) // 2, (size[1] - len(rows) * scale) // 2
    light = bytearray(b"\xeb" * (size[0] * size[1]))
    for y, row in enumerate(rows):
        line = b"".join((b"\x10" if dark else b"\xeb") * scale for dark in row)
        for repeat in range(scale):
            start = (top + y * scale + repeat) * size[0] + left
            light[start : start + len(line)] = line
    frame = b"FRAME\n" + light + b"\x80" * (size[0] * size[1] // 2)
    path.write_bytes(b"YUV4MPEG2 W640 H480 F10:1 Ip A1:1 C420jpeg\n" + frame * 2)
    return path


async def test_a_qr_code_is_seen_by_the_camera(empty: Driver, tmp_path: Path) -> None:
    async with connect(f"{empty.base.replace('http', 'ws', 1)}/qr/link", proxy=None) as socket:
        await Peer(socket).open("ch_1", "15550002222")
        [session] = await empty.control("GET", "sessions")
        camera = f"--use-file-for-fake-video-capture={film(session['code'], tmp_path / 'code.y4m')}"
        async with viewing(empty.base, flags=[*FAKE_CAMERA, camera]) as viewer:
            await viewer.open("#/panel/phones")
            await viewer.button("Use the camera").click()
            await expect(viewer.page.get_by_label("Code", exact=True)).to_have_value(session["code"])
            await viewer.button("Use the camera").wait_for()  # the camera is closed
            await viewer.button("Scan").click()
            await viewer.see("done")
        [session] = await empty.control("GET", "sessions")
        assert session["phone"] == "15550002222"


async def test_a_qr_phone_is_dropped_locked_and_banned(viewer: Viewer, empty: Driver) -> None:
    async with connect(f"{empty.base.replace('http', 'ws', 1)}/qr/link", proxy=None) as socket:
        await link_up(empty, Peer(socket))

        async def state() -> tuple[str, str]:
            [session] = await empty.control("GET", "sessions")
            return session["state"], session["reason"]

        await viewer.open("#/panel/phones")
        await viewer.button("Lose the connection for 30 s").click()
        await viewer.see("disconnected")
        assert await state() == ("disconnected", "network_gone")
        await empty.advance(30)
        await viewer.page.get_by_text("connected", exact=True).wait_for()
        await viewer.button("Time-lock for an hour").click()
        await viewer.see("time-locked")
        assert await state() == ("limited", "time_locked")
        await viewer.button("Unlock").click()
        await viewer.button("Time-lock for an hour").wait_for()
        await viewer.button("Ban").click()
        await viewer.button("Ban it?").click()
        await viewer.button("Lift the ban").wait_for()
        assert await state() == ("banned", "banned")
        await viewer.button("Lift the ban").click()
        await viewer.page.get_by_text("connected", exact=True).wait_for()
        await viewer.button("Lose it for good").click()
        await viewer.see("disconnected")
        await empty.advance(3600)
        assert await state() == ("disconnected", "network_gone")


async def test_a_camera_that_is_missing_is_explained(viewer: Viewer) -> None:
    await viewer.open("#/panel/phones")
    await viewer.button("Use the camera").click()
    await viewer.page.get_by_role("alert").filter(has_text=re.compile("There is no camera|not allowed")).wait_for()
    await viewer.button("Close the camera").click()
    await viewer.button("Use the camera").wait_for()


async def test_a_pairing_code_is_typed(viewer: Viewer, empty: Driver) -> None:
    async with connect(f"{empty.base.replace('http', 'ws', 1)}/qr/link", proxy=None) as socket:
        peer = Peer(socket)
        await peer.open("ch_1", "15550002222")
        code = (await peer.ask("pair", phone="15550002222"))["code"]
        await viewer.open("#/panel/phones")
        await viewer.see(f"pairing code {code}")
        await viewer.page.get_by_text("Type a pairing code").click()
        await viewer.page.get_by_label("Phone", exact=True).fill("15550002222")
        await viewer.page.get_by_label("Pairing code").fill(code)
        await viewer.button("Link").click()
        await viewer.see("done")
        [session] = await empty.control("GET", "sessions")
        assert session["phone"] == "15550002222"


async def test_what_is_no_code_is_explained(viewer: Viewer, empty: Driver) -> None:
    await viewer.open("#/panel/phones")
    nonsense: Any = {"name": "a.png", "mimeType": "image/png", "buffer": b"no picture"}
    await viewer.page.get_by_label("Choose a picture").set_input_files(nonsense)
    await viewer.see("This file is not a picture.")
    await viewer.page.get_by_label("Phone that scans").fill("15550002222")
    await viewer.page.get_by_label("Code", exact=True).fill("nonsense")
    await viewer.button("Scan").click()
    await viewer.see("no session shows this code")
    await viewer.page.get_by_text("Type a pairing code").click()
    await viewer.page.get_by_label("Phone", exact=True).fill("15550002222")
    await viewer.page.get_by_label("Pairing code").fill("ABCD1234")
    await viewer.button("Link").click()
    await viewer.see("no session waits for this pairing code from this phone")
