"""The API reference: the OpenAPI document, and a page that shows it."""

from importlib import resources
from typing import Any

import msgspec
from litestar import Request, Response

from gatepost.api.openapi.document import build_document
from gatepost.api.route import get

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


@get("/openapi.json", summary="Get the reference as OpenAPI", binary=("application/json",))
async def show_openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Every route with its parameters, bodies, responses and errors, as an OpenAPI 3.1 document."""
    state = request.app.state
    if "openapi" not in state:
        state.openapi = msgspec.json.encode(build_document(state.operations))
    return Response(state.openapi, media_type="application/json", headers={"Cache-Control": "no-cache"})


@get("/docs", summary="Read the reference", binary=("text/html; charset=utf-8",))
async def show_docs() -> Response[bytes]:
    """The API reference as a page, with examples and a form to try them."""
    return _page("index.html", "text/html")


@get("/docs/page.css", summary="Get the style sheet of the reference", binary=("text/css; charset=utf-8",))
async def show_docs_style() -> Response[bytes]:
    """The style sheet of the API reference."""
    return _page("page.css", "text/css")


@get("/docs/page.js", summary="Get the script of the reference", binary=("text/javascript; charset=utf-8",))
async def show_docs_script() -> Response[bytes]:
    """The script of the API reference."""
    return _page("page.js", "text/javascript")


def _page(name: str, kind: str) -> Response[bytes]:
    content = resources.files("gatepost.api").joinpath("docs_page", name).read_bytes()
    return Response(content, media_type=kind, headers=PAGE_HEADERS)
