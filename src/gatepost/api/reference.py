"""The API reference: the OpenAPI document, and a page that shows it."""

from importlib import resources

from gatepost.api.asgi import Request, Response
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
async def show_openapi(request: Request) -> Response:
    """Every route with its parameters, bodies, responses and errors, as an OpenAPI 3.1 document."""
    return Response(request.state["router"].openapi, headers={"Cache-Control": "no-cache"})


@get("/docs", summary="Read the reference", binary=("text/html; charset=utf-8",))
async def show_docs() -> Response:
    """The API reference as a page, with examples and a form to try them."""
    return _page("index.html", "text/html")


@get("/docs/page.css", summary="Get the style sheet of the reference", binary=("text/css; charset=utf-8",))
async def show_docs_style() -> Response:
    """The style sheet of the API reference."""
    return _page("page.css", "text/css")


@get("/docs/page.js", summary="Get the script of the reference", binary=("text/javascript; charset=utf-8",))
async def show_docs_script() -> Response:
    """The script of the API reference."""
    return _page("page.js", "text/javascript")


def _page(name: str, kind: str) -> Response:
    content = resources.files("gatepost.api").joinpath("docs_page", name).read_bytes()
    return Response(content, media_type=kind, headers=PAGE_HEADERS)
