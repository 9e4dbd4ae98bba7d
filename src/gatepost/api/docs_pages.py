"""The documentation as web pages: the Markdown of `docs/`, at `/docs/SECTION/PAGE`. They need no script."""

import re
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from gatepost.api.asgi import Response
from gatepost.api.reference import PAGE_HEADERS
from gatepost.api.route import get

if TYPE_CHECKING:
    from markdown_it.token import Token

SECTIONS = {
    "tutorial": "Tutorial",
    "how-to": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
}
HEADERS = PAGE_HEADERS | {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – Gatepost</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/docs.css">
</head>
<body>
<header><a href="/docs/index"><strong>Gatepost documentation</strong></a>
<a href="/docs">API routes</a> <a href="/docs/events">Events</a></header>
<div id="columns"><main>{body}</main><nav aria-label="Pages">{menu}</nav></div>
</body>
</html>
"""
_MISSING = '<h1>Page not found</h1><p>There is no such page. Start at the <a href="/docs/index">index</a>.</p>'


@get("/docs/docs.css", summary="Get the style sheet of the documentation")
async def show_style() -> Response:
    """Return the style sheet of the documentation."""
    content = resources.files("gatepost.api").joinpath("docs_page", "docs.css").read_bytes()
    return Response(content, media_type="text/css", headers=HEADERS)


@get("/docs/{page}", summary="Read a page of the documentation")
async def show_page(page: str) -> Response:
    """Return a page that is in no section, such as the index."""
    return _answer(page)


@get("/docs/{section}/{page}", summary="Read a page of a section")
async def show_section_page(section: str, page: str) -> Response:
    """Return a page of a section."""
    return _answer(f"{section}/{page}")


ROUTES = [show_style, show_page, show_section_page]


def _answer(name: str) -> Response:
    """Return a page as HTML or, when the name ends in `.md`, its Markdown; or a picture."""
    if name in _pictures():
        return Response(_pictures()[name].read_bytes(), media_type="image/png", headers=HEADERS)
    source = name.removesuffix(".md")
    if source not in page_files():
        missing = _whole("Page not found", _MISSING)
        return Response(missing, status_code=404, media_type="text/html", headers=HEADERS)
    if source != name:
        return Response(page_files()[source].read_bytes(), media_type="text/markdown", headers=HEADERS)
    return Response(_html(name), media_type="text/html", headers=HEADERS)


def _folder() -> Path:
    packaged = Path(__file__).parents[1] / "docs"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "docs"  # an editable install


@cache
def _pictures() -> dict[str, Path]:
    return {f"images/{path.name}": path for path in (_folder() / "images").glob("*.png")}


@cache
def page_files() -> dict[str, Path]:
    """Return the Markdown file of each page by its name, such as `reference/errors`."""
    folder = _folder()
    found = {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.md"))}
    return {name: path for name, path in found.items() if name.count("/") <= 1}


@cache
def _html(name: str) -> bytes:
    from markdown_it import MarkdownIt  # noqa: PLC0415  (few processes ever show a page)

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(page_files()[name].read_text())
    _add_anchors(tokens)
    for token in tokens:
        _resolve_links(name, token.children or [])
    return _whole(_title(name), markdown.renderer.render(tokens, markdown.options, {}))


def _whole(title: str, body: str) -> bytes:
    return _PAGE.format(title=escape(title), body=body, menu=_menu()).encode()


@cache
def _menu() -> str:
    parts = []
    for section, heading in SECTIONS.items():
        names = [name for name in page_files() if name.startswith(f"{section}/")]
        links = "".join(f'<a href="/docs/{name}">{escape(_title(name))}</a>' for name in names)
        parts.append(f"<strong>{heading}</strong>{links}")
    return "".join(parts) + '<strong><a href="/docs/decisions/README">Decisions</a></strong>'


@cache
def _title(name: str) -> str:
    """Return the first heading of a page, without marks."""
    first = page_files()[name].read_text().partition("\n")[0]
    return first.lstrip("# ").replace("`", "")


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _add_anchors(tokens: "list[Token]") -> None:
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[i + 1].content))


def _resolve_links(name: str, tokens: "list[Token]") -> None:
    """Make links between pages absolute. A link to a file outside the documentation becomes plain text."""
    outside = False
    for token in tokens:
        if token.type == "link_open":
            path, _, mark = str(token.attrs["href"]).partition("#")
            aim = normpath(join(dirname(name), path)).removesuffix(".md") if path else name
            outside = "://" not in path and aim not in page_files()
            if outside:
                token.tag, token.attrs = "span", {}
            elif "://" not in path:
                token.attrs["href"] = f"/docs/{aim}" + (f"#{mark}" if mark else "")
        elif token.type == "link_close" and outside:
            token.tag = "span"
