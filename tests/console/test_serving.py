"""How the gateway serves the dashboard: its page with a fresh nonce, its files, and everything else by the API."""

import asyncio
import gzip
import re
from collections.abc import AsyncIterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from bench.dashboard import FIRST_PAGE_AIM, first_page_size
from gatepost.api.app import make_router
from gatepost.console.dashboard import API_PATHS, NOT_BUILT, Dashboard, load_files
from tests.conftest import Receiver, serve_app
from tests.patience import PATIENCE
from tests.running_gateway import Answer, running_gateway

PAGE = '<meta property="csp-nonce" nonce="CSP_NONCE"><script src="/assets/app-abc.js" nonce="CSP_NONCE"></script>'
SCRIPT = b"console.log('hello')" * 100
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "app-abc.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "app-abc.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "favicon.svg").write_text("<svg/>")
    return tmp_path


class Served:
    """A served dashboard in front of an API that records what reaches it."""

    def __init__(self, folder: Path) -> None:
        self.api = Receiver()
        self.counted: list[int] = []
        self.app = Dashboard(self.api, load_files(folder), self.counted.append, self.new_request_id)
        self.url = ""

    def new_request_id(self) -> str:
        return f"req_{len(self.counted)}"

    async def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        return await asyncio.to_thread(self._get, path, method, headers)

    def _get(self, path: str, method: str, headers: dict[str, str]) -> Answer:
        """Send a request with a client that does not decompress."""
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        with closing(connection):
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())


@pytest.fixture
async def served(built: Path) -> AsyncIterator[Served]:
    one = Served(built)
    async with serve_app(one.app) as one.url:
        yield one


async def test_the_page_has_a_fresh_nonce_that_its_policy_allows(served: Served) -> None:
    nonces = set()
    for path in ("/", "/webhooks", "/link/abc", "/webhooks/log?status=delivered"):
        answer = await served.get(path, **BROWSER)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        nonce = re.findall(r'nonce="([\w-]+)"', answer.body.decode())
        assert len(nonce) == 2
        assert nonce[0] == nonce[1] != "CSP_NONCE"
        policy = answer.headers["content-security-policy"]
        assert f"style-src 'self' 'nonce-{nonce[0]}'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        nonces.add(nonce[0])
    assert len(nonces) == 4
    assert served.api.requests == []
    assert served.counted == [200] * 4


async def test_headers_protect_the_page(served: Served) -> None:
    answer = await served.get("/", **BROWSER)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "camera=()" in answer.headers["permissions-policy"]


async def test_every_answer_has_an_id(served: Served) -> None:
    paths = ("/", "/favicon.svg", "/assets/app-abc.js", "/link/abc")
    assert {(await served.get(path, **BROWSER)).headers["x-request-id"] for path in paths} == {
        f"req_{number}" for number in range(1, 5)
    }


async def test_a_file_is_cached_forever_and_compressed(served: Served) -> None:
    plain = await served.get("/assets/app-abc.js", accept_encoding="identity")
    assert (plain.status, plain.body, plain.headers["content-type"]) == (200, SCRIPT, "text/javascript")
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    packed = await served.get("/assets/app-abc.js", accept_encoding="gzip;q=0, br")
    assert "content-encoding" not in packed.headers  # there is no .br of it
    packed = await served.get("/assets/app-abc.js", accept_encoding="br, gzip")
    assert (packed.headers["content-encoding"], gzip.decompress(packed.body)) == ("gzip", SCRIPT)
    assert packed.headers["etag"] != plain.headers["etag"]
    again = await served.get("/assets/app-abc.js", accept_encoding="gzip", if_none_match=packed.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert (await served.get("/favicon.svg")).headers["cache-control"] == "no-cache"


async def test_head_has_the_length_and_no_body(served: Served) -> None:
    answer = await served.get("/favicon.svg", "HEAD")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "6")


@pytest.mark.parametrize(
    ("method", "path", "accept"),
    [
        ("POST", "/", "text/html"),
        ("GET", "/api/v1/webhooks", "text/html"),
        ("GET", "/docs/index", "text/html"),
        ("GET", "/metrics", "text/html"),
        ("GET", "/callbacks/cloud/ch_1", "text/html"),
        ("GET", "/webhooks", "application/json"),
        ("GET", "/webhooks", "*/*"),
        ("GET", "/wp-login.php", "text/html"),
        ("GET", "/assets/app-old.js", "*/*"),
    ],
)
async def test_everything_else_reaches_the_api(served: Served, method: str, path: str, accept: str) -> None:
    await served.get(path, method, accept=accept)
    assert [request.path for request in served.api.requests] == [path]


async def test_without_a_build_the_page_says_how_to_build_it(served: Served, tmp_path: Path) -> None:
    empty = Dashboard(served.api, load_files(tmp_path / "none"), served.counted.append, served.new_request_id)
    async with serve_app(empty) as served.url:
        answer = await served.get("/", **BROWSER)
        assert (answer.status, answer.body) == (404, NOT_BUILT)
        assert b"make dashboard" in NOT_BUILT


def test_every_path_of_the_api_is_known() -> None:
    """Otherwise a browser would get the dashboard's page there."""
    paths = [route.path for route in make_router(1 << 20, False, figures=True).routes]
    assert len(paths) > 50
    assert {path.split("/")[1] for path in paths} <= API_PATHS


def test_the_first_page_is_small() -> None:
    assert 100 * 1024 < first_page_size() < FIRST_PAGE_AIM * 1024


async def test_the_gateway_serves_the_built_dashboard(parted_database_url: str) -> None:
    async with running_gateway(parted_database_url) as gateway:
        page = await gateway.call("GET", "/", key="", headers=BROWSER)
        assert page.status == 200, "the dashboard is not built: run `make dashboard`"
        assert page.headers["x-request-id"] != (await gateway.call("GET", "/healthz")).headers["x-request-id"]
        (script,) = re.findall(r'<script[^>]* src="(/assets/[^"]+\.js)"', page.body.decode())
        answer = await gateway.call("GET", script, key="", headers={"accept-encoding": "br"})
        assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript")
