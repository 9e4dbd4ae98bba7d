"""Takes a picture of every view of the dashboard (`tests/console/views.py`) of a running gateway (`make run`).

usage: python -m scripts.screenshots FOLDER [--data DATA] [--views NAME…] [--sizes wide narrow] [--colors light dark]

The first run fills the demo's official channel with a small shop; the QR channel stays empty.
"""

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from playwright.async_api import Page, TimeoutError, async_playwright, expect
from pyreqwest.client import Client, ClientBuilder

from gatepost.admin.demo import OFFICIAL, OFFICIAL_PHONE
from tests.console.browser import FLAGS, find_browser
from tests.console.shop import REFUSED, Call, open_shop
from tests.console.views import VIEWS

SIZES = {"wide": (1280, 860), "narrow": (360, 740)}


class Customer(BaseHTTPRequestHandler):
    """The shop's server: /shop accepts every event, /crm rejects."""

    def do_POST(self) -> None:
        """Answer one event."""
        self.rfile.read(int(self.headers["Content-Length"]))
        broken = self.path == "/crm"
        self.send_response(500 if broken else 200)
        self.end_headers()
        self.wfile.write(b'{"error": "database is full"}' if broken else b'{"ok": true}')

    def log_message(self, *_: Any) -> None:
        """Write no log."""


@contextmanager
def running_customer(port: int) -> Iterator[str]:
    """Run the shop's server. Its port is the same in each run, because the endpoints keep the address."""
    server = HTTPServer(("127.0.0.1", port), Customer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def caller(client: Client, base: str, key: str | None = None) -> Call:
    """Return a function that calls the API of the gateway or of the sandbox."""

    async def call(method: str, path: str, body: Any) -> Any:
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        request = client.request(method, base + path).headers(headers)
        answer = await request.body_bytes(json.dumps(body or {}).encode()).build().send()
        assert answer.status < 300, await answer.text()
        answered = json.loads(bytes(await answer.bytes()))
        return answered.get("data", answered)

    return call


async def fill(quickstart: Any, customer: str) -> None:
    """Fill the demo, unless an earlier run has."""
    async with ClientBuilder().no_proxy().build() as client:
        call = caller(client, quickstart["base_url"] + "/api/v1", quickstart["channels"][0]["api_key"])
        if not await call("GET", "/webhooks", None):
            await open_shop(call, caller(client, quickstart["sandbox_url"]), OFFICIAL[OFFICIAL_PHONE].id, customer)
        with suppress(AssertionError):  # a refused request
            await call("POST", "/message/send", REFUSED)


async def take(page: Page, quickstart: Any, path: str, names: list[str]) -> None:
    """Take the views in the size and colours of a page. `path`: that of the picture, with `{}` for the view."""
    home, sign_in = quickstart["base_url"], quickstart["dashboard"]
    official, qr = (channel["id"] for channel in quickstart["channels"])
    signed_in = False
    for view in sorted(VIEWS, key=lambda view: not view.public):
        if not view.public and not signed_in:
            await page.goto(home)
            await page.get_by_label("E-mail address").fill(sign_in["email"])
            await page.get_by_role("textbox", name="Password").fill(sign_in["password"])
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
            signed_in = True
        if not names or view.name in names:
            try:
                await view.show(page, home, (official, qr))
            except (AssertionError, TimeoutError) as error:  # the picture shows what is there instead
                sys.stderr.write(f"{view.name}: {str(error).splitlines()[0]}\n")
            await page.wait_for_timeout(300)  # pictures and fonts; nobody waits for this script
            await page.screenshot(path=path.format(view.name), animations="disabled")


async def main(options: argparse.Namespace) -> None:
    """Take every picture in the chosen sizes and colours."""
    quickstart = json.loads((options.data / "quickstart.json").read_text())
    options.folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=10_000)
    port = int(quickstart["sandbox_url"].rpartition(":")[2]) + 1
    with running_customer(port) as customer:
        await fill(quickstart, customer)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            for size in options.sizes:
                width, height = SIZES[size]
                for colors in options.colors:
                    page = await browser.new_page(
                        viewport={"width": width, "height": height}, color_scheme=colors, locale="en-GB"
                    )
                    page.set_default_timeout(10_000)
                    await take(page, quickstart, f"{options.folder}/{{}}-{size}-{colors}.png", options.views)
                    await page.close()
            await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--views", nargs="*", default=[])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES))
    parser.add_argument("--colors", nargs="*", default=["light", "dark"])
    asyncio.run(main(parser.parse_args()))
