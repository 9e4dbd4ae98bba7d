"""The documentation at `/docs/…`: every page opens, every link between pages works, and no page needs the internet."""

import re

from gatepost.api.docs_pages import page_files
from tests.gateway.checks import TEXT
from tests.running_gateway import Answer, Gateway

INDEX = "/docs/index"


async def open_page(gateway: Gateway, path: str) -> Answer:
    return await gateway.call("GET", path, key="")


def links(page: Answer) -> set[str]:
    return set(re.findall(r'(?:href|src)="([^"]+)"', page.body.decode())) - {"data:,"}


async def test_every_page_opens_and_every_link_works(gateway: Gateway) -> None:
    pages = {f"/docs/{name}": await open_page(gateway, f"/docs/{name}") for name in page_files()}
    assert len(pages) > 50
    anchors = {path: set(re.findall(r' id="([^"]+)"', page.body.decode())) for path, page in pages.items()}
    others = {"/docs", "/docs/events", "/docs/docs.css"}
    for path, page in pages.items():
        assert page.status == 200, path
        for link in links(page):
            aim, _, mark = link.partition("#")
            assert aim in pages or aim in others or aim.startswith(("https://", "../images/")), (path, link)
            assert not mark or aim.startswith("https://") or mark in anchors[aim], (path, link)
    for path in others:
        assert (await open_page(gateway, path)).status == 200, path


async def test_pages_are_html_without_script(gateway: Gateway) -> None:
    page = await open_page(gateway, "/docs/reference/errors")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    text = page.body.decode()
    assert '<h2 id="invalid_phone">invalid_phone</h2>' in text
    for part in ("<script", " style=", "src=", "](", "```"):
        assert part not in text


async def test_the_index_leads_to_every_page(gateway: Gateway) -> None:
    reached, waiting = set[str](), [INDEX]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        found = {link.partition("#")[0] for link in links(await open_page(gateway, path))}
        waiting += sorted(
            link for link in found - reached - set(waiting) if link.removeprefix("/docs/") in page_files()
        )
    assert reached == {f"/docs/{name}" for name in page_files()}


async def test_the_link_in_an_error_opens(gateway: Gateway) -> None:
    refused = await gateway.call("POST", "/api/v1/message/send", TEXT | {"phone": "12"})
    path, _, mark = refused.json()["error"]["docs"].partition("#")
    page = await open_page(gateway, path)
    assert page.status == 200
    assert f'id="{mark}"' in page.body.decode()


async def test_the_markdown_of_a_page_can_be_read(gateway: Gateway) -> None:
    page = await open_page(gateway, "/docs/reference/errors.md")
    assert page.headers["content-type"].startswith("text/markdown")
    assert page.body == page_files()["reference/errors"].read_bytes()


async def test_an_unknown_page_is_404_with_a_link_to_the_index(gateway: Gateway) -> None:
    for path in ("/docs/nothing", "/docs/reference/nothing", "/docs/nothing/index"):
        page = await open_page(gateway, path)
        assert page.status == 404, path
        assert page.headers["content-type"].startswith("text/html")
        assert INDEX in links(page)
    assert (await open_page(gateway, "/docs/how-to/..%2f..%2fREADME")).status == 404


async def test_the_pictures_of_a_page_are_shown(gateway: Gateway) -> None:
    page = (await gateway.call("GET", "/docs/how-to/use-the-dashboard", key="")).body.decode()
    sources = re.findall(r'<img src="\.\.(/images/[^"]+)"', page)
    assert len(sources) > 2
    for source in sources:
        picture = await gateway.call("GET", f"/docs{source}", key="")
        assert (picture.status, picture.headers["content-type"], picture.body[:4]) == (200, "image/png", b"\x89PNG")
        assert len(picture.body) < 150 * 1024
    assert (await gateway.call("GET", "/docs/images/nothing.png", key="")).status == 404
