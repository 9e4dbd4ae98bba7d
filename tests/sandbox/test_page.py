"""The page for people: what is served and how, that it can do no harm, and that all it asks for exists.

No browser can be counted on where the tests run, so the page's script is read, not run: every file, element and control
request that it names must be there, and what it says as a person is said here over HTTP in the same words.
"""

import re
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any, get_args

import pytest

from gatepost_sandbox import control, page
from gatepost_sandbox.control.templates import FROM
from gatepost_sandbox.faults import Fault
from gatepost_sandbox.settings import CharacterName
from tests.for_each import for_each

from .driver import NUMBER, Driver, Receiver

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ANA = "5511999990000"
SCRIPTS = {name: content.decode() for name, content in page.FILES.items() if name.endswith(".js")}
HTML = page.FILES["index.html"].decode()


class Seen(HTMLParser):
    """Every tag of a page with its attributes, and the text inside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem:
            self.inline += data.strip()


async def fetch(sandbox: Driver, path: str, accept: str) -> tuple[int, dict[str, str], str]:
    response = await sandbox._client.get(sandbox.base + path).header("accept", accept).build().send()
    return response.status, {k.lower(): v for k, v in response.headers.items()}, await response.text()


async def test_a_browser_gets_the_page_and_curl_the_list(empty: Driver) -> None:
    status, headers, body = await fetch(empty, "/", BROWSER)
    assert (status, headers["content-type"], headers["vary"]) == (200, "text/html; charset=utf-8", "accept")
    assert body == HTML
    for accept in ("*/*", "application/json", "text/plain"):
        status, headers, body = await fetch(empty, "/", accept)
        assert (status, headers["content-type"], headers["vary"]) == (200, "text/plain; charset=utf-8", "accept")
        assert body.startswith("Gatepost sandbox")
        assert "content-security-policy" not in headers


@for_each("name", sorted(page.FILES))
async def test_every_file_is_served_under_guard(empty: Driver, name: str) -> None:
    status, headers, body = await fetch(empty, f"/page/{name}", "*/*")
    assert (status, body) == (200, page.FILES[name].decode())
    assert headers["content-type"].split(";")[0] == page.TYPES[name.split(".")[1]]
    assert headers["x-content-type-options"] == "nosniff"
    policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) == {"'self'", "'none'"}
    assert {"script-src", "style-src", "connect-src", "frame-ancestors", "base-uri", "form-action"} <= set(policy)


@pytest.mark.parametrize("name", ["app.py", "__init__.py", "..%2fapp.py", "none.js", "app.js/x", ""])
async def test_nothing_else_is_served(empty: Driver, name: str) -> None:
    assert (await fetch(empty, f"/page/{name}", "*/*"))[0] in (400, 404)


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    seen = Seen(HTML)
    assert seen.inline == ""
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "action")], tag
        for name in ("src", "href"):
            if name in attributes:
                assert (attributes[name] or "").removeprefix("/page/") in page.FILES
    for name, content in page.FILES.items():
        outside = re.findall(r"(?:https?:)?//[\w.-]+|@import|url\(", content.decode())
        assert set(outside) <= {"http://127.0.0.1", "http://www.w3.org"}, name


def test_the_script_never_makes_markup_of_text() -> None:
    for name, script in SCRIPTS.items():
        for dangerous in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert dangerous not in script, name
        assert not re.search(r"\.style\b|\.cssText|\"style\"", script), name


def test_the_script_finds_all_it_looks_for() -> None:
    ids = {attributes.get("id") for _, attributes in Seen(HTML).tags}
    asked = {id_ for script in SCRIPTS.values() for id_ in re.findall(r'byId\("([\w-]+)"\)', script)}
    assert len(asked) > 15
    assert asked <= ids
    fields = {attributes.get("name") for _, attributes in Seen(HTML).tags}
    named = {name for script in SCRIPTS.values() for name in re.findall(r"\.elements\.(\w+)", script)}
    assert named <= fields
    for script in SCRIPTS.values():
        for path, names in [(m[1], m[0]) for m in re.findall(r'import (.+?) from "/page/([\w.]+)"', script)]:
            for name in re.findall(r"\w+", names) if "{" in names else []:
                assert re.search(rf"export (async )?(function|const) {name}\b", SCRIPTS[path]), (path, name)


def requests_of(script: str) -> list[tuple[str, str]]:
    """The control requests in a script, with X for what is filled in."""
    found = re.findall(r'control\("([A-Z]+)", (?:"([^"]+)"|`([^`]+)`)', script)
    return [(method, re.sub(r"\$\{[^}]+\}", "X", plain or filled).split("?")[0]) for method, plain, filled in found]


def test_every_control_request_of_the_script_exists() -> None:
    routes = {
        (method, re.sub(r"\{[^}]+\}", "X", path).removeprefix("/control/"))
        for route in control.ROUTES
        for method in route.http_methods  # type: ignore[union-attr]
        for path in route.paths  # type: ignore[union-attr]
    }
    asked = {request for script in SCRIPTS.values() for request in requests_of(script)}
    looked = re.search(r"const asked = \[(.+?)\]", SCRIPTS["app.js"])
    assert looked is not None
    asked |= {("GET", path) for path in re.findall(r'"(\w+)"', looked[1])}
    assert len(asked) > 18
    assert asked <= routes


def test_the_script_knows_every_fault_character_and_decision() -> None:
    faults = re.search(r"const FAULTS = \{(.+?)\};", SCRIPTS["faults.js"], re.DOTALL)
    characters = re.search(r"const CHARACTERS = \[(.+?)\]", SCRIPTS["lists.js"])
    decisions = re.search(r"const DECISIONS = \{(.+?)\};", SCRIPTS["faults.js"], re.DOTALL)
    assert faults is not None
    assert characters is not None
    assert decisions is not None
    assert set(re.findall(r"^  (\w+):", faults[1], re.MULTILINE)) == set(get_args(Fault))
    assert set(re.findall(r'"(\w+)"', characters[1])) == set(get_args(CharacterName))
    offered = dict(re.findall(r"(\w+): \[(.+?)\]", decisions[1]))
    assert offered
    for status, names in offered.items():
        for name in re.findall(r'"(\w+)"', names):
            assert status in FROM[name]


PNG = b64encode(b"\x89PNG").decode()
WAMID = "wamid.X"
CART = {"product_retailer_id": "SKU-1", "quantity": 2, "item_price": 9.5, "currency": "USD"}
SAID: list[tuple[str, Any, dict[str, Any]]] = [
    ("reaction", {"message_id": WAMID, "emoji": "👍"}, {}),
    ("button", {"payload": "Yes", "text": "Yes"}, {"reply_to": WAMID}),
    ("button_reply", {"id": "y", "title": "Yes"}, {"reply_to": WAMID}),
    ("list_reply", {"id": "r", "title": "Row", "description": "d"}, {"reply_to": WAMID}),
    ("image", {"content": PNG, "mime_type": "image/png", "filename": "a.png"}, {}),
    ("document", {"content": PNG, "mime_type": "application/octet-stream", "filename": "a"}, {}),
    ("order", {"catalog_id": "c", "text": "", "product_items": [CART]}, {}),
]


@pytest.mark.parametrize(("kind", "content", "more"), SAID, ids=[kind for kind, _, _ in SAID])
async def test_what_the_page_says_arrives(
    sandbox: Driver, receiver: Receiver, kind: str, content: Any, more: dict[str, Any]
) -> None:
    assert f'send("{kind}"' in SCRIPTS["send.js"] or kind in ("image", "document")
    body = {"from": ANA, "type": kind, kind: content, **more}
    told = await sandbox.control("POST", f"numbers/{NUMBER}/incoming", body)
    await sandbox.advance(0)
    [message] = receiver.updates()
    assert message["id"] == told["wamid"]


async def test_the_largest_file_of_the_page_is_taken(sandbox: Driver) -> None:
    largest = re.search(r"const LARGEST = ([0-9_]+);", SCRIPTS["send.js"])
    assert largest is not None
    content = {"content": b64encode(bytes(int(largest[1]))).decode(), "mime_type": "application/pdf", "filename": "a"}
    body = {"from": ANA, "type": "document", "document": content}
    assert (await sandbox.call("POST", f"/control/numbers/{NUMBER}/incoming", body)).status == 200
    attachment = {"data": content["content"], "mime_type": "application/pdf", "filename": "a"}
    body = {"from": {"phone": ANA}, "type": "document", "content": {}, "media": attachment}
    assert (await sandbox.call("POST", "/control/phones/15550002222/incoming", body)).status == 200


FILE = {"data": PNG, "mime_type": "image/png", "filename": "a.png"}
LINE = {"retailer_id": "SKU-1", "quantity": 2, "price": "9.5", "currency": "USD"}
TO_PHONES: list[tuple[str, Any, dict[str, Any]]] = [
    ("text", {"body": "Hi"}, {}),
    ("reaction", {"reaction": {"emoji": "👍"}}, {"target": "A" * 32}),
    ("button_reply", {"reply": {"id": "y", "title": "Yes"}}, {"quote": {"id": "A" * 32, "from_me": True}}),
    ("list_reply", {"reply": {"id": "r", "title": "Row"}}, {"quote": {"id": "A" * 32, "from_me": True}}),
    ("image", {}, {"media": FILE}),
    ("document", {}, {"media": FILE}),
    ("order", {"order": {"catalog_id": "c", "items": [LINE]}}, {}),
]


@pytest.mark.parametrize(("kind", "content", "more"), TO_PHONES, ids=[kind for kind, _, _ in TO_PHONES])
async def test_what_the_page_says_to_a_phone_arrives(
    empty: Driver, kind: str, content: Any, more: dict[str, Any]
) -> None:
    body = {"from": {"phone": ANA}, "type": kind, "content": content, **more}
    await empty.control("POST", "phones/15550002222/incoming", body)
    [row] = await empty.ledger(kind="incoming", phone_number_id="15550002222")
    assert (row["type"], row["from"]) == (kind, ANA)


async def test_the_ledger_can_be_read_on_from_a_cursor(sandbox: Driver) -> None:
    """As the page does: from the summary's last number on, and a last number that fell means a new beginning."""
    await sandbox.text()
    last = (await sandbox.control("GET", "ledger/summary"))["last_seq"]
    assert last == (await sandbox.ledger())[-1]["seq"]
    assert await sandbox.ledger(after=last) == []
    await sandbox.text(body="more")
    assert [row["content"]["body"] for row in await sandbox.ledger(after=last)] == ["more"]
    await sandbox.control("POST", "reset", {})
    assert (await sandbox.control("GET", "ledger/summary"))["last_seq"] == 0
