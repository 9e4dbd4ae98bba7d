"""The built dashboard in memory: its page, and its files with their compressed versions.

`make dashboard` writes the folder `built`; an installed wheel contains it.
"""

import hashlib
import mimetypes
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "built"
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
