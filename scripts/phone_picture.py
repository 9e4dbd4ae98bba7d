"""Makes the picture of the README: a message is sent by curl, read and answered on the phone, and arrives as a webhook.

usage: python -m scripts.phone_picture FILE [--data DATA]     with a gateway that runs on this data folder (`make run`)
"""

import argparse
import asyncio
import base64
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

from playwright.async_api import Page, async_playwright, expect

from tests.console.browser import FLAGS, find_browser

PERSON, NAME = "5511999998888", "Ana Souza"
TEXT, REPLY = "Hello Ana, your order 4711 has left our store.", "Great! When will it arrive?"
KEY = "gpk_…"  # the key itself stays out of the picture
STEPS = ("1. You call the API", "2. The phone rings", "3. The person answers", "4. Your server gets a webhook")
PAGE = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 28px; background: #f3f2fa; font: 15px/1.5 system-ui, sans-serif; color: #1b1c29;
       display: grid; grid-template-columns: 420px 300px 300px 420px; gap: 28px; width: max-content; }
h2 { margin: 0 0 12px; font-size: 17px; }
pre { margin: 0; padding: 18px; border-radius: 14px; background: #1b1c29; color: #e6e6f2; white-space: pre-wrap;
      overflow-wrap: anywhere; font: 12.5px/1.55 ui-monospace, monospace; }
img { width: 300px; display: block; border-radius: 40px; }
</style>"""


@contextmanager
def receiving(events: "Queue[Any]") -> Iterator[str]:
    """Run a server that puts each event into a queue; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            events.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()


def curl(*words: str, method: str = "POST", body: Any = None) -> Any:
    """Run curl; return the JSON of the answer."""
    content = ["-H", "Content-Type: application/json", "-d", json.dumps(body)] if body is not None else []
    command = ["curl", "-sS", "--fail-with-body", "--noproxy", "*", "-X", method, *words, *content]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)  # noqa: S603


async def shoot_phone(page: Page) -> str:
    """Return a picture of the phone as a data URI."""
    phone = page.get_by_role("region", name=f"Phone of {NAME}")
    picture = await phone.screenshot(animations="disabled", omit_background=True)
    return "data:image/png;base64," + base64.b64encode(picture).decode()


async def follow(page: Page, quickstart: Any) -> str:
    """Go through the four steps; return the page that shows them."""
    base, sandbox, channel = quickstart["base_url"], quickstart["sandbox_url"], quickstart["channels"][0]
    bearer = ("-H", f"Authorization: Bearer {channel['api_key']}")
    events: Queue[Any] = Queue()
    curl(f"{sandbox}/control/people/{PERSON}", method="PUT", body={"name": NAME, "reads": "when_open"})
    with receiving(events) as url:
        endpoint = curl(f"{base}/api/v1/webhooks", *bearer, body={"url": url})["data"]["id"]
        try:
            await page.goto(f"{sandbox}/#/{PERSON}")
            answer = curl(f"{base}/api/v1/message/send", *bearer, body={"phone": PERSON, "body": TEXT})
            await expect(page.locator(".chat-row").first).to_contain_text("1 unread")
            rings = await shoot_phone(page)
            await page.locator(".chat-row").first.click()
            await page.get_by_label("Message", exact=True).fill(REPLY)
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("article").filter(has_text=REPLY).last).to_contain_text("Delivered")
            answered = await shoot_phone(page)
            event = await asyncio.to_thread(reply_of, events)
        finally:
            curl(f"{base}/api/v1/webhooks/{endpoint}", *bearer, method="DELETE")
    key = {"key": answer["data"]["key"], "status": answer["data"]["status"]}
    command = (
        f"curl {base}/api/v1/message/send \\\n  -H 'Authorization: Bearer {KEY}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n  -d '{json.dumps({'phone': PERSON, 'body': TEXT})}'"
    )
    call = f"$ {command}\n\n{json.dumps({'success': True, 'data': key}, indent=2)}"
    shown = {name: event[name] for name in ("id", "type", "action", "data") if name in event}
    shown["data"] = {name: shown["data"][name] for name in ("direction", "type", "content", "timestamp", "contact")}
    webhook = f"POST /hook\nwebhook-signature: v1,…\n\n{json.dumps(shown, indent=2)}"
    contents = (text(call), image(rings), image(answered), text(webhook))
    sections = (f"<section><h2>{step}</h2>{content}</section>" for step, content in zip(STEPS, contents, strict=True))
    return PAGE + "".join(sections)


def reply_of(events: "Queue[Any]") -> Any:
    """Wait for the event of the answer."""
    while True:
        event = events.get(timeout=30)
        if event["type"] == "message_notification" and event["data"].get("content") == {"body": REPLY}:
            return event


def text(content: str) -> str:
    """Return a text as it is shown."""
    return f"<pre>{escape(content)}</pre>"


def image(uri: str) -> str:
    """Return a picture as it is shown."""
    return f'<img src="{uri}">'


async def main(file: Path, data: Path) -> None:
    """Write the picture."""
    quickstart = json.loads((data / "quickstart.json").read_text())
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = await browser.new_page(viewport={"width": 1280, "height": 860}, device_scale_factor=2, locale="en-GB")
        shown = await follow(page, quickstart)
        row = await browser.new_page(viewport={"width": 1600, "height": 100})
        await row.set_content(shown)
        await row.screenshot(path=file, full_page=True)
        await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, default=Path("data"))
    options = parser.parse_args()
    asyncio.run(main(options.file, options.data))
