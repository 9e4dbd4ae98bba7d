"""The sandbox's web page: static files that use the control API."""

from importlib import resources
from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from gatepost_sandbox.control.problems import not_found

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
# The page shows text of untrusted origin: only these files may run, load or be framed.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def _load() -> dict[str, bytes]:
    files = [file for file in resources.files(__package__).iterdir() if file.name.rpartition(".")[2] in TYPES]
    return {file.name: file.read_bytes() for file in files}


FILES = _load()


def show(name: str) -> Response[bytes]:
    """Return one file of the page."""
    content = FILES.get(name)
    if content is None:
        raise not_found("page", name)
    kind = TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers=dict(HEADERS))


def wants_page(accept: str) -> bool:
    """Return whether the client is a browser: it accepts HTML, unlike curl and programs."""
    return any(part.split(";")[0].strip().lower() == "text/html" for part in accept.split(","))


@get("/page/{name:str}", sync_to_thread=False)
def get_file(name: FromPath[str]) -> Response[Any]:
    """Return a file of the web page."""
    return show(name)
