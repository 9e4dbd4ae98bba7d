"""The documentation at `/docs/…`: every page opens, every link between pages works, and no page needs the internet."""

import re

from gatepost.api.docs_pages import page_files
from tests.gateway.checks import TEXT
from tests.house import Answer, House

INDEX = "/docs/index"


async def open_page(house: House, path: str) -> Answer:
    return await house.call("GET", path, key="")


def links(page: Answer) -> set[str]:
    return set(re.findall(r'(?:href|src)="([^"]+)"', page.body.decode())) - {"data:,"}


async def test_every_page_opens_and_every_link_works(house: House) -> None:
    pages = {f"/docs/{name}": await open_page(house, f"/docs/{name}") for name in page_files()}
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
        assert (await open_page(house, path)).status == 200, path


async def test_pages_are_html_without_script(house: House) -> None:
    page = await open_page(house, "/docs/reference/errors")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    text = page.body.decode()
    assert '<h2 id="invalid_phone">invalid_phone</h2>' in text
    for part in ("<script", " style=", "src=", "](", "```"):
        assert part not in text


async def test_the_index_leads_to_every_page(house: House) -> None:
    reached, waiting = set[str](), [INDEX]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        found = {link.partition("#")[0] for link in links(await open_page(house, path))}
        waiting += sorted(
            link for link in found - reached - set(waiting) if link.removeprefix("/docs/") in page_files()
        )
    assert reached == {f"/docs/{name}" for name in page_files()}


async def test_the_link_in_an_error_opens(house: House) -> None:
    refused = await house.call("POST", "/api/v1/message/send", TEXT | {"phone": "12"})
    path, _, mark = refused.json()["error"]["docs"].partition("#")
    page = await open_page(house, path)
    assert page.status == 200
    assert f'id="{mark}"' in page.body.decode()


async def test_the_markdown_of_a_page_can_be_read(house: House) -> None:
    page = await open_page(house, "/docs/reference/errors.md")
    assert page.headers["content-type"].startswith("text/markdown")
    assert page.body == page_files()["reference/errors"].read_bytes()


async def test_an_unknown_page_is_404_with_a_link_to_the_index(house: House) -> None:
    for path in ("/docs/nothing", "/docs/reference/nothing", "/docs/nothing/index"):
        page = await open_page(house, path)
        assert page.status == 404, path
        assert page.headers["content-type"].startswith("text/html")
        assert INDEX in links(page)
    assert (await open_page(house, "/docs/how-to/..%2f..%2fREADME")).status == 404


async def test_the_pictures_of_a_page_are_shown(house: House) -> None:
    page = (await house.call("GET", "/docs/how-to/use-the-dashboard", key="")).body.decode()
    sources = re.findall(r'<img src="\.\.(/images/[^"]+)"', page)
    assert len(sources) > 2
    for source in sources:
        picture = await house.call("GET", f"/docs{source}", key="")
        assert (picture.status, picture.headers["content-type"], picture.body[:4]) == (200, "image/png", b"\x89PNG")
        assert len(picture.body) < 150 * 1024
    assert (await house.call("GET", "/docs/images/nothing.png", key="")).status == 404
