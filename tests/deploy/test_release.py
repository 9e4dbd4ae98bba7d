"""A release: one version in all files, a changelog, checksums, and a list of all parts."""

import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.release import check_contents, checksums
from scripts.sbom import make_sbom
from scripts.versions import FILES, NotReleasable, check_changelog, read_version, write_version
from tests.deploy.files import ROOT
from tests.packages.test_packages import project_table
from tests.patience import PATIENCE


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the files that have the version."""
    for name, _ in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


# -- version and changelog --------------------------------------------------------------------------------------------


def test_all_files_have_the_version_of_the_gateway() -> None:
    assert read_version() == project_table("gatepost")["version"]


@pytest.mark.parametrize("version", ["1.20.3", "2.0.0rc1"])
def test_a_version_is_written_to_all_files_and_changes_nothing_else(checkout: Path, version: str) -> None:
    before = {name: (checkout / name).read_text() for name, _ in FILES}
    old = read_version(checkout)
    write_version(version, checkout)
    assert read_version(checkout) == version
    for name, text in before.items():
        assert len((checkout / name).read_text().splitlines()) == len(text.splitlines())
    write_version(old, checkout)
    assert {name: (checkout / name).read_text() for name, _ in FILES} == before


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3\n", "1.2.3-beta"])
def test_a_wrong_version_is_written_to_no_file(checkout: Path, version: str) -> None:
    with pytest.raises(NotReleasable, match="is not a version such as"):
        write_version(version, checkout)
    assert read_version(checkout) == read_version()


@pytest.mark.parametrize(("name", "pattern"), FILES[1:])
def test_a_file_with_another_version_is_named(checkout: Path, name: str, pattern: str) -> None:
    path = checkout / name
    line = re.search(pattern, path.read_text(), re.MULTILINE)
    assert line is not None
    path.write_text(path.read_text().replace(line[0], line[0].replace(line[1], "9.9.9")))
    with pytest.raises(NotReleasable, match=rf"{name} has 9\.9\.9.*make version"):
        read_version(checkout)


@pytest.mark.parametrize(
    ("text", "draft", "error"),
    [
        ("# Changelog\n\n## 1.0.0 — 2026-11-16\n\n## 0.9.0 — 2026-01-01\n", False, None),
        ("## 1.0.0 — unreleased\n", True, None),
        ("## 1.0.0 — unreleased\n", False, "calls 1.0.0 “unreleased”"),
        ("## 0.9.0 — 2026-01-01\n\n## 1.0.0 — 2026-11-16\n", False, "begins with 0.9.0"),
        ("## 1.0.0rc1 — 2026-11-16\n", True, "begins with 1.0.0rc1"),
        ("Nothing yet.\n", True, "has no heading"),
    ],
)
def test_the_changelog_begins_with_the_version_and_its_date(
    tmp_path: Path, text: str, draft: bool, error: str | None
) -> None:
    (tmp_path / "CHANGELOG.md").write_text(text)
    if error is None:
        check_changelog("1.0.0", tmp_path, draft=draft)
        return
    with pytest.raises(NotReleasable, match=re.escape(error)):
        check_changelog("1.0.0", tmp_path, draft=draft)


def test_our_own_changelog_is_about_this_version() -> None:
    check_changelog(read_version(), draft=True)


# -- files ------------------------------------------------------------------------------------------------------------


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"b")
    (tmp_path / "a.tar.gz").write_bytes(b"a")
    (tmp_path / "SHA256SUMS").write_text(checksums(tmp_path))
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "a.tar.gz: OK\nb.whl: OK\n"


def make_wheel(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(name, "")


def make_sdist(path: Path, name: str) -> None:
    with tarfile.open(path, "w:gz") as sdist:
        sdist.addfile(tarfile.TarInfo(f"gatepost-1.0.0/src/{name}"))


@pytest.mark.parametrize(("name", "make"), [("x-1.0.0.whl", make_wheel), ("x-1.0.0.tar.gz", make_sdist)])
def test_a_package_without_its_page_is_not_released(
    tmp_path: Path, name: str, make: Callable[[Path, str], None]
) -> None:
    make(tmp_path / name, "gatepost/console/built/index.html")
    check_contents(tmp_path / name, ("/console/built/index.html",))
    with pytest.raises(NotReleasable, match=r"does not contain /page/built/index\.html.*make dashboard"):
        check_contents(tmp_path / name, ("/page/built/index.html",))


# -- parts ------------------------------------------------------------------------------------------------------------


def test_the_list_of_parts_has_every_locked_library_and_every_package_of_the_pages() -> None:
    document = json.loads(make_sbom(ROOT, "1.0.0"))
    purls = [part["purl"] for part in document["components"]]
    assert len(purls) == len(set(purls))
    locked = re.findall(r"^([^\s=#]+)==([^\s\\;]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    python = {one for one in purls if one.startswith("pkg:pypi/")}
    assert python == {f"pkg:pypi/{name}@{version}" for name, version in locked}
    manifest = json.loads((ROOT / "dashboard" / "package.json").read_text())
    npm = {one.removeprefix("pkg:npm/").replace("%40", "@").rpartition("@")[0] for one in set(purls) - python}
    assert manifest["dependencies"].keys() <= npm
    assert not {"@biomejs/biome", "typescript", "vite", "vitest"} & npm  # tools
    assert document["dependencies"] == [{"ref": "gatepost", "dependsOn": purls}]


def test_the_list_of_parts_depends_on_the_lock_files_only() -> None:
    assert make_sbom(ROOT, "1.0.0") == make_sbom(ROOT, "1.0.0")
    serial = [json.loads(make_sbom(ROOT, version))["serialNumber"] for version in ("1.0.0", "1.0.1")]
    assert serial[0] != serial[1]


def test_a_condition_of_a_library_is_in_the_list() -> None:
    parts = {part["name"]: part for part in json.loads(make_sbom(ROOT, "1.0.0"))["components"]}
    assert parts["colorama"]["properties"] == [{"name": "gatepost:installed-if", "value": "sys_platform == 'win32'"}]
    assert "properties" not in parts["msgspec"]
