"""The web page at the address of the sandbox: the files that `dashboard/phone` is built into.

GET /           ─► the page, for browsers
GET /page/…     ─► its files; those in /page/assets/ have a hash in their names and may be cached forever
"""

from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from gatepost_sandbox.control.problems import not_found
from gatepost_sandbox.page.files import PageFile, load_page

# The page shows text and files of untrusted origin: only its own files may run, load or be framed.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "font-src 'self'; manifest-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_SAFE = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Voice notes are recorded, and QR codes are scanned, on this page only.
_PERMISSIONS = "camera=(self), microphone=(self), display-capture=(), geolocation=(), payment=(), usb=()"
_NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The page is not built</title>
<h1>The page is not built</h1>
<p>Run <code>make dashboard</code> in the checkout, then reload. The control API works without the page.</p>
</html>
"""


def show_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """Return the page; if it was not built, a page with the command that builds it."""
    files = load_page()
    if files is None:
        return Response(
            _NOT_BUILT, media_type="text/html", status_code=503, headers={**_SAFE, "cache-control": "no-store"}
        )
    response = _answer(request, files["index.html"], "no-cache")
    response.headers["permissions-policy"] = _PERMISSIONS
    return response


@get("/page/{name:path}", sync_to_thread=False)
def get_file(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[Any]:
    """Return a file of the web page."""
    file = (load_page() or {}).get(name.lstrip("/"))
    if file is None:
        raise not_found("page", name.lstrip("/"))
    forever = name.startswith("/assets/")
    return _answer(request, file, "public, max-age=31536000, immutable" if forever else "no-cache")


def wants_page(accept: str) -> bool:
    """Return whether the client is a browser: it accepts HTML, unlike curl and programs."""
    return any(part.split(";")[0].strip().lower() == "text/html" for part in accept.split(","))


def _answer(request: Request[Any, Any, Any], file: PageFile, caching: str) -> Response[Any]:
    encoding = file.choose(request.headers.get("accept-encoding", ""))
    etag = f'"{file.etag}{f"-{encoding}" if encoding else ""}"'
    headers = {**_SAFE, "etag": etag, "cache-control": caching, "vary": "accept-encoding"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers)
    if encoding:
        headers["content-encoding"] = encoding
    return Response(file.contents[encoding], media_type=file.media_type, headers=headers)
