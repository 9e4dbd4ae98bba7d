"""How the page is served: to whom, with which headers, and that it is small and loads nothing from elsewhere."""

import gzip
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gatepost_sandbox.page import files
from tests.sandbox.driver import Driver

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
SOURCE = Path(__file__).parents[3] / "dashboard" / "phone" / "src"
MOST = 150 * 1024  # bytes of the whole page, gzipped


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


def built() -> dict[str, files.PageFile]:
    page = files.load_page()
    assert page is not None, "the page is not built: run `make dashboard`"
    return page


async def fetch(sandbox: Driver, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = sandbox._client.get(sandbox.base + path)
    for name, value in headers.items():
        request = request.header(name.replace("_", "-"), value)
    response = await request.build().send()
    return response.status, {k.lower(): v for k, v in response.headers.items()}, bytes(await response.bytes())


@pytest.fixture
def other_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that the page is served from."""
    monkeypatch.setattr(files, "FOLDER", tmp_path)
    return tmp_path


async def test_a_browser_gets_the_page_and_curl_the_list(empty: Driver) -> None:
    status, headers, body = await fetch(empty, "/", accept=BROWSER)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert (headers["vary"], headers["cache-control"]) == ("accept, accept-encoding", "no-cache")
    assert body == built()["index.html"].contents[""]
    for accept in ("*/*", "application/json", "text/plain"):
        status, headers, body = await fetch(empty, "/", accept=accept)
        assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert body.startswith(b"Gatepost sandbox")
        assert "content-security-policy" not in headers


async def test_every_file_is_served_under_guard(empty: Driver) -> None:
    for name, file in built().items():
        status, headers, body = await fetch(empty, f"/page/{name}", accept="*/*")
        assert (status, body) == (200, file.contents[""])
        assert headers["content-type"].split(";")[0] == file.media_type
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
        assert policy.pop("default-src") == "'none'"
        assert (policy.pop("img-src"), policy.pop("media-src")) == ("'self' blob: data:", "'self' blob:")
        assert set(policy.values()) == {"'self'", "'none'"}
        assert {"script-src", "style-src", "connect-src", "frame-ancestors", "base-uri", "form-action"} <= set(policy)


async def test_camera_and_microphone_are_for_the_page_alone(empty: Driver) -> None:
    _, headers, _ = await fetch(empty, "/", accept=BROWSER)
    allowed = [rule for rule in headers["permissions-policy"].split(", ") if not rule.endswith("=()")]
    assert allowed == ["camera=(self)", "microphone=(self)"]


async def test_files_with_a_hash_are_cached_and_compressed(empty: Driver) -> None:
    [script] = [name for name in built() if re.fullmatch(r"assets/index-[\w-]{8}\.js", name)]
    _, headers, body = await fetch(empty, f"/page/{script}", accept_encoding="gzip")
    assert headers["cache-control"] == "public, max-age=31536000, immutable"
    assert headers["vary"] == "accept-encoding"
    assert headers["etag"].endswith('-gzip"')  # the client removes Content-Encoding when it decompresses
    assert body == built()[script].contents[""]
    status, headers, body = await fetch(empty, f"/page/{script}", accept_encoding="gzip", if_none_match=headers["etag"])
    assert (status, body) == (304, b"")


@pytest.mark.parametrize("name", ["files.py", "__init__.py", "..%2f__init__.py", "assets", "none.js", ""])
async def test_nothing_else_is_served(empty: Driver, name: str) -> None:
    assert (await fetch(empty, f"/page/{name}", accept="*/*"))[0] in (400, 404)


async def test_a_page_that_is_not_built_says_how_to_build_it(empty: Driver, other_build: Path) -> None:
    status, _, body = await fetch(empty, "/", accept=BROWSER)
    assert status == 503
    assert b"make dashboard" in body
    (other_build / "index.html").write_text("built meanwhile")
    assert (await fetch(empty, "/", accept=BROWSER))[2] == b"built meanwhile"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.mjs", "text/javascript"),
        ("a.wasm", "application/wasm"),
        ("a.webmanifest", "application/manifest+json"),
        ("a.woff2", "font/woff2"),
        ("a.webp", "image/webp"),
        ("a.png", "image/png"),
        ("a.mp3", "audio/mpeg"),
        ("a.unheard", "application/octet-stream"),
    ],
)
async def test_a_new_kind_of_file_has_the_right_type(empty: Driver, other_build: Path, name: str, kind: str) -> None:
    (other_build / "index.html").write_text("<!doctype html>")
    (other_build / "assets").mkdir()
    (other_build / "assets" / name).write_bytes(b"content")
    status, headers, body = await fetch(empty, f"/page/assets/{name}")
    assert (status, headers["content-type"].split(";")[0], body) == (200, kind, b"content")


async def test_a_new_build_is_served_without_a_restart(empty: Driver, other_build: Path) -> None:
    index = other_build / "index.html"
    for time, content in enumerate((b"first", b"second")):
        index.write_bytes(content)
        os.utime(index, (time, time))
        assert (await fetch(empty, "/", accept=BROWSER))[2] == content


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    seen = Seen(built()["index.html"].contents[""].decode())
    assert seen.inline == ""
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "action")], tag
        for name in ("src", "href"):
            if name in attributes:
                assert (attributes[name] or "").removeprefix("/page/") in built()
    for name, file in built().items():
        if name.endswith(".css"):
            assert not re.findall(r"//[\w.-]+|@import", file.contents[""].decode()), name


def test_the_script_never_makes_markup_of_text() -> None:
    for source in SOURCE.rglob("*.ts*"):
        script = source.read_text()
        for dangerous in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert dangerous not in script, source


def test_the_whole_page_is_small() -> None:
    sizes = {name: len(gzip.compress(file.contents[""], 9)) for name, file in built().items()}
    assert 10_000 < sum(sizes.values()) < MOST, sizes
