"""The built page in memory: its files, with their compressed versions.

`make dashboard` writes the folder `built`; an installed wheel contains it.
"""

import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "built"
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the best first
# Types that a browser insists on, or that the tables of some machines do not have or have differently.
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}


class PageFile(msgspec.Struct, frozen=True):
    """A file with its content in each encoding that it has; the key of the plain content is empty."""

    media_type: str
    etag: str
    contents: dict[str, bytes]

    def choose(self, accepted: str) -> str:
        """Return the best encoding that an Accept-Encoding header allows; empty for none."""
        names = {_name(part) for part in accepted.lower().split(",")}
        return next((name for name in ENCODINGS if name in names and name in self.contents), "")


def load_page(folder: Path | None = None) -> dict[str, PageFile] | None:
    """Return the files of the page by their paths, read again after each build; None if it was not built."""
    folder = folder or FOLDER
    try:
        built_at = (folder / "index.html").stat().st_mtime_ns
    except FileNotFoundError:
        return None
    return _load(folder, built_at)


@lru_cache(maxsize=1)
def _load(folder: Path, _built_at: int) -> dict[str, PageFile]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in ENCODINGS.values()]
    return {path.relative_to(folder).as_posix(): _read(path) for path in paths}


def _read(path: Path) -> PageFile:
    plain = path.read_bytes()
    compressed = {name: path.with_name(path.name + suffix) for name, suffix in ENCODINGS.items()}
    return PageFile(
        media_type(path.name),
        hashlib.sha256(plain).hexdigest()[:20],
        {"": plain} | {name: file.read_bytes() for name, file in compressed.items() if file.is_file()},
    )


def media_type(name: str) -> str:
    """Return the type of a file by the end of its name."""
    suffix = Path(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _name(part: str) -> str:
    """Return an encoding of the header, or nothing if its weight is 0."""
    name, _, weight = part.replace(" ", "").partition(";q=")
    return "" if weight and not weight.strip("0.") else name
