"""Installs each package alone into a virtual environment of its own and runs it. Needs a package index.

usage: make packages
"""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.packages.test_packages import PACKAGES, find_uv
from tests.patience import PATIENCE

MOST_DEPENDENCIES = {"gatepost_client": 5}


def install(name: str, folder: Path) -> Path:
    """Install one package; return the folder of its programs."""
    started = time.monotonic()
    python = folder / "bin" / "python"
    subprocess.run([find_uv(), "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    subprocess.run([find_uv(), "pip", "install", "-q", "--python", str(python), str(PACKAGES[name])], check=True)
    dependencies = installed(python) - {name.replace("_", "-")}
    print(f"{name}: {len(dependencies)} dependencies, {time.monotonic() - started:.1f} s", flush=True)
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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        client = install("gatepost_client", place / "client")
        subprocess.run([client / "python", "-c", "from gatepost_client import Gatepost"], check=True)
        sandbox = install("gatepost_sandbox", place / "sandbox")
        run_until_ready([str(sandbox / "gatepost-sandbox"), "--port", "0"], "The sandbox is at")
        gateway = install("gatepost", place / "gateway")
        subprocess.run([gateway / "gatepost", "--help"], check=True, stdout=subprocess.DEVNULL)
        serve = [str(gateway / "gatepost"), "serve", "--port", "0", "--data", str(place / "data")]
        run_until_ready(serve, '"ready"')
    print("Each package works alone.")


if __name__ == "__main__":
    main()
