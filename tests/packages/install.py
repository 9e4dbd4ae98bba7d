"""Installs each package alone into a virtual environment of its own and runs it. Needs a package index.

usage: make packages                             what the checkout builds
       python -m tests.packages.install dist     a release: its wheels on each Python that is installed, its sdists
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.packages.test_packages import PACKAGES, find_uv
from tests.patience import PATIENCE

MOST_DEPENDENCIES = {"gatepost_client": 5}
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def install(name: str, folder: Path, source: Path, python: str) -> Path:
    """Install one package from its source, wheel or sdist; return the folder of its programs."""
    started = time.monotonic()
    made = folder / "bin" / "python"
    subprocess.run([find_uv(), "venv", "-q", "--python", python, str(folder)], check=True)
    subprocess.run([find_uv(), "pip", "install", "-q", "--python", str(made), str(source)], check=True)
    dependencies = installed(made) - {name.replace("_", "-")}
    print(f"  {name}: {len(dependencies)} dependencies, {time.monotonic() - started:.1f} s", flush=True)
    if len(dependencies) > MOST_DEPENDENCIES.get(name, 1000):
        sys.exit(f"{name} has too many dependencies: {', '.join(sorted(dependencies))}")
    return folder / "bin"


def installed(python: Path) -> set[str]:
    command = [find_uv(), "pip", "list", "--format=freeze", "--python", str(python)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {line.split("==")[0] for line in lines}


def run_until_ready(command: list[str], ready: str) -> None:
    """Run a server until it prints that it is ready; stop it."""
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert program.stdout is not None
    printed = []
    for line in program.stdout:
        printed.append(line)
        if ready in line:
            break
    program.send_signal(signal.SIGTERM)
    program.communicate(timeout=PATIENCE)
    if program.returncode != 0 or ready not in printed[-1]:
        sys.exit(f"{' '.join(command)} failed with {program.returncode}:\n{''.join(printed)}")


def check(sources: Mapping[str, Path], python: str) -> None:
    """Install and run each package alone."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        bins = {name: install(name, place / name, source, python) for name, source in sources.items()}
        subprocess.run([bins["gatepost_client"] / "python", "-c", "from gatepost_client import Gatepost"], check=True)
        run_until_ready([str(bins["gatepost_sandbox"] / "gatepost-sandbox"), "--port", "0"], "The sandbox is at")
        gateway = str(bins["gatepost"] / "gatepost")
        subprocess.run([gateway, "--help"], check=True, stdout=subprocess.DEVNULL)
        run_until_ready([gateway, "serve", "--port", "0", "--data", str(place / "data")], '"ready"')


def find_python(version: str) -> str | None:
    """Return the path of a Python that is installed; None if there is none."""
    command = [find_uv(), "python", "find", "--no-python-downloads", "--no-project", "--system", version]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def check_release(folder: Path) -> None:
    """Check the wheels of a release on each Python, and its sdists on the first one."""
    pythons = {version: find_python(version) for version in VERSIONS}
    found = {version: python for version, python in pythons.items() if python is not None}
    if not found:
        sys.exit(f"None of these is installed: Python {', '.join(VERSIONS)}.")
    for version, python in found.items():
        print(f"wheels, Python {version}", flush=True)
        check({name: only(folder, f"{name}-*.whl") for name in PACKAGES}, python)
    first, python = next(iter(found.items()))
    print(f"sdists, Python {first}", flush=True)
    check({name: only(folder, f"{name}-*.tar.gz") for name in PACKAGES}, python)
    missing = [version for version in VERSIONS if version not in found]
    print(
        f"Works on Python {', '.join(found)}."
        + (f" Not installed, not checked: {', '.join(missing)}." if missing else "")
    )


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path.resolve()


def main() -> None:
    if len(sys.argv) > 1:
        check_release(Path(sys.argv[1]))
    else:
        check(PACKAGES, sys.executable)
        print("Each package works alone.")


if __name__ == "__main__":
    main()
