"""The three packages: their wheels are complete, and each works without the other two."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "gatepost": ROOT,
    "gatepost_client": ROOT / "packages" / "gatepost-client",
    "gatepost_sandbox": ROOT / "packages" / "gatepost-sandbox",
}
UNDECLARED = {"gatepost": {"gatepost_sandbox"}}  # the extra `sandbox`
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sorted({name.split(".")[0] for name in sys.modules if name.startswith("gatepost")}))
"""


def find_uv() -> str:
    """Return the path of uv: `make test` sets UV; otherwise the one on the PATH."""
    found = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    return str(ROOT / found)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the three wheels; return the folder that each was unpacked into."""
    built = tmp_path_factory.mktemp("wheels")
    folders = {}
    for name, project in PACKAGES.items():
        command = [find_uv(), "build", "-q", "--offline", "--wheel", "--out-dir", str(built / name), str(project)]
        subprocess.run(command, check=True, timeout=PATIENCE)
        (wheel,) = (built / name).glob("*.whl")
        folders[name] = built / f"{name}-unpacked"
        zipfile.ZipFile(wheel).extractall(folders[name])
    return folders


def project_table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((PACKAGES[name] / "pyproject.toml").read_text())["project"]
    return table


def environment(wheel: Path) -> dict[str, str]:
    """Return an environment that finds one unpacked wheel and our dependencies, but not the packages of the checkout.

    The checkout is installed by .pth files, which `python -S` does not read. No bytecode is written beside the unpacked
    files, because another test lists them.
    """
    path = f"{wheel}{os.pathsep}{sysconfig.get_path('purelib')}"
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run_alone(wheel: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment(wheel),
        cwd=wheel,
    )


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_contains_every_file_of_its_source_and_the_license(wheels: dict[str, Path], name: str) -> None:
    source = PACKAGES[name] / "src"
    expected = {
        path.relative_to(source)
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    if name == "gatepost":
        expected |= {Path(name) / path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*") if path.is_file()}
    packed = {path.relative_to(wheels[name]) for path in wheels[name].rglob("*") if path.is_file()}
    info = f"{name}-{project_table(name)['version']}.dist-info"
    assert {path for path in packed if not str(path).startswith(info)} == expected
    assert name + "/py.typed" in {str(path) for path in packed}
    assert (wheels[name] / info / "licenses" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_wheel_of_the_sandbox_contains_the_built_page(wheels: dict[str, Path]) -> None:
    page = wheels["gatepost_sandbox"] / "gatepost_sandbox" / "page" / "built" / "index.html"
    assert page.is_file(), "the page is not built: run `make dashboard`"


@pytest.mark.parametrize("name", PACKAGES)
def test_every_module_can_be_imported_without_the_other_packages(wheels: dict[str, Path], name: str) -> None:
    done = run_alone(wheels[name], "-c", IMPORT_ALL, name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [name]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_imported_library_is_a_declared_dependency(name: str) -> None:
    project = project_table(name)
    declared = {normalized(re.split(r"[\[<>=;]", line)[0]) for line in project["dependencies"]} | {normalized(name)}
    distributions = packages_distributions()
    undeclared = {
        library
        for library in imported_libraries(PACKAGES[name] / "src")
        if library not in sys.stdlib_module_names
        and not declared & {normalized(found) for found in distributions.get(library, [library])}
    }
    assert undeclared == UNDECLARED.get(name, set())


def imported_libraries(source: Path) -> set[str]:
    found = set()
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found


def normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution.strip()).lower()


def test_all_packages_have_the_same_version() -> None:
    assert len({project_table(name)["version"] for name in PACKAGES}) == 1


def test_the_client_has_at_most_three_direct_dependencies() -> None:
    """With what they depend on (cffi, pycparser) that makes five."""
    assert len(project_table("gatepost_client")["dependencies"]) <= 3


@pytest.mark.parametrize("command", [["up"], ["sandbox"]])
def test_the_gateway_says_how_to_install_the_sandbox(wheels: dict[str, Path], command: list[str]) -> None:
    done = run_alone(wheels["gatepost"], "-m", "gatepost.cli", *command)
    assert done.returncode == 1
    assert done.stderr == (
        "Error: The package gatepost-sandbox is not installed. Run `pip install 'gatepost[sandbox]'`, "
        "or in a checkout `pip install ./packages/gatepost-sandbox`.\n"
    )
    assert "sandbox" in project_table("gatepost")["optional-dependencies"]


def test_the_gateway_shows_its_commands_without_the_sandbox(wheels: dict[str, Path]) -> None:
    done = run_alone(wheels["gatepost"], "-m", "gatepost.cli", "--help")
    assert done.returncode == 0
    assert "serve" in done.stdout


def test_the_sandbox_runs_without_the_gateway(wheels: dict[str, Path]) -> None:
    program = subprocess.Popen(
        [sys.executable, "-S", "-m", "gatepost_sandbox", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(wheels["gatepost_sandbox"]),
        cwd=wheels["gatepost_sandbox"],
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("The sandbox is at http://127.0.0.1:")
    finally:
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=PATIENCE)
    assert program.returncode == 0
