"""The dashboard at `/`: answers requests for its page and files, and passes all others on to the API.

GET /assets/…   ─► the file; its name has a hash, so it may be cached forever
GET /, and every other path that a browser opens ─► the page, with a fresh nonce; its script shows what the path names
anything else   ─► the API

A path belongs to the API if its first part is in `API_PATHS`.
"""

import hashlib
import mimetypes
import secrets
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

API_PATHS = frozenset({"api", "callbacks", "docs", "healthz", "mcp", "metrics", "openapi.json", "readyz"})
NOT_BUILT = b"The dashboard is not built: run `make dashboard` in the checkout, then restart the gateway.\n"
NONCE = "CSP_NONCE"  # the placeholder in the built page, see dashboard/vite.config.ts
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PERMISSIONS = b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
Headers = Iterable[tuple[bytes, bytes]]
FOLDER = Path(__file__).parent / "built"  # `make dashboard` writes it; an installed wheel contains it
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the best first
_PAGE = "index.html"


class BuiltFile(msgspec.Struct, frozen=True):
    """A file with its content in each encoding that it has; the key of the plain content is empty."""

    media_type: str
    etag: str
    contents: dict[str, bytes]

    def choose(self, accepted: str) -> str:
        """Return the best encoding that an Accept-Encoding header allows; empty for none."""
        names = {_name(part) for part in accepted.lower().split(",")}
        return next((name for name in ENCODINGS if name in names and name in self.contents), "")


class BuiltFiles(msgspec.Struct, frozen=True):
    """The page of the dashboard, and its other files by their paths."""

    page: str
    files: dict[str, BuiltFile]


@cache
def load_files(folder: Path = FOLDER) -> BuiltFiles | None:
    """Return the built dashboard; None if it was not built."""
    if not (folder / _PAGE).is_file():
        return None
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in ENCODINGS.values()]
    files = {f"/{path.relative_to(folder).as_posix()}": _read(path) for path in paths if path.name != _PAGE}
    return BuiltFiles((folder / _PAGE).read_text(), files)


def _read(path: Path) -> BuiltFile:
    plain = path.read_bytes()
    compressed = {name: path.with_name(path.name + suffix) for name, suffix in ENCODINGS.items()}
    return BuiltFile(
        mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        hashlib.sha256(plain).hexdigest()[:20],
        {"": plain} | {name: file.read_bytes() for name, file in compressed.items() if file.is_file()},
    )


def _name(part: str) -> str:
    """Return an encoding of the header, or nothing if its weight is 0."""
    name, _, weight = part.replace(" ", "").partition(";q=")
    return "" if weight and not weight.strip("0.") else name


class Dashboard:
    """An ASGI app that serves the dashboard in front of the API."""

    def __init__(
        self, api: Any, built: BuiltFiles | None, count: Callable[[int], None], new_request_id: Callable[[], str]
    ) -> None:
        self._api = api
        self._built = built
        self._count = count  # of answers, by status
        self._new_request_id = new_request_id

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"} or scope["path"].startswith("/api/"):
            await self._api(scope, receive, send)
            return
        asked = {name: value.decode("latin-1") for name, value in scope["headers"]}
        file = self._built.files.get(scope["path"]) if self._built else None
        if file is not None:
            status, headers, body = _answer_file(file, asked, forever=scope["path"].startswith("/assets/"))
        elif is_page(scope["path"], asked.get(b"accept", "")):
            status, headers, body = self._answer_page()
        else:
            await self._api(scope, receive, send)
            return
        self._count(status)
        headers = [*headers, (b"x-request-id", self._new_request_id().encode())]
        await _send(send, status, headers, b"" if scope["method"] == "HEAD" else body, len(body))

    def _answer_page(self) -> tuple[int, Headers, bytes]:
        if self._built is None:
            plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store"), *_SAFE]
            return 404, plain, NOT_BUILT
        nonce = secrets.token_urlsafe(18)
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept"),
            (b"content-security-policy", _POLICY.format(nonce=nonce).encode()),
            (b"permissions-policy", _PERMISSIONS),
            *_SAFE,
        ]
        return 200, headers, self._built.page.replace(NONCE, nonce).encode()


def is_page(path: str, accept: str) -> bool:
    """Return whether a path is one of the dashboard's: `/`, and what a browser opens outside of the API's paths."""
    first = path[1:].partition("/")[0]
    return path == "/" or ("text/html" in accept and first not in API_PATHS and "." not in path.rpartition("/")[2])


def _answer_file(file: BuiltFile, asked: dict[bytes, str], *, forever: bool) -> tuple[int, Headers, bytes]:
    encoding = file.choose(asked.get(b"accept-encoding", ""))
    etag = f'"{file.etag}{f"-{encoding}" if encoding else ""}"'
    headers = [
        (b"etag", etag.encode()),
        (b"cache-control", b"public, max-age=31536000, immutable" if forever else b"no-cache"),
        (b"vary", b"accept-encoding"),
        *_SAFE,
    ]
    if etag in asked.get(b"if-none-match", ""):
        return 304, headers, b""
    headers.append((b"content-type", file.media_type.encode()))
    if encoding:
        headers.append((b"content-encoding", encoding.encode()))
    return 200, headers, file.contents[encoding]


async def _send(send: Any, status: int, headers: Headers, body: bytes, length: int) -> None:
    sized = [*headers, (b"content-length", b"%d" % length)] if status != 304 else [*headers]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})
