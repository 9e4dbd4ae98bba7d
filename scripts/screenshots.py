"""Takes a picture of every page of the dashboard of a running gateway (`make run`), with example data.

usage: python -m scripts.screenshots FOLDER [DATA]
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.browser import FLAGS, find_browser

SIZES = {"wide": (1280, 860), "narrow": (360, 740)}
MESSAGES = 12
_JSON = {"Content-Type": "application/json"}


class Customer(BaseHTTPRequestHandler):
    """A customer's server: /hooks accepts every event, /broken refuses."""

    def do_POST(self) -> None:
        """Answer one event."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500 if self.path == "/broken" else 200)
        self.end_headers()
        self.wfile.write(b'{"error": "out of order"}' if self.path == "/broken" else b'{"ok": true}')

    def log_message(self, *_: Any) -> None:
        """Write no log."""


@contextmanager
def running_customer() -> Iterator[str]:
    """Run the customer's server on a free port."""
    server = HTTPServer(("127.0.0.1", 0), Customer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def call(quickstart: Any, path: str, body: Any) -> Any:
    """Call the API with the key of the first channel."""
    key = quickstart["channels"][0]["api_key"]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = Request(f"{quickstart['base_url']}/api/v1{path}", json.dumps(body).encode(), headers)  # noqa: S310
    with urlopen(request) as answer:  # noqa: S310 - our own address
        return json.load(answer)


def sign_in(page: Page, quickstart: Any) -> None:
    """Sign in as the owner of the demo account."""
    page.goto(quickstart["base_url"])
    page.get_by_label("E-mail address").fill(quickstart["dashboard"]["email"])
    page.get_by_role("textbox", name="Password").fill(quickstart["dashboard"]["password"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Inbox", exact=True)).to_be_visible()


class Camera:
    """Takes pictures in one size and colour scheme."""

    def __init__(self, browser: Browser, folder: Path, size: str, colors: Any) -> None:
        width, height = SIZES[size]
        self.page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colors)
        self._folder, self._suffix = folder, f"{size}-{colors}"

    def take(self, name: str) -> None:
        """Save a picture, once nothing moves any more."""
        self.page.wait_for_load_state("networkidle")
        self.page.screenshot(path=self._folder / f"{name}-{self._suffix}.png", animations="disabled")


def take_all(camera: Camera, quickstart: Any, *, fresh: bool, customer: str) -> None:
    """Walk through all pages. `fresh`: there is no endpoint yet."""
    page, home = camera.page, quickstart["base_url"]
    channel = f"?channel={quickstart['channels'][0]['id']}"
    page.goto(home)
    camera.take("sign-in")
    page.goto(f"{home}/link/nothing")
    camera.take("link-not-valid")
    sign_in(page, quickstart)
    if fresh:
        page.goto(f"{home}/webhooks{channel}")
        expect(page.get_by_text("No endpoint yet")).to_be_visible()
        camera.take("webhooks-empty")
        make_examples(quickstart, customer)
    page.goto(f"{home}/webhooks{channel}")
    expect(page.get_by_label(f"Endpoint {customer}/hooks")).to_be_visible()
    camera.take("webhooks")
    page.get_by_role("button", name="Add an endpoint").click()
    page.get_by_role("button", name="More settings").click()
    camera.take("webhooks-add")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Send a test event").first.click()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Delivered", exact=True)).to_be_visible()
    camera.take("webhooks-test")
    page.goto(f"{home}/webhooks/log{channel}")
    expect(page.get_by_role("row").nth(3)).to_be_visible()
    camera.take("log")
    page.get_by_role("row").nth(1).get_by_role("button").click()
    expect(page.get_by_role("button", name="Attempt 1")).to_be_visible()
    camera.take("log-delivery")
    take_people(camera, home, channel)
    take_account(camera, home)
    page.goto(f"{home}/inbox{channel}")
    expect(page.get_by_role("region", name="Conversations").get_by_role("listitem").first).to_be_visible()
    camera.take("inbox")
    page.get_by_role("region", name="Conversations").get_by_role("listitem").first.click()
    expect(page.get_by_role("article").last).to_be_visible()
    camera.take("inbox-thread")
    page.get_by_role("button", name="Details").click()
    camera.take("inbox-details")
    page.goto(f"{home}/profile")
    expect(page.get_by_role("heading", name="Your profile")).to_be_visible()
    camera.take("profile")
    page.goto(f"{home}/nothing")
    camera.take("not-found")


def take_people(camera: Camera, home: str, channel: str) -> None:
    """Walk through the pages about contacts, labels, templates and orders."""
    page = camera.page
    page.goto(f"{home}/contacts{channel}")
    expect(page.get_by_role("listitem").nth(2)).to_be_visible()
    camera.take("contacts")
    page.get_by_role("listitem").first.get_by_role("button").click()
    expect(page.get_by_role("button", name="Save")).to_be_visible()
    camera.take("contacts-one")
    page.goto(f"{home}/contacts{channel}")
    page.get_by_role("button", name="Import and export").click()
    page.get_by_role("menuitem", name="Import a table").click()
    table = b"phone,name\n5511999990001,Ana Lima\n+55 11,Bruno\n12,Carla\n"
    page.get_by_label("Table").set_input_files({"name": "people.csv", "mimeType": "text/csv", "buffer": table})
    expect(page.get_by_text("Lines that were not imported")).to_be_visible()
    camera.take("contacts-import")
    page.goto(f"{home}/contacts/labels{channel}")
    expect(page.get_by_text("VIP")).to_be_visible()
    camera.take("labels")
    page.goto(f"{home}/templates{channel}")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    camera.take("templates")
    page.get_by_role("row").nth(1).get_by_role("button").click()
    expect(page.get_by_role("region", name="Preview")).to_be_visible()
    camera.take("templates-one")
    page.goto(f"{home}/templates/editor{channel}")
    page.get_by_label("Text", exact=True).fill("Hello {{1}}, your order {{2}} is ready. Come and get it.")
    page.get_by_label("Example for {{1}}").fill("Ana")
    camera.take("templates-editor")
    page.goto(f"{home}/orders{channel}")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    camera.take("orders")
    page.get_by_role("row").nth(1).get_by_role("button").click()
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    camera.take("orders-one")


def take_account(camera: Camera, home: str) -> None:
    """Walk through the pages about the account."""
    page = camera.page
    page.goto(f"{home}/usage")
    expect(page.get_by_role("img", name="Messages of each day")).to_be_visible()
    camera.take("usage")


def make_people(quickstart: Any) -> None:
    """Create contacts, labels, a template and an order."""
    for name in ("VIP", "Waiting for payment", "Newsletter"):
        call(quickstart, "/labels", {"name": name})
    for i, name in enumerate(("Ana Lima", "Bruno Costa", "Carla Dias", "Davi Rocha", "Elisa Nunes")):
        person = {"phone": f"55119999800{i:02}", "name": name, "custom": {"city": "Lisbon"}, "opted_out": i == 3}
        call(quickstart, "/contacts", person)
    body = {"type": "BODY", "text": "Hello {{1}}, your order {{2}} has left our shop today."}
    body["example"] = {"body_text": [["Ana", "4711"]]}  # type: ignore[assignment]
    template = {"name": "order_sent", "language": "en_US", "category": "UTILITY", "components": [body]}
    call(quickstart, "/templates", template)
    items = [{"product_retailer_id": "rye-bread", "quantity": 2, "item_price": 4.5, "currency": "EUR"}]
    incoming = {"from": "5511999980000", "type": "order", "order": {"catalog_id": "1", "product_items": items}}
    number = "/control/numbers/100000000000001/incoming"
    request = Request(quickstart["sandbox_url"] + number, json.dumps(incoming).encode(), _JSON)  # noqa: S310
    urlopen(request).close()  # noqa: S310 - our own address


def make_examples(quickstart: Any, customer: str) -> None:
    """Create two endpoints, one of which fails, and send messages."""
    make_people(quickstart)
    call(quickstart, "/webhooks", {"url": f"{customer}/hooks"})
    call(quickstart, "/webhooks", {"url": f"{customer}/broken", "events": {"ack_notification": False}})
    for number in range(MESSAGES):
        call(quickstart, "/message/send", {"phone": "5511999998888", "body": f"Your order {1040 + number} is ready."})


def main(folder: Path, data: Path) -> None:
    """Take every picture in two sizes and two colour schemes."""
    quickstart = json.loads((data / "quickstart.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=60_000)
    with running_customer() as customer, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        for i, (size, colors) in enumerate((size, colors) for size in SIZES for colors in ("light", "dark")):
            take_all(Camera(browser, folder, size, colors), quickstart, fresh=i == 0, customer=customer)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "data"))
