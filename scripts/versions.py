"""The version of a release: that of `pyproject.toml`. The other files that have it must agree.

usage: python -m scripts.versions 0.2.0    writes it to all of them
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = (  # each with the pattern of its version
    ("pyproject.toml", r'^version = "(.+)"$'),
    ("packages/gatepost-client/pyproject.toml", r'^version = "(.+)"$'),
    ("packages/gatepost-sandbox/pyproject.toml", r'^version = "(.+)"$'),
    ("deploy/helm/gatepost/Chart.yaml", r"^version: (.+)$"),
    ("deploy/helm/gatepost/Chart.yaml", r"^appVersion: (.+)$"),
)
_FORM = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
_HEADING = re.compile(r"^## (\S+) — (.+)$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class NotReleasable(Exception):
    """The files do not describe a release; the message says what to change."""


def read_version(root: Path = ROOT) -> str:
    """Return the version, or raise NotReleasable if the files disagree."""
    found = [(name, _find(root / name, pattern)) for name, pattern in FILES]
    version = found[0][1]
    if others := [f"{name} has {text}" for name, text in found if text != version]:
        raise NotReleasable(
            f"pyproject.toml has the version {version}, but {', '.join(others)}. Run: make version TO={version}"
        )
    return version


def write_version(version: str, root: Path = ROOT) -> None:
    """Write a version to all files."""
    if not _FORM.fullmatch(version):
        raise NotReleasable(f"{version!r} is not a version such as 1.2.3 or 1.2.3rc1.")
    for name, pattern in FILES:
        path = root / name
        old = _find(path, pattern)
        line = re.search(pattern, path.read_text(), re.MULTILINE)
        assert line is not None
        path.write_text(path.read_text().replace(line[0], line[0].replace(old, version), 1))


def check_changelog(version: str, root: Path = ROOT, *, draft: bool = False) -> None:
    """Check that the newest part of the changelog is about the version, and has its date unless it is a draft."""
    newest = _HEADING.search((root / "CHANGELOG.md").read_text())
    if newest is None or newest[1] != version:
        has = f"begins with {newest[1]}" if newest else "has no heading of a version"
        raise NotReleasable(f"CHANGELOG.md {has}. Describe {version} under “## {version} — YYYY-MM-DD” at its top.")
    if not draft and not _DATE.fullmatch(newest[2]):
        raise NotReleasable(f"CHANGELOG.md calls {version} “{newest[2]}”. Replace that with the date, as YYYY-MM-DD.")


def _find(path: Path, pattern: str) -> str:
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    if found is None:
        raise NotReleasable(f"{path.name} has no line with its version.")
    return found[1]


if __name__ == "__main__":
    try:
        write_version("".join(sys.argv[1:2]))
    except NotReleasable as error:
        sys.exit(f"Error: {error}\nusage: make version TO=0.2.0")
