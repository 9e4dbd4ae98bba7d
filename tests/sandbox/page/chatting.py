"""A business that writes to phones on the page, and what the business receives from them."""

import asyncio
import base64
import io
import math
import struct
import wave
import zlib
from typing import Any

from playwright.async_api import Locator, Page

from tests.patience import patience
from tests.sandbox.driver import NUMBER, Driver, Receiver

ANA, BRUNO = "5511999990000", "5511988887777"
ANAS_CHAT = f"#/{ANA}/{NUMBER}"
_PASTE = """(element, data) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "image.png", {type: "image/png"}));
    element.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


_DROP = """(element, data) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "image.png", {type: "image/png"}));
    return !element.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}));
}"""


async def begin(sandbox: Driver) -> None:
    """Let time pass, and create two people who read what is open on the page."""
    await sandbox.control("POST", "clock", {"frozen": False})
    await sandbox.control("PUT", f"people/{ANA}", {"name": "Ana Souza", "reads": "when_open"})
    await sandbox.control("PUT", f"people/{BRUNO}", {"name": "Bruno Lima", "reads": "when_open"})


async def write(sandbox: Driver, kind: str, content: Any, to: str = ANA) -> str:
    """Send a message through the API of the network."""
    reply = await sandbox.post({"messaging_product": "whatsapp", "to": to, "type": kind, kind: content})
    assert reply.status == 200, reply.raw
    return reply.wamid


async def received(receiver: Receiver, kind: str, count: int = 1) -> dict[str, Any]:
    """Wait until the business has received messages of a type (or a status); return the last."""

    def found() -> list[dict[str, Any]]:
        return [one for one in receiver.updates() if kind in {one.get("status"), one.get("type")}]

    async with patience(lambda: f"{count} × {kind}, but there are {receiver.labels()}"):
        while len(found()) < count:
            await asyncio.sleep(0.02)
    return found()[count - 1]


def bubble(page: Page, text: str) -> Locator:
    """Return the message with a text."""
    return page.get_by_role("article").filter(has_text=text)


async def attach(page: Page, item: str, name: str, mime_type: str, content: bytes) -> None:
    """Choose a file to send."""
    await attach_file(page, item, {"name": name, "mimeType": mime_type, "buffer": content})


async def attach_file(page: Page, item: str, file: Any) -> None:
    """Choose a file to send: a path is quicker than a content for a large one."""
    await page.get_by_role("button", name="Send something else").click()
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name=item, exact=True).click()
    await (await choosing.value).set_files(file)


async def paste(page: Page, field: str, picture: bytes) -> None:
    """Paste a screenshot into a field."""
    await page.get_by_label(field, exact=True).evaluate(_PASTE, base64.b64encode(picture).decode())


async def drop(place: Locator, picture: bytes) -> bool:
    """Drop a picture; return whether the page keeps the browser from opening it."""
    return bool(await place.evaluate(_DROP, base64.b64encode(picture).decode()))


def png(width: int = 120, height: int = 80) -> bytes:
    """Return a picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((90, 80 + y, 200)) * width for y in range(height))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def sound(seconds: int = 1) -> bytes:
    """Return a sound."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 5))) for i in range(8000 * seconds)))
    return file.getvalue()


def reply_buttons(*titles: str, body: str = "Shall we?", **more: Any) -> dict[str, Any]:
    buttons = [{"type": "reply", "reply": {"id": f"b{at}", "title": title}} for at, title in enumerate(titles)]
    return {"type": "button", "body": {"text": body}, "action": {"buttons": buttons}, **more}


def list_message(body: str = "When?", button: str = "Choose a time", title: str = "09:00") -> dict[str, Any]:
    sections = [
        {"title": "Today", "rows": [{"id": "r1", "title": title, "description": "At the shop"}]},
        {"title": "Tomorrow", "rows": [{"id": "r2", "title": "18:00"}]},
    ]
    return {"type": "list", "body": {"text": body}, "action": {"button": button, "sections": sections}}


def products(*ids: str) -> dict[str, Any]:
    items = [{"product_retailer_id": one} for one in ids]
    action = {"catalog_id": "c1", "sections": [{"title": "Beans", "product_items": items}]}
    return {
        "type": "product_list",
        "header": {"type": "text", "text": "This week"},
        "body": {"text": "Our beans"},
        "action": action,
    }
