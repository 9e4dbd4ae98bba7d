"""The reference at the door: the document for machines, and a page for people that reads it."""

from importlib import resources
from typing import Any

import msgspec
from litestar import Request, Response, get

from gatepost.api.openapi.document import build_document

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@get("/openapi.json", opt={"public": True}, summary="Get the reference as OpenAPI")
async def show_openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Every route with its parameters, bodies, answers and refusals, as an OpenAPI 3.1 document."""
    state = request.app.state
    if "openapi" not in state:
        state.openapi = msgspec.json.encode(build_document(state.operations))
    return Response(state.openapi, media_type="application/json", headers={"Cache-Control": "no-cache"})


@get("/docs", opt={"public": True}, summary="Read the reference")
async def show_docs() -> Response[bytes]:
    """The reference as a page, with examples, and a form that tries them out."""
    return _page("index.html", "text/html")


@get("/docs/page.css", opt={"public": True}, summary="Get the look of the page")
async def show_docs_style() -> Response[bytes]:
    """How the page of the reference looks."""
    return _page("page.css", "text/css")


@get("/docs/page.js", opt={"public": True}, summary="Get the script of the page")
async def show_docs_script() -> Response[bytes]:
    """What makes the page out of the document."""
    return _page("page.js", "text/javascript")


def _page(name: str, kind: str) -> Response[bytes]:
    content = resources.files("gatepost.api").joinpath("docs_page", name).read_bytes()
    return Response(content, media_type=kind, headers=PAGE_HEADERS)
