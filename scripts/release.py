"""Builds a release in `dist/`: three packages as sdist and wheel, the list of parts (SBOM), and checksums.

version, changelog, clean checkout ─► dist/*.tar.gz ─► dist/*.whl, built from these ─► SBOM ─► SHA256SUMS

usage: make release            the changelog must have the version's date, and everything must be committed
       make release DRAFT=1    neither is checked: to try it out
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from scripts.sbom import make_sbom
from scripts.versions import ROOT, NotReleasable, check_changelog, read_version

DIST = ROOT / "dist"
PROJECTS = (".", "packages/gatepost-client", "packages/gatepost-sandbox")
PAGES = {  # what must be inside, or the package was built without its pages
    "gatepost": ("/console/built/index.html", "/docs/index.md"),
    "gatepost_sandbox": ("/page/built/index.html",),
}


def main(*, draft: bool) -> None:
    """Build the release, or raise NotReleasable and leave `dist/` as it was."""
    version = read_version()
    check_changelog(version, draft=draft)
    if not draft:
        _check_committed()
    with tempfile.TemporaryDirectory() as name:
        build(Path(name), version)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(name, DIST)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>12,}  dist/{path.name}")  # noqa: T201


def build(folder: Path, version: str) -> None:
    """Build all files of a release into a folder."""
    uv = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    for project in PROJECTS:  # uv builds the wheel from the sdist, so the sdist is complete
        words = [str(ROOT / uv), "build", "-q", "--no-create-gitignore", "--out-dir", str(folder), str(ROOT / project)]
        subprocess.run(words, check=True)  # noqa: S603 - uv itself
    for name, inside in PAGES.items():
        for archive in (f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.tar.gz"):
            check_contents(folder / archive, inside)
    (folder / f"gatepost-{version}.cdx.json").write_text(make_sbom(ROOT, version))
    (folder / "SHA256SUMS").write_text(checksums(folder))


def check_contents(archive: Path, endings: tuple[str, ...]) -> None:
    """Raise NotReleasable if a wheel or sdist has no file whose path ends like this."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            names = wheel.namelist()
    else:
        with tarfile.open(archive) as sdist:
            names = sdist.getnames()
    if missing := [ending for ending in endings if not any(name.endswith(ending) for name in names)]:
        raise NotReleasable(f"{archive.name} does not contain {', '.join(missing)}. Run: make dashboard")


def checksums(folder: Path) -> str:
    """Return the SHA-256 of each file, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def _check_committed() -> None:
    git = ["git", "-C", str(ROOT), "status", "--porcelain"]
    changed = subprocess.run(git, capture_output=True, text=True, check=True).stdout  # noqa: S603 - git itself
    if changed:
        raise NotReleasable(f"These files are not committed:\n{changed}Commit them, or use DRAFT=1 to try it out.")


if __name__ == "__main__":
    try:
        main(draft="--draft" in sys.argv[1:])
    except NotReleasable as error:
        sys.exit(f"Error: {error}")
